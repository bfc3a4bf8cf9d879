# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Reasons to refuse a registration.
ue <<'END'
reg slot=0 bit=0 size=0 : v u32 a
reg slot=0 bit=0 size=27 : v u32 a
reg slot=0 bit=0 size=28 : v u32 a
reg slot=0 bit=1 size=29 tail=00 : v u32 a
reg slot=0 bit=2 size=32 tail=00000001 : v u32 a
reg slot=0 bit=2 size=4096 : v u32 a
reg slot=0 bit=3 size=4097 : v u32 a
reg slot=0 bit=3 size=0xffffffff : v u32 a
reg slot=0 bit=3 flags=4 : v u32 a
reg slot=0 bit=3 flags=0xffff : v u32 a
reg slot=2 bit=2 width=0 : v u32 a
reg slot=2 bit=2 width=1 : v u32 a
reg slot=2 bit=2 width=2 : v u32 a
reg slot=2 bit=2 width=3 : v u32 a
reg slot=2 bit=2 width=16 : v u32 a
reg slot=2 bit=2 width=128 : v u32 a
reg slot=2 off=1 bit=2 : v u32 a
reg slot=2 off=2 bit=2 : v u32 a
reg slot=3 bit=2 width=8 : v u32 a
reg slot=2 bit=32 : v u32 a
reg slot=2 bit=63 width=8 : v u32 a
reg slot=2 bit=64 width=8 : v u32 a
reg addr=0xffff800000000000 bit=0 : v u32 a
reg addr=0x7ffffffffffc bit=0 : v u32 a
reg addr=0xfffffffffffffffc bit=0 : v u32 a
reg slot=4 bit=0 null :
list
END
for n in 239 240 247 248; do
	# Name and fields together: 510, 511, 512 and more bytes, with the NUL.
	echo "reg slot=$((n - 230)) bit=0 : n$n $(printf 'u8 a%03d;' $(seq 31))u32 $(printf 'x%.0s' $(seq $n))"
done | ue
