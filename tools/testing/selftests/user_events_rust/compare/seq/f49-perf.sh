# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# perf records a user event.
make_events
perf record -o /tmp/compare.data -a -e user_events:pair --filter 'id > 1' -- sleep 60 >/dev/null 2>&1 &
pid=$!
eventually used_by pair perf
pair 1 2 3 2 3 4 3 4 5
status
put dynamic_events "-:$PAIR"
kill -INT $pid 2>/dev/null
wait $pid 2>/dev/null
eventually unused pair
perf script -i /tmp/compare.data -F event,trace 2>/dev/null
perf list 2>/dev/null | grep -o 'user_events:[a-z]*' | sort
rm -f /tmp/compare.data
