# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Variables that are another one.
make_events
synth 'al u64 val'
trig num 'hist:keys=id:x1=total'
trig pair 'hist:keys=id:y1=$x1:onmatch(user_events.num).trace(al,$y1)'
mixed num 1 0 42 a pair 1 0 0
body
all user_events/pair
drop pair num
trig num 'hist:keys=tag:p1=total:vals=$p1'
num 1 0 42 a
all user_events/num
