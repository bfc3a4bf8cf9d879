#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Odd commands, and what happens around histograms: names that are shared, modules
# that are unloaded, auto-created histograms with stacks. The names of those that fail
# on the C implementation begin with dev_ and the name of the row of
# Documentation/trace/rust/deviations.rst.
# shellcheck disable=SC2016 # $variables of histograms

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=lib.sh
. "$here/lib.sh"

complaints() { dmesg | grep -cE 'WARNING|BUG:'; }

# Time stamps that only an action uses are counted for each trigger of a name.
shared_time_stamps() {
	local c='hist:name=shared:keys=id:x1=id:onmax($x1).save(common_timestamp)' before
	need_rust 'what is counted is not given back' || return
	fresh || return
	before=$(complaints)
	ok num "$c" && ok pair "$c" || return
	drop num pair
	ok num "$c" && ok pair "$c if id > 1" || return
	drop pair num
	same "$(complaints)" "$before"
}

# One after the other, so fast that many of them are freed together.
long_chain() {
	local i
	fresh || return
	{
		echo 'hist:keys=id:size=128:v0=id'
		for ((i = 1; i < 200; i++)); do echo "hist:keys=id:size=128:v$i=\$v$((i - 1))"; done
	} >"$tmp/chain"
	exec 3>$E/num/trigger
	while IFS= read -r i; do echo "$i" >&3 || break; done <"$tmp/chain"
	same "$(triggers num | wc -l)" 200 && tac "$tmp/chain" | while IFS= read -r i; do echo "!$i" >&3 || break; done
	exec 3>&-
	same "$(triggers num)" 'num: no trigger'
}

# Read by two expressions, both variables are of one hit, and both are used up.
read_once_together() {
	fresh && made_synth 'both u64 one; s32 two' || return
	ok num 'hist:keys=id:v1=total,v2=delta' &&
		ok pair 'hist:keys=id:x1=$v1+0,x2=$v2+0:onmatch(user_events.num).both($x1,$x2)' || return
	q num 1 3 5 a
	q pair 1 0 0 1 0 0
	q num 1 4 7 a
	q pair 1 0 0
	same "$(grep -o 'both: .*' trace)" 'both: one=5 two=3
both: one=7 two=4' && rows_are pair '{ id:          1 } hitcount:          2'
}

# The event of a module, which has the sample events of the kernel.
dev_module_stays__while_there_is_a_histogram() {
	local dir=events/sample-trace/foo_bar i before
	need_rust 'the histogram is left behind with a pointer to freed memory' || return
	modprobe -q trace-events-sample || skip 'there is no module trace-events-sample' || return
	fresh || return
	before=$(complaints)
	mkdir -p instances/of_module
	on $dir hist:keys=bar:v1=bar && on instances/of_module/$dir 'hist:name=of_module:keys=bar' &&
		on instances/of_module/$dir 'hist:name=of_module:keys=bar if bar > 1' || return
	same "$(rmmod trace-events-sample 2>/dev/null && echo gone)" '' && same "$(ls -d $dir)" $dir || return
	: >$dir/trigger
	same "$(rmmod trace-events-sample 2>/dev/null && echo gone)" '' || return
	put instances/of_module/$dir/trigger '!hist:name=of_module:keys=bar' | q grep ok || return
	same "$(rmmod trace-events-sample 2>/dev/null && echo gone)" '' || return
	# It may be removed with the instance as well.
	rmdir instances/of_module || return
	# A failed attachment keeps no reference.
	put $dir/trigger hist:keys=nosuch | q grep Invalid || return
	for ((i = 0; i < 50; i++)); do
		if rmmod trace-events-sample 2>/dev/null; then break; fi
		sleep 0.1
	done
	same "$(ls -d $dir 2>/dev/null)" '' && same "$(complaints)" "$before"
}

dev_cut_expression__refused() {
	local c
	fresh || return
	# A field can be used in the command that defines it, an expression cannot.
	ok num 'hist:keys=id:x1=total:y1=$x1' && trigger_is num 'hist:keys=id:vals=hitcount:x1=total,y1=total:sort=hitcount:size=2048 [active]' || return
	drop num
	for c in 'hist:keys=id:x1=total+1:y1=$x1' 'hist:keys=$x1:x1=total+1' 'hist:keys=id+$x1:x1=total*2'; do
		same "$(put $E/num/trigger "$c")" 'Invalid argument' || return
		same "$(triggers num)" 'num: no trigger' || return
	done
}

# A field that the definition qualifies by the event.
dev_cut_expression__qualified() {
	fresh && ok num 'hist:keys=id:x1=user_events.num.total:y1=$x1' && trigger_is num \
		'hist:keys=id:vals=hitcount:x1=total,y1=total:sort=hitcount:size=2048 [active]' || return
	drop num
	ok num 'hist:keys=id:vals=$x1:x1=user_events.num.total.hex' && trigger_is num \
		'hist:keys=id:vals=hitcount,total.hex:x1=total.hex:sort=hitcount:size=2048 [active]'
}

dev_wide_buckets__shown() {
	fresh || return
	ok num 'hist:keys=id.buckets=0xffffffffffffffff' &&
		trigger_is num 'hist:keys=id.buckets=18446744073709551615:vals=hitcount:sort=hitcount:size=2048 [active]' &&
		ok num "!$(triggers num | sed 's/ \[.*//')" && same "$(triggers num)" 'num: no trigger'
}

