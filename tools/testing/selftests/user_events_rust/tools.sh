#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tools that people trace with, on a user event: perf, trace-cmd, bpftrace.

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=ktap.sh
. "$here/ktap.sh"

T=/sys/kernel/tracing
UEDRIVE=${UEDRIVE:-$here/compare/uedrive}
# In words that all of them know.
EVENT='tools unsigned int id; int value; __data_loc char[] msg'

"$UEDRIVE" --reset || exit 1
echo "u:$EVENT" >$T/dynamic_events || exit 1

# Three records: an event, its fields and a string. The tools run this, so they
# are ready when it begins.
cat >"$tmp/script" <<END
reg bit=0 : $EVENT
wait 0 1
w 0 u32:1 u32:-5 u32:$((4 << 16 | 20)) z:one
w 0 u32:2 u32:1000000 u32:$((4 << 16 | 20)) z:two
w 0 u32:3 u32:7 u32:$((6 << 16 | 20)) z:three
END
written='reg -> index 0
wait 0 = 0x1
w -> 20
w -> 20
w -> 22'

unused() { ! grep -q '^tools # Used by' $T/user_events_status; }

# Runs a tool with the writer as its command, and compares what that said.
under() { # TOOL ARG...
	"$@" "$UEDRIVE" "$tmp/script" >"$tmp/out" 2>"$tmp/log" </dev/null
	same "$(grep -E '^(reg|wait|w) ' "$tmp/out")" "$written" && eventually unused
}

test_perf_record() {
	under perf record -o "$tmp/data" -e user_events:tools -- || return
	perf script -i "$tmp/data" -F event,trace 2>"$tmp/log" | sed 's/^ *//; s/ *$//' >"$tmp/shown"
	same "$(cat "$tmp/shown")" 'user_events:tools: id=1 value=-5 msg=one
user_events:tools: id=2 value=1000000 msg=two
user_events:tools: id=3 value=7 msg=three'
}

test_perf_record_system_wide() {
	under perf record -a -o "$tmp/data" -e 'user_events:*' --filter 'msg ~ "t*"' -- || return
	same "$(perf script -i "$tmp/data" -F event,trace 2>"$tmp/log" | grep -c 'user_events:tools: id=[23] ')" 2
}

test_perf_stat_with_filter() {
	under perf stat -a -e user_events:tools --filter 'id > 1' -x , -o "$tmp/stat" -- || return
	same "$(grep -o '^[0-9]*,' "$tmp/stat")" '2,'
}

test_perf_trace() {
	under perf trace --no-syscalls -e user_events:tools -o "$tmp/trace" -- || return
	same "$(grep -c 'user_events:tools' "$tmp/trace")" 3
}

test_trace_cmd() {
	under trace-cmd record -o "$tmp/dat" -e user_events:tools || return
	trace-cmd report -i "$tmp/dat" 2>"$tmp/log" | sed -n 's/.* tools: *//p' >"$tmp/shown"
	same "$(cat "$tmp/shown")" 'id=1 value=-5 msg=one
id=2 value=1000000 msg=two
id=3 value=7 msg=three'
}

test_trace_cmd_instance_and_filter() {
	under trace-cmd record -o "$tmp/dat" -B tools_in -e user_events:tools -f 'id == 2' || return
	same "$(trace-cmd report -i "$tmp/dat" 2>"$tmp/log" | sed -n 's/.* tools: *//p')" 'id=2 value=1000000 msg=two'
}

# The perf probe of a user event does not run programs that are attached to it:
# bpftrace can list one, attach to it and leave it, and its map stays empty.
test_bpftrace() {
	bpftrace -lv 'tracepoint:user_events:tools' >"$tmp/list" 2>&1
	same "$(sed -n -E 's/^ *//; / (id|value|msg)$/p' "$tmp/list")" 'unsigned int id
int value
__data_loc char[] msg' || return
	bpftrace -e 'BEGIN { @began = 1; } tracepoint:user_events:tools { @ids[args.id] = count(); }' \
		-c "$UEDRIVE $tmp/script" >"$tmp/out" 2>"$tmp/log" </dev/null
	same "$(grep -E '^(reg|wait|w) ' "$tmp/out")" "$written" || return
	same "$(grep -E '^(Attaching|@)' "$tmp/out")" 'Attaching 2 probes...
@began: 1' && eventually unused
}

run_tests test_perf_record:perf test_perf_record_system_wide:perf test_perf_stat_with_filter:perf \
	test_perf_trace:perf test_trace_cmd:trace-cmd test_trace_cmd_instance_and_filter:trace-cmd \
	test_bpftrace:bpftrace
rc=$?
"$UEDRIVE" --reset || rc=1
exit $rc
