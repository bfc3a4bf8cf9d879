// SPDX-License-Identifier: GPL-2.0

#include <linux/err.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>

/*
 * Allocations of the task are not charged to its memory cgroup until the end of the
 * section, which gets what this returns.
 */
__rust_helper void *rust_helper_memcg_unaccounted_begin(void)
{
	return set_active_memcg(root_mem_cgroup);
}

__rust_helper void rust_helper_memcg_unaccounted_end(void *before)
{
	set_active_memcg(before);
}

#ifdef CONFIG_MEMCG
__rust_helper bool rust_helper_memcg_is_unaccounted(void)
{
	return current->active_memcg;
}

/*
 * Charges the memory cgroup of the task, also in a section in which allocations are
 * not. Returns what to uncharge, which may be NULL, or an error.
 */
__rust_helper void *rust_helper_memcg_charge(size_t size, bool may_wait)
{
	struct mem_cgroup *active;
	struct obj_cgroup *objcg;
	int ret;

	if (!memcg_kmem_online())
		return NULL;
	active = set_active_memcg(NULL);
	objcg = get_obj_cgroup_from_current();
	set_active_memcg(active);
	if (!objcg)
		return NULL;
	/* Above memory.high the task is slowed down when it returns to user space. */
	ret = obj_cgroup_charge(objcg, GFP_NOWAIT, size);
	if (ret && may_wait)
		ret = obj_cgroup_charge(objcg, GFP_KERNEL | __GFP_RETRY_MAYFAIL, size);
	if (ret) {
		obj_cgroup_put(objcg);
		return ERR_PTR(ret);
	}
	return objcg;
}

__rust_helper void rust_helper_memcg_uncharge(void *objcg, size_t size)
{
	obj_cgroup_uncharge(objcg, size);
	obj_cgroup_put(objcg);
}
#else
__rust_helper bool rust_helper_memcg_is_unaccounted(void)
{
	return false;
}

__rust_helper void *rust_helper_memcg_charge(size_t size, bool may_wait)
{
	return NULL;
}

__rust_helper void rust_helper_memcg_uncharge(void *objcg, size_t size)
{
}
#endif
