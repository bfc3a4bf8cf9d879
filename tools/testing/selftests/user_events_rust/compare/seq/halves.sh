# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Words in either half of a long.
ue <<'END'
reg slot=0 bit=31 : h1 u32 a
reg slot=1 bit=0 : h2 u32 a
reg slot=2 bit=40 width=8 : h1 u32 a
put events/user_events/h1/enable 1
val 0 8
val 2 8
put events/user_events/h2/enable 1
val 0 8
unreg slot=1 bit=0
val 0 8
unreg slot=2 bit=40
val 2 8
put events/user_events/h1/enable 0
val 0 8
END
