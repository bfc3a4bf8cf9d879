# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# dynamic_events: create, list, delete.
for c in 'u:d1 u32 a; u64 b' 'u: d2 char[4] s' 'u:d3' '# only a comment' '' 'u:d4 u32 a# comment' 'u:d5 u32 a # comment' 'q:zzz u32 a'; do
	printf '%-26s ' "[$c]"
	put dynamic_events "$c"
done
elog
cat dynamic_events
for c in '-d1' '-:d1 u32 a' '-:d1 u32 a;u64 b' '-:d1 u32 a; u64 b' '-:user_events/d2 char[4] s' '-:wrong/d3' '-:user_events_multi/d3' '!u:d4 u32 a' '-:d1 u32 a; u64 b'; do
	printf '%-30s ' "[$c]"
	put dynamic_events "$c"
done
cat dynamic_events
put dynamic_events 'u:d6 u32 a; u64 b'
put dynamic_events '-:d6'
cat dynamic_events
