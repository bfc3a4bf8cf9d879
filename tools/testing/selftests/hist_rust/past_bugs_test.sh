#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Bugs that the C implementation had and that were fixed there: of histograms, of
# their map and of synthetic events. Problems that only the kernel detects, such as
# use of freed memory, are found when this runs under KASAN and lockdep. Elsewhere
# are: those that need failing allocations, in hist_failnth_test.c; those of the
# map with many threads, in races_test.c; the kernel's test modules and modules that
# are unloaded, in modules_test.sh. Leaks are found by kmemleak.
# shellcheck disable=SC2016 # $variables of histograms

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=lib.sh
. "$here/lib.sh"

# Runs a loop in the background for as long as a command in front of it.
beside() { # LOOP COMMAND...
	local loop=$1 pid rc=0
	shift
	$loop &
	pid=$!
	"$@" || rc=$?
	kill $pid
	wait $pid 2>/dev/null
	return $rc
}

# A named histogram that fails stayed on the list of names.
bad_named() {
	local i
	fresh || return
	for i in 1 2 3; do
		q put $E/num/trigger 'hist:name=foo:keys=id:x1=total:onmax($x1).trace(nosuch,$x1)'
	done
	trigger_is num 'num: no trigger' || return
	ok num hist:name=foo:keys=id && ok pair hist:name=foo:keys=id && q num 1 0 0 a && q pair 1 0 0 || return
	rows_are pair '{ id:          1 } hitcount:          2' && drop num pair && trigger_is num 'num: no trigger'
}

# Sharers of a name that are removed in every order.
named_orders() {
	local order e
	fresh || return
	for order in 'num pair text' 'num text pair' 'pair num text' 'pair text num' 'text num pair' 'text pair num'; do
		for e in num pair text; do ok $e hist:name=foo:keys=id || return; done
		for e in $order; do
			q num 1 0 0 a
			q pair 1 0 0
			ok "$e" '!hist:name=foo:keys=id' || return
		done
	done
	same "$(triggers num pair text)" 'num: no trigger
pair: no trigger
text: no trigger'
}

# The owner of a variable, removed while another one without variables refers to it.
reference_only() {
	fresh && ok num hist:keys=id:x1=total && ok pair 'hist:keys=id:vals=$x1' || return
	refused num '!hist:keys=id:x1=total' 'Device or resource busy' && new $E/num/trigger '' >"$tmp/log" && q num 1 0 3 a && q pair 1 0 0 || return
	rows_are pair '{ id:          1 } hitcount:          1  x1:          3' && ok pair '!hist:keys=id:vals=$x1' && ok num '!hist:keys=id:x1=total'
}

# A number of rounds, or a quarter of them on a kernel that checks itself, where each takes long.
rounds() { # NUMBER
	if [ "${UE_PATIENCE:-0}" -gt 10000 ]; then echo $(($1 / 4)); else echo "$1"; fi
}

open_hist() {
	while :; do
		if cat events/user_events/goes/hist events/user_events/goes/hist_debug; then : >"$tmp/worked-event"; fi
		if cat instances/goes/$E/num/hist; then : >"$tmp/worked-instance"; fi
	done >/dev/null 2>&1
}

remove_and_make() {
	local i
	for i in $(seq "$(rounds 20)"); do
		mkdir instances/goes
		put instances/goes/$E/num/trigger hist:keys=id | q grep ok || return
		made 'u:goes u32 id' || return
		ok goes hist:keys=id || return
		# A kernel that checks itself may do all rounds before the first file is opened.
		eventually all_worked event instance || return
		drop goes
		put dynamic_events '-:goes u32 id' | q grep ok || { echo "# it stays"; return 1; }
		: >instances/goes/$E/num/trigger
		eventually rmdir instances/goes || return
	done 2>/dev/null
}

# hist opened while its event or its instance is removed.
open_while_removed() {
	fresh && rm -f "$tmp"/worked-* && beside open_hist remove_and_make && all_worked event instance
}

