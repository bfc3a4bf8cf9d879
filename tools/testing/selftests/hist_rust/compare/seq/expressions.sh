# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Operators, their order, constants and divisions.
make_events
synth 'ex u64 rr'
for x in total+delta total-delta 'total*2' total/3 total/4 total/1 total/delta 'total+2*3' '2*3+total' total-1-1 \
	total/2/2 '-(total)' '-(total+delta)' 7/3 100/0 total/0 0x10+010 total+1x total+ +total -total '-(total)+1' \
	1+2+3+4+5 'total*total*total*total' total/1048576 total/1048577 tag+1 total+hitcount 'common_cpu*0' \
	18446744073709551615+1; do
	echo "## $x"
	trig num "hist:keys=id:rr=$x:onchange(\$rr).trace(ex,\$rr)"
	grep -o 'rr=.*' $E/num/trigger
	num 1 2 7 a 1 0 1 a 1 3 1048577 a >/dev/null
	body
	drop num
	: >trace
done
