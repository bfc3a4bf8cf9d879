#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The examples of the kernel's "Histogram Design Notes"
# (Documentation/trace/histogram-design.rst), in their order, with what hist_debug
# shows of each. Addresses are numbered in their order; 7.3 also shows the
# function of each field, and sizes that have changed since the document was
# written.
#
#   Basic histograms                               basic
#   Basic histogram test                           compound
#   Variables (two sections)                       variables
#   Actions and Handlers                           handlers
#   trace() action field variable test             onmatch
#   action_data and the onXXX() handlers           onmax_save, onmax_snapshot
#   save() action field variables test             onmax_save
#   Test of field variables on other histograms    field_variable
#   Alias test                                     alias
# shellcheck disable=SC2016 # $variables of histograms

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=lib.sh
. "$here/lib.sh"

waking=events/sched/sched_waking
switch=events/sched/sched_switch
ts0='hist:keys=pid:ts0=common_timestamp.usecs'

# The hist_debug of several events: an address is the same number in all of them.
# Soon after the start the kernel has no other text for one yet.
debug() { # EVENTDIR...
	local e
	for e; do cat "$e/hist_debug"; done | perl -pe 's/(hist_data: )([0-9a-f]{16}|\(____ptrval____\))/$n{$2} ||= ++$k; "$1ADDRESS$n{$2}"/e'
}

# As expected/NAME has it; UPDATE=1 writes that.
debug_is() { # NAME EVENTDIR...
	local name=$1
	shift
	if [ -n "${UPDATE:-}" ]; then debug "$@" >"$UPDATE/$name"; fi
	same "$(debug "$@")" "$(cat "$here/expected/$name")"
}

clear_all() {
	: >$switch/trigger
	: >$waking/trigger
	: >synthetic_events
}

# Everything that was created can be removed by the commands of the document.
removed() {
	grep -v '^#' $waking/trigger $switch/trigger
	[ "$(cat $waking/trigger $switch/trigger | grep -vc '^#')" = 0 ]
}

# Wakes a task up: sleeps are long enough to be seen.
sleepers() {
	for _ in 1 2 3; do sleep 0.05; done
}

basic() {
	fresh && on $waking hist:keys=pid || return
	sleepers
	on $waking hist:keys=pid:pause || return
	# As many hits in all as in the rows.
	awk '/^{/ { sum += $6; rows++; if ($6 < last) bad = 1; last = $6 }
		/Hits:/ { hits = $2 } /Entries:/ { entries = $2 } /Dropped:/ { dropped = $2 }
		END { print (rows > 0 && sum == hits && entries == rows && !bad && dropped == 0) ? "good" : "bad" }' $waking/hist >"$tmp/sum"
	same "$(cat "$tmp/sum")" good && on $waking hist:keys=pid:cont && debug_is basic $waking || return
	on $waking '!hist:keys=pid' && removed
}

compound() {
	local c='hist:keys=common_pid,call_site.sym:values=bytes_req,bytes_alloc,hitcount'
	fresh && on events/kmem/kmalloc "$c" || return
	q cat /proc/self/status
	grep -qE '^\{ common_pid: +[0-9]+, call_site: \[[0-9a-f]{16}\] [a-z_0-9.A-Z]+ +\} hitcount: +[0-9]+  bytes_req: +[0-9]+  bytes_alloc: +[0-9]+$' \
		events/kmem/kmalloc/hist || return
	debug_is compound events/kmem/kmalloc || return
	on events/kmem/kmalloc "!$c" && ! grep -v '^#' events/kmem/kmalloc/trigger
}

variables() {
	local c='hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0'
	fresh && on $waking "$ts0" && on $switch "$c" || return
	sleepers
	debug_is variables $waking $switch || return
	same "$(cat $switch/trigger)" \
		'hist:keys=next_pid:vals=hitcount:wakeup_lat=common_timestamp.usecs-$ts0:sort=hitcount:size=2048:clock=global [active]' || return
	on $switch "!$c" && on $waking "!$ts0" && removed
}

# The same action, by the name of its event and as trace().
handlers() {
	local c a
	fresh || return
	for a in 'wakeup_latency(' 'trace(wakeup_latency,'; do
		c='hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).'$a'$wakeup_lat,next_pid)'
		made_synth 'wakeup_latency u64 lat; pid_t pid' && on $waking "$ts0" && on $switch "$c" || return
		: >trace
		sleepers
		grep -qE ': wakeup_latency: lat=[0-9]+ pid=[0-9]+$' trace || return
		case $a in
		trace*) debug_is handlers-trace $waking $switch ;;
		*) debug_is handlers $waking $switch ;;
		esac || return
		on $switch "!$c" && on $waking "!$ts0" && echo 0 >events/synthetic/enable && same "$(put synthetic_events '!wakeup_latency')" ok && removed || return
	done
}

