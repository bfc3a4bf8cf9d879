# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# A variable, onmatch() and a synthetic event.
make_events
synth 'syn u64 lat; u32 id'
trig num 'hist:keys=id:st=total'
# shellcheck disable=SC2016
trig pair 'hist:keys=id:lat=total-$st:onmatch(user_events.num).trace(syn,$lat,id)'
other synthetic/syn 'hist:keys=id,lat:sort=lat'
mixed num 1 0 100 x pair 1 0 150 pair 1 0 170 num 2 0 200 x pair 2 0 275 pair 3 0 999
body
for e in user_events/num user_events/pair synthetic/syn; do all $e; done
