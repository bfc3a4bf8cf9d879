#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Trace events that are declared in Rust: what tracefs, perf and tools show of
# them is compared with the same events in C, of the module rust_event_test.
# shellcheck disable=SC2016 # $variables

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=/dev/null
. "$here/../user_events_rust/ktap.sh"
tmp=${tmp:?made by ktap.sh}

T=/sys/kernel/tracing
R=$T/events/event_test_rust
C=$T/events/event_test_c
DEBUG=/sys/kernel/debug/rust_event_test
PARAM=/sys/module/rust_event_test/parameters
EVENTS='numbers strings arrays relative parts names addresses rel_address quoted dump pair_first pair_second pair_third hooked faultable counted'
cd $T || exit 4

seconds=${RUST_TRACE_SECONDS:-5}

load() {
	[ ! -d $PARAM ] || return 0
	modinfo rust_event_test >/dev/null 2>&1 || skip 'there is no module rust_event_test' || return
	modprobe rust_event_test
}
sample() { # MODULE
	modinfo "$1" >/dev/null 2>&1 || skip "there is no module $1" || return
	modprobe "$1"
}
unload() { [ ! -d $PARAM ] || rmmod rust_event_test; }

# The module loaded, everything off and empty.
fresh() {
	load || return
	echo 0 >tracing_on
	echo 0 >$R/enable
	echo 0 >$C/enable
	echo >trace
	echo 1 >tracing_on
}

# Fires all events as often.
fire_rust() { echo "$1" >$DEBUG/fire; }
fire_c() { echo "$1" >$PARAM/fire_c; }

# The records of the buffer: the part after the time stamp, with neither the
# prefix of the names nor the id.
records() { sed -n 's/^.*: [rc]_\([a-z_]*: .*\)$/\1/p' trace; }

# In C a mask overwrites what else is printed for the same line.
without_masks() { sed -E 's/^(arrays|relative): .*/\1/'; }

