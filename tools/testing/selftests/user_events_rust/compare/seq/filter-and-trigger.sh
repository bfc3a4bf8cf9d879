# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# The filter of an event does not hold for its triggers.
make_events
put events/user_events/pair/filter 'id == 1'
echo 1 >events/user_events/pair/enable
try events/user_events/pair/trigger 'hist:keys=id'
try events/user_events/pair/trigger 'hist:keys=id:vals=part if id >= 2 && part != 0'
pair 1 1 1 2 1 1 2 0 1
body
cat events/user_events/pair/trigger
hist pair
put events/user_events/pair/filter 0
