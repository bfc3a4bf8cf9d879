# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Location words that count from themselves, and of other types.
put dynamic_events 'u:rel u32 id; __rel_loc char[] msg'
put dynamic_events 'u:dat __data_loc u32[] arr; __data_loc char[] s'
echo 1 >events/user_events/enable
ue <<END
reg slot=0 bit=0 : rel u32 id; __rel_loc char[] msg
reg slot=1 bit=0 : dat __data_loc u32[] arr; __data_loc char[] s
w 0 u32:1 u32:$((3 << 16)) z:ab
w 0 u32:2 u32:$((2 << 16)) s:ab
w 0 u32:3 u32:$((3 << 16 | 1)) z:ab
w 0 u32:4 u32:$((2 << 16 | 1)) z:ab
w 1 u32:$((8 << 16 | 16)) u32:$((4 << 16 | 24)) u32:1 u32:0x01020304 z:x\x01y
w 1 u32:$((9 << 16 | 24)) u32:$((4 << 16 | 24)) u32:1 u32:2 z:abc
w 1 u32:$((5 << 16 | 24)) u32:$((4 << 16 | 24)) u32:1 u32:2 z:abc
w 1 u32:$((0 << 16 | 24)) u32:$((4 << 16 | 24)) u32:1 u32:2 z:abc
END
body