# The same records for both, as the command has them?
both() { # COMMAND-THAT-ENABLES COUNT [COMMAND...]
	local rust c as=("${@:3}")
	[ ${#as[@]} -gt 0 ] || as=(cat)
	fresh || return
	"$1" $R r_ && fire_rust "$2"
	rust=$(records | "${as[@]}")
	fresh || return
	"$1" $C c_ && fire_c "$2"
	c=$(records | "${as[@]}")
	echo 0 >$R/enable
	echo 0 >$C/enable
	[ -n "$c" ] && same "$rust" "$c"
}

format() { # DIR
	sed -E '/^ID:/d; s/^name: [rc]_/name: /; s/^(print fmt: )"(\\"|").*inverse=%d"/\1/' "$1/format"
}

# Format files: types, offsets, sizes, signs and the print format.
formats() {
	local e c rc=0
	load || return
	for e in $EVENTS pointers cost cost_string; do
		c=$(format $C/c_$e)
		[ -n "$c" ] && same "$(format $R/r_$e)" "$c" || rc=1
	done
	return $rc
}

# In C the format of this event has the characters as they are in the string.
event_escapes__in_formats() {
	load || return
	same "$(sed -n 's/^print fmt: \(.*\), REC->type, __print_hex.*/\1/p' $R/r_quoted/format)" \
		'"\"%u\" back\\slash %s\t%s %s inverse=%d"'
}

all_on() { echo 1 >"$1/enable"; }
output() { both all_on 12 without_masks; }

masks() { # NUMBER
	echo >trace
	echo "$1" >$DEBUG/masks
	records
}

# All texts that are printed for a line, masks among them.
event_bitmask_text__in_a_line() {
	local zeroes=00000000,00000 got
	fresh || return
	[ "$(getconf LONG_BIT)" = 64 ] || skip 'the size of a word is another one' || return
	echo 1 >$R/r_masks/enable
	echo 1 >$R/r_arrays/enable
	same "$(masks 3)" "masks: three ${zeroes}103 ${zeroes}003 ONE|TWO" || return
	echo 1 >options/bitmask-list
	got=$(masks 3)
	echo 0 >options/bitmask-list
	same "$got" 'masks: three 0-1,8 0-1 ONE|TWO' || return
	echo >trace
	fire_rust 4
	echo 0 >$R/enable
	same "$(records | tail -n 1)" "arrays: 03:03:03:03:03:03 03 03 03 03 03 03 {0x3,0x4} \
127.0.0.3 {0x0,0x1111,0x2222} 000000001111000022220000 len=12 \
00000000,00000021,${zeroes}103 ${zeroes}002"
}

output_fields() {
	local rc=0
	echo 1 >options/fields
	both all_on 5 || rc=1
	echo 0 >options/fields
	return $rc
}

filters_on() {
	local e=$1/$2
	echo 'a > 3 && g < 0x1000000000' >"${e}numbers/filter" &&
		echo 'name == "alpha" || note ~ "a much*"' >"${e}strings/filter" &&
		echo 'cpus & CPUS{1}' >"${e}arrays/filter" &&
		echo 'flags & 2' >"${e}names/filter" &&
		echo 'left < 2' >"${e}pair_first/filter" &&
		echo 1 >"$1/enable"
}

filters_off() {
	local e
	for e in "$R"/*/filter "$C"/*/filter; do echo 0 >"$e"; done
}

filters() {
	local rc=0
	both filters_on 12 without_masks || rc=1
	filters_off
	return $rc
}

hist_of() { # DIR EVENT KEYS
	echo "hist:keys=$3" >"$1/$2/trigger"
	fire_rust 20
	fire_c 20
	sed -n '/^{/p' "$1/$2/hist" | sort
	echo "!hist:keys=$3" >"$1/$2/trigger"
}

hist() {
	local rc=0 a c
	fresh || return
	for a in 'strings name' 'strings note' 'numbers d' 'names state,flags' 'numbers k:vals=g' 'pair_second left'; do
		# shellcheck disable=SC2086
		set -- $a
		c=$(hist_of $C "c_$1" "$2")
		[ -n "$c" ] && same "$(hist_of $R "r_$1" "$2")" "$c" || rc=1
	done
	return $rc
}

# The filter kind of fields, other than that of their type.
filter_types() {
	filter_types_of $R/r_pointers $DEBUG/pointers && filter_types_of $C/c_pointers $PARAM/pointers_c
}

filter_types_of() { # EVENT'S-DIR FILE-TO-FIRE
	local got
	fresh || return
	echo 1 >"$1/enable"
	echo 'text == "short"' >"$1/filter" || return
	echo 6 >"$2"
	got=$(records | wc -l)
	# By its type in C.
	echo 'also ~ "a much*" && cpu & CPUS{0-1}' >"$1/filter" || return
	echo 6 >"$2"
	got="$got $(records | wc -l)"
	echo 'ip.function == vfs_read' >"$1/filter" || return
	echo 6 >"$2"
	echo 0 >"$1/filter"
	same "$got $(records | wc -l)" '3 6 6'
}

# The largest size of records, of 12 bytes and these.
recorded() { # BYTES
	echo >trace
	echo "$1" >$DEBUG/big
	records | grep -c "^big: len=$1\$"
}

event_size__of_a_record() {
	local before got
	fresh || return
	before=$(sed 's/ .*//' buffer_subbuf_size_kb)
	echo 1 >$R/r_big/enable
	got="$(recorded 3000) $(recorded 30000)"
	echo 128 >buffer_subbuf_size_kb || skip 'there are no larger sub-buffers' || return
	got="$got $(recorded 30000) $(recorded 65523) $(recorded 65524) $(recorded 70000)"
	echo "$before" >buffer_subbuf_size_kb
	echo 0 >$R/r_big/enable
	same "$got" '1 0 1 1 0 0'
}

perf_samples() { # BYTES...
	local n
	for n; do echo "echo $n >$DEBUG/big"; done >"$tmp/big"
	perf record -q -o "$tmp/perf" -e event_test_rust:r_big -a -- sh "$tmp/big" >"$tmp/log" 2>&1 || return
	perf script -i "$tmp/perf" -F trace 2>>"$tmp/log" | tr -d ' ' | tr '\n' ' '
}

event_perf_size__of_a_record() {
	fresh || return
	same "$(perf_samples 8 8176 8177 9000)" 'len=8 len=8176 '
}

# Until the kernel has random numbers, %p prints no address. In an idle guest that
# takes minutes, so this adds entropy: RNDADDTOENTCNT.
have_random_numbers() {
	python3 -c 'import fcntl, struct; fcntl.ioctl(open("/dev/random", "wb"), 0x40045201, struct.pack("i", 256))'
}
addresses_are_printed() { records | grep -q '^numbers:' && ! records | grep -q ____ptrval____; }

# The output on the console is that in the buffer. It was switched on by
# "tp_printk" of the command line, or it cannot be.
tp_printk() {
	local switch=/proc/sys/kernel/tracepoint_printk got
	fresh || return
	echo 1 >$switch
	[ "$(cat $switch)" = 1 ] || skip 'not booted with tp_printk' || return
	echo 0 >$switch
	echo 1 >$R/enable
	fire_rust 2
	have_random_numbers && eventually addresses_are_printed && fresh || return
	echo 1 >$switch
	dmesg -c >"$tmp/dmesg"
	echo 1 >$R/enable
	fire_rust 4
	echo 0 >$R/enable
	echo 0 >$switch
	dmesg | sed -n 's/^\(\[[^]]*\] \)*[rc]_\([a-z_]*: .*\)$/\2/p' >"$tmp/got"
	[ -s "$tmp/got" ] && ! grep -q broken "$tmp/got" || return
	same "$(grep '^relative:.*len=3' "$tmp/got")" \
		'relative: len=3 {0x0,0x1111,0x2222} 00000000,00000021,00000000,00000103 00000000,00000002' || return
	same "$(cat "$tmp/got")" "$(records)"
}

# An artificial record is printed to the console as it is read: what it says that
# it has, but has not, is not looked for.
tp_printk_injected() {
	local switch=/proc/sys/kernel/tracepoint_printk
	fresh || return
	echo 1 >$switch
	[ "$(cat $switch)" = 1 ] || skip 'not booted with tp_printk' || return
	dmesg -c >"$tmp/dmesg"
	echo 'used=255 list=0x04000018' >$R/r_parts/inject && echo 'odd=1' >$R/r_strings/inject
	echo 0 >$switch
	dmesg | sed -n 's/^\(\[[^]]*\] \)*r_\([a-z_]*: .*\)$/\2/p' >"$tmp/got"
	same "$(wc -l <"$tmp/got")" 2 && same "$(cat "$tmp/got")" "$(records)" && grep -q '^parts: 00 00 {} $' "$tmp/got"
}

# Strings that are not given are empty.
injected_strings() {
	fresh && echo 'odd=1' >$R/r_strings/inject && echo 'odd=1' >$C/c_strings/inject || return
	same "$(records | wc -l)" 2 && same "$(records | sort -u | wc -l)" 1 && ! records | grep -q broken
}

triggers() {
	fresh || return
	echo 'traceoff if n == 5' >$R/r_hooked/trigger || return
	echo 1 >$R/r_hooked/enable
	fire_rust 10
	same "$(cat tracing_on)" 0 || return
	echo '!traceoff' >$R/r_hooked/trigger
	same "$(records | tail -n 1)" 'hooked: n=5' || return
	fresh || return
	# An event that only another one's trigger turns on.
	echo 'enable_event:event_test_rust:r_names:1' >$R/r_hooked/trigger
	fire_rust 2
	echo '!enable_event:event_test_rust:r_names:1' >$R/r_hooked/trigger
	same "$(records | sed 's/:.*//')" 'names' || return
	echo 'stacktrace:1' >$R/r_hooked/trigger
	fire_rust 2
	echo '!stacktrace:1' >$R/r_hooked/trigger
	grep -q 'probe_r_hooked' trace
}

condition() {
	fresh || return
	echo 1 >$R/r_pair_second/enable
	fire_rust 5
	same "$(records)" 'pair_second: left=0 right=3
pair_second: left=1 right=3
pair_second: left=2 right=3
pair_second: left=4 right=3'
}

hooks() {
	local before after
	fresh || return
	read -r before _ <$DEBUG/hooks
	mkdir -p instances/rust_trace
	echo 1 >$R/r_hooked/enable
	echo 1 >instances/rust_trace/events/event_test_rust/r_hooked/enable
	echo 0 >$R/r_hooked/enable
	echo 0 >instances/rust_trace/events/event_test_rust/r_hooked/enable
	rmdir instances/rust_trace
	read -r after detached <$DEBUG/hooks
	same "$((after - before)) $detached" "1 $after" || return

	echo 1 >$DEBUG/refuse
	same "$( (echo 1 >$R/r_hooked/enable) 2>&1 | sed 's/.*: //')" 'Device or resource busy' || return
	echo 0 >$DEBUG/refuse
	same "$(cat $DEBUG/hooks)" "$after $detached"
}

arguments() {
	local before
	fresh || return
	before=$(cat $DEBUG/evaluated)
	fire_rust 100
	same "$(cat $DEBUG/evaluated)" "$before" || return
	echo 1 >$R/r_hooked/enable
	fire_rust 100
	same "$(cat $DEBUG/evaluated)" $((before + 100))
}

probes() {
	fresh || return
	same "$(cat $DEBUG/probe)" '1 42' || return
	# Beside the event itself.
	echo 1 >$R/r_pair_first/enable
	same "$(cat $DEBUG/probe)" '1 42' || return
	same "$(records)" 'pair_first: left=40 right=2
pair_first: left=1 right=2'
}

# A hit takes as long as a probe on it sleeps, 20 ms. (That counts ticks, which an
# emulator delivers in a burst when it was late: by the clock it can be 18.)
slept() {
	local ms
	ms=$(cat $DEBUG/sleep)
	[ "$ms" -ge 10 ] || same "$ms" '10 ms or more'
}

# A probe that sleeps, and the event itself beside it.
faultable() {
	fresh && slept || return
	echo 1 >$R/r_faultable/enable
	slept || return
	same "$(records)" 'faultable: n=7 name=(null)'
}

# A module in C hits a tracepoint of the one in Rust, and has a probe.
exported() {
	local user=/sys/module/rust_event_user/parameters rc=0
	fresh && modprobe rust_event_user || return
	echo 1 >$R/r_exported/enable
	echo 3 >$user/fire
	echo 2 >$DEBUG/fire_exported
	same "$(cat $user/hits) $(cat $user/sum)" '5 302' || rc=1
	same "$(records)" 'exported: left=0 right=100
exported: left=1 right=100
exported: left=2 right=100
exported: left=0 right=-1
exported: left=1 right=-1' || rc=1
	# The modules in use stay.
	! rmmod rust_event_test 2>/dev/null || rc=1
	rmmod rust_event_user || rc=1
	echo 2 >$DEBUG/fire_exported
	return $rc
}

# The context flags of the records of an event: interrupts, preemption and
# migration.
context_flags() { # NAME
	sed -n "s/.*\] \([^ ]*\) .*: $1: left=\([0-9]*\) .*/\2 \1/p" trace
}

# It is the same of both. (A tick between the two hits can ask for a switch.)
contexts() {
	load || return
	for _ in 1 2 3; do
		fresh || return
		echo 1 >$C/c_pair_first/enable
		echo 1 >$R/r_exported/enable
		echo 1 >$PARAM/contexts
		echo 0 >$R/enable
		echo 0 >$C/enable
		[ "$(context_flags r_exported)" != "$(context_flags c_pair_first)" ] || break
	done
	same "$(context_flags r_exported)" "$(context_flags c_pair_first)" || return
	same "$(context_flags c_pair_first | grep -c .)" 13 || return
	# They are not all alike.
	[ "$(context_flags c_pair_first | cut -d' ' -f2 | sort -u | grep -c .)" -ge 6 ] ||
		same "$(context_flags c_pair_first)" 'six kinds of flags or more'
}

# The same with references, and from C with pointers.
passed() {
	local user=/sys/module/rust_event_user/parameters rc=0 pid=$BASHPID
	fresh && modprobe rust_event_user || return
	echo 1 >$R/r_passed/enable
	echo 2 >$user/fire
	echo 2 >$DEBUG/fire_exported
	same "$(cat $user/passed)" 4 || rc=1
	same "$(records | sed -E 's/cpus=[0,]*/cpus=/')" "passed: pid=$pid other=-1 cpus=1 odd=0 n=-1
passed: pid=$pid other=$pid cpus=2 odd=1 n=-2
passed: pid=$pid other=-1 cpus=1 odd=0 n=-1
passed: pid=$pid other=$pid cpus=3 odd=1 n=-2" || rc=1
	rmmod rust_event_user || rc=1
	return $rc
}

# TRACE_CUSTOM_EVENT()
custom() {
	local dir=$T/events/event_test_custom rc=0
	unload && fresh || return
	# Not before it has a tracepoint.
	same "$( (echo 1 >$dir/sched_switch/enable) 2>&1 | sed 's/.*: //')" 'No such device' || return
	same "$( (echo 1 >$DEBUG/bind_nowhere) 2>&1 | sed 's/.*: //')" 'No such file or directory' || return
	! (echo 1 >$dir/rust_nowhere/enable) 2>/dev/null || return
	! (echo 1 >$dir/sched_waking/enable) 2>/dev/null || return
	echo 1 >$DEBUG/bind
	grep -q '^name: sched_switch$' $dir/sched_switch/format || return

	# Beside the event of C, with the same values.
	echo 1 >$dir/sched_switch/enable || return
	echo 1 >events/sched/sched_switch/enable
	sleep 0.1
	echo 0 >tracing_on
	echo 0 >events/sched/sched_switch/enable
	echo 0 >$dir/sched_switch/enable
	custom_pairs || rc=1

	# The module of an enabled event stays, whatever enabled it.
	echo 'traceoff' >$dir/sched_switch/trigger || rc=1
	! rmmod rust_event_test 2>/dev/null || rc=1
	echo '!traceoff' >$dir/sched_switch/trigger
	if command -v perf >/dev/null; then
		perf record -q -o "$tmp/perf" -e event_test_custom:sched_switch -a -- sleep 0.1 >"$tmp/log" 2>&1 || rc=1
		perf script -i "$tmp/perf" -F event,trace 2>/dev/null | grep -q 'prev_pid=[0-9]* next_pid=' || rc=1
	fi
	custom_class $dir || rc=1
	unload && fresh || rc=1
	return $rc
}

# DEFINE_CUSTOM_EVENT(): two of them, and an event of the module, with the same fields.
custom_class() { # DIR
	local rc=0
	echo >trace
	echo 1 >tracing_on
	echo 1 >"$1/r_woken/enable" || rc=1
	echo 1 >"$1/sched_waking/enable" || rc=1
	echo 1 >"$1/sched_wakeup/enable" || rc=1
	! rmmod rust_event_test 2>/dev/null || rc=1
	fire_rust 1
	sleep 0.1
	echo 0 >"$1/enable"
	echo 0 >tracing_on
	grep -q ': sched_waking: pid=[0-9]*$' trace && grep -q ': sched_wakeup: up=[0-9]*$' trace || rc=1
	same "$(records | sed 's/=.*//')" 'woken: pid' || rc=1
	return $rc
}

# In front of each record of C, the one with prev_comm, is that of Rust.
custom_pairs() {
	sed -n 's/^.*: sched_switch: //p' per_cpu/cpu0/trace | awk '
		{ for (i = 1; i <= NF; i++) if (split($i, a, "=") == 2) value[a[1]] = a[2] }
		{ now = value["prev_pid"] " " value["next_pid"] }
		!/prev_comm=/ { last = now; next }
		{ n++; if (now != last) bad++; last = "" }
		END { exit bad || !n }'
}

instances() {
	local got
	fresh || return
	mkdir instances/rust_trace || return
	echo 1 >instances/rust_trace/events/event_test_rust/r_hooked/enable
	echo 1 >$R/r_hooked/enable
	fire_rust 3
	got=$(grep -c r_hooked instances/rust_trace/trace)
	rmdir instances/rust_trace
	same "$got $(grep -c r_hooked trace)" '3 3'
}

# libtraceevent 1.8 cannot print relative arrays and addresses, and dumps, of C either,
# and only of C no quotation marks.
tool_events() { # FORMAT: for each event but those
	local e
	for e in $EVENTS; do
		# shellcheck disable=SC2059
		case $e in
		relative | rel_address | dump | quoted) ;;
		*) printf -- "$1" "$e" ;;
		esac
	done
}

