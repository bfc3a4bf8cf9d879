# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# user_events_status with ftrace, an instance, perf and a trigger.
make_events
mkdir instances/i1
status
echo 1 >instances/i1/events/user_events/num/enable
status
echo 1 >events/user_events/num/enable
echo 0 >instances/i1/events/user_events/num/enable
status
perf stat -a -e user_events:pair -- sleep 30 >/dev/null 2>&1 &
pid=$!
eventually used_by pair perf
status
# Not INT, which a job in the background ignores.
kill $pid 2>/dev/null
wait $pid 2>/dev/null
eventually unused pair
put events/user_events/text/trigger 'stacktrace'
status
put events/user_events/text/trigger '!stacktrace'
status
