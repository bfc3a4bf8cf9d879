# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# A function switches a user event.
make_events
put set_ftrace_filter 'vfs_fsync_range:enable_event:user_events:pair:1'
grep vfs_fsync set_ftrace_filter
cat events/user_events/pair/enable
put dynamic_events "-:$PAIR"
put set_ftrace_filter '!vfs_fsync_range:enable_event:user_events:pair:1'
grep -c vfs_fsync set_ftrace_filter
echo 0 >events/user_events/pair/enable
put dynamic_events "-:$PAIR"
