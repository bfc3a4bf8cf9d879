// SPDX-License-Identifier: GPL-2.0
/*
 * Starts the Rust user_events at the same point of the boot as the C one:
 * Rust code has no way to ask for the fs level of initcalls.
 */

#include <linux/init.h>
#include <linux/user_events.h>

static int __init user_events_init(void)
{
	return user_events_rust_init();
}

fs_initcall(user_events_init);
