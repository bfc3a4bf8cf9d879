// SPDX-License-Identifier: GPL-2.0

#include <linux/limits.h>
#include <linux/module.h>

/*
 * Rust code may leak what holds a reference. No more are taken well before their
 * number would wrap. None is taken while the module is initialised: if that fails,
 * the module is freed whatever its references are.
 */
__rust_helper bool rust_helper_module_ref_get(struct module *module)
{
	if (!module)
		return true;
#ifdef CONFIG_MODULE_UNLOAD
	if (module_refcount(module) > INT_MAX / 2)
		return false;
#endif
	return READ_ONCE(module->state) == MODULE_STATE_LIVE && try_module_get(module);
}

__rust_helper void rust_helper_module_ref_put(struct module *module)
{
	module_put(module);
}
