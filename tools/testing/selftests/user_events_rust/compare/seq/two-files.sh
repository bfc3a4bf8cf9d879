# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Two files have a table of indices each.
make_events
ue <<END
fd 1
reg slot=0 bit=0 : $PAIR
reg slot=0 bit=1 : $NUM
reg slot=0 bit=2 : $PAIR
fd 2
reg slot=0 bit=3 : $NUM
put events/user_events/pair/enable 1
w 0 u32:1 u32:1 u64:1
w 1 u32:1 u32:1 u64:1
fd 1
w 0 u32:1 u32:2 u64:3
w 1 u32:1 u32:2 u64:3
END
body