# hist read and polled after its event was removed.
read_after_removal() {
	fresh && made 'u:goes u32 id' && ok goes hist:keys=id || return
	same "$(perl -e '
		open F, "<", "events/user_events/goes/hist" or die;
		if (!($x = fork)) { select undef, undef, undef, 0.5;
			system "sh", "-c", ": >events/user_events/goes/trigger; echo \"-:goes u32 id\" >>dynamic_events"; exit }
		vec($r, fileno F, 1) = 1;
		$w = select $r, undef, undef, 30;
		waitpid $x, 0;
		printf "woken %d, read %s, %s\n", $w, defined sysread(F, $b, 9) ? "works" : "fails", $!')" \
		'woken 1, read fails, No such device'
}

delete_goes() { put dynamic_events '-:goes u32 id' | q grep ok; }

# A reading that has begun finishes after the event was removed.
read_on_after_removal() {
	fresh && made 'u:goes u32 id' && ok goes hist:keys=id || return
	{
		echo 'reg bit=0 : goes u32 id'
		seq -f 'w 0 u32:%.0f' 300
	} | ue >"$tmp/log"
	cat $E/goes/hist >"$tmp/whole"
	same "$(totals $E/goes)" '300 300 0 ' && [ "$(wc -c <"$tmp/whole")" -gt 8192 ] || return
	{
		# In one read(), which begins it.
		dd bs=1000 count=1 <&3 >"$tmp/read" 2>"$tmp/log" || return
		drop goes
		eventually delete_goes && eventually test ! -e $E/goes || return
		cat <&3 >>"$tmp/read" || return
	} 3<$E/goes/hist
	same "$(tail -n 1 "$tmp/read")" '    Dropped: 0' && cmp "$tmp/whole" "$tmp/read"
}

# Long names are assembled for printing.
long_names() {
	local n i long want
	n=$(printf 'n%.0s' $(seq 120))
	fresh && made "u:$n u32 id; u64 total" && ok "$n" "hist:keys=id:$n=total" || return
	want="hist:keys=id:vals=hitcount:yy=user_events.$n.\$$n,zz=user_events.$n.\$$n:sort=hitcount:size=2048 [active]"
	ok pair "hist:keys=id:yy=user_events.$n.\$$n:zz=user_events.$n.\$$n" || return
	for i in $(seq 50); do long=$(triggers pair); done
	same "$long" "$want" && drop pair && drop "$n"
}

# Fields that cannot be created, with a modifier around them.
modifier_of_nothing() {
	local m
	fresh && made 'u:odd struct blob raw 3' || return
	for m in log2 buckets=4; do refused_clean odd "hist:keys=raw.$m" 'Cannot allocate memory' || return; done
}

# More parameters than fit.
many_parameters() {
	fresh && made_synth 'syn u64 lat' || return
	refused_clean num "hist:keys=id:x1=total:onmax(\$x1).trace(syn$(printf ',$x1%.0s' $(seq 65)))" 'Invalid argument' \
		"$(entry num 'Too many action params' "hist:keys=id:x1=total:onmax(\$x1).trace(syn$(printf ',$x1%.0s' $(seq 65)))" '')"
}

# Strings in arithmetic.
string_operands() {
	local x
	fresh || return
	for x in tag+1 1+tag common_comm-1 total*tag; do
		same "$(put $E/num/trigger "hist:keys=id:x1=$x")" 'Invalid argument' && grep -q 'String type can not be an operand' error_log || return
	done
	same "$(put $E/text/trigger 'hist:keys=id:x1=msg/2')" 'Invalid argument'
}

