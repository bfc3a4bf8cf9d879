# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# The time between two marks.
synth 'latency u64 lat'
f=events/ftrace/print/trigger
a='hist:keys=common_pid:ts0=common_timestamp.usecs if buf == "start"'
b='hist:keys=common_pid:lat=common_timestamp.usecs-$ts0:onmatch(ftrace.print).latency($lat) if buf == "end"'
try $f "$a"
try $f "$b"
other synthetic/latency 'hist:keys=common_pid:sort=common_pid'
printf start >trace_marker
printf end >trace_marker
printf end >trace_marker
cat $f events/ftrace/print/hist events/synthetic/latency/hist
try $f "!$a"
try $f "!$b"
try $f "!$a"
cat $f
