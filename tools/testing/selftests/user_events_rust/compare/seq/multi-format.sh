# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Several formats of one name.
ue <<'END'
reg slot=0 bit=0 flags=2 : mf u32 a
reg slot=1 bit=0 flags=2 : mf u64 a
reg slot=2 bit=0 flags=2 : mf u32 a
reg slot=3 bit=0 flags=2 : mf bogus a
reg slot=3 bit=0 flags=2 : mf u16 a
reg slot=4 bit=0 : mf u32 a
list
put events/user_events_multi/enable 1
val 0
val 1
val 2
val 3
val 4
w 0 u32:1
w 1 u64:2
w 2 u16:3
w 3 u32:4
END
body | sed -E 's/mf\.[0-9a-f]+:/mf.N:/'
echo 0 >events/user_events_multi/enable
eventually sh -c '! grep -q . dynamic_events'
cat dynamic_events
