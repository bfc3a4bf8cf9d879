#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Triggers that the kernel's command line sets: for a kernel that was booted with
#
#   trace_trigger=sched_process_exec.hist:keys=pid,sched_process_fork.stacktrace
#   trace_instance=boot_hist
#
# (fields that all events have, such as common_pid, are not there yet at that time).
# Without these the cases are skipped.

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

# They are not an instance's, and can be removed like any other one.
boot_instance_and_removal() {
	booted_so || return
	same "$(head -n 1 instances/boot_hist/events/sched/sched_process_exec/trigger)" '# Available triggers:' || return
	same "$(put events/sched/sched_process_exec/trigger '!hist:keys=pid')" ok &&
		same "$(put events/sched/sched_process_fork/trigger '!stacktrace')" ok &&
		same "$(head -n 1 events/sched/sched_process_exec/trigger)" '# Available triggers:'
}

run_tests boot_histogram boot_other_trigger boot_instance_and_removal
