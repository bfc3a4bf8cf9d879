#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tools that people trace with, on a user event: perf, trace-cmd, bpftrace.

here=$(cd "$(dirname "$0")" && pwd -P)
. "$here/ktap.sh"

T=/sys/kernel/tracing
UEDRIVE=${UEDRIVE:-$here/compare/uedrive}
# In words that all of them know.
EVENT='tools unsigned int id; int value; __data_loc char[] msg'
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

"$UEDRIVE" --reset || exit 1
echo "u:$EVENT" >$T/dynamic_events || exit 1

# Three records: an event, its fields and a string.
write_records() {
	"$UEDRIVE" <<-END | sort | uniq -c | sed 's/^ *//'
		reg bit=0 : $EVENT
		w 0 u32:1 u32:-5 u32:$((4 << 16 | 20)) z:one
		w 0 u32:2 u32:1000000 u32:$((4 << 16 | 20)) z:two
		w 0 u32:3 u32:7 u32:$((6 << 16 | 20)) z:three
	END
}
written='1 reg -> index 0
2 w -> 20
1 w -> 22'

used_by() { grep -q "^tools # Used by.*$1" $T/user_events_status; }
unused() { ! grep -q '^tools # Used by' $T/user_events_status; }

# A tool that listens in the background until it is told to stop.
listen() { # LOG COMMAND...
	local log=$1
	shift
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
}
stop() {
	kill -INT "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}

test_perf_record() {
	listen "$tmp/log" perf record -o "$tmp/data" -a -e user_events:tools -- sleep 60
	eventually used_by perf || return
	same "$(write_records)" "$written" || return
	stop
	eventually unused || return
	perf script -i "$tmp/data" -F event,trace 2>"$tmp/err" | sed 's/^ *//; s/ *$//' >"$tmp/script"
	same "$(cat "$tmp/script")" 'user_events:tools: id=1 value=-5 msg=one
user_events:tools: id=2 value=1000000 msg=two
user_events:tools: id=3 value=7 msg=three'
}

test_perf_filter_and_stat() {
	listen "$tmp/log" perf stat -a -e user_events:tools --filter 'id > 1 && msg ~ "t*"' -x , -o "$tmp/stat" -- sleep 60
	eventually used_by perf || return
	same "$(write_records)" "$written" || return
	stop
	same "$(grep -o '^[0-9]*,' "$tmp/stat")" '2,'
}

test_perf_trace() {
	listen "$tmp/log" perf trace -a -e user_events:tools -o "$tmp/trace" -- sleep 60
	eventually used_by perf || return
	same "$(write_records)" "$written" || return
	stop
	same "$(grep -c 'user_events:tools' "$tmp/trace")" 3
}

test_trace_cmd() {
	listen "$tmp/log" trace-cmd record -o "$tmp/dat" -e user_events:tools sleep 60
	eventually used_by ftrace || return
	same "$(write_records)" "$written" || return
	stop
	eventually unused || return
	trace-cmd report -i "$tmp/dat" 2>"$tmp/err" | sed -n 's/.* tools: *//p' >"$tmp/report"
	same "$(cat "$tmp/report")" 'id=1 value=-5 msg=one
id=2 value=1000000 msg=two
id=3 value=7 msg=three'
}

test_trace_cmd_instance_and_filter() {
	listen "$tmp/log" trace-cmd record -o "$tmp/dat" -B tools_in -e user_events:tools -f 'id == 2' sleep 60
	eventually used_by ftrace || return
	same "$(write_records)" "$written" || return
	stop
	eventually unused || return
	same "$(trace-cmd report -i "$tmp/dat" 2>"$tmp/err" | sed -n 's/.* tools: *//p')" 'id=2 value=1000000 msg=two'
}

# The perf probe of a user event does not run programs that are attached to it:
# bpftrace can list one, attach to it and leave it.
test_bpftrace() {
	bpftrace -lv 'tracepoint:user_events:tools' >"$tmp/list" 2>&1
	same "$(sed -n -E 's/^ *//; / (id|value|msg)$/p' "$tmp/list")" 'unsigned int id
int value
__data_loc char[] msg' || return
	listen "$tmp/log" bpftrace -e 'tracepoint:user_events:tools { @[args.id] = count(); }'
	eventually used_by perf || return
	same "$(write_records)" "$written" || return
	stop
	eventually unused
}

run_tests test_perf_record:perf test_perf_filter_and_stat:perf test_perf_trace:perf \
	test_trace_cmd:trace-cmd test_trace_cmd_instance_and_filter:trace-cmd test_bpftrace:bpftrace
"$UEDRIVE" --reset
exit $failed
