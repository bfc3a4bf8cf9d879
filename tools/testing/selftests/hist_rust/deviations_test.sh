#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Differences of the histograms in Rust from those in C, where these are defective.
# The first part of each name is the row of Documentation/trace/rust/deviations.rst
# (with - for _) that it shows. All of these fail on the C implementation.
# shellcheck disable=SC2016 # $variables of histograms

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=lib.sh
. "$here/lib.sh"

bad_modifier() { # EVENT COMMAND TEXT
	refused_clean "$1" "$2" 'Invalid argument' "$(entry "$1" 'Invalid field modifier' "$2" "$3")"
}

dev_string_modifier__log2_of_strings() {
	fresh || return
	bad_modifier num hist:keys=tag.log2 log2 && bad_modifier text hist:keys=msg.log2 log2
}

dev_string_modifier__buckets_of_strings() {
	fresh || return
	bad_modifier num hist:keys=tag.buckets=4 buckets=4 && bad_modifier text hist:keys=msg.buckets=10 buckets=10
}

dev_string_modifier__command_name() {
	fresh || return
	bad_modifier num hist:keys=common_comm.log2 log2 && bad_modifier num hist:keys=common_comm.buckets=100000 buckets=100000
}

# Each modifier for numbers, of a stack that is a key, a value or a variable.
dev_string_modifier__stacks() {
	local m f c stacked=events/synthetic/stacked/trigger
	fresh && made_synth 'stacked u64 val; unsigned long[] stk' || return
	for m in hex sym sym-offset syscall log2 buckets=4 usecs percent graph; do
		f=common_stacktrace
		for c in "keys=$f.$m" "keys=id:vals=$f.$m" "keys=id:x1=$f.$m"; do
			bad_modifier num "hist:$c" "$m" || return
		done
		# A stack of the record.
		for c in "keys=stk.$m" "keys=val:vals=stk.$m" "keys=val:x1=stk.$m"; do
			: >error_log
			same "$(put $stacked "hist:$c")" 'Invalid argument' || return
			same "$(elog)" "$(entry stacked 'Invalid field modifier' "hist:$c" "$m" |
				sed 's/user_events/synthetic/')" || return
		done
	done
}

# A string that is only shown as a number shows its first bytes, as in C.
string_as_a_number() {
	local m
	fresh && ok num hist:keys=tag.hex && ok num hist:keys=common_comm.syscall && ok text hist:keys=msg.hex || return
	q num 1 0 0 abc 2 0 0 abc
	q text 1 abcdefghij
	same "$(rows $E/num | sed -n '/tag/p')" '{ tag: 636261 } hitcount:          2' || return
	same "$(rows $E/num | grep -c unknown_syscall)" 1 || return
	rows_are text '{ msg: 6867666564636261 } hitcount:          1' || return
	drop num text
	for m in sym sym-offset usecs; do ok num "hist:keys=tag.$m:x_${#m}=tag.$m" || return; done
	drop num
}

no_operand() { # EVENT COMMAND TEXT
	refused_clean "$1" "$2" 'Invalid argument' \
		"$(entry "$1" 'String type can not be an operand in expression' "$2" "$3")"
}

dev_string_value__refused() {
	local f c
	fresh || return
	for f in tag common_comm; do
		no_operand num "hist:keys=id:vals=$f" "$f" || return
	done
	for c in msg '-(msg)'; do
		no_operand text "hist:keys=id:vals=$c" msg || return
	done
	for f in tag common_comm common_stacktrace; do
		for c in "vals=-($f)" "x1=-($f)" "vals=$f+1"; do
			no_operand num "hist:keys=id:$c" "$f" || return
		done
	done
	# Variables that have a string, or a stack.
	ok num 'hist:keys=id:s1=tag:e1=common_pid.execname:t1=common_stacktrace' || return
	for f in '$s1' '$e1' '$t1'; do
		# A stack alone is refused for its modifier, in C as well.
		[ "$f" = '$t1' ] || no_operand pair "hist:keys=id:vals=$f" "$f" || return
		for c in "vals=$f+1" "x1=1+$f" "x1=total-$f" "x1=-($f)"; do
			no_operand pair "hist:keys=id:$c" "$f" || return
		done
	done
}