# Arrays of one character, and of more than a variable has room for.
character_arrays() {
	local n long full=1
	# A full array has no NUL; C takes the last byte for one.
	if hist_is_rust; then full=0; fi
	fresh && made_synth 'st char[] text' || return
	long=$(printf 'x%.0s' $(seq 255))
	for n in 1 8 255 256 1024; do
		made "u:arr$n char[$n] text; u32 id" || return
		ok "arr$n" 'hist:keys=id:s1=text:x1=id:onchange($x1).trace(st,$s1):onmax($x1).save(text)' || return
		printf 'reg bit=0 : arr%d char[%d] text; u32 id\nw 0 %s u32:5\n' "$n" "$n" "$(printf 's:x %.0s' $(seq "$n"))" | ue >"$tmp/log"
		same "$(body)" "st: text=${long:0:$((n > 255 ? 255 : n - full))}" && same "$(totals "$E/arr$n")" '1 1 0 ' || return
		same "$(grep -o 'text: x*' "$E/arr$n/hist" | tail -n 1)" "text: ${long:0:$((n > 255 ? 255 : n - full))}" || return
		: >trace
		drop "arr$n"
	done
}

# Modifiers of display on values.
modifiers_of_values() {
	local m
	fresh || return
	for m in sym sym-offset syscall log2 buckets=2 stacktrace; do
		same "$(put $E/num/trigger "hist:keys=id:vals=total.$m")" 'Invalid argument' || return
	done
	for m in sym log2 percent graph stacktrace; do
		case $m in
		sym) continue ;; # a variable takes that, without an effect
		esac
		same "$(put $E/num/trigger "hist:keys=id:x1=total.$m")" 'Invalid argument' || return
	done
	same "$(put $E/num/trigger hist:keys=id:vals=common_stacktrace)" 'Invalid argument' && trigger_is num 'num: no trigger'
}

# The modifier with a minus in its name, and the order of operators.
order_of_operators() {
	fresh && ok num hist:keys=id.sym-offset:x1=total-1-1:y1=64/8/4/2 && trigger_is num \
		'hist:keys=id.sym-offset:vals=hitcount:x1=total-1-1,y1=1:sort=hitcount:size=2048 [active]'
}

# A variable used twice, in an expression and on its own.
variable_used_twice() {
	fresh && made_synth 'syn u64 one; u64 two' && ok num hist:keys=id:ts=total || return
	ok pair 'hist:keys=id:lat=total-$ts,ts2=$ts:onmatch(user_events.num).trace(syn,$lat,$ts2)' || return
	q mixed num 1 0 10 a pair 1 0 17
	records_are 'syn: one=7 two=10' || return
	drop pair
	ok pair 'hist:keys=id:vals=$ts:ts3=$ts' && q mixed num 1 0 10 a pair 1 0 17 && rows_are pair '{ id:          1 } hitcount:          1  ts:         10'
}

