# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Each instance has its own switch and its own buffer.
make_events
mkdir instances/i1
ue <<END
reg slot=0 bit=0 : $PAIR
put instances/i1/events/user_events/pair/enable 1
val 0
w 0 u32:1 u32:2 u64:3
put events/user_events/pair/enable 1
w 0 u32:4 u32:5 u64:6
put events/user_events/pair/enable 0
val 0
sh sed -n 's/.* pair:/pair:/p' instances/i1/trace
sh rmdir instances/i1
wait 0 0
w 0 u32:7 u32:8 u64:9
END
body
