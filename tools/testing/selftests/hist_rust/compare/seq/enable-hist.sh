# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# enable_hist and disable_hist.
make_events
put $E/pair/trigger 'hist:keys=id:pause'
for c in 'enable_hist:user_events:pair if id == 1' 'disable_hist:user_events:pair if id == 2' \
	enable_hist:user_events:pair:2 enable_hist:user_events:none enable_hist:user_events enable_hist \
	disable_hist:user_events:text:x; do
	trig num "$c"
done
triggers num
for k in 1 2 1; do
	pair 9 0 0 >/dev/null
	num $k 0 0 x >/dev/null
	triggers pair
	pair 8 0 0 >/dev/null
done
show pair
trig num enable_hist:user_events:text:1
triggers num
drop num
triggers num
