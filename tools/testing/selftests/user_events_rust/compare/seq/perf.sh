# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# perf records a user event.
make_events
# The commands that perf runs and records, from the first record on.
cat >/tmp/compare.script <<END
reg bit=0 : $PAIR
w 0 u32:1 u32:2 u64:3
w 0 u32:2 u32:3 u64:4
w 0 u32:3 u32:4 u64:5
val 0
sh grep ^pair user_events_status
put dynamic_events -:$PAIR
END
perf record -o /tmp/compare.data -a -e user_events:pair --filter 'id > 1' -- "$UEDRIVE" /tmp/compare.script 2>/dev/null
eventually unused pair
perf script -i /tmp/compare.data -F event,trace 2>/dev/null
perf list 2>/dev/null | grep -o 'user_events:[a-z]*' | sort
status
rm -f /tmp/compare.data /tmp/compare.script
