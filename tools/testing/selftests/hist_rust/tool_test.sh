#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tools/tracing/hist on a running kernel: what it counts, what it leaves, what it
# says when something is wrong. On the C implementation it does without .log2=K and
# hist_raw.

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=lib.sh
. "$here/lib.sh"

# A copy, where its modules are compiled once. Those of Python are compiled already.
cp -r "$here/../../../tracing/hist" "$tmp/tool"
chmod a+x "$tmp"
tool=$tmp/tool/hist.py
hist() { python3 "$tool" "$@"; }

# The tables of a recording or of a report, by what a line of Python prints.
of() { # FILE EXPRESSION: r is the recording
	python3 -S -c "import json; r = json.load(open('$1')); rows = [row for i in r['intervals'] for row in i['rows']]; print($2)"
}

# Instances and synthetic events of the tool.
nothing_is_left() {
	same "$(ls /sys/kernel/tracing/instances; grep -o hist_tool_ /sys/kernel/tracing/synthetic_events)" ''
}

read_sizes() { dd if=/dev/zero of=/dev/null bs=300 count=50 status=none && dd if=/dev/zero of=/dev/null bs=5000 count=20 status=none; }
export -f read_sizes

records_while_a_command_runs() {
	local f=$tmp/record.json out
	out=$(hist record -e syscalls:sys_exit_read --keys ret.log2=2 --filter 'comm == "dd" && (ret == 300 || ret == 5000)' \
		-i 20ms -o "$f" -- bash -c read_sizes 2>"$tmp/err") || { cat "$tmp/err"; return 1; }
	same "$(of "$f" 'sum(row[1][0] for row in rows), sum(row[1][1] for row in rows), r["dropped"]')" '70 115000 0' || return
	if hist_is_rust; then
		same "$(of "$f" 'r["source"], r["keys"][0]["scale"]')" 'hist_raw log2=2' && same "$(cat "$tmp/err")" '' &&
			grep -qE '^ +256-319 +50 +71.4 %' <<<"$out" && grep -q '^4096-5119 ' <<<"$out" || return
	else
		same "$(of "$f" 'r["source"], r["keys"][0]["scale"]')" 'hist log2' && grep -q 'this kernel has no .log2=2' "$tmp/err" &&
			grep -qE '^ +257-512 +50 +71.4 %' <<<"$out" && grep -q '^4097-8192 ' <<<"$out" || return
	fi
	nothing_is_left
}

# In many intervals, with writers on all processors.
loses_no_hit() {
	local f=$tmp/many.json n=20000 cpus
	cpus=$(nproc)
	hist record -q -e syscalls:sys_enter_write --keys count --vals count --filter 'comm == "dd"' -i 10ms -o "$f" -- bash -c "
		for cpu in \$(seq 0 $((cpus - 1))); do
			taskset -c \$cpu dd if=/dev/zero of=/dev/null bs=7 count=$n status=none &
		done
		wait" || return
	of "$f" '"#", len(r["intervals"]), "intervals"'
	same "$(of "$f" 'sum(row[1][0] for row in rows), sum(row[1][1] for row in rows)')" "$((n * cpus)) $((7 * n * cpus))" &&
		[ "$(of "$f" 'len(r["intervals"])')" -gt 2 ]
}

