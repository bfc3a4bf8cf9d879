#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Quirks that the histograms in Rust share with those in C. The first part of each
# name is the row of Documentation/trace/rust/deviations.rst (with - for _) that it
# shows. All of it holds for the C implementation.
# shellcheck disable=SC2016 # $variables of histograms

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=lib.sh
. "$here/lib.sh"

# Failures that error_log says nothing about.
quirk_unlogged__no_entry() {
	local c
	fresh && made 'u:odd u32 id; struct blob raw 3' || return
	for c in hist hist: hist:vals=total hist:keys=id:nosuch hist:keys=id:size=0 hist:keys=id:size=x \
		hist:keys=id,delta,total,tag hist:keys=id:vals=id,delta,total hist:keys=id:x1=total+ \
		'hist:keys=id:x1=total:onmax($x1' 'hist:keys=id if'; do
		refused_clean num "$c" 'Invalid argument' || return
	done
	refused_clean text hist:keys=msg,msg 'Invalid argument' || return
	refused_clean odd hist:keys=raw 'Cannot allocate memory'
}

quirk_unlogged__busy() {
	fresh && ok num hist:keys=id:x1=total && ok pair 'hist:keys=id:y1=$x1' || return
	refused num '!hist:keys=id:x1=total' 'Device or resource busy'
}

quirk_remove_nothing__succeeds() {
	fresh && ok num '!hist:keys=id' && ok num '!hist:keys=id:name=foo' || return
	# One is referred to, so the other one stays as well.
	ok num hist:keys=id:x1=total && ok num hist:keys=delta && ok pair 'hist:keys=id:y1=$x1' || return
	same "$(new $E/num/trigger '')" ok && same "$(triggers num | wc -l)" 2 && drop pair &&
		same "$(new $E/num/trigger '')" ok && trigger_is num 'num: no trigger'
}

quirk_after_action__is_ignored() {
	local c
	fresh && made_synth 'syn u64 total' || return
	for c in 'onmax($x1).save(delta)nonsense' 'onmax($x1).save(delta' 'onmax($x1).trace(syn,$x1)nonsense' 'onmax($x1).trace(syn,$x1'; do
		: >trace
		ok num "hist:keys=id:x1=total:$c" && q num 1 3 5 a || return
		case $c in
		*save*) same "$(rows $E/num | tail -n 1)" '	max:          5  delta:          3' ;;
		*) records_are 'syn: total=5' ;;
		esac || return
		drop num
	done
}

quirk_limits__of_clauses() {
	local v
	fresh && ok num hist:keys=id,delta,total:vals=hitcount,id,delta:sort=id,delta && drop num || return
	refused_clean num hist:keys=id,delta,total,tag 'Invalid argument' &&
		refused_clean num hist:keys=id:vals=id,delta,total 'Invalid argument' || return
	same "$(put $E/num/trigger hist:keys=id,delta,total:sort=id,delta,total)" 'Invalid argument' || return
	v=$(printf ':v%d=total' $(seq 16))
	ok num "hist:keys=id$v" && drop num && same "$(put $E/num/trigger "hist:keys=id$v:v17=total")" 'Invalid argument' || return
	# A parameter of one character.
	made 'u:one u32 a; u32 id' || return
	same "$(put $E/one/trigger 'hist:keys=id:x1=id:onmax($x1).save(a)')" 'Invalid argument'
}

