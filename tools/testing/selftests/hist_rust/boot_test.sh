#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Triggers that the kernel's command line sets, or a boot configuration: for a kernel
# that was booted with
#
#   trace_trigger=sched_process_exec.hist:keys=pid,sched_process_fork.stacktrace,X,X
#   trace_instance=boot_hist trace_event=initcall:initcall_level ftrace_boot_snapshot
#
# with initcall_level.hist:keys=level for each X, of which the second is refused
# (fields that all events have, such as common_pid, do not exist yet at that time), or
# with the file bootconfig after its initrd. Without these the cases are skipped.
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

# One whose keys are strings, and another one that is removed before interrupts were
# ever enabled.
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

levels() { # FILE
	sed -n 's/.*: initcall_level: level=//p' "$1" | tr '\n' ' '
}

# What was recorded until the end of the boot, beside what the histogram counted.
boot_snapshot() {
	booted_so || return
	same "$(levels snapshot | grep -o 'postcore .*')" 'postcore arch subsys fs device late ' && same "$(levels trace)" '' &&
		same "$(sed -n 's/.*: ftrace_boot_snapshot: //p' trace)" '** Boot snapshot taken **' &&
		same "$(cat events/initcall/initcall_level/enable)" '1*'
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
	same "$(grep boot_latency synthetic_events)" 'boot_latency	unsigned long func; u64 lat' || return
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
		same "$(totals events/sched/sched_process_exec)" '0 0 0 '
}

# Several actions of a kind and of two kinds, in the order in which C composes them.
bootconfig_actions() {
	local tasks e=events/task/task_newtask
	configured_so || return
	same "$(shown $e)" \
		'hist:keys=comm:vals=hitcount:new=pid,how=clone_flags:sort=hitcount:size=2048:onmax($new).save(oom_score_adj,clone_flags):onmax($how).trace(boot_task,$new,$how):onchange($how).trace(boot_task,$new,$how) [active]' || return
	tasks=$(rows $e | grep -c '^{ comm: ')
	[ "$tasks" -gt 5 ] && rows $e | grep -qE '^	max: +[0-9]+  oom_score_adj: +[0-9]+  clone_flags: +[0-9]+$' || return
	# The first task of each name is the largest and a change. Each is a record for both.
	totals events/synthetic/boot_task >"$tmp/log"
	awk -v tasks="$tasks" '{ exit !($1 >= 2 * tasks && $2 > 5 && $3 == 0) }' "$tmp/log"
}

# The filter and the triggers of an event are set before it is enabled. Existing
# histograms are continued and cleared.
bootconfig_of_an_event() {
	local e=events/sched/sched_process_exit
	configured_so || return
	same "$(cat $e/enable $e/filter)" '1*
prio < 0' || return
	same "$(shown $e | sort)" 'hist:keys=comm:vals=hitcount:sort=hitcount:size=2048 [active]
hist:keys=common_pid:vals=hitcount:sort=hitcount:size=2048 [active]
hist:keys=prio:vals=hitcount:sort=hitcount:size=128 if prio > 0 [active]
stacktrace:count=3 if prio < 0' || return
	for _ in 1 2 3; do /bin/true; done
	grep -qE '^\{ prio: +120 \} hitcount: +[1-9]' $e/hist && grep -qE '^\{ common_pid: +[0-9]+ \} hitcount: +1$' $e/hist &&
		grep -qE '^\{ comm: true +\} hitcount: +[1-9]' $e/hist && same "$(grep -c ': sched_process_exit: ' trace)" 0
}

# Probes that the configuration defines, with their histograms.
bootconfig_probes() {
	configured_so || return
	same "$(grep -E 'boot_(kprobe|eprobe)' dynamic_events | sort)" 'e:eprobes/boot_eprobe sched.sched_process_exec pid=$pid
p:kprobes/boot_kprobe do_sys_openat2 dfd=$arg1:u32' || return
	same "$(cat events/kprobes/boot_kprobe/enable events/eprobes/boot_eprobe/enable)" '1*
1*' || return
	# The process that was init, and descriptors that are none (AT_FDCWD).
	same "$(rows events/eprobes/boot_eprobe | grep -cE '^\{ pid: +1 \} hitcount: +1$')" 1 &&
		rows events/kprobes/boot_kprobe | grep -qE '^\{ dfd: 4294967196 \} hitcount: +[1-9]'
}

