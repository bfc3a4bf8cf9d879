#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Events of C headers of the tree that the module rust_event_test declares in Rust: their formats
# are those of C, and tools read them. What an event costs that is off is looked at here, too.
# shellcheck disable=SC2016 # $variables

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=/dev/null
. "$here/../user_events_rust/ktap.sh"
tmp=${tmp:?made by ktap.sh}

DEBUG=/sys/kernel/debug/rust_event_test
cd /sys/kernel/tracing || exit 4

load() {
	[ ! -d /sys/module/rust_event_test ] || return 0
	modinfo rust_event_test >/dev/null 2>&1 || skip 'there is no module rust_event_test' || return
	modprobe rust_event_test
}

# The module loaded, everything off and empty.
fresh() {
	load || return
	echo 0 >tracing_on
	echo 0 >events/enable
	echo >trace
	echo 1 >tracing_on
}

# The events in C, each with the option that it depends on.
TREE='block/block_rq_complete:BLOCK drm/drm_vblank_event:DRM ext4/ext4_da_write_pages_extent:EXT4_FS
	net/net_dev_xmit:NET sched/sched_switch:TRACEPOINTS'

# Prints the list that tree_formats.txt has, on a kernel with all of them.
if [ "${1:-}" = --formats ]; then
	for of in $TREE; do
		of=${of%:*}
		echo "name: ${of#*/}"
		sed '/^name: /d; /^ID: /d' "events/$of/format" || exit 1
	done
	exit 0
fi