# No address of the kernel in what is shown: a line for each function.
dev_no_addresses__save_of_a_stack() {
	fresh && ok num 'hist:keys=id:x1=total:onmax($x1).save(common_stacktrace)' || return
	q num 1 0 5 a
	same "$(grep -cE '18446[0-9]{15}|ffff[0-9a-f]{12}' $E/num/hist)" 0 || return
	rows $E/num >"$tmp/log"
	same "$(head -n 2 "$tmp/log")" '{ id:          1 } hitcount:          1
	max:          5  common_stacktrace: ' || return
	sed -i 1,2d "$tmp/log"
	# The writing of a record is some functions away from the system call.
	[ "$(wc -l <"$tmp/log")" -gt 3 ] &&
		same "$(grep -vE '^ {9}[a-zA-Z_0-9.]+\+0x[0-9a-f]+/0x[0-9a-f]+( \[[a-zA-Z_0-9]+\])?$' "$tmp/log")" ''
}

# After the outermost function nothing is left over from a deeper stack.
dev_no_addresses__save_of_a_shorter_stack() {
	local e=events/sched/sched_switch n last h='hist:keys=common_pid:x1=common_timestamp:onmax($x1).save(common_stacktrace)'
	fresh && on $e "$h" || return
	for n in 1 2 3 4 5; do q sh -c 'cat /proc/self/status; sleep 0.05'; done
	rows $e >"$tmp/log"
	on $e "!$h" || return
	case $(uname -m) in
	x86_64) last='entry_SYSCALL_64_after_hwframe|ret_from_fork_asm|common_startup_64' ;;
	*) last='el0t_64_sync|ret_from_fork|__primary_switched|__secondary_switched' ;;
	esac
	awk -v last="^ {9}($last)[+]" '/^\{/ { outermost = 0 }
		/^ {9}/ { if (outermost) { print; bad = 1 } n++ }
		$0 ~ last { outermost = 1; ends++ }
		END { exit bad || n < 50 || ends < 5 }' "$tmp/log"
}

# Not even root may see the addresses of symbols.
dev_no_addresses__in_brackets() {
	local e=events/kmem/kmalloc restrict rc=0
	fresh && on $e hist:keys=call_site.sym || return
	q cat /proc/self/status
	restrict=$(cat /proc/sys/kernel/kptr_restrict)
	echo 2 >/proc/sys/kernel/kptr_restrict
	same "$(rows $e | grep -c '^{ call_site: \[0\] [a-zA-Z_]' | sed 's/[1-9].*/some/')" some || rc=1
	same "$(rows $e | grep -c '\[ffff')" 0 || rc=1
	echo "$restrict" >/proc/sys/kernel/kptr_restrict
	: >$e/trigger
	return $rc
}

dev_incompatible_keys__refused() {
	local k
	fresh || return
	for k in tag id,total msg; do
		case $k in
		msg) ok text hist:keys=msg:x1=id ;;
		*) ok num "hist:keys=$k:x1=delta" ;;
		esac || return
		refused_clean pair 'hist:keys=id:y1=$x1' 'Invalid argument' \
			"$(entry pair 'Matching event histogram not found' 'hist:keys=id:y1=$x1' x1)" || return
		drop num text
	done
	# The valid ones are accepted.
	ok num hist:keys=id:x1=delta && ok pair 'hist:keys=part:y1=$x1'
}

dev_synth_param_type__number_for_a_string() {
	fresh && made_synth 'st char[8] text' || return
	refused_clean num 'hist:keys=id:xx=total:onmax($xx).trace(st,$xx)' 'Invalid argument' "$(entry num \
		"Param type doesn't match synthetic event field type" 'hist:keys=id:xx=total:onmax($xx).trace(st,$xx)' '$xx)')"
}

dev_synth_param_type__string_for_a_number() {
	fresh && made_synth 'nr u64 number' || return
	refused_clean num 'hist:keys=id:xx=total:ss=tag:onmax($xx).trace(nr,$ss)' 'Invalid argument' "$(entry num \
		"Param type doesn't match synthetic event field type" 'hist:keys=id:xx=total:ss=tag:onmax($xx).trace(nr,$ss)' '$ss)')"
}

# The field is elsewhere in the record of the other event.
dev_named_layout__refused() {
	local c=hist:name=foo:keys=id
	fresh && made 'u:moved u64 first; u32 id' && ok num $c || return
	refused_clean moved $c 'Invalid argument' \
		"$(entry moved "Named hist trigger doesn't match existing named trigger (includes variables)" $c name=foo:keys=id)"
}

# So are those that only the actions read.
dev_named_layout__of_actions() {
	local a c no="Named hist trigger doesn't match existing named trigger (includes variables)"
	fresh && made_synth 'syn u32 aa' && made 'u:first u32 id; u32 aa' &&
		made 'u:moved u32 id; u64 pad; u32 aa' || return
	for a in 'save(aa)' 'trace(syn,aa)'; do
		c="hist:name=foo:keys=id:x1=id:onmax(\$x1).$a"
		ok first "$c" && refused_clean moved "$c" 'Invalid argument' "$(entry moved "$no" "$c" name=foo)" || return
		drop first
	done
}