# An unknown field and a command of more than 255 characters; an event and a tracer of an
# instance that is read-only. Nothing else is refused.
bootconfig_refused() {
	configured_so || return
	same "$(dmesg | sed -n 's/.*trace_boot: //p')" 'Failed to apply hist trigger: hist:keys=nosuch
hist exceeds the max command length.
Failed to enable event: sched:sched_process_fork
Failed to set given tracer: function' && same "$(grep 'Command: ' error_log)" '  Command: hist:keys=nosuch'
}

# A histogram has taken a snapshot at each level of initial calls: two buffers that take turns.
bootconfig_snapshots() {
	local i=instances/boot_snapshot
	configured_so || return
	same "$(levels instances/boot_config/trace)" 'postcore arch subsys fs device late ' &&
		same "$(sed -n 4p instances/boot_config/snapshot)" '# * Snapshot is allocated *' || return
	same "$(shown $i/events/initcall/initcall_level)" \
		'hist:keys=level:vals=hitcount:at=common_timestamp:sort=hitcount:size=2048:clock=global:onchange($at).snapshot() [active]' || return
	same "$(totals $i/events/initcall/initcall_level)" '6 6 0 ' || return
	same "$(sed -nE 's/^	triggering value \{ onchange\(\$at\) \}: +[0-9]+	+(.*[^ ]) +\}$/\1/p' $i/events/initcall/initcall_level/hist)" \
		'triggered by event with key: { level: late' || return
	same "$(levels $i/snapshot)/ $(levels $i/trace)" 'arch fs late / postcore subsys device '
}

# Parameters that the configuration has for the command line.
bootconfig_parameters() {
	local e=events/kprobes/boot_param size rc=0
	configured_so || return
	# It was mono until a histogram with time stamps was attached.
	same "$(grep -o '\[.*\]' trace_clock)" '[global]' || return
	size=$(cut -d " " -f 1 buffer_size_kb)
	[ "$size" -ge 512 ] && [ "$size" -lt 640 ] || same "buffer_size_kb: $size" '512 to 639' || return
	same "$(grep irq-info trace_options)" noirq-info && same "$(sed -n 4p snapshot)" '# * Snapshot is allocated *' || return
	same "$(grep boot_param kprobe_events) $(cat $e/enable)" 'p:kprobes/boot_param do_sys_openat2 dfd=$arg1:u32 1' || return
	# No column for flags between the processor and the time.
	grep -qE '^ +[^ ]+-[0-9]+ +\[[0-9]+\] +[0-9.]+: boot_param: \(do_sys_openat2[^ ]*\) dfd=4294967196$' trace || return
	on $e hist:keys=dfd || return
	: </dev/null
	rows $e | grep -qE '^\{ dfd: 4294967196 \} hitcount: +[1-9]' || rc=1
	on $e '!hist:keys=dfd' && echo 0 >$e/enable && same "$(put kprobe_events -:boot_param)" ok || rc=1
	return $rc
}

# An instance whose buffer is in memory that was reserved, with an event that is enabled from
# the start. It has no snapshot.
bootconfig_mapped_instance() {
	local e=instances/boot_mapped/events/sched/sched_process_exit c=hist:keys=comm:ts=common_timestamp
	configured_so || return
	same "$(cat $e/enable)" 1 && on $e $c && same "$(grep -o '\[.*\]' instances/boot_mapped/trace_clock)" '[global]' || return
	for _ in 1 2 3; do /bin/true; done
	same "$(rows $e | grep -cE '^\{ comm: true +\} hitcount: +3$')" 1 || return
	# The buffer was emptied for the other clock.
	same "$(grep -c ': sched_process_exit: comm=true ' instances/boot_mapped/trace)" 3 || return
	same "$(put $e/trigger 'hist:keys=pid:x1=prio:onchange($x1).snapshot()')" 'Device or resource busy' || return
	same "$(shown $e)" "${c/:ts/:vals=hitcount:ts}:sort=hitcount:size=2048:clock=global [active]" || return
	on $e "!$c" && echo 0 >$e/enable
}

