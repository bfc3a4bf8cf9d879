# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Stack traces as keys.
make_events
for k in common_stacktrace stacktrace id.stacktrace STACKTRACE; do trig pair "hist:keys=$k"; done
pair 1 0 0 1 0 0
triggers pair
grep -c ' => \|+0x' $E/pair/hist >/dev/null && echo frames
grep hitcount: $E/pair/hist
