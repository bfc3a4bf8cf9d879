# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Percentages and bars of values, with and without the hitcount.
make_events
for c in vals=hitcount.percent vals=hitcount.graph vals=hitcount.percent,total.graph vals=total.percent:nohitcount \
	vals=hitcount.percent:NOHC vals=total:nohc nohitcount vals=hitcount:nohitcount vals=hitcount,hitcount \
	vals=delta.percent; do
	echo "## $c"
	trig num "hist:keys=id:sort=id:$c"
	num 1 0 10 a 2 0 30 a 2 0 30 a 3 0 30 a >/dev/null
	show num
	drop num
done