# One with a copy of that buffer, which shows records and has no file to enable or
# trigger anything with. This holds for later events, too.
bootconfig_read_only_instance() {
	local i=instances/boot_backup
	configured_so || return
	same "$(cd $i && ls -d set_* show_* error_log tracing_on trace_marker* events/enable events/*/enable events/*/filter 2>/dev/null)" '' || return
	same "$(find $i/events -type f | sed 's|.*/||' | grep -v '^btf_ids$' | sort -u)" 'format
header_event
header_page
id' || return
	same "$(put dynamic_events 'u:boot_user u32 id')" ok && same "$(cd $i/events/user_events/boot_user && echo * | sed 's/btf_ids //')" 'format id' || return
	same "$(cat $i/events/user_events/boot_user/id)" "$(cat events/user_events/boot_user/id)" || return
	on events/user_events/boot_user hist:keys=id && on events/user_events/boot_user '!hist:keys=id' || return
	same "$(put dynamic_events '-:boot_user u32 id')" ok && [ ! -e $i/events/user_events ] || return
	# Of what the configuration asks for nothing was recorded.
	same "$(sed '/^#/d' $i/trace)" '' && same "$(put $i/current_tracer function)" 'Permission denied' || return
	# It is removed when it is emptied.
	: >$i/trace
	eventually [ ! -e $i ]
}

# They are like all others.
bootconfig_removal() {
	local t e
	configured_so || return
	same "$(put events/initcall/initcall_start/trigger '!hist:keys=func:ts0=common_timestamp.usecs')" 'Device or resource busy' || return
	for e in synthetic/boot_latency initcall/initcall_finish initcall/initcall_start sched/sched_process_exec sched/sched_process_fork \
		task/task_newtask synthetic/boot_task sched/sched_process_exit kprobes/boot_kprobe eprobes/boot_eprobe; do
		shown events/$e >"$tmp/shown"
		while read -r t; do
			t=${t% \[*\]}
			# C shows this key twice.
			if ! hist_is_rust; then t=${t/common_cpucommon_cpu/common_cpu}; fi
			on events/$e "!$t" || return
		done <"$tmp/shown"
		same "$(head -n 1 events/$e/trigger)" '# Available triggers:' || return
	done
	for e in kprobes/boot_kprobe eprobes/boot_eprobe; do
		echo 0 >events/$e/enable
		same "$(put dynamic_events "-:$e")" ok || return
	done
	for e in boot_latency boot_task; do same "$(put synthetic_events "!$e")" ok || return; done
	: >instances/boot_config/events/sched/sched_process_exit/trigger
	: >instances/boot_snapshot/events/initcall/initcall_level/trigger
	rmdir instances/boot_config instances/boot_snapshot instances/boot_mapped
}

case ${1:-} in
cmdline)
	run_tests boot_histogram boot_other_trigger boot_snapshot boot_trigger_twice boot_instance_and_removal
	;;
bootconfig)
	run_tests bootconfig_latencies bootconfig_clauses bootconfig_actions bootconfig_of_an_event bootconfig_probes \
		bootconfig_refused bootconfig_snapshots bootconfig_parameters bootconfig_mapped_instance \
		bootconfig_read_only_instance bootconfig_removal
	;;
*)
	run_tests boot_histogram boot_other_trigger boot_snapshot boot_trigger_twice boot_instance_and_removal \
		bootconfig_latencies bootconfig_clauses bootconfig_actions bootconfig_of_an_event bootconfig_probes \
		bootconfig_refused bootconfig_snapshots bootconfig_parameters bootconfig_mapped_instance \
		bootconfig_read_only_instance bootconfig_removal
	;;
esac