# 16 references, 64 parameters.
quirk_limits__of_references() {
	local sixteen more i
	sixteen=$(printf ':v%d=total' $(seq 16))
	fresh && ok num "hist:keys=id$sixteen" || return
	made 'u:other u32 id; u64 total' && ok other hist:keys=id:w1=total || return
	more=$(for i in $(seq 16); do printf ':y%d=$v%d' "$i" "$i"; done)
	ok pair "hist:keys=id$more" && drop pair || return
	more=$(for i in $(seq 8); do printf ':y%d=$v%d+$v%d' "$i" $((2 * i - 1)) $((2 * i)); done)
	ok pair "hist:keys=id$more" && drop pair || return
	same "$(put $E/pair/trigger "hist:keys=id$more:z1=\$w1")" 'Invalid argument' || return
	same "$(put $E/pair/trigger "hist:keys=id$more:onmax(\$y1).save(part)")" 'Cannot allocate memory' || return
	trigger_is pair 'pair: no trigger' && made_synth 'syn u64 total' || return
	same "$(put $E/other/trigger "hist:keys=id:x1=total:onmax(\$x1).trace(syn$(printf ',$x1%.0s' $(seq 65)))")" 'Invalid argument' &&
		grep -q 'Too many action params' error_log
}

# A number of 32 bits finds one of 64.
quirk_number_keys__match() {
	fresh && ok num hist:keys=id:x1=delta && ok pair 'hist:keys=total:vals=$x1' || return
	q num 7 3 0 a
	q pair 1 0 7 1 0 8
	rows_are pair '{ total:          7 } hitcount:          1  x1:          3'
}

quirk_log2__of_little_and_less() {
	fresh && ok pair hist:keys=total.log2:sort=total && ok num hist:keys=delta.log2:sort=delta || return
	q pair 1 0 0 1 0 1 1 0 2 1 0 3
	rows_are pair '{ total: ~ 2^0  } hitcount:          2
{ total: ~ 2^1  } hitcount:          1
{ total: ~ 2^2  } hitcount:          1' || return
	q num 1 -1 0 a 1 -1000 0 a
	rows_are num '{ delta: ~ 2^64 } hitcount:          2'
}

quirk_sort_name__is_the_value() {
	fresh && ok num hist:keys=id:vals=id:sort=id || return
	# The keys are 2, 8, 9, the sums 8, 4, 9... in another order.
	q num 2 0 0 a 2 0 0 a 2 0 0 a 2 0 0 a 4 0 0 a 9 0 0 a
	same "$(rows $E/num | sed -E 's/.*id: +([0-9]+) .*id: +([0-9]+)$/\1:\2/' | tr '\n' ' ')" '4:4 2:8 9:9 '
}

# The sum of all is -4, of which -1 is a quarter, and 0 nothing.
quirk_negative_share__of_nothing() {
	local h='hist:keys=id:vals=delta.percent:sort=id'
	fresh && ok num $h && ok num hist:keys=id:vals=delta.graph:sort=id || return
	q num 1 -1 0 a 2 -3 0 a 3 0 0 a
	# Whatever it is, it can be read.
	same "$(rows $E/num | grep -c '^{ id: ')" 6 && rows $E/num | grep -q 'delta (%)' || return
	# It has 32 bits, all ones of which are an error.
	ok num "$h:clear" && q num 1 -1 0 a 2 20001 0 a || return
	same "$(rows $E/num | head -n 2)" '{ id:          1 } hitcount:          1  delta (%):[ERROR]
{ id:          2 } hitcount:          1  delta (%): 100.00' || return
	ok num "$h:clear" && q num 1 -1 0 a 2 30001 0 a || return
	# A number of that form, whichever it is.
	same "$(rows $E/num | head -n 1 | sed -E 's/[ 0-9]+\.[0-9]{2}$/ SHARE/')" '{ id:          1 } hitcount:          1  delta (%): SHARE'
}

quirk_hist_names__are_global() {
	local rc=0
	fresh && mkdir instances/kept && ok num hist:name=foo:keys=id && on instances/kept/$E/pair hist:name=foo:keys=id || return
	q num 1 0 0 a
	q pair 1 0 0 2 0 0
	same "$(totals $E/num)$(totals instances/kept/$E/pair)" '3 2 0 3 2 0 ' || rc=1
	on instances/kept/$E/pair '!hist:name=foo:keys=id' || rc=1
	rmdir instances/kept || rc=1
	return $rc
}

