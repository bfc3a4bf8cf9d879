/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands for trigger files that are implemented in Rust, in exports.rs.
 */
#ifndef __TRACE_HIST_COMMANDS_H
#define __TRACE_HIST_COMMANDS_H

#include "../trace.h"

extern struct event_command trigger_hist_cmd;
extern struct event_command trigger_hist_enable_cmd;
extern struct event_command trigger_hist_disable_cmd;

#endif