# The formats are those of C, byte for byte, as is that of the event itself if the
# kernel has one.
formats() {
	local of option name wanted rc=0
	load || return
	for of in $TREE; do
		option=CONFIG_${of#*:} of=${of%:*}
		name=${of#*/}
		wanted=$(awk -v name="$name" '/^#/ { next } /^name: / { on = $2 == name } on' "$here/tree_formats.txt")
		[ -n "$wanted" ] && same "$(grep -v '^ID:' "events/event_test_tree/$name/format")" "$wanted" || rc=1
		zcat /proc/config.gz | grep -qx "$option=y" || continue
		same "$(grep -v '^ID:' "events/$of/format")" "$wanted" || rc=1
	done
	return "$rc"
}

# The parent may reap a task between the two records of its last switch: that of C says X and the
# other Z, or the other way round.
unreaped() {
	sed -E 's/prev_state=X /prev_state=Z /; s/\] X ==>/] Z ==>/; s/^(\[[0-9]+, )16\]/\132]/'
}

# The records of sched_switch in C and in Rust are the same, one by one. This runs on one CPU, so
# it does not begin or end between the two of a switch.
switches() {
	local i=instances/rust_trace odd
	fresh && mkdir $i || return
	echo 0 >$i/tracing_on
	echo 1 >$DEBUG/bind_tree && echo 1 >$i/events/sched/sched_switch/enable &&
		echo 1 >$i/events/event_test_tree/sched_switch/enable || return
	taskset -c 0 sh -c "echo 1 >$i/tracing_on; for i in 1 2 3 4 5 6 7 8; do sleep 0.02 & wait; done
		for i in 1 2; do timeout 0.3 sh -c 'while :; do :; done' & done; wait; echo 0 >$i/tracing_on"
	sed -n 's/^.*: sched_switch: //p' $i/per_cpu/cpu0/trace | unreaped >"$tmp/switches"
	echo 0 >$i/events/enable
	rmdir $i
	odd=$(awk 'NR % 2 { last = $0; next } $0 != last { print "# C or Rust: " last; print "# the other: " $0 }' "$tmp/switches" | head -n 4)
	[ -z "$odd" ] || { echo "$odd"; return 1; }
	[ $(($(wc -l <"$tmp/switches") % 2)) = 0 ] || { echo '# one without the other'; return 1; }
	# Of different states and priorities.
	grep -q 'prev_state=S ' "$tmp/switches" && grep -Eq 'prev_state=R[+]? ' "$tmp/switches" && grep -q 'next_prio=120' "$tmp/switches"
}

TEXT='block_rq_complete: 8,1 WS () 1000 + 8 rt,3,4 [-5]
net_dev_xmit: dev=eth0 skbaddr=ADDRESS len=61 rc=0 net_cookie=1099511627776
drm_vblank_event: crtc=1, seq=1, time=-1000000007, high-prec=true
ext4_da_write_pages_extent: dev 8,1 ino 51539607552 lblk 1 len 8 flags M'
FIRED='block_rq_complete net_dev_xmit drm_vblank_event ext4_da_write_pages_extent'
# The last one of two each, without what an address is printed as.
last() { sed -E 's/skbaddr=[^ ]*/skbaddr=ADDRESS/' | awk '{ text[$1] = $0 } !seen[$1]++ { name[++n] = $1 } END { for (i = 1; i <= n; i++) print text[name[i]] }'; }

output() {
	local event
	fresh || return
	for event in $FIRED; do echo 1 >events/event_test_tree/$event/enable || return; done
	echo 2 >$DEBUG/fire_tree
	for event in $FIRED; do echo 0 >events/event_test_tree/$event/enable; done
	same "$(sed -nE 's/^.*: ((block|net|drm|ext4)_[a-z_4]*: .*)$/\1/p' trace | last)" "$TEXT"
}

# Tools do not know the classes of priorities, which are names in the format of C: they print
# the number.
TOOLS=${TEXT/ rt,/ 0x1,}

# Something to do while tools record: the events of FIRED, and switches to and from a task of
# which each switch is recorded by both events.
workload() {
	load && echo 1 >$DEBUG/bind_tree && cp "$(command -v sleep)" "$tmp/tree_switched" || return
	echo "echo 2 >$DEBUG/fire_tree; for i in 1 2 3; do $tmp/tree_switched 0.05; done" >"$tmp/work"
}
# At least one for each of its sleeps is shown.
has_switches() { # FILE
	[ "$(grep -c 'prev_comm=tree_switched.*prev_state=S ==>' "$1")" -ge 3 ] || { echo '# few switches'; return 1; }
}

perf_tools() {
	local of
	fresh && workload || return
	# shellcheck disable=SC2046
	perf record -q -o "$tmp/perf" $(printf -- '-e event_test_tree:%s ' $FIRED sched_switch) -e sched:sched_switch \
		-a -- sh "$tmp/work" >"$tmp/log" 2>&1 || return
	perf script -i "$tmp/perf" -F event,trace 2>>"$tmp/log" | sed -E 's/^ *//; s/: +/: /' >"$tmp/out"
	same "$(sed -nE 's/^event_test_tree:((block|net|drm|ext4)_[a-z_4]*: )/\1/p' "$tmp/out" | last)" "$TOOLS" || return
	for of in event_test_tree sched; do sed -n "s/^$of:sched_switch: \(.*tree_switched.*\)/\1/p" "$tmp/out" >"$tmp/$of"; done
	has_switches "$tmp/event_test_tree" || return
	# perf has its own way to print those of C, without the "+" of a preempted task.
	same "$(sed -E "s/^prev_comm=(.*) prev_pid=([0-9]+) prev_prio=([0-9]+) prev_state=([^ +]+)\\+? ==> next_comm=(.*) next_pid=([0-9]+) next_prio=([0-9]+)/\1:\2 [\3] \4 ==> \5:\6 [\7]/" \
		"$tmp/event_test_tree" | unreaped)" "$(unreaped <"$tmp/sched")"
}

# perf trace prints the fields by their types.
perf_trace() {
	local field events
	fresh && workload || return
	: >"$tmp/log"
	# Not in one run: with PREEMPT_RT the thread of irq_work, which wakes perf, is switched
	# to for each record, and what is printed of the switches would have perf lose the others.
	for events in "$(printf 'event_test_tree:%s,' $FIRED)" event_test_tree:sched_switch; do
		perf trace --no-syscalls -m 8M -e "${events%,}" -a -o "$tmp/out" -- sh "$tmp/work" >"$tmp/err" 2>&1 ||
			{ cat "$tmp/err"; return 1; }
		cat "$tmp/out" >>"$tmp/log"
	done
	for field in 'block_rq_complete(.*sector: 1000' 'net_dev_xmit(.*len: 61' 'drm_vblank_event(.*seq: 1' \
		'ext4_da_write_pages_extent(.*lblk: 1' 'sched_switch(.*prev_comm: "tree_switched"'; do
		grep -q "event_test_tree:$field" "$tmp/log" || { echo "# not there: $field"; grep -F "${field%%(*}" "$tmp/log" | head -n 3; return 1; }
	done
}

# trace-cmd, without its own way to print switches.
trace_cmd() {
	fresh && workload || return
	# shellcheck disable=SC2046
	trace-cmd record -q -o "$tmp/dat" $(printf -- '-e event_test_tree:%s ' $FIRED sched_switch) -e sched:sched_switch \
		sh "$tmp/work" >"$tmp/log" 2>&1 || return
	trace-cmd report -N -i "$tmp/dat" 2>>"$tmp/log" | sed -nE 's/^.*: (block_rq_complete|net_dev_xmit|drm_vblank_event|ext4_da_write_pages_extent|sched_switch): +/\1: /p' >"$tmp/out"
	same "$(grep -E '^(block|net|drm|ext4)' "$tmp/out" | last)" "$TOOLS" || return
	# Each is shown twice.
	grep 'sched_switch: .*tree_switched' "$tmp/out" | unreaped | sort >"$tmp/switches"
	has_switches "$tmp/switches" && same "$(sed -n 1~2p "$tmp/switches")" "$(sed -n 2~2p "$tmp/switches")"
}

# Fields of all five. bpftrace takes the types from headers, or from BTF, which this kernel lacks.
bpf() {
	fresh && workload || return
	cat >"$tmp/types.h" <<-'END'
		typedef int pid_t;
		typedef unsigned int dev_t, __u32;
		typedef unsigned long long sector_t, u64, __u64;
		typedef long long ktime_t;
		typedef _Bool bool;
	END
	timeout 100 bpftrace -I "$tmp" --include types.h -e 'tracepoint:event_test_tree:block_rq_complete { @sector = args.sector; @error = args.error; @rwbs = args.rwbs; }
		tracepoint:event_test_tree:net_dev_xmit { @len = args.len; @cookie = args.net_cookie; }
		tracepoint:event_test_tree:drm_vblank_event { @seq = args.seq; @time = args.time; @prec = args.high_prec; }
		tracepoint:event_test_tree:ext4_da_write_pages_extent { @lblk = args.lblk; @dev = args.dev; }
		tracepoint:event_test_tree:sched_switch /args.prev_comm == "tree_switched"/ { @rust[args.prev_pid, args.prev_state] = count(); }
		tracepoint:sched:sched_switch /args.prev_comm == "tree_switched"/ { @c[args.prev_pid, args.prev_state] = count(); }' \
		-c "/bin/sh $tmp/work" >"$tmp/log" 2>&1
	same "$(grep -E '^@(sector|error|rwbs|len|cookie|seq|time|prec|lblk|dev): ' "$tmp/log" | sort)" \
		"$(printf '%s\n' '@sector: 1000' '@error: -5' '@rwbs: WS' '@len: 61' '@cookie: 1099511627776' '@seq: 1' '@time: -1000000007' '@prec: 1' \
			'@lblk: 1' '@dev: 8388609' | sort)" || return
	same "$(sed -n 's/^@rust\[/[/p' "$tmp/log" | unreaped | sort)" "$(sed -n 's/^@c\[/[/p' "$tmp/log" | unreaped | sort)" && grep -q '^@rust\[' "$tmp/log"
}

# An event that is off is one instruction that does nothing: a function that hits it
# has no other, but for the frame of the function.
off_is_a_nop() {
	local ko
	[ "$(uname -m)" = x86_64 ] || skip 'it is about the instructions of x86_64' || return
	# Which asks RCU about each event, on or off.
	! zcat /proc/config.gz | grep -qx CONFIG_LOCKDEP=y || skip 'lockdep adds a check to each event' || return
	ko=$(find "/usr/lib/modules/$(uname -r)" -name rust_event_test.ko) && [ -n "$ko" ] || return
	objdump -d --no-show-raw-insn --disassemble=rust_event_test_off "$ko" >"$tmp/log" || return
	same "$(sed -nE 's/^ *[0-9a-f]+:\t//p' "$tmp/log" | sed -E '/^(ret|jmp)/q' |
		grep -vE '^(endbr64|push |pop |(add|sub) +\$0x[0-9a-f]+,%rsp|mov +%rsp,%rbp)' |
		sed -E 's/^xchg +%ax,%ax|^nop.*/nop/; s/^(ret|jmp).*/return/' | paste -sd ' ')" 'nop return'
}

run_tests formats switches:taskset output perf_tools:perf perf_trace:perf trace_cmd:trace-cmd bpf:bpftrace off_is_a_nop:objdump
rc=$?
[ ! -d /sys/module/rust_event_test ] || rmmod rust_event_test
exit $rc