# As many hits after a clear as the file had when it was read.
quirk_hist_poll__same_number_of_hits() {
	fresh && ok pair hist:keys=id && q pair 1 0 0 2 0 0 || return
	mkfifo "$tmp/go" "$tmp/polled"
	# Held open both ways, so that no process waits for one that has failed.
	exec 6<>"$tmp/go"
	perl -e '
		alarm 60;
		open F, "<", "events/user_events/pair/hist" or die;
		open G, "<", "$ARGV[0]/go" or die;
		sysread F, $b, 65536;
		$| = 1; print "read\n";
		for (1 .. 2) { sysread G, $b, 3;
			vec($r = "", fileno F, 1) = 1; printf "%d\n", scalar select $r, undef, undef, 0 }' "$tmp" >"$tmp/polled" 6<&- &
	exec 5<"$tmp/polled"
	q read -r _ <&5
	ok pair hist:keys=id:clear && q pair 5 0 0 6 0 0 && echo go >&6 && read -r a <&5
	q pair 5 0 0 && echo go >&6 && read -r b <&5
	exec 5<&- 6<&-
	wait $!
	rm "$tmp/go" "$tmp/polled"
	same "$a $b" '0 1'
}

longest_stack() { # of the d1, d2 or d3 in trace, or of a histogram
	case $1 in
	d*) awk -v d=": $1: " '/: d[123]: / { n = 0; on = index($0, d) } /^=> / && on { n++; if (n > max) max = n } END { print max + 0 }' trace ;;
	*) awk '/^{/ { n = 0 } /^         / { n++; if (n > max) max = n } END { print max + 0 }' "$1/hist" ;;
	esac
}

# A stack of 31 addresses or more, in a synthetic event: 30 of them. Stacks are deep
# where the task switches, and deeper in a histogram of a histogram's event.
deep_stack_in_an_event() {
	local i e=sched/sched_switch
	fresh && made_synth 'd1 u64 xx; unsigned long[] stk' 'd2 u64 xx; unsigned long[] stk' 'd3 u64 xx; unsigned long[] stk' || return
	on events/$e 'hist:keys=prev_pid:x1=common_timestamp:s1=common_stacktrace:onchange($x1).trace(d1,$x1,$s1)' || return
	for i in 2 3; do
		on events/synthetic/d$((i - 1)) "hist:keys=xx:x$i=xx:s$i=common_stacktrace:onchange(\$x$i).trace(d$i,\$x$i,\$s$i)" || return
	done
	on events/synthetic/d2 hist:keys=common_stacktrace || return
	# Reading what is not in the page cache is a switch with a deep stack.
	echo 1 >/proc/sys/vm/drop_caches
	q cat /proc/self/status "$here/lib.sh" /etc/passwd
	: >events/$e/trigger
	same "$(longest_stack events/synthetic/d2) $(longest_stack d3)" '31 30' || return
	: >events/synthetic/d1/trigger
	: >events/synthetic/d2/trigger
}

quirk_debug_end__behind_a_time_stamp() {
	fresh && ok num 'hist:keys=id:x1=total:onmax($x1).save(common_timestamp,delta)' && ok num hist:keys=total || return
	same "$(grep -o 'save_vars\[.\]\.v.*\|^# trigger info: hist:keys=.[^:]*\|  name: delta' $E/num/hist_debug)" \
'# trigger info: hist:keys=id
save_vars[0].var:
save_vars[0].val:
# trigger info: hist:keys=total'
}

run_tests quirk_unlogged__no_entry quirk_unlogged__busy quirk_remove_nothing__succeeds quirk_after_action__is_ignored \
	quirk_limits__of_clauses quirk_limits__of_references quirk_number_keys__match quirk_log2__of_little_and_less \
	quirk_sort_name__is_the_value quirk_negative_share__of_nothing quirk_hist_names__are_global \
	quirk_hist_poll__same_number_of_hits \
	deep_stack_in_an_event quirk_debug_end__behind_a_time_stamp
rc=$?
"$UEDRIVE" --reset || rc=1
exit $rc
