# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# The enable word follows the enable file; unregistering clears it.
ue <<'END'
reg slot=0 bit=0 : t1 u32 a
val 0
w 0 u32:5
put events/user_events/t1/enable 1
val 0
w 0 u32:5
reg slot=0 bit=5 : t1 u32 a
val 0
reg slot=1 bit=31 : t2 u32 a
val 1
unreg slot=0 bit=5
val 0
unreg slot=0 bit=5
put events/user_events/t1/enable 0
val 0
w 0 u32:6
END
gone t1
gone t2
body
