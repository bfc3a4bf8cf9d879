# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# The errors of a write, and their order.
ue <<'END'
reg slot=0 bit=0 : w1 u32 a; u32 b
raw 00
raw 000000
raw
w -1 u32:1 u32:2
w 9 u32:1 u32:2
w 0 u32:1
w 0
w 0 u32:1 u32:2
put events/user_events/w1/enable 1
w -1 u32:1
w 9 u32:1
w 0 u32:1 u32:2
w 0 u32:3 u32:4 u32:5
w 0 u32:1
put tracing_on 0
w 0 u32:6 u32:7
put tracing_on 1
w 0 u32:8 u32:9
END
body
