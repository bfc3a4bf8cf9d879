// SPDX-License-Identifier: GPL-2.0
/*
 * Registers the commands of the Rust hist triggers, at the same point of the
 * boot as those of the C ones. They stay registered permanently, and nothing
 * here is needed after boot: in C it can be __init.
 */

#include <linux/bug.h>
#include <linux/init.h>

#include "commands.h"

__init int register_trigger_hist_cmd(void)
{
	int ret = trigger_hist_rust_init();

	if (!ret)
		ret = register_event_command(trigger_hist_rust_cmd);

	WARN_ON(ret < 0);
	return ret;
}

__init int register_trigger_hist_enable_disable_cmds(void)
{
	int ret = register_event_command(&trigger_hist_rust_enable_cmd);

	if (WARN_ON(ret < 0))
		return ret;

	ret = register_event_command(&trigger_hist_rust_disable_cmd);
	if (WARN_ON(ret < 0))
		unregister_event_command(&trigger_hist_rust_enable_cmd);

	return ret;
}
