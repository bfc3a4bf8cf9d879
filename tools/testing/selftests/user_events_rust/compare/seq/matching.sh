# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Descriptions of the same event.
for s in 'm1 u32 a;u32 b' 'm1 u32 a; u32 b' 'm1 u32 a; u32 b;' 'm1 u32  a;  u32 b' 'm1 u32 a' 'm1 u32 b; u32 a' 'm1 u32 a; u64 b' 'm1' 'm1 junk' 'm0' 'm0 ' 'm0 ;;' 'm0 u32 a' 'm2 struct s a 8' 'm2 struct s a 9' 'm2 struct s a 8;' 'm3 unsigned  int a' 'm3 unsigned int a' 'm3 unsigned  int a' 'm4 u32 a;;u32 b' 'm4 u32 a;;u32 b' 'm4 u32 a;u32 b' 'm5 struct s a 08' 'm5 struct s a 08' 'm5 struct s a 8'; do
	printf '%-24s ' "[$s]"
	put dynamic_events "u:$s"
done
cat dynamic_events
