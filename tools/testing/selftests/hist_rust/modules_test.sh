#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Histograms and synthetic events of the kernel's own test modules: those of the
# interfaces for other kernel code, and the sample with an event of each kind.
# All of it holds for the C implementation as well.
# shellcheck disable=SC2016 # $variables of histograms

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=lib.sh
. "$here/lib.sh"

# Loads a module, which a test that failed may have left.
load() { # NAME
	modinfo "$1" >/dev/null 2>&1 || skip "there is no module $1" || return
	unload
	fresh && modprobe "$1"
}

unload() {
	local m f
	for f in events/sample-trace/*/trigger events/synthetic/*/trigger events/kprobes/*/trigger; do : >"$f"; done
	for m in trace-events-sample synth_event_gen_test kprobe_event_gen_test; do rmmod $m; done
} 2>/dev/null

# The interface that creates synthetic events and their records: the module does so
# as it is loaded.
synthetic_api() {
	local same_fields='pid_t next_pid_field; char[16] next_comm_field; u64 ts_ns;' e=events/synthetic/gen_synth_test
	load synth_event_gen_test || return
	same "$(sort synthetic_events)" \
"create_synth_test	$same_fields char[] dynstring_field_1; u64 ts_ms; unsigned int cpu; char[64] my_string_field; char[] dynstring_field_2; int my_int_field
empty_synth_test	$same_fields u64 ts_ms; unsigned int cpu; char[64] my_string_field; int my_int_field
gen_synth_test	$same_fields u64 ts_ms; unsigned int cpu; char[64] my_string_field; int my_int_field" || return
	same "$(body | sed -n 's/^\([a-z]*_synth_test\): next_pid_field=\([0-9]*\) next_comm_field=\([a-z ]*\) ts.*=\([0-9]*\)$/\1 \2 \3 \4/p')" \
'gen_synth_test 777 hula hoops 598
empty_synth_test 777 tiddlywinks 399
create_synth_test 777 tiddlywinks 398
gen_synth_test 777 slinky 395
gen_synth_test 777 silly putty 3999
create_synth_test 444 clackers 999' || return
	# They can have histograms.
	on $e hist:keys=next_pid_field,my_string_field:vals=ts_ms && on $e '!hist:keys=next_pid_field,my_string_field:vals=ts_ms' || return
	rmmod synth_event_gen_test && same "$(cat synthetic_events)" ''
}

# The same for probes.
kprobe_api() {
	local e=events/kprobes/gen_kprobe_test args
	# The values that the module reads as arguments.
	case $(uname -m) in
	x86_64) args='dfd=%ax filename=%dx flags=%cx mode=+4($stack)' ;;
	aarch64) args='dfd=%x0 filename=%x1 flags=%x2 mode=%x3' ;;
	*) skip 'the arguments on this machine are not known' || return ;;
	esac
	load kprobe_event_gen_test || return
	same "$(sed 's/^r[0-9]*/r/' kprobe_events)" "p:kprobes/gen_kprobe_test do_sys_open $args
r:kprobes/gen_kretprobe_test do_sys_open arg1=\$retval" || return
	on $e hist:keys=dfd && on $e '!hist:keys=dfd' && rmmod kprobe_event_gen_test && same "$(cat kprobe_events)" ''
}

# The sum of the counts of the rows of a histogram.
sum_of() { # EVENTDIR
	sed -n -E 's/^\{.* hitcount: +([0-9]+).*/\1/p' "$1/hist" | awk '{ n += $1 } END { print n + 0 }'
}

