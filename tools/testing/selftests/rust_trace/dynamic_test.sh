#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Synthetic and kprobe events, trigger commands and tracefs files that modules in
# Rust create, next to the modules in C that do the same: what tracefs and perf show
# of them, that filters, histograms and triggers work on them, and that modules are
# loaded and unloaded while all of this is in use. The modules are
# samples/rust/rust_*.rs.
#
# RUST_TRACE_SECONDS is how long each of the races takes (default 5).
# shellcheck disable=SC2016 # $variables of histograms

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=/dev/null
. "$here/../user_events_rust/ktap.sh"
tmp=${tmp:?made by ktap.sh}
seconds=${RUST_TRACE_SECONDS:-5}

cd /sys/kernel/tracing || exit 1
SYN=events/synthetic
WAKE=events/sched/sched_waking

# As it was before.
reset() {
	local m i
	for i in instances/rust_*; do [ ! -d "$i" ] || rmdir "$i"; done
	echo '!rust_count' >$WAKE/trigger
	echo 0 >events/enable
	for m in rust_synth_event rust_kprobe_event rust_event_trigger rust_tracefs rust_trace_event \
		synth_event_gen_test kprobe_event_gen_test trace-events-sample; do
		rmmod $m
	done
	echo 0 >events/enable
	echo >dynamic_events
	echo >trace
} 2>/dev/null

load() { # MODULE
	modinfo "$1" >/dev/null 2>&1 || skip "there is no module $1" || return
	modprobe "$1" 2>"$tmp/log"
}

# True if a command fails with this in its message.
fails() { # TEXT COMMAND...
	local text=$1
	shift
	if "$@" >"$tmp/out" 2>&1; then
		echo "# it has not failed: $*"
		return 1
	fi
	grep -q "$text" "$tmp/out" && return
	sed "s/^/# $*: /" "$tmp/out"
	return 1
}

# Not truncating, which removes the existing ones.
put() { # FILE TEXT
	printf '%s\n' "$2" >>"$1"
}

loaded() { grep -q "^$1 " /proc/modules; }

# Records without what is in front of their names.
records() { sed -n 's/^[^#].* \([a-z_]*: .*\)/\1/p' trace | sed 's/cpu=[0-9]*/cpu=N/'; }

format() { sed '/^ID:/d; s/^name: .*/name: EVENT/' "$SYN/$1/format"; }

# The Rust names for those of C.
as_rust() { sed 's/\b\(gen\|empty\|create\)_synth_test\b/rust_\1_synth/'; }

# A module that was loaded and unloaded in races can be used, and unloaded.
calm() { # MODULE
	eventually sh -c "! grep -q '^$1 ' /proc/modules || rmmod $1 2>/dev/null" && load "$1" && rmmod "$1"
}

#
# Synthetic events.
#

synth_same_as_c() {
	reset
	load synth_event_gen_test || return
	records | as_rust | grep -v clackers | sort >"$tmp/c"
	grep _synth_test synthetic_events | as_rust | sort >"$tmp/c.list"
	for e in gen empty create; do format ${e}_synth_test; done | as_rust >"$tmp/c.format"
	rmmod synth_event_gen_test || return

	load rust_synth_event || return
	records | sort >"$tmp/rust"
	grep -v rust_declared synthetic_events | sort >"$tmp/rust.list"
	for e in gen empty create; do format rust_${e}_synth; done >"$tmp/rust.format"
	[ "$(wc -l <"$tmp/rust")" = 5 ] || same "$(cat "$tmp/rust")" 'five records' || return
	same "$(cat "$tmp/rust")" "$(cat "$tmp/c")" && same "$(cat "$tmp/rust.list")" "$(cat "$tmp/c.list")" &&
		same "$(cat "$tmp/rust.format")" "$(cat "$tmp/c.format")" && rmmod rust_synth_event
}

# The module is unloaded, and with it its events and the records of them.
synth_unload() {
	reset
	load rust_synth_event && [ "$(records | wc -l)" = 5 ] && rmmod rust_synth_event || return
	[ ! -e $SYN/rust_gen_synth ] && [ ! -e rust_synth_emit ] && same "$(cat dynamic_events)" '' || return
	# A record that has lost its event would be shown as one of an unknown type.
	! grep -q 'Unknown type' trace && grep -q '^# entries-in-buffer/entries-written: 0/0 ' trace
}

