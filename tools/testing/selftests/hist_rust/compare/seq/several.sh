# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Several triggers on one event.
make_events
for c in keys=id keys=id:vals=total 'keys=id if delta < 1' keys=id:size=256 keys=tag keys=id; do trig num "hist:$c"; done
num 1 0 10 a 1 1 20 b
show num