perf_script() { # SYSTEM:PREFIX COMMAND
	# shellcheck disable=SC2046
	perf record -q -o "$tmp/perf" $(tool_events "-e $1%s ") -a -- sh -c "$2" >"$tmp/log" 2>&1 || return
	perf script -i "$tmp/perf" -F event,trace 2>>"$tmp/log" | sed "s/^ *$1//"
}

perf_records() {
	local rust c
	fresh || return
	rust=$(perf_script event_test_rust:r_ "echo 12 >$DEBUG/fire")
	c=$(perf_script event_test_c:c_ "echo 12 >$PARAM/fire_c")
	[ -n "$c" ] && same "$rust" "$c" || return
	# A filter of perf.
	perf record -q -o "$tmp/perf" -e event_test_rust:r_strings --filter 'name == "alpha"' -a -- \
		sh -c "echo 12 >$DEBUG/fire" >"$tmp/log" 2>&1 || return
	same "$(perf script -i "$tmp/perf" 2>/dev/null | grep -c 'name=alpha')" 3
}

perf_hits() { # EVENT COMMAND: the functions that hit it
	perf record -q -o "$tmp/perf" -e "$1" -a -- sh -c "$2" >"$tmp/log" 2>&1 || return
	perf script -i "$tmp/perf" -F ip,sym 2>>"$tmp/log" | sed 's/^ *[0-9a-f]* *//' | sort -u
}

