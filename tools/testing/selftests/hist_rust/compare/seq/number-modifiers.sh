# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# log2, buckets and hex, and what they may not be.
make_events
for c in total.log2 total.buckets=10 total.bucket=0x10 total.hex delta.hex delta.log2 delta.buckets=3 \
	total.buckets total.buckets=0 total.buckets=x total.buckets= total.log3 total.log2.hex; do
	echo "## $c"
	trig num "hist:keys=$c:sort=${c%%.*}"
	num 1 0 0 a 1 1 1 a 1 2 7 a 1 5 8 a 1 4 9 a 1 9 100 a 1 9 4294967297 a >/dev/null
	show num
	drop num
done
