# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# A reference in an expression takes the variable; a plain one does not.
make_events
synth 'ro u64 lat'
trig num 'hist:keys=id:x1=total'
trig pair 'hist:keys=id:lat=total-$x1:onmatch(user_events.num).trace(ro,$lat)'
trig text 'hist:keys=id:cp=$x1'
num 1 0 10 a
pair 1 0 15 1 0 16
text 1 z
num 1 0 20 a
text 1 z
text 1 z
pair 1 0 21
text 1 z
body
show pair text
