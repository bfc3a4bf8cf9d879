# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Records of some processes only.
make_events
echo 1 >events/user_events/pair/enable
put events/user_events/pair/trigger 'hist:keys=id'
echo 1 >set_event_pid
pair 1 0 0
body
echo 1 >options/event-fork
echo $$ >set_event_pid
pair 2 0 0
body
echo >set_event_pid
echo $$ >set_event_notrace_pid
pair 3 0 0
body
echo >set_event_notrace_pid
put set_event_pid abc
put set_event_pid '12 x'
cat set_event_pid
echo 0 >options/event-fork
hist pair
put events/user_events/pair/trigger '!hist:keys=id'
