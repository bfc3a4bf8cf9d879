# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# A snapshot at a new maximum, and only one of these in an instance.
make_events
echo 1 >$E/pair/enable
trig pair 'hist:keys=id:x1=total:onmax($x1).snapshot()'
trig num 'hist:keys=id:x1=total:onchange($x1).snapshot()'
pair 1 0 5 2 0 3 1 0 9 1 0 1
# It is taken a little later.
eventually grep -q 'pair:.*(9)' snapshot
show pair
body snapshot | grep pair:
trig pair '!hist:keys=id:x1=total:onmax($x1).snapshot()'
echo 0 >snapshot
