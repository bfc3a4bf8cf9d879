# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# A full map drops new keys, and continues to count those it has.
make_events
trig pair 'hist:keys=id:size=128:sort=id'
pair $(for _ in 1 2; do for i in $(seq 1 200); do echo $i 0 0; done; done)
tail -n 8 $E/pair/hist
grep -c hitcount: $E/pair/hist