onmatch() {
	local s='wakeup_latency u64 lat; pid_t pid; char comm[16]'
	local c='hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).wakeup_latency($wakeup_lat,next_pid,next_comm)'
	fresh && made_synth "$s" && on $waking "$ts0" && on $switch "$c" && on events/synthetic/wakeup_latency 'hist:keys=comm' || return
	sleepers
	debug_is onmatch $waking $switch || return
	grep -qE '^\{ comm: sleep +\} hitcount: +[1-9]' events/synthetic/wakeup_latency/hist || return
	grep -qE ': wakeup_latency: lat=[0-9]+ pid=[0-9]+ comm=sleep$' trace || return
	: >events/synthetic/wakeup_latency/trigger
	on $switch "!$c" && on $waking "!$ts0" && echo 0 >events/synthetic/enable && same "$(put synthetic_events "!$s")" ok && removed
}

onmax_save() {
	local c='hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0:onmax($wakeup_lat).save(next_comm,prev_pid,prev_prio,prev_comm)'
	fresh && on $waking "$ts0" && on $switch "$c" || return
	sleepers
	debug_is onmax $waking $switch || return
	grep -qE '^	max: +[0-9]+  next_comm: sleep +prev_pid: +[0-9]+  prev_prio: +[0-9]+  prev_comm: ' $switch/hist || return
	on $switch "!$c" && on $waking "!$ts0" && removed
}

# The end of a file, of a test that fails.
told() {
	tail -20 "$1" | sed 's/^/# /'
	return 1
}

onmax_snapshot() {
	local c='hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0:onmax($wakeup_lat).snapshot()'
	fresh && on $waking "$ts0" && on $switch "$c" && echo 1 >$switch/enable || return
	# Two maxima one right after the other leave no record between them.
	for _ in $(seq 10); do
		sleepers
		! grep -q ': sched_switch: ' snapshot || break
		echo '# a snapshot without records'
		# One with variables cannot be cleared.
		on $switch "!$c" && on $switch "$c" || return
	done
	echo 0 >$switch/enable
	debug_is onmax-snapshot $waking $switch || return
	# The message of hist about the snapshot, and its records.
	grep -qE '^Snapshot taken \(see tracing/snapshot\)\.  Details:$' $switch/hist || told $switch/hist || return
	grep -qE '^	triggering value \{ onmax\(\$wakeup_lat\) \}: +[0-9]+	triggered by event with key: \{ next_pid: +[0-9]+ \}$' \
		$switch/hist || told $switch/hist || return
	grep -q ': sched_switch: ' snapshot || return
	on $switch "!$c" && on $waking "!$ts0" && echo 0 >snapshot && removed
}

field_variable() {
	local s='wakeup_latency u64 lat; pid_t pid; int prio'
	local c='hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).wakeup_latency($wakeup_lat,next_pid,prio)'
	fresh && made_synth "$s" && on $waking "$ts0" && on $switch "$c" || return
	sleepers
	debug_is field-variable $waking $switch || return
	grep -qE ': wakeup_latency: lat=[0-9]+ pid=[0-9]+ prio=120$' trace || return
	same "$(grep -c . $waking/trigger)" 2 && on $switch "!$c" && same "$(grep -c . $waking/trigger)" 1 && on $waking "!$ts0" && removed
}

alias() {
	local s='wakeup_latency u64 lat; pid_t pid; char comm[16]' w='hist:keys=pid:waking_pid=pid:ts0=common_timestamp.usecs'
	local c='hist:keys=next_pid:woken_pid=$waking_pid:wakeup_lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).wakeup_latency($wakeup_lat,$woken_pid,next_comm)'
	fresh && made_synth "$s" && on $waking "$w" && on $switch "$c" || return
	sleepers
	debug_is alias $waking $switch || return
	grep -qE ': wakeup_latency: lat=[0-9]+ pid=[0-9]+ comm=sleep$' trace || return
	# The document removes another trigger than it created; that is no error, and does
	# nothing.
	on $switch "!$c" && on $waking "!$ts0" && same "$(grep -c . $waking/trigger)" 1 && on $waking "!$w" && removed
}

run_tests basic compound variables handlers onmatch onmax_save onmax_snapshot field_variable alias
rc=$?
"$UEDRIVE" --reset || rc=1
exit $rc