# A table is sorted by a function for each kind of key, up and down: calls of another
# type are found on a kernel with CFI, and wrong ones in the order. No row is twice.
sorted_by_each_type() {
	local desc='kinds u8 aa; s8 bb; u16 cc; s16 dd; u32 ee; s32 ff; u64 gg; s64 hh; char[8] ii; __data_loc char[] jj' f
	fresh && made "u:$desc" || return
	for f in aa bb cc dd ee ff gg hh ii jj; do
		ok kinds "hist:keys=$f:sort=$f:size=512" && ok kinds "hist:keys=$f,aa:vals=gg:sort=$f.descending,gg:size=512" || return
	done
	perl -e 'print "reg bit=0 : $ARGV[0]\n";
		for (1 .. 250) { $x = $x * 1103515245 + 12345 & 0x7fffffff; $n = $x >> 8; $t = sprintf "%07x", $n % 99991;
			printf "w 0 u8:%d u8:%d u16:%d u16:%d u32:%d u32:%d u64:%d u64:%d s:%s n:1 u32:%d z:%s\n", $n % 128, $n % 127,
				$n % 32768, $n % 32767, $n, $n >> 1, $n << 30, $n << 31, $t, 8 << 16 | 50, $t }' "$desc" | ue >"$tmp/log"
	perl -ne '
		if (/^# trigger info: hist:keys=(..)(,aa)?/) { ($key, $down, $last, %seen) = ($1, $2) }
		elsif (/^\{ $key: +(\S+) *(?:, aa: +(\d+))? *\} hitcount: +(\d+)/) {
			($this, $other, $n) = ($1, $2 // "", $3);
			$wrong{"$key twice"} = 1 if $seen{"$this $other"}++;
			$order = $key eq "ii" || $key eq "jj" ? $last cmp $this : $last <=> $this;
			$wrong{"$key order"} = 1 if defined $last && ($down ? $order < 0 : $order > 0);
			$sum{$key . ($down || "")} += $n; $last = $this }
		END { print join(", ", sort keys %wrong), "\n"; print join(" ", map "$_=$sum{$_}", sort keys %sum), "\n" }' \
		$E/kinds/hist >"$tmp/order"
	# Each record is in one row of each histogram.
	same "$(cat "$tmp/order")" "
$(for f in aa bb cc dd ee ff gg hh ii jj; do printf '%s=250 %s,aa=250 ' $f $f; done | sed 's/ $//')"
}

# Malformed lists of variables and parameters, many times.
malformed() {
	local i c bad='Invalid argument'
	fresh && made_synth 'syn u64 lat' && ok pair hist:name=foo:keys=id:t1=common_timestamp || return
	for i in $(seq 20); do
		# The clock is set when all of it has been created, also for an existing name.
		same "$(put $E/num/trigger hist:name=foo:keys=id:t1=common_timestamp:clock=none)" "$bad" || return
		for c in ts0=,x1= ts0=total,x1 'x1=total:onmax($x1).trace(syn,)' \
			'x1=total:onmax($x1).trace(,)' 'x1=total:onmax($x1).save(,)' \
			'keys=id:keys=id:vals=total:vals=x:sort=id:sort=id:name=a:name=b:clock=c:clock=d:nosuch'; do
			same "$c: $(put $E/num/trigger "hist:keys=id:$c")" "$c: $bad" || return
		done
		# After the last parameter no code looks for a parenthesis.
		ok num 'hist:keys=id:x1=total:onmax($x1).trace(syn,$x1' && drop num || return
	done
	trigger_is num 'num: no trigger' && drop pair
}

# error_log had the wrong command.
last_command() {
	fresh || return
	: >error_log
	q put $E/num/trigger hist:keys=wrong1
	q put $E/pair/trigger 'hist:keys=id:vals=wrong2 if id > 1'
	same "$(elog)" "$(entry num "Couldn't find field" hist:keys=wrong1 wrong1)
$(entry pair "Couldn't find field" 'hist:keys=id:vals=wrong2 if id > 1' 'wrong2 if id > 1')"
}

# The auto-created histogram of a field of another event stayed.
auto_created_stayed() {
	local c='hist:keys=id:lat=total-$st:onmatch(user_events.num).syn($lat,user_events.num.delta)'
	fresh && made_synth 'syn u64 lat; s32 delta' && ok num hist:keys=id:st=total && ok pair "$c" || return
	same "$(triggers num | wc -l)" 2 && ok pair "!$c" && same "$(triggers num | wc -l)" 1 && ok num '!hist:keys=id:st=total' &&
		trigger_is num 'num: no trigger'
}

# The command that needs the auto-created histogram fails after that was created.
auto_created_of_a_failure() {
	local c='hist:keys=id:lat=total-$st:onmatch(user_events.num).syn($lat,user_events.num.delta)'
	fresh && made_synth 'syn u64 lat; s32 delta' && ok num hist:keys=id:st=total || return
	same "$(put $E/pair/trigger "$c:onmax(\$lat).save(nosuch)")" 'Invalid argument' &&
		same "$(put $E/pair/trigger "$c:onmatch(user_events.num).syn(user_events.num.delta)")" 'Invalid argument' &&
		trigger_is num 'hist:keys=id:vals=hitcount:st=total:sort=hitcount:size=2048 [active]'
}

# Expressions too long to be printed.
long_expressions() {
	local n
	n=$(printf 'f%.0s' $(seq 100))
	fresh && made "u:longer u32 ${n}1; u32 ${n}2; u32 ${n}3" || return
	ok longer "hist:keys=${n}1:x1=${n}1+${n}2" && trigger_is longer \
		"hist:keys=${n}1:vals=hitcount:x1=${n}1+${n}2:sort=hitcount:size=2048 [active]" && drop longer || return
	refused_clean longer "hist:keys=${n}1:x1=${n}1+${n}2+${n}3" 'Argument list too long'
}

# Histograms of events that others switch softly.
soft_mode() {
	fresh && ok num enable_event:user_events:pair && ok pair hist:keys=id && q pair 1 0 0 && q num 1 0 0 a && q pair 1 0 0 || return
	same "$(totals $E/pair)" '2 1 0 ' && same "$(body | grep -c pair)" 1
}

# The largest keys and all variables, strings, with four of them on top of each other:
# more than a stack has room for.
large_keys_and_variables() {
	local i strings c
	strings=$(printf ':s%d=msg' $(seq 14))
	fresh && made_synth 'l1 u32 id; char[] msg' 'l2 u32 id; char[] msg' 'l3 u32 id; char[] msg' || return
	ok text "hist:keys=msg,id$strings:x1=id:onchange(\$x1).trace(l1,\$x1,\$s14)" || return
	for i in 1 2; do
		on "events/synthetic/l$i" "hist:keys=msg,id$strings:x1=id:onchange(\$x1).trace(l$((i + 1)),\$x1,\$s14)" || return
	done
	on events/synthetic/l3 hist:keys=id,msg || return
	c=$(printf 'k%.0s' $(seq 250))
	q text 1 "$c"
	q text 2 "$c"
	same "$(rows events/synthetic/l3 | sed 's/ *}/ }/' | sort)" "{ id:          1, msg: $c } hitcount:          1
{ id:          2, msg: $c } hitcount:          1" || return
	for i in 3 2 1; do : >"events/synthetic/l$i/trigger"; done
}

# The counter of elements ran on with each key that found the map full.
misses_of_a_full_map() {
	local i
	fresh && ok pair hist:keys=id:size=128 || return
	for i in 1 2 3; do
		{
			echo "reg bit=0 : $PAIR"
			seq -f 'w 0 u32:%.0f u32:0 u64:0' 10000
		} | ue >"$tmp/log"
		same "$(totals $E/pair)" '128 128 9872 ' || return
		ok pair hist:keys=id:size=128:clear && same "$(totals $E/pair)" '0 0 0 ' || return
	done
	same "$(q pair 1 0 0 1 0 0; totals $E/pair)" '2 1 0 '
}

backtraces() {
	while :; do
		sleep 0.3
		echo l >/proc/sysrq-trigger
	done
}

rows_add_up() {
	perl -ne '$twice++ if /common_pid: +(\d+)/ && $seen{$1}++; $sum += $1 if /hitcount: +(\d+)/; $rows++ if /^\{/;
		$n{$1} = $2 if /^    (\w+): (\d+)/;
		END { print "# $rows rows, $twice twice, $sum of $n{Hits} hits, $n{Entries} entries\n";
			exit($twice || $sum != $n{Hits} || $rows != $n{Entries} || $rows < 100) }' \
		events/kmem/kmem_cache_alloc/hist >"$tmp/log"
}

# The number of NMIs of all processors.
nmis() { awk '/^ *NMI:/ { for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i } END { print n + 0 }' /proc/interrupts; }

# The hits of the last histogram of an event.
last_hits() { # EVENTDIR
	sed -n 's/^    Hits: //p' "$1/hist" | tail -n 1
}

# Interrupts, and NMIs on machines that have them, hit the keys that a task inserts:
# events of all three write to one map. No row is twice, and no process waits for
# ever. NMIs alone hit a map of their own.
interrupted_insertion() {
	local c=hist:name=interrupted:keys=common_pid:vals=hitcount:size=128 loop='sleep 60' i e log nmis own=hist:keys=handled
	local in='kmem/kmem_cache_alloc irq/softirq_entry timer/timer_expire_entry nmi/nmi_handler'
	fresh || return
	for e in $in; do
		[ -e events/$e ] || continue
		on events/$e $c || return
	done
	if [ -e events/nmi/nmi_handler ] && [ -w /proc/sysrq-trigger ]; then
		loop=backtraces
		on events/nmi/nmi_handler $own || return
	fi
	i=$(cat /proc/sys/kernel/printk) nmis=$(nmis)
	# Backtraces are not for the console. A report of the kernel would be, so it is looked for.
	echo "interrupted_insertion $$ begins" >/dev/kmsg
	echo 1 >/proc/sys/kernel/printk
	# Each program is a new key.
	# shellcheck disable=SC2016
	beside "$loop" bash -c 'for i in $(seq 110); do /bin/true; done'
	echo "$i" >/proc/sys/kernel/printk
	log=$(dmesg)
	! grep -E 'WARNING: |BUG: |INFO: (rcu|task)' <<<"${log##*"interrupted_insertion $$ begins"}" || return
	if [ "$loop" = backtraces ]; then
		[ "$(nmis)" -gt "$nmis" ] || { echo '# there was no NMI'; return 1; }
		[ "$(last_hits events/nmi/nmi_handler)" -gt 0 ] || { echo '# no NMI is a hit'; return 1; }
		on events/nmi/nmi_handler "!$own" || return
	fi
	on events/kmem/kmem_cache_alloc "$c:pause" || return
	# A hit that was under way when it was paused may take a moment.
	eventually rows_add_up || return
	for e in $in; do
		[ ! -e events/$e ] || on events/$e '!'$c || return
	done
}

# Definitions of synthetic events that fail late.
malformed_definitions() {
	local i
	fresh || return
	for i in $(seq 20); do
		q put synthetic_events 'bad char[] 1x'
		q put synthetic_events "bad u64 a; char[] $i-x"
		q put dynamic_events 's:bad unsigned long[] ok; char[] 1x'
	done
	same "$(cat synthetic_events)" ''
}

definitions() { # NAME
	while :; do
		put synthetic_events "$1 u64 a; char[] b"
		put synthetic_events "$1 nosuch"
		put synthetic_events "!$1"
	done >/dev/null 2>&1
}

# The last command, used by two writers and a reader.
no_definitions() {
	: >synthetic_events
	[ -z "$(cat synthetic_events)" ]
}

two_writers() {
	local i a b
	fresh || return
	definitions one &
	a=$!
	definitions two &
	b=$!
	for i in $(seq "$(rounds 100)"); do q cat error_log synthetic_events; done
	kill $a $b
	wait $a $b 2>/dev/null
	# The last commands may still be running.
	eventually no_definitions
}

# A string that a probe reads from the memory of a program, in a synthetic event.
user_strings() {
	local rc=0
	[ -e kprobe_events ] || skip 'there are no kprobes' || return
	fresh && made_synth 'opened char[] name' && put kprobe_events 'p:hist_open do_sys_openat2 name=+0($arg2):ustring bad=+0($arg3):ustring' | q grep ok || return
	on events/kprobes/hist_open 'hist:keys=common_pid:nn=name:bb=bad:onchange($oo).trace(opened,$nn):oo=common_timestamp if name ~ "*hist_s4*"' || rc=1
	q cat /tmp/hist_s4_file 2>/dev/null
	eventually grep -q 'opened: name=/tmp/hist_s4_file$' trace || rc=1
	: >events/kprobes/hist_open/trigger
	put kprobe_events -:hist_open | q grep ok || rc=1
	return $rc
}

# Values of each type, as text.
synthetic_types() {
	local desc='typed u64 aa; s64 bb; u32 cc; s32 dd; u8 ee'
	fresh && made "u:$desc" && made_synth 'types u64 a; s64 b; u32 c; s32 d; u8 e' || return
	ok typed 'hist:keys=aa:xx=aa:onchange($xx).trace(types,aa,bb,cc,dd,ee)' || return
	printf '%s\n' "reg bit=0 : $desc" 'w 0 u64:18446744073709551615 u64:-5 u32:4294967295 u32:-7 u8:255' | ue >"$tmp/log"
	same "$(grep -o 'types: .*' trace)" 'types: a=18446744073709551615 b=-5 c=4294967295 d=-7 e=255'
}

# Stacks of synthetic events, in histograms and in further synthetic events.
stack_chain() {
	fresh && made_synth 'first u64 val; unsigned long[] stk' 'second u64 val; unsigned long[] stk' || return
	ok num 'hist:keys=id:x1=total:s1=common_stacktrace:onchange($x1).trace(first,$x1,$s1)' || return
	on events/synthetic/first 'hist:keys=val:x2=val:s2=stk.stacktrace:onchange($x2).trace(second,$x2,$s2)' || return
	on events/synthetic/second hist:keys=stk.stacktrace:vals=val || return
	q num 1 0 5 a 1 0 6 a
	same "$(grep -c '^second: val=' <(body))" 2 && same "$(sed -n 's/.*} //p' events/synthetic/second/hist)" 'hitcount:          2  val:         11'
}

# perf on a synthetic event, and its format.
format_and_perf() {
	fresh && made_synth 'fmt u64 lat; char[] text; char[8] word' && echo 0 >events/synthetic/enable || return
	same "$(sed -n '/^print/p; s/^\(	field:[^c].*\|	field:char.*word.*\|	field:__data.*\)$/\1/p' events/synthetic/fmt/format | grep -v common_)" \
'	field:u64 lat;	offset:8;	size:8;	signed:0;
	field:__data_loc char[] text;	offset:16;	size:8;	signed:1;
	field:char word[];	offset:24;	size:8;	signed:1;
print fmt: "lat=%llu text=%s word=%s", REC->lat, __get_str(text), REC->word' || return
	need_perf || return
	ok num 'hist:keys=id:x1=total:s1=tag:onchange($x1).trace(fmt,$x1,$s1,tag)' || return
	printf '%s\n' 'reg bit=0 : num u32 id; s32 delta; u64 total; char[8] tag' 'w 0 u32:1 u32:2 u64:3 s:abc n:5' >"$tmp/script"
	perf record -o "$tmp/data" -e synthetic:fmt -- "$UEDRIVE" "$tmp/script" >"$tmp/log" 2>&1 </dev/null
	same "$(perf script -i "$tmp/data" -F event,trace 2>/dev/null | sed 's/^ *//; s/ *$//')" 'synthetic:fmt: lat=3 text=abc word=abc'
}

# One that is longer than what perf has room for is lost, without a warning.
too_long_for_perf() {
	local fields params before
	need_rust 'it warns' || return
	need_perf || return
	fields=$(printf ' char[8] f%d;' {1..33}) params=$(printf ',$s1%.0s' {1..33})
	fresh && made_synth "long u64 lat;$fields" && made_synth 'short u64 lat' || return
	ok num "hist:keys=id:x1=total:s1=tag:onchange(\$x1).trace(long,\$x1$params):onchange(\$x1).trace(short,\$x1)" || return
	before=$(dmesg | grep -c 'perf buffer not large enough')
	printf '%s\n' 'reg bit=0 : num u32 id; s32 delta; u64 total; char[8] tag' 'w 0 u32:1 u32:2 u64:3 s:abc n:5' >"$tmp/script"
	perf record -o "$tmp/data" -e synthetic:long -e synthetic:short -- "$UEDRIVE" "$tmp/script" >"$tmp/log" 2>&1 </dev/null
	same "$(perf script -i "$tmp/data" -F event,trace 2>/dev/null | sed 's/^ *//; s/ *$//')" 'synthetic:short: lat=3' &&
		same "$(dmesg | grep -c 'perf buffer not large enough')" "$before"
}

run_tests bad_named named_orders reference_only open_while_removed \
	read_after_removal read_on_after_removal long_names modifier_of_nothing many_parameters string_operands \
	character_arrays modifiers_of_values order_of_operators variable_used_twice \
	sorted_by_each_type malformed last_command auto_created_stayed auto_created_of_a_failure \
	long_expressions soft_mode large_keys_and_variables misses_of_a_full_map \
	interrupted_insertion malformed_definitions two_writers user_strings synthetic_types stack_chain \
	format_and_perf too_long_for_perf
rc=$?
"$UEDRIVE" --reset || rc=1
exit $rc
