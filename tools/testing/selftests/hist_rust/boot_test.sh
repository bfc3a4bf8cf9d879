#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Triggers that the kernel's command line sets, or a boot configuration: for a kernel
# that was booted with
#
#   trace_trigger=sched_process_exec.hist:keys=pid,sched_process_fork.stacktrace,X,X
#   trace_instance=boot_hist
#
# with initcall_level.hist:keys=level for each X, of which the second is refused
# (fields that all events have, such as common_pid, are not there yet at that time), or
# with the file bootconfig behind its initrd. Without these the cases are skipped.
#
# usage: boot_test.sh [cmdline|bootconfig]    only the cases of the one
# shellcheck disable=SC2016 # $variables of histograms

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=lib.sh
. "$here/lib.sh"

booted_so() {
	grep -q 'trace_trigger=sched_process_exec.hist:keys=pid,sched_process_fork.stacktrace' /proc/cmdline ||
		skip 'the kernel was booted without trace_trigger='
}

boot_histogram() {
	local e=events/sched/sched_process_exec
	booted_so || return
	same "$(cat $e/trigger)" 'hist:keys=pid:vals=hitcount:sort=hitcount:size=2048 [active]' || return
	for _ in 1 2 3; do /bin/true; done
	put $e/trigger hist:keys=pid:pause | q grep ok || return
	# The guest has started some programs before.
	awk '/^{/ { sum += $6; n++ } /Hits:/ { hits = $2 } /Entries:/ { entries = $2 }
		END { exit !(hits >= 3 && sum == hits && n == entries) }' $e/hist
}

boot_other_trigger() {
	booted_so && same "$(cat events/sched/sched_process_fork/trigger)" stacktrace:unlimited
}

# One whose keys are strings, and another one that goes again before interrupts were ever enabled.
boot_trigger_twice() {
	booted_so || return
	grep -q ',initcall_level.hist:keys=level,initcall_level.hist:keys=level' /proc/cmdline ||
		skip 'the kernel was booted without the trigger that is there twice' || return
	same "$(cat events/initcall/initcall_level/trigger)" 'hist:keys=level:vals=hitcount:sort=hitcount:size=2048 [active]' || return
	# The second one here, and both in the instance.
	same "$(dmesg | grep -c 'Failed to register trigger .* on event initcall_level')" 3 || return
	same "$(dmesg | grep -c irq_work_sync)" 0 || return
	rows events/initcall/initcall_level | grep -q '^{ level: late ' || return
	same "$(put events/initcall/initcall_level/trigger '!hist:keys=level')" ok
}

# They are not an instance's, and can be removed like any other one.
boot_instance_and_removal() {
	booted_so || return
	same "$(head -n 1 instances/boot_hist/events/sched/sched_process_exec/trigger)" '# Available triggers:' || return
	same "$(put events/sched/sched_process_exec/trigger '!hist:keys=pid')" ok &&
		same "$(put events/sched/sched_process_fork/trigger '!stacktrace')" ok &&
		same "$(head -n 1 events/sched/sched_process_exec/trigger)" '# Available triggers:'
}

configured_so() {
	grep -qs '^ftrace.event.synthetic.boot_latency' /proc/bootconfig || skip 'the kernel was booted without the boot configuration'
}

shown() { # EVENTDIR
	grep -v '^#' "$1/trigger"
}

# The initial calls of the kernel, while it boots.
bootconfig_latencies() {
	configured_so || return
	same "$(shown events/initcall/initcall_start)" \
		'hist:keys=func:vals=hitcount:ts0=common_timestamp.usecs:sort=hitcount:size=2048:clock=global [active]' || return
	same "$(shown events/initcall/initcall_finish)" \
		'hist:keys=func:vals=hitcount:lat=common_timestamp.usecs-$ts0:sort=hitcount:size=2048:clock=global:onmatch(initcall.initcall_start).trace(boot_latency,func,$lat) [active]' || return
	same "$(shown events/synthetic/boot_latency)" 'hist:keys=func.sym:vals=hitcount,lat:sort=lat:size=2048 [active]' || return
	same "$(cat synthetic_events)" 'boot_latency	unsigned long func; u64 lat' || return
	# As many calls began as ended, but for the one that set this up, and each is a record.
	totals events/synthetic/boot_latency >"$tmp/log"
	awk '{ exit !($1 > 50 && $2 > 50 && $3 == 0) }' "$tmp/log" || return
	same "$(rows events/synthetic/boot_latency | grep -cE '^\{ func: \[[0-9a-f]{16}\] [a-z_0-9A-Z.]+ +\} hitcount: +1  lat: +[0-9]+$')" \
		"$(cut -d ' ' -f 2 "$tmp/log")" || return
	rows events/synthetic/boot_latency | sed 's/.*lat: *//' >"$tmp/lat"
	sort -n "$tmp/lat" | cmp - "$tmp/lat"
}

bootconfig_clauses() {
	configured_so || return
	same "$(shown events/sched/sched_process_exec)" \
		'hist:name=boot_name:keys=common_pid,common_comm:vals=hitcount:sort=hitcount:size=4096 if common_pid > 1 [paused]' || return
	same "$(shown events/sched/sched_process_fork | sed 's/keys=c.*cpu:/keys=CPU:/' | sort)" 'hist:keys=CPU:vals=hitcount:sort=hitcount:size=2048 [active]
hist:keys=parent_comm:vals=hitcount:child=child_pid:sort=hitcount:size=2048:onmax($child).save(child_comm,parent_pid) [active]' || return
	same "$(shown instances/boot_config/events/sched/sched_process_exit)" 'hist:keys=common_comm:vals=hitcount:sort=hitcount:size=2048 [active]' || return
	grep -qE '^	max: +[0-9]+  child_comm: ' events/sched/sched_process_fork/hist &&
		same "$(totals events/sched/sched_process_exec)" '0 0 0 ' && same "$(dmesg | grep -c 'Failed to apply')" 0
}

# They are like all others.
bootconfig_removal() {
	local t e
	configured_so || return
	same "$(put events/initcall/initcall_start/trigger '!hist:keys=func:ts0=common_timestamp.usecs')" 'Device or resource busy' || return
	for e in synthetic/boot_latency initcall/initcall_finish initcall/initcall_start sched/sched_process_exec sched/sched_process_fork; do
		shown events/$e >"$tmp/shown"
		while read -r t; do
			t=${t% \[*\]}
			# C shows this key twice.
			if ! hist_is_rust; then t=${t/common_cpucommon_cpu/common_cpu}; fi
			on events/$e "!$t" || return
		done <"$tmp/shown"
		same "$(head -n 1 events/$e/trigger)" '# Available triggers:' || return
	done
	same "$(put synthetic_events '!boot_latency')" ok && : >instances/boot_config/events/sched/sched_process_exit/trigger &&
		rmdir instances/boot_config
}

case ${1:-} in
cmdline)
	run_tests boot_histogram boot_other_trigger boot_trigger_twice boot_instance_and_removal
	;;
bootconfig)
	run_tests bootconfig_latencies bootconfig_clauses bootconfig_removal
	;;
*)
	run_tests boot_histogram boot_other_trigger boot_trigger_twice boot_instance_and_removal \
		bootconfig_latencies bootconfig_clauses bootconfig_removal
	;;
esac