# The address of a sample is that of the function with the tracepoint.
perf_addresses() {
	local rust c
	zgrep -q '^CONFIG_RUST_INLINE_HELPERS=y' /proc/config.gz ||
		skip 'needs CONFIG_RUST_INLINE_HELPERS' || return
	fresh || return
	c=$(perf_hits event_test_c:c_hooked "echo 3 >$PARAM/fire_c")
	rust=$(perf_hits event_test_rust:r_hooked "echo 3 >$DEBUG/fire")
	same "$(grep -c . <<<"$c") $(grep -c . <<<"$rust")" '1 1' || return
	grep -q 'fire' <<<"$rust" && ! grep -Eq 'perf_|probe|traceiter' <<<"$rust"
}

trace_cmd_report() { # SYSTEM:PREFIX COMMAND
	# shellcheck disable=SC2046
	trace-cmd record -q -o "$tmp/dat" $(tool_events "-e $1%s ") sh -c "$2" >"$tmp/log" 2>&1 || { cat "$tmp/log" >&2; return 1; }
	trace-cmd report -i "$tmp/dat" 2>>"$tmp/log" | sed -n "s/^.*: ${1#*:}\\([a-z_]*:\\) */\\1 /p"
}

trace_cmd() {
	local rust c
	fresh || return
	rust=$(trace_cmd_report event_test_rust:r_ "echo 12 >$DEBUG/fire")
	c=$(trace_cmd_report event_test_c:c_ "echo 12 >$PARAM/fire_c")
	trace-cmd reset >>"$tmp/log" 2>&1
	[ -n "$c" ] && same "$rust" "$c" || { cat "$tmp/log"; return 1; }
}

