# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Filters on strings, and for the whole system.
make_events
echo 1 >events/user_events/enable
for f in 'msg == "hello"' 'msg ~ "*ell*"' 'msg != "hello"'; do
	: >trace
	put events/user_events/text/filter "$f"
	text 1 hello >/dev/null
	text 2 yellow >/dev/null
	body
done
put events/user_events/filter 'id == 3'
head -50 events/user_events/*/filter events/user_events/filter
put events/user_events/filter 'part == 3'
head -50 events/user_events/*/filter
put events/user_events/filter 'nosuch == 3'
cat events/user_events/filter
put events/user_events/filter 0
head -50 events/user_events/*/filter
