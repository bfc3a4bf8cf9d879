# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Fields that are refused.
i=0
for f in 'long a' 'unsigned long a' 'size_t a' 'bool a' 'pid_t a' 'float a' 'u128 a' 'u32' 'u32 ' 'u32 a b' 'u32  a' 'u32 a ;u32 b' 'u32 a ' 'u32 a 4' 'unsigned' 'unsigned int' '__data_loc' '__data_loc char[]' '__rel_loc unsigned char[]' 'struct s' 'struct s a' 'struct s a 0' 'struct s a 0x14' 'struct s a 4x' 'struct s a -1' 'struct s a +7' 'struct s a 007' 'char[] a' 'char[0] a' 'char[1024] a' 'char[1025] a' 'char[9999] a' 'char[aa] a' 'char[12' 'char[0x0000000000001] a' 'char[+4] a' 'char[4]x a' 'u32[2] a' 's8[4] a' 'u32 a;;u32 b' ';u32 a' 'u32 a;' 'U32 a' 'unsigned u32 a' 'struct  s 4' '__data_loc  char[] s'; do
	i=$((i + 1))
	printf '%-34s ' "[$f]"
	put dynamic_events "u:bad$i $f"
done
put dynamic_events 'u:n: u32 a'
put dynamic_events 'u:n:x u32 a'
put dynamic_events 'u:'
cat dynamic_events