# The module stays as long as a process listens, or has its file open.
synth_busy() {
	reset
	load rust_synth_event || return
	echo 1 >$SYN/rust_declared_synth/enable
	fails 'in use' rmmod rust_synth_event || return
	echo 0 >$SYN/rust_declared_synth/enable
	exec 3>rust_synth_emit
	fails 'in use' rmmod rust_synth_event || return
	exec 3>&-
	# User space cannot delete what the module has created.
	fails 'busy' put dynamic_events '-:synthetic/rust_declared_synth' &&
		fails 'busy' put synthetic_events '!rust_gen_synth u64 a' && rmmod rust_synth_event
}

# Each listener receives a record: the top instance, another one, and perf.
synth_emit() {
	reset
	load rust_synth_event || return
	mkdir instances/rust_a || return
	put rust_synth_emit 'nobody listens'
	fails 'too long' dd if=/dev/zero of=rust_synth_emit bs=5000 count=1 || return
	echo 1 >$SYN/rust_declared_synth/enable
	echo 1 >instances/rust_a/$SYN/rust_declared_synth/enable
	put rust_synth_emit 'a unicorn'
	echo 0 >$SYN/rust_declared_synth/enable
	put rust_synth_emit 'another one'
	echo 0 >instances/rust_a/$SYN/rust_declared_synth/enable
	same "$(grep -o 'kind=.*' trace)" 'kind=written what=a unicorn' || return
	same "$(grep -o 'kind=.*' instances/rust_a/trace)" 'kind=written what=a unicorn
kind=written what=another one' || return
	rmdir instances/rust_a && rmmod rust_synth_event
}

synth_perf() {
	reset
	load rust_synth_event || return
	perf record -o "$tmp/data" -e synthetic:rust_declared_synth --filter 'what ~ "*unicorn"' -- \
		sh -c 'echo a unicorn >rust_synth_emit; echo a horse >rust_synth_emit; echo two unicorn >rust_synth_emit' \
		>"$tmp/log" 2>&1 || return
	perf script -i "$tmp/data" -F event,trace 2>"$tmp/log" | sed 's/ *pid=[0-9]*//; s/^ *//; s/ *$//' >"$tmp/shown"
	same "$(cat "$tmp/shown")" 'synthetic:rust_declared_synth: kind=written what=a unicorn
synthetic:rust_declared_synth: kind=written what=two unicorn' || return
	eventually rmmod rust_synth_event 2>/dev/null
}

synth_filter_hist_trigger() {
	local e=$SYN/rust_declared_synth i
	reset
	load rust_synth_event || return
	put $e/filter 'what == "odd"' && put $e/trigger 'hist:keys=what:sort=what' && echo 1 >$e/enable || return
	for i in odd even odd; do put rust_synth_emit $i; done
	echo 0 >$e/enable
	echo 0 >$e/filter
	same "$(records | grep -c declared)" 2 &&
		same "$(sed -n 's/^{ what: \([a-z]*\) *}.*hitcount: *\([0-9]*\).*/\1 \2/p' $e/hist)" 'even 1
odd 2' || return
	# A trigger of the event keeps the module as well.
	fails 'in use' rmmod rust_synth_event || return
	put $e/trigger '!hist:keys=what:sort=what' && rmmod rust_synth_event
}

# A trigger generates an event of the module, which then can be unloaded; the event
# stays, as it is referred to, and without an owner it can be deleted later.
synth_action() {
	local h='hist:keys=common_pid:p=common_pid,k=comm,w=comm,x1=prio:onchange($x1).trace(rust_declared_synth,$p,$k,$w)' rc=0
	reset
	load rust_synth_event || return
	put events/sched/sched_wakeup/trigger "$h" || return
	rmmod rust_synth_event || return
	[ -d $SYN/rust_declared_synth ] && [ ! -e $SYN/rust_gen_synth ] || return
	# It can be enabled, and does not look for the module. A process that polls wakes
	# up others.
	echo 1 >$SYN/rust_declared_synth/enable || return
	eventually grep -q ': rust_declared_synth: pid=[0-9]* kind=.* what=.' trace || rc=1
	echo 0 >$SYN/rust_declared_synth/enable
	put events/sched/sched_wakeup/trigger "!$h" && put dynamic_events -:synthetic/rust_declared_synth || return
	load rust_synth_event && rmmod rust_synth_event && return $rc
}

