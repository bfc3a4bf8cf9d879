#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The cost of a hit of a trace event, disabled and enabled, for those in C and
# those in Rust of the module rust_event_test: lines of c or rust, metric, value
# and unit.
#
# usage: cost.sh [MODULE.ko]

set -e
cd /sys/kernel/tracing
[ -d /sys/module/rust_event_test ] || insmod "${1:-/dev/null}" 2>/dev/null || modprobe rust_event_test

show() { # STATE
	local c rust
	read -r c c_string </sys/module/rust_event_test/parameters/cost_c
	read -r rust rust_string </sys/kernel/debug/rust_event_test/cost
	awk -v OFS='\t' -v state="$1" -v c="$c $c_string" -v rust="$rust $rust_string" 'BEGIN {
		split(c, a); split(rust, b)
		print "c", "event_" state, a[1] / 1000, "ns"
		print "rust", "event_" state, b[1] / 1000, "ns"
		print "c", "event_" state "_string", a[2] / 1000, "ns"
		print "rust", "event_" state "_string", b[2] / 1000, "ns"
	}'
}

for system in c rust; do echo 0 >events/event_test_$system/enable; done
show off
for system in c rust; do echo 1 >events/event_test_$system/enable; done
show on
for system in c rust; do echo 0 >events/event_test_$system/enable; done
rmmod rust_event_test
