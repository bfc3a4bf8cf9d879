# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Events and instances in use stay.
make_events
synth 'busy u64 val'
echo 0 >events/synthetic/enable
x='hist:keys=id:x1=total'
y='hist:keys=id:y1=$x1:onmatch(user_events.num).trace(busy,$y1)'
trig num "$x"
trig pair "$y"
trig num "!$x"
new $E/num/trigger ''
triggers num
put synthetic_events '!busy'
put dynamic_events "-:$NUM"
new dynamic_events ''
new synthetic_events ''
trig pair "!$y"
trig num "!$x"
put synthetic_events '!busy'
put dynamic_events "-:$NUM"