perf_count() { # EVENT COMMAND: how often it happened, to this command and its tasks
	perf stat -x , -o "$tmp/stat" -e "$1" -- sh -c "$2" >"$tmp/log" 2>&1 || return
	sed -n "s/^\([0-9]*\),.*$1.*/\1/p" "$tmp/stat"
}

# Hits by other tasks for a task only count for events of this task on one CPU.
# True if perl can call perf_event_open(), by its number.
perf_event_open=
case $(uname -m) in
x86_64) perf_event_open=298 ;;
aarch64 | riscv64) perf_event_open=241 ;;
esac
may_syscall() { command -v perl >/dev/null && [ -n "$perf_event_open" ] || skip 'needs perl, and a machine whose system calls it knows'; }

# The count for a task that wrote to the file, and then ran a command.
perf_count_of_task() { # EVENT'S-DIR FILE TEXT [COMMAND]
	perl -e '
		my ($open, $id, $cpus, $file, $text, $command) = @ARGV;
		my @events = map {
			my $attr = pack("LLQx48", 2, 64, $id);
			my $fd = syscall($open, $attr, 0, $_, -1, 0);
			open(my $event, "<&=", $fd) or die "perf_event_open: $!";
			$event
		} 0 .. $cpus - 1;
		open(my $out, ">", $file) or die "$file: $!";
		syswrite($out, "$text\n") or die "$file: $!";
		system($command) if $command;
		my $sum = 0;
		for (@events) {
			sysread($_, my $count, 8);
			$sum += unpack("Q", $count);
		}
		print "$sum\n";' "$perf_event_open" "$(cat "$1/id")" "$(nproc)" "${@:2}"
}

# __perf_count() and __perf_task()
perf_counts() {
	may_syscall && fresh || return
	same "$(perf_count event_test_c:c_counted "echo 5 >$PARAM/fire_c")" 10 || return
	same "$(perf_count event_test_rust:r_counted "echo 5 >$DEBUG/fire")" 10 || return
	# Hits in a kworker, or in another process, for the task that waits for them.
	same "$(perf_count_of_task $C/c_counted $PARAM/fire_task_c 5)" 10 || return
	same "$(perf_count_of_task $R/r_counted $DEBUG/fire_task 0 "echo 5 >$DEBUG/fire_task")" 10
}

# In an NMI perf does not look at the events of the task, but at those of the CPU.
counted_in_nmi() {
	local printk rc=0 n
	[ -e events/nmi/nmi_handler ] || skip 'no event happens in NMIs here' || return
	fresh || return
	printk=$(cat /proc/sys/kernel/printk)
	# Backtraces are not for the console.
	echo 1 >/proc/sys/kernel/printk
	echo 1 >$R/r_counted/enable
	echo 1 >$DEBUG/in_nmi || rc=1
	perf stat -a -x , -o "$tmp/stat" -e event_test_rust:r_counted -- \
		sh -c 'for i in 1 2 3; do echo l >/proc/sysrq-trigger; sleep 0.3; done' >"$tmp/log" 2>&1 || rc=1
	echo 0 >$DEBUG/in_nmi || rc=1
	echo "$printk" >/proc/sys/kernel/printk
	n=$(records | grep -c 'counted: n=1 next=2 square=4 task=1')
	# All processors except this one are sent one each time.
	[ "$n" -ge 3 ] || same "$n records" '3 or more' || rc=1
	same "$(grep -o '^[0-9]*' "$tmp/stat")" "$n" || rc=1
	return $rc
}

# For another task it does not take the lock of that task's events, which the CPU may have just
# then: the NMI would wait for itself. One NMI is in the middle of each record of a hit, that of the
# buffer and that of perf, and one while the CPU has the lock.
counted_in_nmi_for_a_task() {
	may_syscall && fresh || return
	[ -e $PARAM/fire_in_nmi ] || skip 'no event happens in NMIs here' || return
	echo 1 >$R/r_counted/enable
	# Those in NMIs do not count for the task.
	same "$(perf_count_of_task $R/r_counted $PARAM/fire_in_nmi 1)" 1 || return
	same "$(records | grep -c '^counted: n=1 next=2 square=4 task=1$')" 1 || return
	same "$(records | grep -c '^counted: n=100 next=101 square=10201 task=1$')" 3
}

# True if perf opens an event for the current task, with the records of the
# event (1024) or without (0). The words after it run it as another user.
perf_open() { # EVENT PERIOD SAMPLE-TYPE [COMMAND...]
	local id period=$2 type=$3
	id=$(cat "$R/$1/id") || return
	shift 3
	"$@" perl -e '
		my ($open, $id, $period, $type) = @ARGV;
		my $attr = pack("LLQQQQQx16", 2, 64, $id, $period, $type, 0, 1);
		print syscall($open, $attr, 0, -1, -1, 0) < 0 ? "$!\n" : "ok\n";' "$perf_event_open" "$id" "$period" "$type"
}

as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

# TRACE_EVENT_FLAGS(name, TRACE_EVENT_FL_CAP_ANY)
perf_cap_any() {
	local paranoid any other rc=0
	may_syscall && fresh || return
	paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
	echo 1 >/proc/sys/kernel/perf_event_paranoid
	any=$(perf_open r_any 1 1024 as_nobody)
	other=$(perf_open r_pair_first 1 1024 as_nobody)
	echo "$paranoid" >/proc/sys/kernel/perf_event_paranoid
	same "$any, $other" 'ok, Operation not permitted' || rc=1
	return $rc
}

