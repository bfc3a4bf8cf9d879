# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Definitions of synthetic events, right and wrong.
for c in 'ok1 u64 a' 'ok2 u64 a; s32 b; char c[16]; char[] d' 'ok3 u64 a u32 b' 'ok4 u64 a;' 'ok1 u64 a' 'bad-name u64 a' b1 \
	'b2 u64' 'b3 u64 a-b' 'b4 short a' 'b5 char[257] a' 'b6 char[xx] a' 'b7 char[ a' 'b8 struct x a' 'b9 unsigned a' \
	'b10 u64 a b c' 'ba;u64 a' '!ok1' '!nosuch' 'bb long[] s' "bc $(for i in $(seq 65); do printf 'u8 f%d; ' $i; done)" \
	'bd char[0] z' 'be gfp_t g' 'bf bool b'; do
	try synthetic_events "$c"
done
put dynamic_events 's:synthetic/dx u64 a'
put dynamic_events 's:other/dy u64 a'
elog
cat synthetic_events
sort dynamic_events
put dynamic_events '-:synthetic/dx'
new synthetic_events ''
cat synthetic_events
