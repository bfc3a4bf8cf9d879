// SPDX-License-Identifier: GPL-2.0
/*
 * Functions for which Rust code has no abstraction.
 */

#include <linux/init.h>
#include <linux/ratelimit.h>
#include <linux/user_events.h>

/* For exports.rs only. */
bool user_events_may_warn(void);

/* Returns whether a message that user space can cause is to be logged now. */
bool user_events_may_warn(void)
{
	static DEFINE_RATELIMIT_STATE(limit, DEFAULT_RATELIMIT_INTERVAL, DEFAULT_RATELIMIT_BURST);

	return __ratelimit(&limit);
}

/* At the same point of the boot as the C implementation: the fs level of initcalls. */
static int __init user_events_init(void)
{
	return user_events_rust_init();
}

fs_initcall(user_events_init);