# The lower half is the number of a system call.
dev_syscall_number__of_64_bits() {
	local call
	# The number of this system call is 0.
	case $(uname -m) in
	x86_64) call=sys_read ;;
	*) call=io_setup ;;
	esac
	fresh && ok pair hist:keys=total.syscall:sort=total && q pair 1 0 0 1 0 4294967296 || return
	same "$(rows $E/pair | grep -o '[a-z]*_[a-z]* *\[' | tr -d ' [' | tr '\n' ' ')" "$call unknown_syscall "
}

# A variable of an array that is full.
dev_full_array__all_of_it() {
	fresh && made_synth 'st char[] text' && ok num 'hist:keys=id:s1=tag:x1=total:onchange($x1).trace(st,$s1)' || return
	q num 1 0 5 abcdefgh
	records_are 'st: text=abcdefgh'
}

dev_full_array__as_a_key() {
	fresh && ok num hist:keys=tag || return
	q num 1 0 0 abcdefgh 2 0 0 abcdefgX 3 0 0 abcdefgX
	same "$(rows $E/num | sed -E 's/^\{ tag: ([a-zX]+) +\} hitcount: +([0-9]+)$/\1:\2/' | tr '\n' ' ')" 'abcdefgh:1 abcdefgX:2 '
}

# Looked up by a string with more room, and by one of varying length.
dev_full_array__found_by_other_strings() {
	local wide='wide u32 id; char[16] tag'
	fresh && made "u:$wide" && ok num hist:keys=tag:x1=total || return
	ok text 'hist:keys=msg:vals=$x1' && ok wide 'hist:keys=tag:vals=$x1' || return
	q num 1 0 5 abcdefgh
	q text 1 abcdefgh
	q text 1 abcdefghi
	printf '%s\n' "reg bit=0 : $wide" 'w 0 u32:1 s:abcdefgh n:8' 'w 0 u32:1 s:abcdefghi n:7' | ue >"$tmp/log"
	same "$(totals $E/text)$(totals $E/wide)" '1 1 0 1 1 0 '
}

quotients() { # EXPRESSION TOTAL...
	local x=$1 t
	shift
	drop num
	: >trace
	ok num "hist:keys=total:rr=$x:onchange(\$rr).trace(ex,\$rr)" || return
	for t; do q num 1 0 "$t" a; done
	grep -o 'rr=.*' trace | sed 's/rr=//' | tr '\n' ' '
}

dev_floor_division__by_constants() {
	local n t want
	fresh && made_synth 'ex u64 rr' || return
	for n in 3 5 7 10 100 1000 999999; do
		want=
		for t in $((n + 1)) $((2 * n - 1)) $((2 * n)) 1048575 1048576 123456789; do want+="$((t / n)) "; done
		same "$n: $(quotients "total/$n" $((n + 1)) $((2 * n - 1)) $((2 * n)) 1048575 1048576 123456789)" "$n: $want" || return
	done
}

dev_floor_division__of_constants() {
	fresh && ok num hist:keys=id:a1=7/3:b1=1/3:c1=100/7 && trigger_is num \
		'hist:keys=id:vals=hitcount:a1=2,b1=0,c1=14:sort=hitcount:size=2048 [active]'
}

dev_floor_division__of_a_constant_variable() {
	fresh && ok num hist:keys=id:seven=7 && ok pair 'hist:keys=id:x1=100/$seven' && trigger_is pair \
		'hist:keys=id:vals=hitcount:x1=14:sort=hitcount:size=2048 [active]' && drop pair
}

dev_signed_output__keys_and_values() {
	fresh && ok num hist:keys=delta:vals=total:sort=delta && ok num hist:keys=id:vals=delta:sort=delta || return
	q num 1 -1 1 a 2 5 2 a 3 -2147483648 3 a
	rows_are num '{ delta: -2147483648 } hitcount:          1  total:          3
{ delta:         -1 } hitcount:          1  total:          1
{ delta:          5 } hitcount:          1  total:          2
{ id:          3 } hitcount:          1  delta: -2147483648
{ id:          1 } hitcount:          1  delta:         -1
{ id:          2 } hitcount:          1  delta:          5'
}

dev_signed_output__maximum() {
	fresh && ok num 'hist:keys=id:x1=delta:onmax($x1).save(total)' || return
	q num 1 5 1 a 1 -3 2 a 1 7 3 a 1 -9 4 a
	same "$(rows $E/num | tail -n 1)" '	max:          7  total:          3'
}

