# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Parameters of one letter are refused, variables are not.
put dynamic_events 'u:num u32 k; u64 v'
put dynamic_events 'u:pair u32 k; u64 v'
synth 'syn u64 l'
trig num 'hist:keys=k:x=v'
trig num 'hist:keys=k:x=v:onmax($x).save(v)'
trig pair 'hist:keys=k:y=v-$x:onmatch(user_events.num).trace(syn,$y)'
trig pair 'hist:keys=k:y=v:onmatch(user_events.num).trace(syn,v)'
trig pair 'hist:keys=k:a=v:a=k'
triggers num pair
drop pair num