measures_latencies() {
	local f=$tmp/latency.json out
	out=$(hist latency syscalls:sys_enter_nanosleep,syscalls sys_exit_nanosleep --for 100ms 2>&1) && return 1
	grep -q '^hist: error: there is no event' <<<"$out" || return
	out=$(hist latency sched_waking sched_switch --key pid=next_pid --by next_comm --save next_comm,prev_comm --filter 'next_comm == "sleep"' -i 100ms -o "$f" -- \
		bash -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.02; done') || return
	grep -qE '^longest \(us\)  next_pid  next_comm +prev_comm$' <<<"$out" && grep -qE '^ +[0-9,]+  [0-9]+ +sleep +[^ ]' <<<"$out" &&
		grep -q '^time from sched:sched_waking to sched:sched_switch: [0-9]* hits' <<<"$out" &&
		grep -q '^next_comm sleep: ' <<<"$out" && grep -qE '^p50 [0-9,]+  p90 [0-9,]+  p99 [0-9,]+' <<<"$out" &&
		[ "$(of "$f" 'sum(row[1][0] for row in rows)')" -ge 8 ] &&
		same "$(of "$f" 'r["unit"], r["keys"][1]["scale"]')" "us $(hist_is_rust && echo log2=3 || echo log2)" || return
	# Between a system call and its end.
	out=$(hist latency syscalls:sys_enter_clock_nanosleep syscalls:sys_exit_clock_nanosleep --by common_pid --unit ns -o "$f" -q -- \
		bash -c 'for i in 1 2 3; do sleep 0.02; done') || return
	[ "$(of "$f" 'sum(row[1][0] for row in rows)')" -ge 3 ] && [ "$(of "$f" 'min(row[0][-1]["to"] for row in rows)')" -gt 19000000 ] || return
	nothing_is_left
}

# Of many more tasks than its histograms have room for: all are measured, or it says how many are not.
tells_what_latencies_are_lost() {
	local f=$tmp/tasks.json
	hist latency -q syscalls:sys_enter_read syscalls:sys_exit_read --key common_pid --size 128 -i 100ms -o "$f" -- \
		bash -c 'for i in {1..400}; do /bin/true; done' 2>"$tmp/err" || return
	of "$f" '"#", sum(row[1][0] for row in rows), "measured,", r["dropped"], "lost"'
	if hist_is_rust; then
		same "$(of "$f" 'sum(row[1][0] for row in rows) >= 400, r["dropped"]')" 'True 0'
	else
		same "$(of "$f" 'r["dropped"] > 200')" True && grep -q 'warning: up to [0-9,]* more hits had no room' "$tmp/err"
	fi
}

# Of the same recording: the same number of hits.
draws_and_exports() {
	local f=$tmp/drawn.json hits out
	hist latency sched_waking sched_switch --key pid=next_pid -i 100ms -q -o "$f" --svg "$tmp/a.svg" --heatmap "$tmp/b.svg" -- \
		bash -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.05; done' || return
	hits=$(of "$f" 'sum(row[1][0] for row in rows)')
	grep -q "<title id=\"title\">time from sched:sched_waking to sched:sched_switch: $(printf "%'d" "$hits" | sed ':a;s/^\([0-9]*[0-9]\)\([0-9]\{3\}\)/\1,\2/;ta') hits" "$tmp/a.svg" &&
		grep -q '>hits per second</text>' "$tmp/b.svg" || return
	out=$(hist export "$f" --format prometheus) && grep -qx "hist_latency_seconds_bucket{le=\"+Inf\"} $hits" <<<"$out" &&
		grep -qx "hist_latency_seconds_count $hits" <<<"$out" && grep -q '^hist_latency_seconds_sum [0-9.]*$' <<<"$out" || return
	for out in otlp otlp-explicit; do
		hist export "$f" --format $out -o "$tmp/otlp.json" || return
		same "$(python3 -S -c "import json
m = json.load(open('$tmp/otlp.json'))['resourceMetrics'][0]['scopeMetrics'][0]['metrics'][0]
p = (m.get('exponentialHistogram') or m.get('histogram'))['dataPoints'][0]
n = p['bucketCounts'] if 'bucketCounts' in p else p['positive']['bucketCounts'] + [p['zeroCount']]
print(p['count'], sum(map(int, n)), p.get('scale', '-'))")" "$hits $hits $([ $out = otlp ] && { hist_is_rust && echo 3 || echo 0; } || echo -)" || return
	done
	same "$(hist export "$f" | python3 -S -c "import json, sys; print(json.load(sys.stdin)['hits'])")" "$hits"
}

synthetic_event_of() { # PID
	compgen -G "instances/hist_tool_$1_*/events/synthetic/hist_tool_$1_*" >/dev/null
}

# Stopped by a signal, it ends with this status.
stopped_by() { # SIGNAL STATUS
	local pid rc=0
	python3 "$tool" latency sched_waking sched_switch --key pid=next_pid >"$tmp/out" 2>&1 &
	pid=$!
	eventually synthetic_event_of "$pid" || return
	sleep 0.5
	kill "-$1" $pid
	wait $pid || rc=$?
	same "$rc" "$2" || { cat "$tmp/out"; return 1; }
}

cleans_up_when_stopped() {
	local s
	for s in INT TERM HUP; do
		stopped_by $s 0 && grep -q '^time from sched:sched_waking to sched:sched_switch: ' "$tmp/out" && nothing_is_left || return
	done
	# In the middle of a pipe.
	hist record -e sched_switch --keys next_comm --for 200ms | head -n 0
	nothing_is_left || return
	# It cannot do anything about this; another command does.
	stopped_by KILL 137 || return
	[ -n "$(ls instances)" ] && hist cleanup >"$tmp/out" && grep -q '^removing .*/instances/hist_tool_' "$tmp/out" && nothing_is_left
}

# One that runs is left alone, even if its id is that of no process here: in another PID namespace.
cleans_up_after_the_dead_only() {
	local pid rc=0
	unshare --pid --fork --mount-proc python3 "$tool" latency sched_waking sched_switch --key pid=next_pid >"$tmp/out" 2>&1 &
	pid=$!
	eventually synthetic_event_of 1 || return
	same "$(hist cleanup)" '' && synthetic_event_of 1 || return
	kill -INT "$(pgrep -P $pid)" && wait $pid || rc=$?
	same "$rc" 0 && grep -q '^time from sched:sched_waking' "$tmp/out" && ! grep -q warning "$tmp/out" && nothing_is_left
}

# A command that does not obey does not keep it from writing what it has, and the time is no failure.
ends_when_the_time_is_up() {
	local f=$tmp/ended.json
	hist record -q -e sched_switch --keys next_comm --for 200ms -o "$f" -- sleep 100 || return
	hist record -q -e sched_switch --keys next_comm --for 200ms -o "$f" -- sh -c 'trap "" TERM INT; sleep 1000; sleep 1000' || return
	[ "$(of "$f" 'sum(row[1][0] for row in rows)')" -gt 0 ] && ! pgrep -f 'sleep 1000' && nothing_is_left
}

# The log of errors of the top instance is shared by all.
leaves_the_error_log() {
	local before
	echo 'hist:keys=nofield' 2>/dev/null >>events/sched/sched_switch/trigger && return 1
	before=$(cat error_log)
	grep -q "Couldn't find field" <<<"$before" || return
	hist latency -q sched_waking sched_switch --key pid=next_pid --for 100ms || return
	hist record -q -e sched_switch --keys nofield2 --for 1s >"$tmp/out" 2>&1 && return 1
	grep -q nofield2 "$tmp/out" && same "$(cat error_log)" "$before"
}

# What is the largest of an interval, and averages from sums.
has_statistics() {
	local f=$tmp/statistics.json out
	need_rust 'it has no statistics' || return
	out=$(hist record -e syscalls:sys_enter_write --keys common_comm --vals count.min,count.max,count.avg --filter 'comm == "dd"' \
		-i 200ms -o "$f" -- bash -c 'dd if=/dev/zero of=/dev/null bs=10 count=1 status=none; dd if=/dev/zero of=/dev/null bs=90 count=2 status=none; sleep 0.5
			dd if=/dev/zero of=/dev/null bs=50 count=1 status=none') || return
	same "$(of "$f" 'r["values"], [row[1] for row in rows if row[1][0]][-1]')" \
		"['hitcount', 'count.min', 'count.max', 'count.sum'] [1, None, None, 50]" &&
		grep -qE '^dd +10 +90 +240 +60 +4 +100.0 % ' <<<"$out" || return
	nothing_is_left
}

says() { # PATTERN COMMAND...: the command has to fail with status 1 and say this
	local out rc=0 pattern=$1
	shift
	out=$("$@" 2>&1) || rc=$?
	printf '%s\n' "$out" | sed 's/^/# /'
	[ $rc = 1 ] && grep -qF -e "$pattern" <<<"$out" && ! grep -q Traceback <<<"$out"
}

tells_what_is_wrong() {
	local out
	says 'Similar ones: sched:sched_switch' hist record -e sched_swich --for 1s || return
	says 'there is no event' hist latency nosuchevent sched_switch || return
	says "  Command: hist:keys=nofield" hist record -e sched_switch --keys nofield --for 1s || return
	says '                     ^' hist record -e sched_switch --keys nofield --for 1s || return
	says 'has no field nofield' hist latency sched_waking sched_switch --key nofield || return
	says 'is not a folder' hist record --tracefs /nowhere -e sched_switch || return
	says 'is no tracefs' hist record --tracefs /tmp -e sched_switch || return
	says 'cannot run /nowhere' hist record -e sched_switch -- /nowhere || return
	says 'cannot write /nowhere/file' hist record -q -e sched_switch --for 100ms -o /nowhere/file || return
	says 'has no histogram' hist show -e sched_switch || return
	says 'permission denied' setpriv --reuid 65534 --regid 65534 --clear-groups python3 "$tool" record -e sched_switch || return
	nothing_is_left
}

# Without a terminal: as text, with the time in front of each table.
top_shows_intervals() {
	local out
	out=$(hist top -e raw_syscalls:sys_enter --keys common_comm,id.syscall -i 200ms -n 3) || return
	same "$(grep -cE '^[0-9]{2}:[0-9]{2}:[0-9]{2}$' <<<"$out")" 3 && grep -qE '^python3 +sys_[a-z_0-9]+ +[0-9,]+ ' <<<"$out" &&
		! grep -q $'\e' <<<"$out" || return
	# An existing one is left as it is.
	on events/sched/sched_switch hist:keys=next_comm || return
	out=$(hist top /sys/kernel/tracing/events/sched/sched_switch/hist -i 100ms -n 2) && grep -q '^sched:sched_switch: ' <<<"$out" &&
		hist show -e sched_switch >"$tmp/out" && grep -q '^next_comm ' "$tmp/out" &&
		same "$(triggers_of sched/sched_switch)" 'hist:keys=next_comm:vals=hitcount:sort=hitcount:size=2048 [active]' || return
	on events/sched/sched_switch '!hist:keys=next_comm' && nothing_is_left
}

triggers_of() { grep -v '^#' "events/$1/trigger"; }

run_tests records_while_a_command_runs loses_no_hit measures_latencies tells_what_latencies_are_lost draws_and_exports cleans_up_when_stopped \
	cleans_up_after_the_dead_only ends_when_the_time_is_up leaves_the_error_log has_statistics tells_what_is_wrong top_shows_intervals