# A bucket has the sign of its field, and so has what begins with one.
dev_signed_output__parameters() {
	local c='hist:keys=id:xx=delta.buckets=10+0:onchange($xx).trace'
	fresh && made_synth 'without u32 val' 'with int val' || return
	refused_clean num "$c(without,\$xx)" 'Invalid argument' \
		"$(entry num "Param type doesn't match synthetic event field type" "$c(without,\$xx)" '$xx)')" || return
	ok num "$c(with,\$xx)" && q num 1 -1 5 a 1 17 5 a || return
	records_are 'with: val=-10
with: val=10' && same "$(sed -n '/var.name: xx$/,/is_signed/s/^ *is_signed: //p' $E/num/hist_debug | head -n 1)" 1
}

# The bounds of the first and the last bucket do not fit in 64 bits with a sign.
dev_signed_output__outer_buckets() {
	fresh && made 'u:wide s64 sl' && ok wide hist:keys=sl.buckets=10:sort=sl || return
	printf '%s\n' 'reg bit=0 : wide s64 sl' 'w 0 u64:9223372036854775808' 'w 0 u64:18446744073709551615' \
		'w 0 u64:5' 'w 0 u64:9223372036854775807' | ue >"$tmp/log"
	same "$(rows $E/wide | sed 's/ } .*//')" '{ sl: ~ -9223372036854775810--9223372036854775801
{ sl: ~ -10--1
{ sl: ~ 0-9
{ sl: ~ 9223372036854775800-9223372036854775809'
}

dev_expression_values__shown() {
	fresh && ok num hist:keys=id:vals=total*2+delta || return
	q num 1 3 100 a 1 3 100 a
	rows_are num '{ id:          1 } hitcount:          2  total*2+delta:        406'
}

dev_exact_match__buckets() {
	fresh && ok num hist:keys=total.buckets=10 && ok num hist:keys=total.buckets=20 && ok num '!hist:keys=total.buckets=20' &&
		trigger_is num 'hist:keys=total.buckets=10:vals=hitcount:sort=hitcount:size=2048 [active]'
}

dev_exact_match__expressions_and_constants() {
	fresh && ok num hist:keys=id:x1=total+delta && ok num '!hist:keys=id:x1=total-delta' &&
		trigger_is num 'hist:keys=id:vals=hitcount:x1=total+delta:sort=hitcount:size=2048 [active]' && drop num || return
	ok num hist:keys=id:c1=5 && ok num '!hist:keys=id:c1=6' &&
		trigger_is num 'hist:keys=id:vals=hitcount:c1=5:sort=hitcount:size=2048 [active]'
}

dev_cpu_read_back__once() {
	local k
	fresh || return
	for k in common_cpu cpu; do
		ok num "hist:keys=$k" || return
		same "$(triggers num | sed 's/keys=c.*cpu:/keys=CPU:/')" 'hist:keys=CPU:vals=hitcount:sort=hitcount:size=2048 [active]' || return
		same "$(triggers num | grep -c cpucommon_cpu)$(triggers num | grep -c cpucpu)" 00 || return
		ok num "!$(triggers num | sed 's/ \[active\]//')" && trigger_is num 'num: no trigger' || return
	done
}

# The name of the task and the processor are the same by each of their names.
dev_same_spelling__of_the_same_field() {
	local k a b
	fresh || return
	for k in comm cpu; do
		for a in common_$k $k ${k^^}; do
			for b in common_$k $k ${k^^}; do
				ok num "hist:keys=$a" && refused num "hist:keys=$b" 'File exists' \
					"$(entry num 'Hist trigger already exists' "hist:keys=$b" '')" || return
				ok num "!hist:keys=$b" && trigger_is num 'num: no trigger' || return
			done
		done
	done
}

# A stack of the record is the same with the modifier: what is shown removes it, too.
dev_stack_spelling__of_the_same_field() {
	local f=events/synthetic/stacked/trigger c a b rc=0
	fresh && made_synth 'stacked u64 val; unsigned long[] stk' || return
	for c in keys=STACK keys=STACK,val keys=val:s2=STACK; do
		for a in stk{,.stacktrace}; do
			for b in stk{,.stacktrace}; do
				same "$(put $f "hist:${c/STACK/$a}")" ok || rc=1
				[ "$c" = keys=val:s2=STACK ] || same "$(put $f "hist:${c/STACK/$b}")" 'File exists' || rc=1
				same "$(put $f "!hist:${c/STACK/$b}")" ok && same "$(grep -vc '^#' $f)" 0 || rc=1
				: >$f
			done
		done
	done
	return $rc
}

# The name of the event alone has nearly as many characters as a name may have.
dev_long_qualified__shown() {
	local long line
	long=$(printf 'l%.0s' $(seq 245))
	fresh && made "u:$long u32 id" && ok "$long" hist:keys=id:x1=id || return
	line="hist:keys=id:vals=hitcount:yy=user_events.$long.\$x1:sort=hitcount:size=2048"
	ok num "hist:keys=id:yy=user_events.$long.\$x1" && trigger_is num "$line [active]" && ok num "!$line" &&
		trigger_is num 'num: no trigger' || return
	refused_clean num "hist:keys=id:yy=total-user_events.$long.\$x1" 'Argument list too long'
}

# References to what is in microseconds: what is shown removes it and creates it
# again.
dev_usecs_read_back__as_written() {
	local x clock line rc=0
	fresh && ok num hist:keys=id:ts0=common_timestamp.usecs && ok text hist:keys=id:ts1=common_timestamp.usecs || return
	while read -r x clock; do
		line="hist:keys=id:vals=hitcount:$x:sort=hitcount:size=2048$clock"
		ok pair "hist:keys=id:$x" && trigger_is pair "$line [active]" && ok pair "!$line" && trigger_is pair 'pair: no trigger' &&
			ok pair "$line" && trigger_is pair "$line [active]" || rc=1
		drop pair
	done <<-'END'
		t1=$ts0
		t1=user_events.num.$ts0
		xx=common_timestamp.usecs-$ts0-$ts1 :clock=global
	END
	drop num text
	echo local >trace_clock
	return $rc
}

# The sort key as shown: with the modifier, the dollar sign or the event.
dev_sort_read_back__as_shown() {
	local fields name shown line
	fresh && ok pair hist:keys=id:x1=total || return
	while IFS='|' read -r fields name shown; do
		line="hist:$fields:sort=$shown:size=2048"
		ok num "hist:$fields:sort=$name" && trigger_is num "$line [active]" && ok num "!$line" && trigger_is num 'num: no trigger' &&
			ok num "$line" && trigger_is num "$line [active]" && ok num "!hist:$fields:sort=$name" &&
			trigger_is num 'num: no trigger' || return
	done <<-'END'
		keys=id.log2:vals=hitcount|id|id.log2
		keys=id.buckets=10:vals=hitcount|id.descending|id.buckets=10.descending
		keys=id:vals=hitcount,total.hex|total|total.hex
		keys=id:vals=hitcount,$x1|x1|$x1
		keys=id:vals=hitcount,user_events.pair.$x1|user_events.pair.$x1|user_events.pair.$x1
		keys=id,common_pid.execname:vals=hitcount,total.percent|total,common_pid|total.percent,common_pid.execname
		keys=id.log2:vals=hitcount,id.hex|id|id.hex
		keys=id.log2:vals=hitcount,id|id.log2|id.log2
	END
}

# A hit count that is a value of its own, beside the one that is not shown.
dev_hitcount_read_back__as_shown() {
	local vals shown row line
	fresh || return
	while IFS='|' read -r vals shown row; do
		line="hist:keys=id:vals=$shown:sort=hitcount:size=2048:nohitcount"
		ok num "hist:keys=id:vals=$vals:nohitcount" && trigger_is num "$line [active]" && ok num "!$line" &&
			trigger_is num 'num: no trigger' && ok num "$line" && trigger_is num "$line [active]" || return
		q num 1 0 5 a && same "$(rows $E/num | tr -s ' ')" "$row" || return
		ok num "!hist:keys=id:vals=$vals:nohitcount" && trigger_is num 'num: no trigger' || return
	done <<-'END'
		hitcount,hitcount|hitcount,hitcount|{ id: 1 } hitcount: 1
		total,hitcount,hitcount|hitcount,total,hitcount|{ id: 1 } total: 5 hitcount: 1
	END
}

# Other modifiers, and other variables, are refused as they were.
sort_refused() {
	local fields name wrong at
	fresh && ok pair hist:keys=id:x1=total || return
	while IFS='|' read -r fields name wrong at; do
		refused_clean num "hist:$fields:sort=$name" 'Invalid argument' \
			"$(entry num "$wrong" "hist:$fields:sort=$name" "$at")" || return
	done <<-'END'
		keys=id.log2|id.hex|Invalid sort modifier|hex
		keys=id|id.log2|Invalid sort modifier|log2
		keys=id|id.descending.ascending|Invalid sort modifier|descending.ascending
		keys=id.buckets=10|id.buckets=20|Invalid sort modifier|buckets=20
		keys=id:vals=$x1|$x2|Sort field must be a key or a val|$x2
		keys=id:vals=$x1|user_events.pair.$x1|Sort field must be a key or a val|user_events.pair.$x1
		keys=id|total.hex|Sort field must be a key or a val|total.hex
	END
}

dev_qualified_save__as_written() {
	local f=user_events.num.delta line
	line="hist:keys=id:vals=hitcount:x1=total:sort=hitcount:size=2048:onmax(\$x1).save($f)"
	fresh && ok num "hist:keys=id:x1=total:onmax(\$x1).save($f)" && trigger_is num "$line [active]" || return
	q num 1 7 5 a
	same "$(rows $E/num | tail -n 1)" "	max:          5  $f:          7" &&
		same "$(sed -n '/save_vars\[0\].var:/,$s/^ *var.name: //p' $E/num/hist_debug)" "$f" || return
	ok num "!$line" && trigger_is num 'num: no trigger' && ok num "$line" && trigger_is num "$line [active]"
}

dev_comm_sort__by_name() {
	local n
	fresh && ok num hist:keys=common_comm:sort=common_comm.descending || return
	for n in bb dd aa ee cc; do
		ln -sf "$UEDRIVE" "$tmp/$n"
		printf '%s\n' "reg bit=0 : $NUM" 'w 0 u32:1 u32:0 u64:0 s:a n:7' | "$tmp/$n" >"$tmp/log"
	done
	same "$(rows $E/num | sed -E 's/.*common_comm: ([a-z]+).*/\1/' | tr '\n' ' ')" 'ee dd cc bb aa '
}

dev_key_after_nul__one_row() {
	fresh && ok num hist:keys=tag || return
	printf '%s\n' "reg bit=0 : $NUM" 'w 0 u32:1 u32:0 u64:0 h:6162000000000000' 'w 0 u32:1 u32:0 u64:0 h:6162005858580000' \
		'w 0 u32:1 u32:0 u64:0 h:6162000059595900' | ue >"$tmp/log"
	rows_are num '{ tag: ab                                                 } hitcount:          3'
}

dev_read_once_all__nothing_is_used_up() {
	fresh && ok num hist:keys=id:x1=total && ok text hist:keys=id:z1=id && ok pair 'hist:keys=id:y1=total-$x1-$z1' || return
	q num 1 0 1 a
	# One of two variables exists: nothing happens, and it stays.
	q pair 1 0 10
	same "$(totals $E/pair)" '0 0 0 ' || return
	q text 1 x
	q pair 1 0 10
	same "$(totals $E/pair)" '1 1 0 '
}

dev_exact_action__synthetic_event_of_that_name() {
	local n
	fresh && made_synth 'save_it u64 number' 'snapshot_it u64 number' 'trace_it u64 number' || return
	for n in save_it snapshot_it trace_it; do
		: >trace
		ok num "hist:keys=id:x1=total:onmax(\$x1).$n(\$x1)" || return
		q num 1 0 5 a
		records_are "$n: number=5" || return
		drop num
	done
}

dev_exact_action__no_such_name() {
	fresh || return
	refused_clean num 'hist:keys=id:x1=total:onmax($x1).saved(delta)' 'Invalid argument' \
		"$(entry num "Couldn't find synthetic event" 'hist:keys=id:x1=total:onmax($x1).saved(delta)' 'saved(delta)')"
}

dev_exact_modifier__percent_and_graph() {
	fresh || return
	bad_modifier num hist:keys=id:vals=total.percentx percentx && bad_modifier num hist:keys=id:vals=total.graphs graphs
}

dev_exact_caret__later_occurrence() {
	fresh || return
	refused_clean num hist:keys=id:vals=s 'Invalid argument' "$(entry num "Couldn't find field" hist:keys=id:vals=s s)" || return
	refused_clean num hist:keys=total:sort=tot 'Invalid argument' "$(entry num 'Sort field must be a key or a val' hist:keys=total:sort=tot tot)"
}

dev_remove_named__keeps_the_unnamed() {
	fresh && ok num hist:keys=id && ok num '!hist:name=foo:keys=id' &&
		trigger_is num 'hist:keys=id:vals=hitcount:sort=hitcount:size=2048 [active]'
}

dev_join_named__with_a_snapshot() {
	local c='hist:name=foo:keys=id:x1=total:onmax($x1).snapshot()' rc=0
	fresh && ok num "$c" || return
	ok pair "$c" || rc=1
	drop num pair
	echo 0 >snapshot
	return $rc
}

dev_named_pins__every_instance() {
	local i=instances/pins rc=0
	need_rust 'the instance is removed with a histogram in it' || return
	fresh && mkdir $i && ok num hist:name=foo:keys=id:x1=total && on $i/$E/pair hist:name=foo:keys=id:x1=total || return
	rmdir $i 2>/dev/null && rc=1
	: >$i/$E/pair/trigger
	rmdir $i || rc=1
	return $rc
}

dev_same_variable__by_two_handlers() {
	fresh && made_synth 'one u64 lat' 'two u64 lat' && ok num hist:keys=id:x1=total || return
	ok pair 'hist:keys=id:lat=total-$x1:onmatch(user_events.num).trace(one,$lat):onmatch(user_events.num).trace(two,$lat)' || return
	q mixed num 1 0 10 a pair 1 0 17
	records_are 'one: lat=7
two: lat=7'
}

dev_clock_kept__records_stay() {
	local rc=0
	fresh && echo global >trace_clock && echo 1 >$E/num/enable && q num 1 0 5 a || return
	ok num hist:keys=id:t1=common_timestamp:clock=global && same "$(body | cut -d: -f1)" num || rc=1
	drop num
	echo 0 >$E/num/enable
	echo local >trace_clock
	return $rc
}

dev_text_change__each_new_text() {
	fresh && made_synth 'changed char[] text' && ok num 'hist:keys=id:ss=tag:onchange($ss).trace(changed,$ss)' || return
	q num 1 0 0 one 1 0 0 two 1 0 0 two 1 0 0 three
	records_are 'changed: text=one
changed: text=two
changed: text=three'
}

dev_stack_header__a_line_of_its_own() {
	fresh && made_synth 'first u64 val; unsigned long[] stk' && ok num 'hist:keys=id:x1=total:s1=common_stacktrace:onchange($x1).trace(first,$x1,$s1)' || return
	on events/synthetic/first hist:keys=stk.stacktrace && q num 1 0 5 a || return
	same "$(grep '^{' events/synthetic/first/hist)" '{ stk.stacktrace:'
}

dev_plain_snapshot__is_busy() {
	local h='hist:keys=id:x1=total:onmax($x1).snapshot()' rc=0
	fresh && echo 0 >snapshot && ok num "$h" || return
	same "$(put $E/pair/trigger snapshot)" 'Device or resource busy' && trigger_is pair 'pair: no trigger' || rc=1
	same "$(put snapshot 1)" 'Device or resource busy' || rc=1
	drop num
	put $E/pair/trigger '!snapshot' >/dev/null
	ok pair snapshot || rc=1
	same "$(put $E/num/trigger "$h")" 'Device or resource busy' && trigger_is num 'num: no trigger' || rc=1
	ok pair '!snapshot' && ok num "$h" || rc=1
	drop num
	put $E/pair/trigger '!snapshot' >/dev/null
	echo 0 >snapshot
	return $rc
}

auto_created_command='hist:keys=id:lat=total-$st:onmatch(user_events.num).syn($lat,user_events.num.delta)'

# Others refer to the auto-created histogram when the one that it was created for is removed.
dev_auto_created_removal__with_the_last_reference() {
	need_rust 'the kernel warns' || return
	fresh && made_synth 'syn u64 lat; s32 delta' && ok num hist:keys=id:st=total || return
	ok pair "$auto_created_command" && ok text 'hist:keys=id:vals=$synthetic_delta' && ok pair "!$auto_created_command" || return
	same "$(triggers num | wc -l)" 2 && ok text '!hist:keys=id:vals=$synthetic_delta' && same "$(triggers num | wc -l)" 1
}

dev_auto_created_command__with_a_long_filter() {
	local ids
	ids=$(printf ' || id == %d' $(seq 100 140))
	fresh && made_synth 'syn u64 lat; s32 delta' && ok num "hist:keys=id:st=total if id == 1$ids" && ok pair "$auto_created_command" || return
	q mixed num 1 5 10 a pair 1 0 17
	records_are 'syn: lat=7 delta=5'
}

# Each histogram fires the event of the next one: whatever no longer fits has to be
# counted as lost.
dev_losses_counted__deep_chain() {
	local i hits=''
	fresh && made_synth 'n1 u64 val' 'n2 u64 val' 'n3 u64 val' 'n4 u64 val' 'n5 u64 val' || return
	ok num 'hist:keys=id:xx=total:onchange($xx).trace(n1,$xx)' || return
	for i in 1 2 3 4; do
		on "events/synthetic/n$i" "hist:keys=val:x$i=val:onchange(\$x$i).trace(n$((i + 1)),\$x$i)" || return
	done
	on events/synthetic/n5 hist:keys=val || return
	q num 1 0 5 a
	for i in 1 2 3 4 5; do
		hits+=$(sed -n 's/^    \(Hits\|Dropped\): //p' "events/synthetic/n$i/hist" | awk '{ n += $1 } END { print n }')
	done
	for i in 5 4 3 2 1; do : >"events/synthetic/n$i/trigger"; done
	# The fifth histogram has counted a drop, and generated no event.
	same "$hits" 11110
}

# Sets charged to what a trigger adds to the cgroup of its writer, and removes the trigger.
charge_of() { # EVENT COMMAND
	local g=/sys/fs/cgroup/dev_hist before rc=0
	grep -qs memory /sys/fs/cgroup/cgroup.controllers || skip 'there is no memory cgroup' || return
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir $g || return
	before=$(bash -c "echo \$\$ >$g/cgroup.procs; : >>$E/$1/trigger; cat $g/memory.current")
	bash -c "echo \$\$ >$g/cgroup.procs; printf %s $2 >>$E/$1/trigger"
	charged=$(($(cat $g/memory.current) - before))
	echo "# $2: $charged"
	[[ $(cat $E/"$1"/trigger) = hist:* ]] || rc=1
	drop "$1"
	eventually rmdir $g || rc=1
	return $rc
}

# A map of megabytes belongs to the cgroup of the task that has created it.
dev_hist_cgroup__accounted() {
	fresh && charge_of num hist:keys=id:x1=total:size=131072 && [ "$charged" -gt 2000000 ]
}

# So does the part for long keys that is allocated later: with it, each element has room for a
# string of 256 bytes.
dev_hist_cgroup__long_keys() {
	fresh && charge_of text hist:keys=msg:size=131072 && [ "$charged" -gt $((131072 * 256)) ]
}

# The event of the first of two sharers is removed.
dev_named_event_gone__the_other_stays() {
	need_rust 'a pointer to freed memory is used' || return
	fresh && made 'u:goes u32 id; u32 part; u64 total' && ok goes hist:name=foo:keys=id:x1=total && ok pair hist:name=foo:keys=id:x1=total || return
	ok goes '!hist:name=foo:keys=id:x1=total' && same "$(put dynamic_events '-:goes u32 id; u32 part; u64 total')" ok || return
	q pair 1 0 3
	ok num 'hist:keys=id:vals=$x1' && q num 1 0 0 a && rows_are num '{ id:          1 } hitcount:          1  x1:          3' || return
	drop num
	cat $E/pair/hist_debug >"$tmp/debug"
	ok pair '!hist:name=foo:keys=id:x1=total' && trigger_is pair 'pair: no trigger'
}

run_tests dev_string_modifier__log2_of_strings dev_string_modifier__buckets_of_strings \
	dev_string_modifier__command_name dev_string_modifier__stacks string_as_a_number dev_string_value__refused \
	dev_no_addresses__save_of_a_stack dev_no_addresses__save_of_a_shorter_stack \
	dev_no_addresses__in_brackets dev_incompatible_keys__refused dev_synth_param_type__number_for_a_string \
	dev_synth_param_type__string_for_a_number dev_named_layout__refused dev_named_layout__of_actions \
	dev_syscall_number__of_64_bits dev_full_array__all_of_it dev_full_array__as_a_key \
	dev_full_array__found_by_other_strings dev_floor_division__by_constants \
	dev_floor_division__of_constants dev_floor_division__of_a_constant_variable \
	dev_signed_output__keys_and_values dev_signed_output__maximum \
	dev_signed_output__parameters dev_signed_output__outer_buckets dev_expression_values__shown dev_exact_match__buckets \
	dev_exact_match__expressions_and_constants \
	dev_cpu_read_back__once dev_same_spelling__of_the_same_field \
	dev_stack_spelling__of_the_same_field dev_long_qualified__shown dev_usecs_read_back__as_written \
	dev_sort_read_back__as_shown dev_hitcount_read_back__as_shown sort_refused \
	dev_qualified_save__as_written dev_comm_sort__by_name dev_key_after_nul__one_row \
	dev_read_once_all__nothing_is_used_up dev_exact_action__synthetic_event_of_that_name \
	dev_exact_action__no_such_name dev_exact_modifier__percent_and_graph dev_exact_caret__later_occurrence \
	dev_remove_named__keeps_the_unnamed dev_join_named__with_a_snapshot \
	dev_named_pins__every_instance dev_same_variable__by_two_handlers dev_clock_kept__records_stay \
	dev_text_change__each_new_text dev_stack_header__a_line_of_its_own dev_plain_snapshot__is_busy \
	dev_auto_created_removal__with_the_last_reference \
	dev_auto_created_command__with_a_long_filter dev_losses_counted__deep_chain dev_hist_cgroup__accounted \
	dev_hist_cgroup__long_keys dev_named_event_gone__the_other_stays
rc=$?
"$UEDRIVE" --reset || rc=1
exit $rc
