# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Names of events and fields that are unusual.
for c in 'u:a.b u32 x' 'u:na-me u32 x' 'u:1st u32 x' 'u:dup u32 a; u64 a' 'u:res u32 common_pid; u8 common_type' 'u:punct u32 a+b; u32 c[d' 'u:plus u32 a+b; u32 c.d' 'u:sla/sh u32 a' 'u:.dot u32 a' 'u:enable u32 a' 'u: u32 a'; do
	printf '%s ' "$c"
	put dynamic_events "$c"
done
find events/user_events -mindepth 1 -maxdepth 1 -type d | sort
for e in dup res punct plus; do
	[ ! -d events/user_events/$e ] || grep -v ^ID events/user_events/$e/format
done
