#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Trace events that are declared in Rust: what tracefs, perf and tools show of
# them is compared with the same events in C, of the module rust_event_test.
# shellcheck disable=SC2016 # $variables

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=/dev/null
. "$here/../user_events_rust/ktap.sh"
tmp=${tmp:?made by ktap.sh}

T=/sys/kernel/tracing
R=$T/events/event_test_rust
C=$T/events/event_test_c
DEBUG=/sys/kernel/debug/rust_event_test
PARAM=/sys/module/rust_event_test/parameters
EVENTS='numbers strings arrays relative names pair_first pair_second pair_third hooked'
cd $T || exit 4

load() { [ -d $PARAM ] || modprobe rust_event_test; }
unload() { [ ! -d $PARAM ] || rmmod rust_event_test; }

# The module loaded, everything off and empty.
fresh() {
	load || return
	echo 0 >tracing_on
	echo 0 >$R/enable
	echo 0 >$C/enable
	echo >trace
	echo 1 >tracing_on
}

# Fires all events as often.
fire_rust() { echo "$1" >$DEBUG/fire; }
fire_c() { echo "$1" >$PARAM/fire_c; }

# The records of the buffer: what is behind the time stamp, with neither the
# prefix of the names nor the id.
records() { sed -n 's/^.*: [rc]_\([a-z_]*: .*\)$/\1/p' trace; }

both() { # COMMAND-THAT-ENABLES COUNT: the same records for both?
	local rust c
	fresh || return
	"$1" $R r_ && fire_rust "$2"
	rust=$(records)
	fresh || return
	"$1" $C c_ && fire_c "$2"
	c=$(records)
	echo 0 >$R/enable
	echo 0 >$C/enable
	[ -n "$c" ] && same "$rust" "$c"
}

# Format files: types, offsets, sizes, signs and the print format.
formats() {
	local e rc=0
	load || return
	for e in $EVENTS cost cost_string; do
		same "$(sed '/^ID:/d; s/^name: r_/name: /' $R/r_$e/format)" \
			"$(sed '/^ID:/d; s/^name: c_/name: /' $C/c_$e/format)" || rc=1
	done
	return $rc
}

all_on() { echo 1 >"$1/enable"; }
output() { both all_on 12; }

output_fields() {
	local rc=0
	echo 1 >options/fields
	both all_on 5 || rc=1
	echo 0 >options/fields
	return $rc
}

filters_on() {
	local e=$1/$2
	echo 'a > 3 && g < 0x1000000000' >"${e}numbers/filter" &&
		echo 'name == "alpha" || note ~ "a much*"' >"${e}strings/filter" &&
		echo 'cpus & CPUS{1}' >"${e}arrays/filter" &&
		echo 'flags & 2' >"${e}names/filter" &&
		echo 'left < 2' >"${e}pair_first/filter" &&
		echo 1 >"$1/enable"
}

filters_off() {
	local e
	for e in "$R"/*/filter "$C"/*/filter; do echo 0 >"$e"; done
}

filters() {
	local rc=0
	both filters_on 12 || rc=1
	filters_off
	return $rc
}

hist_of() { # DIR EVENT KEYS
	echo "hist:keys=$3" >"$1/$2/trigger"
	fire_rust 20
	fire_c 20
	sed -n '/^{/p' "$1/$2/hist" | sort
	echo "!hist:keys=$3" >"$1/$2/trigger"
}

hist() {
	local rc=0 a
	fresh || return
	for a in 'strings name' 'strings note' 'numbers d' 'names state,flags' 'numbers k:vals=g' 'pair_second left'; do
		# shellcheck disable=SC2086
		set -- $a
		same "$(hist_of $R "r_$1" "$2")" "$(hist_of $C "c_$1" "$2")" || rc=1
	done
	return $rc
}

triggers() {
	fresh || return
	echo 'traceoff if n == 5' >$R/r_hooked/trigger || return
	echo 1 >$R/r_hooked/enable
	fire_rust 10
	same "$(cat tracing_on)" 0 || return
	echo '!traceoff' >$R/r_hooked/trigger
	same "$(records | tail -n 1)" 'hooked: n=5' || return
	fresh || return
	# An event that only another one's trigger turns on.
	echo 'enable_event:event_test_rust:r_names:1' >$R/r_hooked/trigger
	fire_rust 2
	echo '!enable_event:event_test_rust:r_names:1' >$R/r_hooked/trigger
	same "$(records | sed 's/:.*//')" 'names' || return
	echo 'stacktrace:1' >$R/r_hooked/trigger
	fire_rust 2
	echo '!stacktrace:1' >$R/r_hooked/trigger
	grep -q 'probe_r_hooked' trace
}

