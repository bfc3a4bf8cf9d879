# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# kernel.user_events_max.
max=/proc/sys/kernel/user_events_max
echo 2 >$max
for s in 'l1 u32 a' 'l2 u32 a' 'l3 u32 a' 'l1 u32 a'; do
	printf '%s ' "$s"
	put dynamic_events "u:$s"
done
echo 'reg slot=0 bit=0 flags=2 : l1 u8 a' | ue
put dynamic_events '-:l1 u32 a'
put dynamic_events 'u:l3 u32 a'
echo 0 >$max
put dynamic_events 'u:l9'
put $max -1
put $max 4294967296
put $max x
cat $max
put $max 4294967295
cat $max
put dynamic_events 'u:l9'
echo 32768 >$max