# TRACE_EVENT_PERF_PERM()
perf_permission() {
	may_syscall && fresh || return
	same "$(perf_open r_countable 0 0)" ok || return
	same "$(perf_open r_countable 1 0)" 'Permission denied' || return
	same "$(perf_open r_countable 0 1024)" 'Permission denied' || return
	same "$(perf_open r_pair_first 1 1024)" ok
}

event_escapes__in_tools() {
	fresh || return
	trace-cmd record -q -o "$tmp/dat" -e event_test_rust:r_quoted sh -c "echo 4 >$DEBUG/fire" >"$tmp/log" 2>&1 || return
	trace-cmd report -i "$tmp/dat" 2>>"$tmp/log" | sed -n 's/^.*: r_quoted: *//p' >"$tmp/got"
	trace-cmd reset >>"$tmp/log" 2>&1
	same "$(head -n 1 "$tmp/got")" '"0" back\slash 00 00'$'\t''short none inverse=-1' || return
	same "$(wc -l <"$tmp/got")" 4
}

bpf() { # PROGRAM PATTERN: what bpftrace prints of it
	fresh || return
	echo "echo 4 >$DEBUG/fire" >"$tmp/fire"
	timeout 60 bpftrace -e "$1" -c "/bin/sh $tmp/fire" >"$tmp/log" 2>&1
	grep -q "$2" "$tmp/log"
}

# Without headers or BTF bpftrace knows no more than the types of C.
bpf_event() {
	bpf 'tracepoint:event_test_rust:r_pair_first { @[args.left, args.right] = count(); }' '@\[2, 3\]: 1'
}

bpf_raw() {
	bpf 'rawtracepoint:r_pair_first { @sum = sum(arg0); @n = count(); }' '@n: 4'
}

bpf_bare() {
	bpf 'rawtracepoint:r_bare { @n[arg0] = count(); }' '@n\[3\]: 1' && ! grep -q '@n\[2\]' "$tmp/log"
}

# The names that "make UT=1" looks for are those in use.
used_only() {
	local ko
	ko=$(find "/usr/lib/modules/$(uname -r)" -name rust_event_test.ko) || return
	readelf -p __tracepoint_check "$ko" >"$tmp/log" || return
	grep -q ' r_hooked$' "$tmp/log" && grep -q ' r_bare$' "$tmp/log" &&
		grep -q ' r_only_c$' "$tmp/log" && ! grep -q ' r_unused$' "$tmp/log"
}

# Module life.

unload_empty() {
	load && unload && [ ! -d $R ] && load && [ -d $R ]
}

unload_with_records() {
	fresh || return
	echo 1 >$R/enable
	fire_rust 5
	[ -n "$(records)" ] || return
	# As for C: an event that is on does not keep the module, and the records are
	# removed.
	unload || return
	[ ! -d $R ] && same "$(grep -c r_ trace)" 0 || return
	load && fresh && echo 1 >$R/enable && fire_rust 2 && records | grep -q 'hooked: n=1'
}

attached() {
	local attached detached
	read -r attached detached <$DEBUG/hooks
	[ "$attached" -gt "$detached" ]
}

unload_while_perf() {
	local pid
	fresh || return
	perf record -q -o "$tmp/perf" -e event_test_rust:r_hooked -a -- sleep 30 >"$tmp/log" 2>&1 &
	pid=$!
	eventually attached || return
	! rmmod rust_event_test 2>"$tmp/rmmod" || return
	kill -INT $pid
	wait $pid
	grep -q 'in use' "$tmp/rmmod"
}

reload() {
	for _ in 1 2 3 4 5; do
		unload && load && echo 1 >$R/enable && fire_rust 3 || return
	done
	fresh && unload && load
}

# It is loaded and unloaded while its events are fired, switched and read.
race_unload() { modprobe rust_event_test && sleep 0.1 && rmmod rust_event_test; }
race_fire() { echo 100 >$DEBUG/fire; }
race_switch() {
	local rc=0
	echo 1 >$R/enable || rc=1
	echo 1 >events/rust_probe/enable
	echo 0 >$R/enable
	echo 0 >events/rust_probe/enable
	return $rc
}
race_trace() { cat trace; }
# Some of them may be removed in between.
race_formats() {
	cat events/rust_probe/*/format
	cat $R/*/format | grep '^print fmt: '
}
# A module with a probe, which is called for each switch of tasks.
race_probe() {
	local rc=0
	modprobe rust_trace_probe
	[ "$(cat /sys/kernel/debug/rust_trace_probe/switches)" -gt 0 ] || rc=1
	rmmod rust_trace_probe && return $rc
}

# What has a file of debugfs open does not keep the module, and may close it later.
unload_file_open() {
	local rc=0
	fresh || return
	exec 8<$DEBUG/hooks 9>$DEBUG/fire || return
	unload || rc=1
	(cat <&8) >/dev/null 2>&1 && rc=1
	(echo 1 >&9) 2>/dev/null && rc=1
	exec 8<&- 9>&-
	load && fire_rust 1 && [ $rc = 0 ]
}