# Events of every kind of class and field, from two tasks and a timer.
sample_events() {
	local e=events/sample-trace f
	load trace-events-sample || return
	same "$(ls $e)" 'enable
filter
foo_bar
foo_bar_with_cond
foo_bar_with_fn
foo_rel_loc
foo_timer_fn
foo_with_template_cond
foo_with_template_fn
foo_with_template_print
foo_with_template_simple' || return
	on $e/foo_bar hist:keys=foo,str,bar:vals=bar:sort=bar && on $e/foo_rel_loc 'hist:keys=foo:vals=bar' || return
	for f in foo_bar_with_cond foo_with_template_cond foo_bar_with_fn foo_timer_fn; do
		on $e/$f "hist:keys=$(if [ $f = foo_timer_fn ]; then echo name; else echo foo; fi)" || return
	done
	echo 1 >options/bitmask-list
	echo 1 >$e/enable
	eventually grep -q 'foo_bar_with_cond: foo Some times print 10$' trace || return
	echo 0 >$e/enable
	same "$(rows $e/foo_bar | grep 'bar: *[5-9] }')" \
'{ foo: hello                                             , str: Mother Goose                                      , bar:          5 } hitcount:          1  bar:          5
{ foo: hello                                             , str: Snoopy                                            , bar:          6 } hitcount:          1  bar:          6
{ foo: hello                                             , str: Gandalf                                           , bar:          7 } hitcount:          1  bar:          7
{ foo: hello                                             , str: Frodo                                             , bar:          8 } hitcount:          1  bar:          8
{ foo: hello                                             , str: One ring to rule them all                         , bar:          9 } hitcount:          1  bar:          9' || return
	rows $e/foo_rel_loc | grep -qE '^\{ foo: Hello __rel_loc +\} hitcount: ' || return
	# Every fifth or tenth, and those that have functions of their own.
	for f in foo_bar_with_cond foo_with_template_cond foo_bar_with_fn foo_timer_fn; do
		[ "$(sum_of $e/$f)" -gt 0 ] || { echo "# $f"; return 1; }
	done
	[ "$(sum_of $e/foo_with_template_cond)" -lt "$(sum_of $e/foo_bar)" ] || return
	same "$(body | grep -o 'foo_rel_loc Hello __rel_loc, 7, .*')" 'foo_rel_loc Hello __rel_loc, 7, 0-1, 0-1' || return
	echo 0 >options/bitmask-list
	# It may be unloaded while it is traced, but has to have no triggers (see
	# module-stays).
	for f in $e/foo_*/trigger; do : >"$f"; done
	echo 1 >$e/enable
	rmmod trace-events-sample && [ ! -e $e ]
}

# Variables of a module's events, while the module is loaded and unloaded.
sample_variables() {
	local e=events/sample-trace
	load trace-events-sample && made_synth 'silly int bar; char[] foo' || return
	for _ in 1 2; do
		modprobe trace-events-sample || return
		: >trace
		on $e/foo_bar 'hist:keys=common_pid:b1=bar' || return
		on $e/foo_with_template_simple 'hist:keys=common_pid:b2=bar-$b1+100:onmatch(sample-trace.foo_bar).trace(silly,$b2,foo)' || return
		eventually grep -q 'silly: bar=100 foo=HELLO$' trace || return
		: >$e/foo_with_template_simple/trigger
		: >$e/foo_bar/trigger
		rmmod trace-events-sample || return
	done
}

# A module that was loaded by force may be of another kernel: it gets no events, and what names
# them is refused.
forced_module() {
	local e=events/sample-trace c='hist:keys=id:x1=total:onmatch(sample-trace.foo_bar).trace(syn,$x1)'
	zgrep -qx CONFIG_MODULE_FORCE_LOAD=y /proc/config.gz || skip 'this kernel loads no module by force' || return
	[ ! -e /proc/lockdep ] || skip 'lockdep ends with a module that is loaded by force' || return
	load trace-events-sample && same "$(ls -d $e/foo_bar)" $e/foo_bar && made_synth 'syn u64 total' || return
	ok num "$c" && drop num && rmmod trace-events-sample && modprobe --force trace-events-sample || return
	same "$(ls -d $e events/*/foo_bar 2>/dev/null)" '' &&
		same "$(dmesg | tail -n 20 | grep -o 'trace_events_sample: module has bad taint.*')" \
			'trace_events_sample: module has bad taint, not creating trace events' || return
	same "$(put set_event sample-trace:foo_bar)" 'Invalid argument' && same "$(grep sample set_event)" '' || return
	refused_clean num "$c" 'Invalid argument' \
		"$(entry num 'Invalid subsystem or event name' "$c" foo_bar)" &&
		same "$(put $E/num/trigger enable_event:sample-trace:foo_bar)" 'Invalid argument' || return
	# It has them again when it is loaded as usual.
	rmmod trace-events-sample && modprobe trace-events-sample || return
	on $e/foo_bar hist:keys=bar && eventually rows_of_some $e/foo_bar || return
	: >$e/foo_bar/trigger
}

rows_of_some() { # EVENTDIR
	[ "$(sum_of "$1")" -gt 0 ]
}

run_tests synthetic_api:modprobe kprobe_api:modprobe sample_events:modprobe sample_variables:modprobe forced_module:modprobe
rc=$?
unload
"$UEDRIVE" --reset || rc=1
exit $rc
