# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Sizes of structs, up to the limits of numbers.
for s in 1 60000 2147483646 2147483647 4294967295 4294967274 99999999999; do
	printf '%s ' $s
	put dynamic_events "u:big$s struct x f $s"
done
grep -h 'field:struct' events/user_events/big*/format