# An event of the same name is in the way: nothing is left of those created before
# it.
synth_name_taken() {
	reset
	put synthetic_events 'rust_create_synth u64 mine' || return
	if load rust_synth_event; then return 1; elif [ $? = 4 ]; then return 4; fi
	# The kernel does not let a module's initialisation return EEXIST.
	grep -q 'busy' "$tmp/log" && same "$(cat synthetic_events)" 'rust_create_synth	u64 mine' &&
		put synthetic_events '!rust_create_synth' && load rust_synth_event && rmmod rust_synth_event
}

synth_load_unload() { modprobe rust_synth_event && sleep 0.1 && rmmod rust_synth_event; }
synth_switch() {
	local rc=0
	echo 1 >$SYN/enable && echo hello >rust_synth_emit || rc=1
	echo 0 >$SYN/enable
	return $rc
}
synth_read() { cat trace synthetic_events $SYN/*/format; }
# Existing events have users, so their removal must be refused.
synth_delete() {
	! echo -:rust_declared_synth >dynamic_events && ! echo '!rust_gen_synth' >synthetic_events
}
synth_races() {
	reset
	load rust_synth_event && rmmod rust_synth_event || return
	race "$seconds" synth_load_unload synth_switch synth_read synth_delete || return
	reset
	calm rust_synth_event
}

# An event that could not be enabled does not keep its module loaded.
synth_enable_fails() {
	local fail=/sys/kernel/debug/failslab e=$SYN/rust_declared_synth/enable n failed=0
	[ -w /proc/self/fail-nth ] && [ -d $fail ] || skip 'there is no fault injection' || return
	reset
	load rust_synth_event || return
	echo 0 >$fail/ignore-gfp-wait
	echo 0 >$fail/verbose
	# The first event of all has more done for it.
	echo 1 >events/sched/sched_process_exec/enable
	for n in {1..40}; do
		(exec 3>/proc/self/fail-nth && echo "$n" >&3 && echo 1 >$e) 2>/dev/null ||
			failed=$((failed + 1))
		echo 0 >$e
	done
	echo 0 >events/sched/sched_process_exec/enable
	[ $failed -gt 0 ] || same "$failed" 'some that fail' || return
	rmmod rust_synth_event
}

#
# Kprobe events.
#

kprobe_format() { sed '/^ID:/d; s/^name: .*/name: EVENT/' "events/kprobes/$1/format"; }

kprobe_same_as_c() {
	reset
	load kprobe_event_gen_test || return
	sed -n 's/gen_kretprobe_test/NAME/p' kprobe_events >"$tmp/c"
	kprobe_format gen_kretprobe_test >"$tmp/c.format"
	cat events/kprobes/gen_*/enable >"$tmp/c.enable"
	rmmod kprobe_event_gen_test || return
	# The module in C fetches what is in registers of one architecture.
	put kprobe_events \
		'p:kprobes/by_hand do_sys_openat2 dfd=$arg1:s32 filename=+0($arg2):ustring' || return
	sed -n 's/by_hand/NAME/p' kprobe_events >>"$tmp/c"
	kprobe_format by_hand >>"$tmp/c.format"
	put kprobe_events -:kprobes/by_hand || return

	load rust_kprobe_event || return
	sed -n 's/rust_gen_kretprobe/NAME/p' kprobe_events >"$tmp/rust"
	sed -n 's/rust_gen_kprobe/NAME/p' kprobe_events >>"$tmp/rust"
	kprobe_format rust_gen_kretprobe >"$tmp/rust.format"
	kprobe_format rust_gen_kprobe >>"$tmp/rust.format"
	cat events/kprobes/rust_gen_*/enable >"$tmp/rust.enable"
	[ "$(wc -l <"$tmp/rust")" = 2 ] || same "$(cat "$tmp/rust")" 'two probes' || return
	# The module in C probes another function, which is not called.
	sed -i 's/do_sys_openat2/do_sys_open/' "$tmp/rust" "$tmp/c"
	same "$(cat "$tmp/rust")" "$(cat "$tmp/c")" &&
		same "$(cat "$tmp/rust.format")" "$(cat "$tmp/c.format")" &&
		same "$(cat "$tmp/rust.enable")" "$(cat "$tmp/c.enable")" && rmmod rust_kprobe_event
}

kprobe_records() {
	reset
	load rust_kprobe_event || return
	cat /proc/version >/dev/null
	echo 0 >tracing_on
	grep -q 'rust_gen_kprobe: (do_sys_openat2.*) dfd=-100 filename="/proc/version"' trace &&
		grep -q 'rust_gen_kretprobe: (.* <- do_sys_openat2) arg1=0x[0-9a-f]*' trace
	local rc=$?
	echo 1 >tracing_on
	rmmod rust_kprobe_event || return
	[ $rc = 0 ] && same "$(cat kprobe_events)" '' && same "$(grep -c rust_gen trace)" 0
}

kprobe_filter_hist_perf() {
	local e=events/kprobes/rust_gen_kprobe
	reset
	load rust_kprobe_event || return
	put $e/filter 'filename == "/proc/version"' && put $e/trigger 'hist:keys=filename if filename == "/proc/version"' || return
	echo >trace
	cat /proc/version /proc/uptime /proc/version >/dev/null
	same "$(grep -c 'rust_gen_kprobe:' trace)" 2 && grep -q '/proc/version.*hitcount: *2$' $e/hist || return
	put $e/trigger '!hist:keys=filename if filename == "/proc/version"' && echo 0 >$e/filter || return
	perf record -o "$tmp/data" -e kprobes:rust_gen_kprobe -- cat /proc/uptime >"$tmp/log" 2>&1 || return
	perf script -i "$tmp/data" -F event,trace 2>"$tmp/log" | grep -q 'filename="/proc/uptime"' || return
	rmmod rust_kprobe_event
}

# In use elsewhere its event stays, but not the module, which it does not need.
kprobe_in_use() {
	reset
	load rust_kprobe_event || return
	mkdir instances/rust_a && echo 1 >instances/rust_a/events/kprobes/rust_gen_kprobe/enable || return
	fails 'busy' put kprobe_events -:kprobes/rust_gen_kprobe || return
	rmmod rust_kprobe_event || return
	same "$(sed 's/ .*//' kprobe_events)" p:kprobes/rust_gen_kprobe && dmesg | grep -q 'the kprobe event rust_gen_kprobe stays' || return
	rmdir instances/rust_a && put kprobe_events -:kprobes/rust_gen_kprobe && same "$(cat kprobe_events)" ''
}

kprobe_load_unload() { modprobe rust_kprobe_event && sleep 0.1 && rmmod rust_kprobe_event; }
kprobe_open() { cat /proc/version trace kprobe_events; }
# Existing events have users, so their removal must be refused.
kprobe_delete() { ! echo -:kprobes/rust_gen_kprobe >kprobe_events; }
kprobe_switch() { echo 0 >events/kprobes/enable && echo 1 >events/kprobes/enable; }
kprobe_races() {
	reset
	load rust_kprobe_event && rmmod rust_kprobe_event || return
	race "$seconds" kprobe_load_unload kprobe_open kprobe_delete kprobe_switch || return
	reset
	calm rust_kprobe_event && same "$(cat kprobe_events)" ''
}

#
# Trigger commands.
#

trigger_comes_and_goes() {
	reset
	fails 'Invalid' put $WAKE/trigger rust_count || return
	load rust_event_trigger || return
	same "$(grep -ow rust_count $WAKE/trigger)" rust_count && put $WAKE/trigger rust_count && fails 'exists' put $WAKE/trigger rust_count || return
	sleep 0.2
	grep -q '^rust_count: hits=[1-9][0-9]* longest=[1-9][0-9]*$' $WAKE/trigger || same "$(cat $WAKE/trigger)" 'hits' || return
	fails 'in use' rmmod rust_event_trigger && put $WAKE/trigger '!rust_count' || return
	# It is freed a little later.
	eventually rmmod rust_event_trigger 2>/dev/null && fails 'Invalid' put $WAKE/trigger rust_count &&
		! grep -q rust_count $WAKE/trigger
}

trigger_filter() {
	reset
	load rust_event_trigger || return
	fails 'Invalid' put $WAKE/trigger 'rust_count if nosuch == 1' || return
	put $WAKE/trigger 'rust_count if prio > 1000' && sleep 0.2 || return
	same "$(cat $WAKE/trigger)" 'rust_count: hits=0 longest=0 if prio > 1000' && put $WAKE/trigger '!rust_count' &&
		eventually rmmod rust_event_trigger 2>/dev/null
}

# The messages of a module remain readable after it is unloaded.
trigger_errors_stay() {
	: >error_log
	load rust_event_trigger || return
	put $WAKE/trigger rust_count && fails 'exists' put $WAKE/trigger rust_count &&
		fails 'exists' put $WAKE/trigger rust_count || return
	put $WAKE/trigger '!rust_count' && eventually rmmod rust_event_trigger 2>/dev/null || return
	same "$(grep -c 'rust_count: error: The event is counted already$' error_log)" 2 &&
		same "$(grep -c '^  Command: rust_count$' error_log)" 2 && : >error_log
}

# Triggers are removed in all possible ways.
trigger_removal() {
	reset
	load rust_event_trigger || return
	# By truncating the file.
	put $WAKE/trigger rust_count && : >$WAKE/trigger && same "$(head -c 1 $WAKE/trigger)" '#' || return
	# With their instance, which detaches them.
	mkdir instances/rust_a && put instances/rust_a/$WAKE/trigger rust_count || return
	fails 'in use' rmmod rust_event_trigger && rmdir instances/rust_a || return
	eventually rmmod rust_event_trigger 2>/dev/null
}

# The others may keep the module in use all the time.
trigger_load_unload() {
	modprobe rust_event_trigger || return
	rmmod rust_event_trigger || loaded rust_event_trigger
}
trigger_set() {
	local rc=0
	echo 'rust_count if prio > 0' >$WAKE/trigger || rc=1
	echo '!rust_count' >$WAKE/trigger
	return $rc
}
trigger_truncate() { : >$WAKE/trigger; }
trigger_read() { cat $WAKE/trigger; }
# A trigger that the others do not remove, so it is hit.
trigger_instance() {
	local t=instances/rust_t/$WAKE/trigger rc=1 end=$((SECONDS + 10))
	mkdir instances/rust_t
	while [ $SECONDS -lt $end ]; do
		if echo rust_count >$t && grep 'hits=[1-9]' $t; then
			rc=0
			break
		fi
	done
	rmdir instances/rust_t
	return $rc
}
trigger_races() {
	reset
	load rust_event_trigger && rmmod rust_event_trigger || return
	race "$seconds" trigger_load_unload trigger_set trigger_truncate trigger_read trigger_instance || return
	rmdir instances/rust_t 2>/dev/null
	: >$WAKE/trigger
	calm rust_event_trigger
}

#
# Files in tracefs.
#

tracefs_files() {
	reset
	load rust_tracefs || return
	same "$(stat -c %a rust_notes rust_notes_stat | tr '\n' ' ')" '640 440 ' || return
	exec 3<>rust_notes
	echo 'buy milk' >&3
	same "$(cat <&3)" 'buy milk' && same "$(cat rust_notes_stat)" 'notes: 1, bytes: 9' || return
	# Another open file has another note.
	same "$(cat rust_notes)" '' && fails 'in use' rmmod rust_tracefs || return
	fails 'too long' dd if=/dev/zero of=rust_notes bs=5000 count=1 || return
	exec 3>&-
	rmmod rust_tracefs && [ ! -e rust_notes ] && [ ! -e rust_notes_stat ]
}

# Two modules that are loaded again have files of their own.
tracefs_again() {
	local i
	reset
	for i in 1 2 3; do
		load rust_tracefs && echo $i >rust_notes && same "$(cat rust_notes_stat)" 'notes: 1, bytes: 2' &&
			rmmod rust_tracefs || return
	done
}

tracefs_load_unload() { modprobe rust_tracefs && sleep 0.1 && rmmod rust_tracefs; }
tracefs_use() { echo x >rust_notes && grep 'notes: [1-9]' rust_notes_stat; }
tracefs_races() {
	reset
	load rust_tracefs && rmmod rust_tracefs || return
	race "$seconds" tracefs_load_unload tracefs_use tracefs_use tracefs_use || return
	calm rust_tracefs
}

#
# Events that are declared.
#

STATIC='foo_bar foo_rel_loc foo_bar_with_cond foo_bar_with_fn foo_with_template_simple
	foo_with_template_cond foo_with_template_fn foo_with_template_print'

# In foo_bar C prints the list once more, and the CPUs by "%*pbl".
static_formats() { # SYSTEM
	local e
	for e in $STATIC; do
		sed -E '/^ID:/d; /^print fmt: "foo %s %d %s/ {
			s/^(print fmt: )"[^"]*"/\1/
			s/ \)/)/g
			s/__print_array.*(__get_str\(str\))/\1/
			s/, __get_dynamic_array_len\(cpus\), __get_dynamic_array\(cpus\)$//
		}' "events/$1/$e/format" || return
	done
}

