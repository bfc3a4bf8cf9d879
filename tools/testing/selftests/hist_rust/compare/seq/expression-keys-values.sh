# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Expressions as keys and values, references as values.
make_events
trig num 'hist:keys=id+1'
trig num 'hist:keys=id:vals=total*2'
trig num 'hist:keys=id:x1=total'
trig pair 'hist:keys=id+$x1'
trig pair 'hist:keys=$x1'
trig pair 'hist:keys=id:vals=$x1'
mixed num 1 0 3 a num 2 0 4 a pair 1 0 0 pair 9 0 0
show num pair
