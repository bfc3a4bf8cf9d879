#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Records the files that the unit tests read: "hist", and "hist_raw" where the
# kernel has it, of histograms of several kinds. Run as root in a guest; existing
# files are overwritten. Trailing blanks are left out, which git does not like.
#
# usage: record.sh FOLDER

set -e
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd /sys/kernel/tracing
mkdir instances/record
cd instances/record

load() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 0.01; done
	cat /proc/interrupts /proc/meminfo /proc/self/maps >/dev/null
	dd if=/dev/zero of=/dev/null bs=300 count=50 status=none
	dd if=/dev/zero of=/dev/null bs=5000 count=20 status=none
}

# NAME EVENT TRIGGER
record() {
	if echo "$3" >>"events/$2/trigger" 2>/dev/null; then
		load
		# Nothing more is counted, so that the two files agree.
		echo "$3:pause" >>"events/$2/trigger"
		sed "s/ *$//" "events/$2/hist" >"$out/$1.hist"
		if [ -e "events/$2/hist_raw" ]; then
			cat "events/$2/hist_raw" >"$out/$1.hist_raw"
		fi
		echo "!$3" >>"events/$2/trigger"
	else
		tail -n 3 error_log >"$out/$1.error_log"
	fi
}

sys=raw_syscalls/sys_exit
record plain syscalls/sys_enter_read 'hist:keys=common_pid,fd:vals=count'
record log2 syscalls/sys_exit_read 'hist:keys=ret.log2:vals=ret:sort=ret'
record parts syscalls/sys_exit_read 'hist:keys=ret.log2=2:vals=ret:sort=ret'
record linear syscalls/sys_exit_read 'hist:keys=ret.buckets=100:vals=ret:sort=ret'
record grouped syscalls/sys_exit_read 'hist:keys=common_pid.execname,ret.log2:vals=ret:sort=ret'
record comm sched/sched_switch 'hist:keys=prev_comm,prev_state.hex:sort=hitcount.descending'
record syscall raw_syscalls/sys_enter 'hist:keys=id.syscall:sort=hitcount.descending:size=256'
record graph raw_syscalls/sys_enter 'hist:keys=common_cpu:vals=hitcount.percent,hitcount.graph'
record stack sched/sched_waking 'hist:keys=common_stacktrace:size=128'
record extremes syscalls/sys_exit_read 'hist:keys=common_pid:vals=ret.min,ret.max,ret.avg'
record quantiles syscalls/sys_exit_read 'hist:keys=ret.log2=3:quantiles'
record empty syscalls/sys_enter_sync 'hist:keys=common_pid'
record sym kmem/kmalloc 'hist:keys=call_site.sym,bytes_req.log2:size=256'
record full raw_syscalls/sys_enter 'hist:keys=common_timestamp:size=128'

# Two histograms of an event: a table each.
echo 'hist:keys=common_pid' >>events/$sys/trigger
echo 'hist:keys=id.log2' >>events/$sys/trigger
load
sed "s/ *$//" events/$sys/hist >"$out/two.hist"
if [ -e events/$sys/hist_raw ]; then cat events/$sys/hist_raw >"$out/two.hist_raw"; fi
echo '!hist:keys=id.log2' >>events/$sys/trigger
echo '!hist:keys=common_pid' >>events/$sys/trigger

# The answer to a wrong command.
echo 'hist:keys=nofield:vals=ret' 2>/dev/null >>events/$sys/trigger || :
tail -n 3 error_log >"$out/wrong.error_log"

# onmax() and save().
echo 'hist:keys=pid:ts0=common_timestamp.usecs' >>events/sched/sched_waking/trigger
switch=events/sched/sched_switch
latency='hist:keys=next_pid:lat=common_timestamp.usecs-$ts0'
latency="$latency:onmax(\$lat).save(next_comm,prev_comm)"
echo "$latency" >>$switch/trigger
load
sed "s/ *$//" $switch/hist >"$out/save.hist"
echo "!$latency" >>$switch/trigger
echo '!hist:keys=pid:ts0=common_timestamp.usecs' >>events/sched/sched_waking/trigger
cd ..
rmdir record
