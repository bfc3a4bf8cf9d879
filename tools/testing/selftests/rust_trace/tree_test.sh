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

TREE='sched/sched_switch block/block_rq_complete net/net_dev_xmit drm/drm_vblank_event ext4/ext4_da_write_pages_extent'

# The formats are those of C, byte for byte, as is that of the event itself where there is one.
formats() {
	local of name wanted rc=0
	load || return
	for of in $TREE; do
		name=${of#*/}
		wanted=$(awk -v name="$name" '/^#/ { next } /^name: / { on = $2 == name } on' "$here/tree_formats.txt")
		[ -n "$wanted" ] && same "$(grep -v '^ID:' "events/event_test_tree/$name/format")" "$wanted" || rc=1
		[ -d "events/$of" ] || continue
		same "$(grep -v '^ID:' "events/$of/format")" "$wanted" || rc=1
	done
	[ -d events/sched/sched_switch ] && [ -d events/net/net_dev_xmit ] && return $rc
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
	sed -n 's/^.*: sched_switch: //p' $i/per_cpu/cpu0/trace >"$tmp/switches"
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

# Tools do not know the classes of priorities, which are names in the format of C.
TOOLS=${TEXT#*$'\n'}

perf_tools() {
	fresh || return
	# shellcheck disable=SC2046,SC2086
	perf record -q -o "$tmp/perf" $(printf -- '-e event_test_tree:%s ' $FIRED) -a -- sh -c "echo 2 >$DEBUG/fire_tree" >"$tmp/log" 2>&1 || return
	same "$(perf script -i "$tmp/perf" -F event,trace 2>>"$tmp/log" | sed -nE 's/^ *event_test_tree:((net|drm|ext4)_[a-z_4]*:) */\1 /p' | last)" \
		"$TOOLS" || return
	# perf trace prints the fields by their types.
	perf trace --no-syscalls -e 'event_test_tree:drm_vblank_event,event_test_tree:block_rq_complete' -a -o "$tmp/out" -- \
		sh -c "echo 2 >$DEBUG/fire_tree" >>"$tmp/log" 2>&1 || return
	cat "$tmp/out" >>"$tmp/log"
	grep -q 'event_test_tree:drm_vblank_event(.*seq: 1' "$tmp/out" && grep -q 'event_test_tree:block_rq_complete(.*sector: 1000' "$tmp/out"
}

trace_cmd() {
	fresh || return
	# shellcheck disable=SC2046,SC2086
	trace-cmd record -q -o "$tmp/dat" $(printf -- '-e event_test_tree:%s ' $FIRED) sh -c "echo 2 >$DEBUG/fire_tree" >"$tmp/log" 2>&1 || return
	same "$(trace-cmd report -i "$tmp/dat" 2>>"$tmp/log" | sed -nE 's/^.*: ((net|drm|ext4)_[a-z_4]*:) */\1 /p' | last)" "$TOOLS"
}

bpf() {
	fresh || return
	echo "echo 2 >$DEBUG/fire_tree" >"$tmp/fire"
	# The arguments; fields would need headers that have their types.
	timeout 100 bpftrace -e 'tracepoint:event_test_tree:net_dev_xmit { @n = count(); }
		rawtracepoint:drm_vblank_event { @seq = sum(arg1); }
		rawtracepoint:ext4_da_write_pages_extent { @lblk = sum(arg2); @dev = arg0; }' \
		-c "/bin/sh $tmp/fire" >"$tmp/log" 2>&1
	grep -q '@n: 2' "$tmp/log" && grep -q '@seq: 1' "$tmp/log" && grep -q '@lblk: 1' "$tmp/log" && grep -q '@dev: 8388609' "$tmp/log"
}

# An event that is off is one instruction that does nothing: there is no other in a function that
# hits it, but for the frame of the function.
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

run_tests formats switches:taskset output perf_tools:perf trace_cmd:trace-cmd bpf:bpftrace off_is_a_nop:objdump
rc=$?
[ ! -d /sys/module/rust_event_test ] || rmmod rust_event_test
exit $rc
