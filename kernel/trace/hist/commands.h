/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands for trigger files that are implemented in Rust, in exports.rs.
 */
#ifndef __TRACE_HIST_COMMANDS_H
#define __TRACE_HIST_COMMANDS_H

#include "../trace.h"

/* To be called once, before the commands are registered. */
int trigger_hist_rust_init(void);

extern struct event_command *const trigger_hist_rust_cmd;
extern struct event_command trigger_hist_rust_enable_cmd;
extern struct event_command trigger_hist_rust_disable_cmd;

#endif
