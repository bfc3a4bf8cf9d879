# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Keys that are not fields of the event.
make_events
for k in common_pid common_pid.execname common_cpu cpu CPU common_comm comm COMM id.execname common_pid.hex \
	common_type common_timestamp hitcount; do
	echo "## $k"
	trig pair "hist:keys=$k"
	pair 1 0 0 1 0 0 >/dev/null
	triggers pair
	grep -c hitcount: $E/pair/hist
	put $E/pair/trigger "!hist:keys=$k"
	triggers pair
	drop pair
done
