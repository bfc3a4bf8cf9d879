# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Several actions of one trigger.
make_events
synth 'mx u64 top; u32 id' 'ch u64 now'
trig pair 'hist:keys=id:vv=total:onmax($vv).trace(mx,$vv,id):onchange($vv).trace(ch,$vv):onmax($vv).save(part)'
pair 1 0 5 1 0 3 1 0 3 1 0 9
body
show pair
