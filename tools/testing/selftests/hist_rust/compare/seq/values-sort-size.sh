# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Values, sort keys and sizes, and what is too much of them.
make_events
for c in keys=id:vals=total key=id:val=hitcount,total:sort=total.descending \
	keys=id:values=total,delta:sort=hitcount.descending,id \
	keys=id:vals=total.hex:sort=id.descending:size=128 keys=id:vals=total,delta,id \
	keys=id:vals=total,delta,hitcount keys=id,delta,total,tag keys=id:size=64 keys=id:size=65 \
	keys=id:size=131072 keys=id:size=131073 keys=id:size=0x100 keys=id:size=0400 keys=id:size=x \
	keys=id:size=99999999999999999999 keys=id:size= keys=id:sort=id.ascending; do
	echo "## $c"
	trig num "hist:$c"
	num 1 1 100 a 2 2 50 b 2 2 60 b 3 3 7 c >/dev/null
	show num
	drop num
done
