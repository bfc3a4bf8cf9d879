# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Names of variables that are not unique, and ones with their event.
make_events
trig num 'hist:keys=id:x1=total'
trig text 'hist:keys=id:x1=id'
for y in '$x1' 'user_events.num.$x1+1' '$nosuch' 'user_events.none.$x1' 'user_events.num.$nope'; do
	trig pair "hist:keys=id:y1=$y"
	drop pair
done
trig pair 'hist:keys=id:z1=user_events.text.$x1'
all user_events/pair
