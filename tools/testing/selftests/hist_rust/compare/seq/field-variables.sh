# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# The legacy form of an action, with fields of the matching event.
make_events
synth 'syn2 u64 lat; s32 delta; char[8] tag'
c='hist:keys=id:lat=total-$st:onmatch(user_events.num).syn2($lat,user_events.num.delta,user_events.num.tag)'
trig pair "$c"
trig num 'hist:keys=id:st=total'
trig pair "$c"
triggers num pair
cat $E/num/hist_debug $E/pair/hist_debug
mixed num 1 9 100 tagone pair 1 0 150
body
show num pair
trig pair "!$c"
triggers num pair
