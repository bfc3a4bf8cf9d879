# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# A histogram counts while nothing is recorded.
make_events
try events/user_events/pair/trigger 'hist:keys=id'
cat events/user_events/pair/enable
pair 1 0 0
echo 1 >events/user_events/pair/enable
pair 2 0 0
echo 0 >tracing_on
pair 3 0 0
echo 1 >tracing_on
body
hist pair
