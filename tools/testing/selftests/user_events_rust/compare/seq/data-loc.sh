# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Location words that count from the record.
make_events
echo 1 >events/user_events/text/enable
ue <<END
reg slot=0 bit=0 : $TEXT
w 0 u32:1 u32:$((3 << 16 | 16)) z:ab
w 0 u32:2 u32:$((2 << 16 | 16)) s:ab
w 0 u32:3 u32:$((4 << 16 | 16)) z:ab
w 0 u32:4 u32:$((1 << 16 | 17)) z:ab
w 0 u32:5 u32:$((1 << 16 | 18)) z:ab
w 0 u32:6 u32:$((3 << 16 | 65535)) z:ab
w 0 u32:7 u32:$((65535 << 16 | 16)) z:ab
w 0 u32:8 u32:$((2 << 16 | 2)) z:ab
END
body
