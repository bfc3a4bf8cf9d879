# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# An event probe on a user event.
make_events
put dynamic_events 'e:eg/ep1 user_events.num i=$id:u32 t=$tag:string'
cat dynamic_events
cat events/user_events/num/trigger
echo 1 >events/eg/ep1/enable
num 4 -4 44 tt
body
put dynamic_events "-:$NUM"
echo 0 >events/eg/ep1/enable
put dynamic_events '-:eg/ep1'
put dynamic_events "-:$NUM"