dev_rounded_hitcount__named() {
	need_rust 'it warns' || return
	fresh || return
	ok num hist:keys=hitcount.log2 && ok num hist:keys=hitcount.buckets=10 || return
	q num 1 0 0 a
	trigger_is num 'hist:keys=hitcount.log2:vals=hitcount:sort=hitcount:size=2048 [active]
hist:keys=hitcount.buckets=10:vals=hitcount:sort=hitcount:size=2048 [active]' &&
		rows_are num '{ hitcount: ~ 2^0  } hitcount:          1
{ hitcount: ~ 0-9 } hitcount:          1'
}

dev_negated_rounding__accepted() {
	fresh || return
	ok num 'hist:keys=id:x1=-(id.log2)' && ok num 'hist:keys=id:vals=-(delta.buckets=10)'
}

dev_print_variable__qualified() {
	fresh || return
	on events/ftrace/print hist:keys=common_pid:p1=ip || return
	ok num 'hist:keys=common_pid:y1=ftrace.print.$p1'
	local rc=$?
	drop num
	: >events/ftrace/print/trigger
	return $rc
}

# An auto-created histogram on that event, and its variable.
dev_print_variable__parameter() {
	local f=events/ftrace/print rc=0
	fresh && made_synth 'mark u64 ip' && on $f hist:keys=common_pid || return
	ok num 'hist:keys=common_pid:onmatch(ftrace.print).trace(mark,ftrace.print.ip)' || rc=1
	same "$(grep -v '^#' $f/trigger)" 'hist:keys=common_pid:vals=hitcount:sort=hitcount:size=2048 [active]
hist:keys=common_pid:vals=hitcount:synthetic_ip=ip:sort=hitcount:size=2048 [active]' || rc=1
	drop num
	: >$f/trigger
	return $rc
}

dev_sym_offset__as_written() {
	fresh || return
	refused_clean num hist:keys=id.symXoffset 'Invalid argument' \
		"$(entry num 'Invalid field modifier' hist:keys=id.symXoffset symXoffset)" || return
	ok num 'hist:keys=id:x1=total:onmax($x1).save(id.sym-offset)' &&
		trigger_is num 'hist:keys=id:vals=hitcount:x1=total:sort=hitcount:size=2048:onmax($x1).save(id.sym-offset) [active]'
}

# A field of another event, which has a histogram with the same stack.
dev_auto_created_stack__made() {
	fresh && made_synth 'by_stack u32 part; u32 who' || return
	ok pair hist:keys=common_stacktrace && ok num 'hist:keys=common_stacktrace:onmatch(user_events.pair).by_stack(part,id)' || return
	trigger_is pair 'hist:keys=common_stacktrace:vals=hitcount:sort=hitcount:size=2048 [active]
hist:keys=common_stacktrace:vals=hitcount:synthetic_part=part:sort=hitcount:size=2048 [active]'
}

dev_recorded_stack__of_the_first_event() {
	fresh && made_synth 'first u64 val; unsigned long[] stk' 'second u64 val; unsigned long[] stk' || return
	ok num 'hist:keys=id:x1=total:s1=common_stacktrace:onchange($x1).trace(first,$x1,$s1)' || return
	on events/synthetic/first 'hist:keys=val:x2=val:s2=stk:onchange($x2).trace(second,$x2,$s2)' || return
	q num 1 0 5 a
	sed -n 's/^.*: first: //; /^val/,/^$/p; /second:/q' trace | grep '^=>' >"$tmp/first"
	sed -n '/: second: /,$p' trace | grep '^=>' >"$tmp/second"
	[ -s "$tmp/first" ] && same "$(cat "$tmp/second")" "$(cat "$tmp/first")"
}

# Nothing follows a stack in the key: the same stack is one row, in both spellings.
dev_stack_bounds__one_row() {
	local key
	need_rust 'the key has bytes of other records' || return
	for key in stk.stacktrace stk; do
		fresh && made_synth 'first u64 val; unsigned long[] stk' 'second u64 val; unsigned long[] stk' || return
		ok num 'hist:keys=id:x1=total:s1=common_stacktrace:onchange($x1).trace(first,$x1,$s1)' || return
		on events/synthetic/first 'hist:keys=val:x2=val:s2=stk:onchange($x2).trace(second,$x2,$s2)' || return
		on events/synthetic/second "hist:keys=$key:vals=val" && ok pair hist:keys=common_stacktrace || return
		q num 1 0 5 a
		q pair 1 0 0 2 0 0
		q num 1 0 6 a
		same "$key: $(totals events/synthetic/second)" "$key: 2 1 0 " || return
	done
}

dev_no_addresses__save_of_a_variable() {
	fresh || return
	ok num 'hist:keys=id:t1=tag' && ok pair 'hist:keys=id:x1=total:onmax($x1).save($t1)' || return
	q num 1 0 0 word
	q pair 1 0 5
	same "$(sed -n 's/.*max: .*\$t1: *//p' $E/pair/hist | tr -d ' ')" word
}

run_tests shared_time_stamps long_chain read_once_together dev_module_stays__while_there_is_a_histogram \
	dev_cut_expression__refused dev_cut_expression__qualified dev_wide_buckets__shown dev_rounded_hitcount__named dev_negated_rounding__accepted \
	dev_print_variable__qualified dev_print_variable__parameter dev_sym_offset__as_written dev_auto_created_stack__made \
	dev_recorded_stack__of_the_first_event dev_stack_bounds__one_row dev_no_addresses__save_of_a_variable
rc=$?
"$UEDRIVE" --reset || rc=1
exit $rc
