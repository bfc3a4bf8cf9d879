# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# error_log keeps the last eight.
make_events
: >error_log
for i in $(seq 12); do put $E/pair/trigger "hist:keys=nosuch$i" >/dev/null; done
sed -E 's/^\[ *[0-9.]+\] //' error_log
put $E/pair/trigger 'hist:keys=id'
grep -c Command error_log
: >error_log
wc -c <error_log