unload_while_fired() {
	local probe=()
	load && unload || return
	! modinfo rust_trace_probe >/dev/null 2>&1 || probe=(race_probe)
	race "$seconds" race_unload race_fire race_fire race_switch race_trace race_formats \
		"${probe[@]}" || return
	if [ ${#probe[@]} -gt 0 ]; then
		eventually sh -c '! grep -q "^rust_trace_probe " /proc/modules || rmmod rust_trace_probe' \
			2>/dev/null || return
	fi
	eventually unload 2>/dev/null && fresh && echo 1 >$R/enable && fire_rust 3 && records | grep -q 'hooked: n=2'
}

# An event that cannot be switched on has no trigger.
trigger_refused() {
	local rc=0
	fresh && sample rust_event_trigger || return
	echo 1 >$DEBUG/refuse
	(echo rust_count >>$R/r_hooked/trigger) 2>"$tmp/log"
	grep -q 'busy' "$tmp/log" && ! grep -q '^rust_count' $R/r_hooked/trigger || rc=1
	echo 0 >$DEBUG/refuse
	# Nothing is left of it: neither is the event on, nor does it keep a module.
	fire_rust 1
	same "$(cat $R/r_hooked/enable)" 0 && echo rust_count >>$R/r_hooked/trigger && fire_rust 3 || rc=1
	same "$(grep -o '^rust_count: hits=[0-9]*' $R/r_hooked/trigger)" 'rust_count: hits=3' || rc=1
	! rmmod rust_event_test 2>/dev/null || rc=1
	echo '!rust_count' >>$R/r_hooked/trigger
	eventually rmmod rust_event_trigger 2>/dev/null && unload && [ $rc = 0 ]
}

# Probes of another module, on tracepoints of C and of Rust.
probes_of_modules() {
	local rc=0
	fresh || return
	# Before the module is loaded no tracepoints exist.
	unload && ! modprobe rust_module_test 2>/dev/null && load && sample rust_module_test || return
	same "$(cat /sys/kernel/debug/rust_module_test/probed)" '0 0' || rc=1
	fire_rust 5
	fire_c 3
	same "$(cat /sys/kernel/debug/rust_module_test/probed)" '3 5' || rc=1
	# It cannot be unloaded while it is used.
	! rmmod rust_event_test 2>/dev/null || rc=1
	rmmod rust_module_test && fire_rust 5 && fire_c 3 && unload && [ $rc = 0 ]
}

# The messages about modules that were loaded and unloaded, since a mark in the
# log.
told() { dmesg | sed "0,/$1/d" | sed -n 's/^.*rust_module_test: \(rust_[a-z_]* [a-z]* with .*\)/\1/p' | grep -v '^rust_module_test '; }

module_watch() {
	local mark=rust_trace_mark_$$ rc=0
	load && echo "$mark" >/dev/kmsg && sample rust_module_test || return
	sample rust_trace_event && rmmod rust_trace_event || rc=1
	rmmod rust_module_test || rc=1
	told $mark >"$tmp/told"
	# The loaded ones, one that is loaded and unloaded, and those that stay when the
	# watch ends.
	same "$(sed 's/with [1-9][0-9]* trace/with some trace/' "$tmp/told")" \
		'rust_event_test comes with some tracepoints, has r_pair_first
rust_trace_event comes with some tracepoints, no r_pair_first
rust_trace_event goes with some tracepoints, no r_pair_first
rust_event_test goes with some tracepoints, has r_pair_first' || rc=1
	# The watch is no longer called.
	sample rust_trace_event && rmmod rust_trace_event || rc=1
	same "$(told $mark | wc -l)" 4 || rc=1
	unload && [ $rc = 0 ]
}

# Strings that records have the address of.
listed_strings() {
	local e=events/rust_kunit/rust_kunit_listed
	[ -d $e ] || skip 'needs CONFIG_RUST_TRACE_KUNIT_TEST' || return
	[ "$(getconf LONG_BIT)" = 64 ] || skip 'the size of a pointer is another one' || return
	same "$(grep -c '^0x[0-9a-f]* : "listed by a test"$' printk_formats)" 2 &&
		grep -q 'field:const char \* state;	offset:8;	size:8;	signed:0;' $e/format &&
		grep -qF 'print fmt: "state=%s number=%u", REC->state, REC->number' $e/format &&
		echo 'state ~ "wait*"' >$e/filter && echo 0 >$e/filter
}

# As long as a module is being initialised, nothing of it can be used.
not_yet() {
	local e=events/rust_module_test/rust_lingering w=events/sched/sched_waking pid rc=0
	load || return
	modprobe rust_module_test linger=$((seconds * 1000)) &
	pid=$!
	eventually grep -q rust_lingering $w/trigger && [ -e rust_lingering ] || rc=1
	(echo rust_lingering >>$w/trigger) 2>"$tmp/log"
	grep -q 'busy' "$tmp/log" || rc=1
	cat rust_lingering 2>"$tmp/log"
	grep -q 'No such device' "$tmp/log" || rc=1
	(echo hist:keys=n >>$e/trigger) 2>"$tmp/log"
	grep -q 'No such device' "$tmp/log" || rc=1
	# All of this was before it was over.
	grep -q '^rust_module_test .* Loading' /proc/modules || rc=1
	wait $pid || return
	same "$(cat rust_lingering)" there && echo rust_lingering >>$w/trigger && echo '!rust_lingering' >>$w/trigger &&
		echo hist:keys=n >>$e/trigger && echo '!hist:keys=n' >>$e/trigger || rc=1
	eventually rmmod rust_module_test 2>/dev/null && unload && [ $rc = 0 ]
}

# As the kernel is started with "trace_event=": an event that is built in.
enabled_at_boot() {
	grep -q 'trace_event=rust_kunit:rust_kunit_gaps' /proc/cmdline ||
		skip 'not booted with trace_event=rust_kunit:rust_kunit_gaps' || return
	same "$(cat events/rust_kunit/rust_kunit_{gaps,hit}/enable)" '1
0'
}

# Requests for a module that is loaded later.
enabled_when_loaded() {
	local on rc=0
	modinfo rust_trace_event >/dev/null 2>&1 || skip 'there is no module rust_trace_event' || return
	[ ! -d events/rust_sample ] && echo ':mod:rust_trace_event' >>set_event || return
	grep -q ':mod:rust_trace_event$' set_event && modprobe rust_trace_event || return
	on=$(cat events/rust_sample/enable)
	echo >trace
	echo hello >/sys/kernel/debug/rust_trace_event/say
	echo 0 >events/rust_sample/enable
	same "$on" 1 && grep -q ': foo_bar: foo hello' trace || rc=1
	rmmod rust_trace_event && ! grep -q ':mod:' set_event && [ $rc = 0 ]
}

# Samples.

sample_records() { sed -n 's/^.*: \(foo_[a-z_]*: .*\)/\1/p' trace; }

# The example in the comment of the sample, and its output.
sample_event() {
	local e=events/rust_sample say=/sys/kernel/debug/rust_trace_event/say rc=0 cpus size bits
	sample rust_trace_event || return
	cpus=$(cat /sys/devices/system/cpu/possible)
	size=$(($(getconf LONG_BIT) / 8))
	bits=0-3,5-7,9-13,15-16,18-19,21,23,25-28,30-31
	echo >trace
	echo 1 >options/bitmask-list
	grep -q 'field:__data_loc int\[\] list;' $e/foo_bar/format || rc=1
	echo 1 >$e/enable
	echo hello >$say
	same "$(sample_records)" "foo_bar: foo hello 0 zero  {0x5} hello  ($cpus) ($cpus) iter=0 [$size]
foo_rel_loc: foo_rel_loc hello, 0, $bits, $cpus
foo_with_template_simple: foo hello 0
foo_bar_with_cond: foo hello 0
foo_with_template_cond: foo hello 0
foo_bar_with_fn: foo hello 0
foo_with_template_fn: foo hello 0
foo_with_template_print: bar hello 0" || rc=1

	echo 'bar > 2' >$e/foo_with_template_print/filter || rc=1
	echo 'hist:keys=foo:vals=bar' >$e/foo_with_template_simple/trigger || rc=1
	for _ in 1 2 3 4; do echo 'three words here' >$say; done
	same "$(sample_records | grep template_print)" 'foo_with_template_print: bar hello 0
foo_with_template_print: bar here 3
foo_with_template_print: bar here 4' || rc=1
	same "$(sed -n 's/^{ foo: \([a-z ]*[a-z]\) *}.*hitcount: *\([0-9]*\) *bar: *\([0-9]*\).*/\1 \2 \3/p' \
		$e/foo_with_template_simple/hist)" 'three words here 4 10' || rc=1
	# All of the last number but those with conditions.
	same "$(sample_records | tail -n 6)" "foo_bar: foo three wor 4 FOUR BIT3 {0x5,0x5,0x4} \
three words here th ($cpus) ($cpus) iter=4 [$size]
foo_rel_loc: foo_rel_loc three words here, 4, $bits, $cpus
foo_with_template_simple: foo three words here 4
foo_bar_with_fn: foo three words here 4
foo_with_template_fn: foo three words here 4
foo_with_template_print: bar here 4" || rc=1
	echo 0 >options/bitmask-list

	if command -v perf >/dev/null; then
		perf record -o "$tmp/perf" -e rust_sample:foo_bar -- sh -c "echo perf > $say" \
			>"$tmp/log" 2>&1 || rc=1
		perf script -i "$tmp/perf" >"$tmp/shown" 2>>"$tmp/log"
		same "$(grep -o 'rust_sample:foo_bar: *foo perf 5 .* iter=5 ' "$tmp/shown" | wc -l)" 1 || rc=1
	fi

	# Each of two events has called its functions once.
	echo 0 >$e/enable
	same "$(dmesg | grep -o 'rust_trace_event: [a-z]*body listens' | tail -n 4)" 'rust_trace_event: somebody listens
rust_trace_event: somebody listens
rust_trace_event: nobody listens
rust_trace_event: nobody listens' || rc=1
	echo '!hist:keys=foo:vals=bar' >$e/foo_with_template_simple/trigger
	eventually rmmod rust_trace_event 2>/dev/null && [ $rc = 0 ]
}

sample_probe() {
	sample rust_trace_probe || return
	echo >trace
	echo 1 >events/rust_probe/idle/enable
	eventually grep -q 'idle: prev_pid=[0-9]* switches=' trace || return
	echo 0 >events/rust_probe/idle/enable
	[ "$(cat /sys/kernel/debug/rust_trace_probe/switches)" -gt 0 ] || return
	rmmod rust_trace_probe && [ ! -d events/rust_probe ]
}

# An event that code in Rust refers to cannot be removed, whatever kind it is of.
event_is_kept() {
	local rc=0
	fresh || return
	echo 'e:rust_ep sched.sched_waking pid=$pid:s32' >>dynamic_events || skip 'there are no event probes' || return
	echo eprobes/rust_ep >$DEBUG/keep || rc=1
	if echo -:rust_ep >>dynamic_events; then rc=1; fi 2>/dev/null
	[ -d events/eprobes/rust_ep ] || rc=1
	echo >$DEBUG/keep && echo -:rust_ep >>dynamic_events && [ ! -d events/eprobes/rust_ep ] && return $rc
}

run_tests enabled_at_boot event_is_kept formats event_escapes__in_formats output event_bitmask_text__in_a_line output_fields filters filter_types hist triggers condition hooks arguments probes \
	faultable exported contexts passed custom instances event_size__of_a_record event_perf_size__of_a_record:perf tp_printk tp_printk_injected injected_strings used_only:readelf \
	perf_records:perf perf_addresses:perf perf_counts:perf counted_in_nmi:perf counted_in_nmi_for_a_task:perl perf_cap_any:setpriv perf_permission:perl trace_cmd:trace-cmd event_escapes__in_tools:trace-cmd \
	bpf_event:bpftrace bpf_raw:bpftrace bpf_bare:bpftrace \
	unload_empty unload_with_records unload_while_perf:perf unload_file_open unload_while_fired \
	trigger_refused probes_of_modules module_watch listed_strings not_yet reload enabled_when_loaded sample_event sample_probe
rc=$?
[ ! -d /sys/module/rust_module_test ] || rmmod rust_module_test
unload
exit $rc
