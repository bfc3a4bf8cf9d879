# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# traceon and traceoff, with counts and filters.
make_events
echo 1 >events/user_events/pair/enable
for t in 'traceoff:2 if id == 2' 'traceoff' 'traceon' 'traceoff:x' 'traceoff:' 'traceoff if'; do
	printf '[%s] ' "$t"
	put events/user_events/pair/trigger "$t"
done
cat events/user_events/pair/trigger
for k in 1 2 3 2 2; do
	pair $k 0 0 >/dev/null
	printf '%s:%s ' $k "$(cat tracing_on)"
	echo 1 >tracing_on
done
body
cat events/user_events/pair/trigger
put events/user_events/pair/trigger '!traceoff:5 if id == 9'
put events/user_events/pair/trigger '!traceoff'
put events/user_events/pair/trigger '!traceon'
cat events/user_events/pair/trigger
