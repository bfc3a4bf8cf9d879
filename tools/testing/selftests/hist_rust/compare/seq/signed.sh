# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Negative numbers as keys and values, and fields that are no number.
make_events
trig num 'hist:keys=delta:vals=total:sort=delta'
num 1 -1 1 a 1 5 2 a 1 -2147483648 3 a 1 0 4 a 1 2147483647 5 a
show num
drop num
trig num 'hist:keys=id:vals=delta:sort=delta'
num 1 -1 1 a 2 5 2 a 3 0 0 a
show num
put dynamic_events 'u:odd struct x s3 3; char c'
for k in s3 c; do trig odd "hist:keys=$k"; done
drop odd
