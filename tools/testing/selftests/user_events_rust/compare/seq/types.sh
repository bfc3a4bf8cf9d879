# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Every type: format and print fmt.
put dynamic_events 'u:ty1 s8 a; u8 b; char c; unsigned char d; s16 e; u16 f; short g; unsigned short h; s32 i; u32 j; int k; unsigned int l; s64 m; u64 n'
put dynamic_events 'u:ty2 char[20] a; unsigned char[20] b; char[0x10] c; char[010] d; char[1] e'
put dynamic_events 'u:ty3 __data_loc char[] e; __data_loc unsigned char[] f; __data_loc u32[] i; struct foo j 20; char *k'
# The length that C shows of the arrays of this one is what was in memory.
put dynamic_events 'u:ty4 __rel_loc char[] g; __rel_loc u32 h; __rel_loc unsigned int[] i'
put dynamic_events 'u:ty5'
for e in ty1 ty2 ty3 ty4 ty5; do grep -v '^ID' events/user_events/$e/format | sed -E 's/(__rel_loc .*\[)-?[0-9]*\];/\1];/'; done
cat dynamic_events