condition() {
	fresh || return
	echo 1 >$R/r_pair_second/enable
	fire_rust 5
	same "$(records)" 'pair_second: left=0 right=3
pair_second: left=1 right=3
pair_second: left=2 right=3
pair_second: left=4 right=3'
}

hooks() {
	local before after
	fresh || return
	read -r before _ <$DEBUG/hooks
	mkdir -p instances/rust_trace
	echo 1 >$R/r_hooked/enable
	echo 1 >instances/rust_trace/events/event_test_rust/r_hooked/enable
	echo 0 >$R/r_hooked/enable
	echo 0 >instances/rust_trace/events/event_test_rust/r_hooked/enable
	rmdir instances/rust_trace
	read -r after detached <$DEBUG/hooks
	same "$((after - before)) $detached" "1 $after" || return

	echo 1 >$DEBUG/refuse
	same "$( (echo 1 >$R/r_hooked/enable) 2>&1 | sed 's/.*: //')" 'Device or resource busy' || return
	echo 0 >$DEBUG/refuse
	same "$(cat $DEBUG/hooks)" "$after $detached"
}

arguments() {
	local before
	fresh || return
	before=$(cat $DEBUG/evaluated)
	fire_rust 100
	same "$(cat $DEBUG/evaluated)" "$before" || return
	echo 1 >$R/r_hooked/enable
	fire_rust 100
	same "$(cat $DEBUG/evaluated)" $((before + 100))
}

probes() {
	fresh || return
	same "$(cat $DEBUG/probe)" '1 42' || return
	# Beside the event itself.
	echo 1 >$R/r_pair_first/enable
	same "$(cat $DEBUG/probe)" '1 42' || return
	same "$(records)" 'pair_first: left=40 right=2
pair_first: left=1 right=2'
}

instances() {
	local got
	fresh || return
	mkdir instances/rust_trace || return
	echo 1 >instances/rust_trace/events/event_test_rust/r_hooked/enable
	echo 1 >$R/r_hooked/enable
	fire_rust 3
	got=$(grep -c r_hooked instances/rust_trace/trace)
	rmdir instances/rust_trace
	same "$got $(grep -c r_hooked trace)" '3 3'
}

# libtraceevent 1.8 cannot print relative arrays, of C either.
tool_events() { # FORMAT: for each event but that
	local e
	for e in $EVENTS; do
		# shellcheck disable=SC2059
		[ "$e" = relative ] || printf -- "$1" "$e"
	done
}

perf_script() { # SYSTEM:PREFIX COMMAND
	# shellcheck disable=SC2046
	perf record -q -o "$tmp/perf" $(tool_events "-e $1%s ") -a -- sh -c "$2" >"$tmp/log" 2>&1 || return
	perf script -i "$tmp/perf" -F event,trace 2>>"$tmp/log" | sed "s/^ *$1//"
}

perf_records() {
	local rust c
	fresh || return
	rust=$(perf_script event_test_rust:r_ "echo 12 >$DEBUG/fire")
	c=$(perf_script event_test_c:c_ "echo 12 >$PARAM/fire_c")
	[ -n "$c" ] && same "$rust" "$c" || return
	# A filter of perf.
	perf record -q -o "$tmp/perf" -e event_test_rust:r_strings --filter 'name == "alpha"' -a -- \
		sh -c "echo 12 >$DEBUG/fire" >"$tmp/log" 2>&1 || return
	same "$(perf script -i "$tmp/perf" 2>/dev/null | grep -c 'name=alpha')" 3
}

trace_cmd_report() { # SYSTEM:PREFIX COMMAND
	# shellcheck disable=SC2046
	trace-cmd record -q -o "$tmp/dat" $(tool_events "-e $1%s ") sh -c "$2" >"$tmp/log" 2>&1 || return
	trace-cmd report -i "$tmp/dat" 2>>"$tmp/log" | sed -n "s/^.*: ${1#*:}\\([a-z_]*:\\) */\\1 /p"
}

