# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# The latency of wakeups, as in the documentation.
synth 'wakeup_latency u64 lat; pid_t pid; int prio; char comm[16]'
# In C a key has the bytes after the name of the task, which are those that were in the buffer
# before: here the same everywhere.
for ((cpu = 0; cpu < $(nproc); cpu++)); do taskset -c $cpu dd if=/dev/zero of=trace_marker bs=1000 count=2000 status=none; done
: >trace
other sched/sched_waking 'hist:keys=pid:ts0=common_timestamp.usecs if comm=="sleep"'
other sched/sched_switch 'hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0:onmax($wakeup_lat).save(next_comm,prev_pid,prev_prio,prev_comm):onmatch(sched.sched_waking).trace(wakeup_latency,$wakeup_lat,next_pid,sched.sched_waking.prio,next_comm) if next_comm=="sleep"'
other synthetic/wakeup_latency 'hist:keys=comm:sort=comm'
for _ in 1 2 3; do sleep 0.1; done
for e in sched/sched_waking sched/sched_switch; do cat events/$e/trigger events/$e/hist_debug; done
# The number of wakeups during the set-up varies.
all synthetic/wakeup_latency | sed -E 's/(hitcount|Hits): +[0-9]+/\1: N/'
for e in sched/sched_switch sched/sched_waking; do
	: >events/$e/trigger
	cat events/$e/trigger
done
