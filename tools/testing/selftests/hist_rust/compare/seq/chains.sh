# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# onmatch without a reference, synthetic events as source, constants.
make_events
synth 'one u32 id' 'two u32 id; u64 count'
trig pair 'hist:keys=id:onmatch(user_events.num).trace(one,id)'
other synthetic/one 'hist:keys=id:kk=id:cc=5:onmatch(user_events.pair).trace(two,$kk,$cc)'
trig text 'hist:keys=id:zz=0:qq=id/4:rr=id/$zz'
trig text 'hist:keys=id:zz=4:qq=id/$zz'
pair 5 0 0 6 0 0
body
cat events/synthetic/one/trigger
all user_events/text
trig num "hist:keys=id:$(for i in $(seq 18); do printf 'v%d=total,' $i; done)z1=total"
triggers num
