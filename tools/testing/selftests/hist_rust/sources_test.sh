#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Histograms of all kinds of events, in an instance as well, while they happen on
# several processors; and the way that tools use them.
# shellcheck disable=SC2016 # $variables of histograms

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=lib.sh
. "$here/lib.sh"

# Something to do, twice.
busy() { # COMMAND...
	local a b
	for _ in $(seq 10); do "$@"; done &
	a=$!
	for _ in $(seq 10); do "$@"; done &
	b=$!
	wait $a $b
}

# What a table says in total is what its rows say.
adds_up() { # FILE
	awk '/^{/ { n++; for (i = 1; i <= NF; i++) if ($i == "hitcount:") sum += $(i + 1) }
		/Hits:/ { hits = $2 } /Entries:/ { entries = $2 } /Dropped:/ { dropped = $2 }
		END { exit !(hits > 0 && sum == hits && n == entries && dropped == 0) }' "$1" && return
	sed 's/^/#   /' "$1" | tail -n 20
	return 1
}

# Puts a histogram on an event in the top instance and in another one.
counted() { # EVENTDIR COMMAND WORK...
	local e=$1 c=$2 rc=0
	shift 2
	mkdir instances/hist || return
	on "$e" "$c" && on "instances/hist/$e" "$c" || rc=1
	"$@"
	# No more hits while it is read.
	on "$e" "$c:pause" && on "instances/hist/$e" "$c:pause" || rc=1
	adds_up "$e/hist" && adds_up "instances/hist/$e/hist" || rc=1
	on "$e" "!$c" && on "instances/hist/$e" "!$c" || rc=1
	rmdir instances/hist || rc=1
	return $rc
}

syscalls() {
	fresh && counted events/raw_syscalls/sys_enter hist:keys=id.syscall:vals=hitcount:sort=id busy /bin/true &&
		counted events/syscalls/sys_enter_openat hist:keys=common_pid busy /bin/true
}

scheduling() {
	fresh && counted events/sched/sched_switch hist:keys=prev_comm,next_comm busy sleep 0.01
}

kprobes() {
	local rc=0
	fresh && put kprobe_events 'p:hist_kp do_sys_openat2 dfd=%di:s32 name=+0(%si):ustring' | q grep ok || return
	counted events/kprobes/hist_kp hist:keys=dfd busy /bin/true && counted events/kprobes/hist_kp hist:keys=name busy /bin/true || rc=1
	put kprobe_events -:hist_kp | q grep ok || rc=1
	return $rc
}

uprobes() {
	local rc=0 at
	at=$(command -v readelf nm >/dev/null && nm -D /bin/bash 2>/dev/null | awk '$3 == "main" || $3 == "_start" { print $1; exit }')
	[ -n "$at" ] || at=$(od -An -t x8 -j 24 -N 8 /bin/bash | tr -d ' ')
	fresh && put uprobe_events "p:hist_up /bin/bash:0x$at" | q grep ok || return
	counted events/uprobes/hist_up hist:keys=common_comm busy /bin/bash -c : || rc=1
	put uprobe_events -:hist_up | q grep ok || rc=1
	return $rc
}

# In the top instance only: a probe of a user event in another one leaves that in use.
event_probes() {
	local e=events/probes/hist_ep c=hist:keys=id:vals=total rc=0
	fresh && put dynamic_events 'e:probes/hist_ep user_events/num id=$id total=$total' | q grep ok || return
	on $e "$c" && echo 1 >$e/enable || rc=1
	busy q num 1 0 5 a 2 0 7 a
	on $e "$c:pause" && adds_up $e/hist || rc=1
	same "$(totals $e)" '40 2 0 ' || rc=1
	echo 0 >$e/enable
	on $e "!$c" && put dynamic_events '-:probes/hist_ep' | q grep ok || rc=1
	return $rc
}

synthetic_and_user_events() {
	fresh && synth 'syn u64 total' | q grep ok && ok num 'hist:keys=id:x1=total:onchange($x1).trace(syn,$x1)' || return
	counted events/synthetic/syn hist:keys=total busy q num 1 0 5 a 2 0 7 a 1 0 6 a 2 0 8 a || return
	drop num
	counted $E/num hist:keys=id,tag:vals=total busy q num 1 0 5 a 2 0 7 a
}

# As libtracefs and rtla do it: a text with a name of their own in it, written,
# read, and removed with an exclamation mark.
like_libraries() {
	local a='hist:keys=pid:__arg_41_1=common_timestamp.usecs,__arg_41_2=prio' rc=0
	local b='hist:keys=next_pid:__lat_41_3=common_timestamp.usecs-$__arg_41_1,__arg_41_4=$__arg_41_2:onmatch(sched.sched_waking).trace(wake_lat,$__lat_41_3,$__arg_41_4,next_comm)'
	fresh && put dynamic_events 's:wake_lat u64 lat; int prio; char[16] comm' | q grep ok || return
	mkdir instances/lib
	on instances/lib/events/sched/sched_waking "$a" && on instances/lib/events/sched/sched_switch "$b" || rc=1
	on instances/lib/events/synthetic/wake_lat hist:keys=comm:vals=lat || rc=1
	busy sleep 0.01
	on instances/lib/events/synthetic/wake_lat hist:keys=comm:vals=lat:pause || rc=1
	adds_up instances/lib/events/synthetic/wake_lat/hist || rc=1
	on instances/lib/events/synthetic/wake_lat '!hist:keys=comm:vals=lat' || rc=1
	on instances/lib/events/sched/sched_switch "!$b" && on instances/lib/events/sched/sched_waking "!$a" || rc=1
	rmdir instances/lib && put dynamic_events '-:wake_lat' | q grep ok || rc=1
	return $rc
}

# trace-cmd sets a trigger, and shows the histogram.
trace_cmd() {
	fresh || return
	trace-cmd record -o "$tmp/dat" -e user_events:num -R hist:keys=id:vals=total true >"$tmp/log" 2>&1 || return
	q num 1 0 5 a
	trace-cmd reset >"$tmp/log" 2>&1
	trigger_is num 'num: no trigger'
}

trace_cmd_sqlhist() {
	trace-cmd sqlhist -h >"$tmp/log" 2>&1 || skip 'this trace-cmd has no sqlhist' || return
	fresh || return
	trace-cmd sqlhist -e -n wakes 'SELECT end.next_pid AS pid, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid' >"$tmp/log" 2>&1 || return
	on events/synthetic/wakes hist:keys=pid:vals=lat || return
	busy sleep 0.01
	on events/synthetic/wakes hist:keys=pid:vals=lat:pause && adds_up events/synthetic/wakes/hist
}

run_tests syscalls scheduling kprobes uprobes event_probes synthetic_and_user_events like_libraries \
	trace_cmd:trace-cmd trace_cmd_sqlhist:trace-cmd
rc=$?
"$UEDRIVE" --reset
exit $rc
