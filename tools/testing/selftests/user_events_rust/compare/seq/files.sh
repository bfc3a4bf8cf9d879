# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Files, modes, and what they hold at first.
stat -c '%a %U:%G %n' user_events_data user_events_status dynamic_events set_event error_log
cat user_events_status
stat -c '%a %n' /proc/sys/kernel/user_events_max
cat /proc/sys/kernel/user_events_max
make_events
stat -c '%a %n' events/user_events events/user_events/enable events/user_events/filter events/user_events/num/*
cat events/user_events/num/enable events/user_events/num/filter events/user_events/num/trigger
status