# The events that the samples share. All others of this kind are compared in
# static_event_test.sh.
static_same_as_c() {
	reset
	load trace-events-sample || return
	static_formats sample-trace >"$tmp/c" && rmmod trace-events-sample || return
	load rust_trace_event || return
	static_formats rust_sample >"$tmp/rust" && rmmod rust_trace_event || return
	same "$(grep -c '^print fmt: ' "$tmp/c")" 8 && same "$(cat "$tmp/rust")" "$(cat "$tmp/c")"
}

# Their records with the numbers from 3 to 10, and with one text for all. Of those
# that have masks it is the start: C overwrites what follows (see
# event-bitmask-text).
static_records() {
	records | sed -E 's/HELLO|Hello __rel_loc|Some times print|prints other times/hello/
		s/I have to be different|Look at me( too)?/hello/
		s/^(foo_bar: foo hello [0-9]+) .*/\1/
		s/^(foo_rel_loc: foo_rel_loc hello, [0-9]+), .*/\1/' |
		grep -E ' ([3-9]|10)$' | sort
}

# In C one happens each second, by two tasks.
static_records_as_c() {
	reset
	load trace-events-sample || return
	echo 1 >events/sample-trace/enable
	eventually grep -q ' foo_with_template_simple: foo HELLO 11$' trace &&
		eventually grep -q ' foo_with_template_fn: foo Look at me too 10$' trace || return
	echo 0 >events/sample-trace/enable
	static_records >"$tmp/c"
	rmmod trace-events-sample || return

	reset
	load rust_trace_event || return
	echo 1 >events/rust_sample/enable
	for _ in {0..11}; do
		echo hello >/sys/kernel/debug/rust_trace_event/say
	done
	echo 0 >events/rust_sample/enable
	static_records >"$tmp/rust"
	rmmod rust_trace_event || return
	# All numbers of six events, 8 and 10 of one each.
	same "$(wc -l <"$tmp/c")" 50 && same "$(cat "$tmp/rust")" "$(cat "$tmp/c")"
}

run_tests synth_same_as_c synth_unload synth_busy synth_emit synth_perf:perf synth_filter_hist_trigger synth_action \
	synth_name_taken synth_races synth_enable_fails \
	kprobe_same_as_c kprobe_records kprobe_filter_hist_perf:perf kprobe_in_use kprobe_races \
	trigger_comes_and_goes trigger_filter trigger_errors_stay trigger_removal trigger_races \
	tracefs_files tracefs_again tracefs_races static_same_as_c static_records_as_c
rc=$?
reset
exit $rc
