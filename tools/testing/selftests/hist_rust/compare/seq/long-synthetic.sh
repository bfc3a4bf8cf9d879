# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# A synthetic event that is too long for a sub-buffer, and one that is not.
make_events
fields=$(printf ' char[8] f%d;' {1..16}) params=$(printf ',$s1%.0s' {1..16})
synth "long u64 lat;$fields" 'short u64 lat'
trig num "hist:keys=id:x1=total:s1=tag:onchange(\$x1).trace(long,\$x1$params):onchange(\$x1).trace(short,\$x1)"
other synthetic/long hist:keys=lat
other synthetic/short hist:keys=lat
for kb in 4 8 4; do
	echo "-- $kb"
	echo $kb >buffer_subbuf_size_kb
	num 1 0 $((kb + ++n)) abc
	body | sed -E 's/^(long: lat=[0-9]+ f1=[a-z]+ ).*/\1/'
	cat events/synthetic/{long,short}/hist
done