trace_cmd() {
	local rust c
	fresh || return
	rust=$(trace_cmd_report event_test_rust:r_ "echo 12 >$DEBUG/fire")
	c=$(trace_cmd_report event_test_c:c_ "echo 12 >$PARAM/fire_c")
	trace-cmd reset >>"$tmp/log" 2>&1
	[ -n "$c" ] && same "$rust" "$c"
}

bpf() { # PROGRAM PATTERN: what bpftrace prints of it
	fresh || return
	echo "echo 4 >$DEBUG/fire" >"$tmp/fire"
	timeout 60 bpftrace -e "$1" -c "/bin/sh $tmp/fire" >"$tmp/log" 2>&1
	grep -q "$2" "$tmp/log"
}

# Without headers or BTF bpftrace knows no more than the types of C.
bpf_event() {
	bpf 'tracepoint:event_test_rust:r_pair_first { @[args.left, args.right] = count(); }' '@\[2, 3\]: 1'
}

bpf_raw() {
	bpf 'rawtracepoint:r_pair_first { @sum = sum(arg0); @n = count(); }' '@n: 4'
}

# Module life.

unload_empty() {
	load && unload && [ ! -d $R ] && load && [ -d $R ]
}

unload_with_records() {
	fresh || return
	echo 1 >$R/enable
	fire_rust 5
	[ -n "$(records)" ] || return
	# As for C: an event that is on does not keep the module, and the records go.
	unload || return
	[ ! -d $R ] && same "$(grep -c r_ trace)" 0 || return
	load && fresh && echo 1 >$R/enable && fire_rust 2 && records | grep -q 'hooked: n=1'
}

attached() {
	local attached detached
	read -r attached detached <$DEBUG/hooks
	[ "$attached" -gt "$detached" ]
}

unload_while_perf() {
	local pid
	fresh || return
	perf record -q -o "$tmp/perf" -e event_test_rust:r_hooked -a -- sleep 30 >"$tmp/log" 2>&1 &
	pid=$!
	eventually attached || return
	! rmmod rust_event_test 2>"$tmp/rmmod" || return
	kill -INT $pid
	wait $pid
	grep -q 'in use' "$tmp/rmmod"
}

reload() {
	for _ in 1 2 3 4 5; do
		unload && load && echo 1 >$R/enable && fire_rust 3 || return
	done
	fresh && unload && load
}

# Samples.

sample_event() {
	modprobe rust_trace_event || return
	echo >trace
	echo 1 >events/rust_sample/enable
	echo hello >/sys/kernel/debug/rust_trace_event/say
	echo 'three words here' >/sys/kernel/debug/rust_trace_event/say
	echo 0 >events/rust_sample/enable
	same "$(sed -n 's/^.*: \(foo_[a-z_]*: .*\)/\1/p' trace)" 'foo_bar: foo hello 1 ONE BIT1 {0x5} (hello) said 1 times
foo_simple: words=1 (a word) len=5
foo_with_print: word of 5 letters
foo_bar: foo three wor 2 TWO BIT2 {0x5,0x5,0x4} (three words here) said 2 times
foo_simple: words=3 (a sentence) len=16
foo_with_condition: words=3 (a sentence) len=16
foo_with_print: 0x3 of 5 letters' || return
	rmmod rust_trace_event
}

sample_probe() {
	modprobe rust_trace_probe || return
	echo >trace
	echo 1 >events/rust_probe/idle/enable
	eventually grep -q 'idle: prev_pid=[0-9]* switches=' trace || return
	echo 0 >events/rust_probe/idle/enable
	[ "$(cat /sys/kernel/debug/rust_trace_probe/switches)" -gt 0 ] || return
	rmmod rust_trace_probe && [ ! -d events/rust_probe ]
}

run_tests formats output output_fields filters hist triggers condition hooks arguments probes instances \
	perf_records:perf trace_cmd:trace-cmd bpf_event:bpftrace bpf_raw:bpftrace \
	unload_empty unload_with_records unload_while_perf:perf reload sample_event sample_probe
rc=$?
unload
exit $rc
