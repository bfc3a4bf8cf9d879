# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# write() and writev() do the same.
ue <<'END'
reg slot=0 bit=0 : w2 u32 a; char[4] s
wv 0 u32:2 z:def
put events/user_events/w2/enable 1
w 0 u32:1 z:abc
wv 0 u32:2 z:def
wv 0 u32:3
wv 5 u32:3 z:xxx
wv -7 u32:3 z:xxx
END
body
