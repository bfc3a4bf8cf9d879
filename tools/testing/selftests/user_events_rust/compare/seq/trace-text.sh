# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# The text of each type in trace.
put dynamic_events 'u:ty1 s8 a; u8 b; char c; unsigned char d; s16 e; u16 f; short g; unsigned short h; s32 i; u32 j; int k; unsigned int l; s64 m; u64 n'
put dynamic_events 'u:ty4 char[8] s; struct foo st 4; struct bar st3 3; u32 caller_offs; u8 last'
put dynamic_events 'u:ty3'
echo 1 >events/user_events/enable
ue <<'END'
reg slot=0 bit=0 : ty1 s8 a; u8 b; char c; unsigned char d; s16 e; u16 f; short g; unsigned short h; s32 i; u32 j; int k; unsigned int l; s64 m; u64 n
reg slot=1 bit=0 : ty4 char[8] s; struct foo st 4; struct bar st3 3; u32 caller_offs; u8 last
reg slot=2 bit=0 : ty3
w 0 u8:-1 u8:255 u8:65 u8:7 u16:-2 u16:65535 u16:-3 u16:7 u32:-4 u32:4294967295 u32:-5 u32:9 u64:-6 u64:0xffffffffffffffff
w 0 u8:0 u8:0 u8:10 u8:200 u16:0 u16:1 u16:2 u16:3 u32:4 u32:5 u32:6 u32:7 u64:8 u64:9
w 1 s:hello n:3 u32:66 s:xyz u32:0 u8:1
w 1 s:12345678 u32:67 s:xyz u32:0 u8:2
w 1 s:a\x01b\xff n:4 u32:67 s:xyz u32:0 u8:3
w 2
w 2 s:more
END
body
