# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# One event switches another.
make_events
for t in 'enable_event:user_events:pair:1 if id == 7' 'enable_event:user_events:pair' 'disable_event:user_events:pair if id == 8' 'disable_event:user_events:text' 'enable_event:user_events:none' 'enable_event:user_events' 'enable_event'; do
	printf '[%s] ' "$t"
	put events/user_events/num/trigger "$t"
done
cat events/user_events/num/trigger events/user_events/pair/enable
ue <<END
reg slot=0 bit=0 : $NUM
reg slot=1 bit=0 : $PAIR
w 1 u32:1 u32:0 u64:0
w 0 u32:7 u32:0 u64:0 s:xxxxxxxx
w 1 u32:2 u32:0 u64:0
w 0 u32:8 u32:0 u64:0 s:xxxxxxxx
w 1 u32:3 u32:0 u64:0
w 0 u32:7 u32:0 u64:0 s:xxxxxxxx
w 1 u32:4 u32:0 u64:0
END
body
cat events/user_events/pair/enable events/user_events/num/trigger
put dynamic_events "-:$PAIR"
for t in '!enable_event:user_events:pair' '!disable_event:user_events:text' '!disable_event:user_events:pair'; do
	put events/user_events/num/trigger "$t"
done
cat events/user_events/num/trigger
