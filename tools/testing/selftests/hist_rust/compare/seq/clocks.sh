# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Time stamps and the clock of the instance.
make_events
echo local >trace_clock
cat trace_clock timestamp_mode
for c in t1=common_timestamp t1=common_timestamp.usecs t1=common_timestamp:clock=mono t1=common_timestamp:clock=foo \
	clock=foo t1=common_timestamp.usecs-total a1=common_timestamp.usecs:b1=common_timestamp-5 \
	't1=common_timestamp:clock= mono '; do
	echo "## $c"
	trig pair "hist:keys=id:$c"
	triggers pair
	cat trace_clock timestamp_mode
	drop pair
	echo local >trace_clock
done
