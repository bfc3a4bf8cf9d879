#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Features of histograms in Rust that those in C do not have: .log2=K, statistics,
# onmin(), quantiles, reuse, hist_raw. The C implementation refuses all of it, which is the first
# test; the others are skipped there.
# shellcheck disable=SC2016 # $variables of histograms

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=lib.sh
. "$here/lib.sh"

# Commands that a program can use to find out.
NEW=('hist:keys=id.log2=3' 'hist:keys=id:vals=total.min' 'hist:keys=id:vals=total.max' 'hist:keys=id:vals=total.avg'
	'hist:keys=id:x1=total:onmin($x1).save(delta)' 'hist:keys=id.log2=3:quantiles' 'hist:keys=id:x1=total:reuse')

MISMATCH="Named hist trigger doesn't match existing named trigger (includes variables)"

detect_refused_by_c() {
	local c
	fresh || return
	for c in "${NEW[@]}"; do
		if hist_is_rust; then
			ok num "$c" && drop num || return
		else
			same "$(put $E/num/trigger "$c")" 'Invalid argument' || return
		fi
	done
	if hist_is_rust; then
		[ -e $E/num/hist_raw ] && grep -q 'log2=K' README
	else
		! [ -e $E/num/hist_raw ] && ! grep -q 'log2=K' README
	fi
}

log2_parts_shown_and_sorted() {
	need_rust 'it has no .log2=K' || return
	fresh && ok num hist:keys=id.log2=2:sort=id.log2=2 || return
	trigger_is num 'hist:keys=id.log2=2:vals=hitcount:sort=id.log2=2:size=2048 [active]' || return
	q num 0 0 0 a 1 0 0 a 7 0 0 a 8 0 0 a 9 0 0 a 10 0 0 a 19 0 0 a 20 0 0 a 4294967295 0 0 a || return
	rows_are num '{ id: ~ 0-0 } hitcount:          1
{ id: ~ 1-1 } hitcount:          1
{ id: ~ 7-7 } hitcount:          1
{ id: ~ 8-9 } hitcount:          2
{ id: ~ 10-11 } hitcount:          1
{ id: ~ 16-19 } hitcount:          1
{ id: ~ 20-23 } hitcount:          1
{ id: ~ 3758096384-4294967295 } hitcount:          1' && ok num '!hist:keys=id.log2=2:sort=id.log2=2' &&
		trigger_is num 'num: no trigger'
}

log2_parts_of_negative_numbers() {
	need_rust 'it has no .log2=K' || return
	made 'u:odd s64 n' || return
	ok odd hist:keys=n.log2=1:sort=n.descending || return
	printf '%s\n' 'reg bit=0 : odd s64 n' 'w 0 u64:0' 'w 0 u64:5' 'w 0 u64:0xfffffffffffffffb' 'w 0 u64:0xfffffffffffffffa' \
		'w 0 u64:0x8000000000000000' 'w 0 u64:0x7fffffffffffffff' | q ue || return
	rows_are odd '{ n: ~ 6917529027641081856-9223372036854775807 } hitcount:          1
{ n: ~ 4-5 } hitcount:          1
{ n: ~ 0-0 } hitcount:          1
{ n: ~ -5--4 } hitcount:          1
{ n: ~ -7--6 } hitcount:          1
{ n: ~ -9223372036854775808--9223372036854775808 } hitcount:          1'
}

log2_parts_are_refused() {
	local k c
	need_rust 'it has no .log2=K' || return
	fresh || return
	for k in 0 6 -1 x 18446744073709551616; do
		c=hist:keys=id.log2=$k
		refused_clean num "$c" 'Invalid argument' "$(entry num 'Invalid field modifier' "$c" "log2=$k")" || return
	done
	# Values, variables, strings and stacks have none.
	while read -r c k; do
		refused_clean num "$c" 'Invalid argument' "$(entry num 'Invalid field modifier' "$c" "$k")" || return
	done <<-'EOT'
		hist:keys=id:vals=total.log2=3 total.log2=3
		hist:keys=id:x1=total.log2=3 total.log2=3
		hist:keys=tag.log2=3 log2=3
		hist:keys=common_stacktrace.log2=3 log2=3
	EOT
}

# Another number of parts is another histogram.
log2_parts_are_compared() {
	local c=hist:name=foo:keys=id.log2=3:sort=id
	need_rust 'it has no .log2=K' || return
	fresh && ok num $c && ok pair $c || return
	refused text hist:name=foo:keys=id.log2=4 'Invalid argument' \
		"$(entry text "$MISMATCH" hist:name=foo:keys=id.log2=4 name=foo)" || return
	refused text hist:name=foo:keys=id.log2 'Invalid argument' \
		"$(entry text "$MISMATCH" hist:name=foo:keys=id.log2 name=foo)" || return
	q num 9 0 0 a && q pair 8 0 0 && rows_are pair '{ id: ~ 8-8 } hitcount:          1
{ id: ~ 9-9 } hitcount:          1'
}

statistics_of_values() {
	local c=hist:keys=id:vals=hitcount,total,total.min,total.max,total.avg,delta.max:sort=total.min.descending
	need_rust 'it has no statistics' || return
	fresh && ok num $c || return
	trigger_is num "$c:size=2048 [active]" || return
	q num 1 5 10 a 1 3 4 a 1 9 7 a 2 1 0 a 3 7 18446744073709551615 a || return
	rows_are num '{ id:          3 } hitcount:          1  total: 18446744073709551615  total.min: 18446744073709551615  total.max: 18446744073709551615  total.avg: 18446744073709551615  delta.max:          7
{ id:          1 } hitcount:          3  total:         21  total.min:          4  total.max:         10  total.avg:          7  delta.max:          9
{ id:          2 } hitcount:          1  total:          0  total.min:          0  total.max:          0  total.avg:          0  delta.max:          1' || return
	ok num "$c:clear" && rows_are num '' && q num 1 2 3 a &&
		rows_are num '{ id:          1 } hitcount:          1  total:          3  total.min:          3  total.max:          3  total.avg:          3  delta.max:          2' &&
		ok num "!$c" && trigger_is num 'num: no trigger'
}

statistics_of_signed_values() {
	need_rust 'it has no statistics' || return
	made 'u:odd s32 n' || return
	ok odd hist:keys=common_pid:vals=n.min,n.max,n.avg:nohitcount:sort=n.avg || return
	trigger_is odd 'hist:keys=common_pid:vals=n.min,n.max,n.avg:sort=n.avg:size=2048:nohitcount [active]' || return
	printf '%s\n' 'reg bit=0 : odd s32 n' 'w 0 u32:0xfffffff9' 'w 0 u32:0xfffffffd' 'w 0 u32:2' | q ue || return
	same "$(rows $E/odd | sed 's/.*} *//')" 'n.min:         -7  n.max:          2  n.avg:         -2'
}

# One that is named is of all its events.
statistics_of_named_histograms() {
	local c=hist:name=foo:keys=id:vals=total.min,total.max
	need_rust 'it has no statistics' || return
	fresh && ok num $c && ok pair $c && q num 1 0 5 a && q pair 1 0 9 || return
	rows_are num '{ id:          1 } hitcount:          2  total.min:          5  total.max:          9' || return
	refused text hist:name=foo:keys=id:vals=id.min 'Invalid argument' \
		"$(entry text "$MISMATCH" hist:name=foo:keys=id:vals=id.min name=foo)"
}

statistics_are_refused() {
	local c at
	need_rust 'it has no statistics' || return
	fresh || return
	while read -r c at; do
		refused_clean num "$c" 'Invalid argument' "$(entry num 'Invalid field modifier' "$c" "$at")" || return
	done <<-'EOT'
		hist:keys=id.min min
		hist:keys=id:x1=total.max max
		hist:keys=id:vals=hitcount.avg avg
		hist:keys=id:vals=delta+total.min total.min
	EOT
	# With two modifiers it is a field of another event, as in C.
	for c in total.min.percent total.graph.min; do
		refused_clean num hist:keys=id:vals=$c 'Invalid argument' \
			"$(entry num "Couldn't find field" hist:keys=id:vals=$c ${c##*.})" || return
	done
	# The limits of C are for other values only.
	refused_clean num hist:keys=id:vals=id,delta,total,total.min 'Invalid argument' &&
		refused_clean num hist:keys=id:vals=total.min,id,delta,total 'Invalid argument' &&
		ok num hist:keys=id:vals=id,delta,total.min,total.max && drop num || return
	# The hit count is none of them, wherever it is.
	ok num hist:keys=id:vals=id,delta,hitcount,total.min &&
		trigger_is num 'hist:keys=id:vals=hitcount,id,delta,total.min:sort=hitcount:size=2048 [active]' && drop num || return
	refused_clean num hist:keys=id:vals=id,delta,hitcount,total.min,total 'Invalid argument' || return
	refused_clean num "hist:keys=id:vals=total.min$(printf ',delta.max%.0s' $(seq 8))" 'Invalid argument' || return
	# The name alone is not that of a statistic.
	c=hist:keys=id:vals=total.min:sort=total
	refused_clean num $c 'Invalid argument' "$(entry num 'Sort field must be a key or a val' $c total)"
}

onmin_saves_and_traces() {
	need_rust 'it has no onmin()' || return
	fresh && made_synth 'syn u64 total' || return
	ok num 'hist:keys=id:x1=total:onmin($x1).save(delta):onmin($x1).trace(syn,$x1)' || return
	trigger_is num 'hist:keys=id:vals=hitcount:x1=total:sort=hitcount:size=2048:onmin($x1).save(delta):onmin($x1).trace(syn,$x1) [active]' || return
	: >trace
	q num 1 1 9 a 1 2 9 a 1 3 4 a 1 4 7 a 1 5 0 a 1 6 3 a || return
	same "$(rows $E/num)" '{ id:          1 } hitcount:          6
	min:          0  delta:          5
	min:          0  delta:          5' && records_are 'syn: total=9
syn: total=4
syn: total=0'
}

# Quantiles of records, and those that are exact: of the sorted numbers the one at the rank.
quantiles_close_to_exact() {
	local k n args=() numbers got exact q i
	need_rust 'it has no quantiles' || return
	fresh || return
	for k in 1 3 5; do ok num "hist:keys=total.log2=$k:quantiles:size=4096" || return; done
	numbers=$(awk 'BEGIN { srand(7); for (i = 0; i < 1500; i++) printf "%d\n", exp(rand() * 20) }')
	for n in $numbers; do args+=(1 0 "$n" a); done
	q num "${args[@]}" || return
	exact=$(sort -n <<<"$numbers" | awk '{ n[NR] = $1 } END {
		split("500 900 990 999", q)
		for (i = 1; i <= 4; i++) { r = int((NR * q[i] + 999) / 1000); printf "%d ", n[r] } }')
	i=0
	for k in 1 3 5; do
		i=$((i + 1))
		got=$(grep '^total.p50: ' $E/num/hist | sed -n ${i}p)
		got=$(sed 's/[a-z]*\.p[0-9.]*: *//g' <<<"$got")
		echo "# k=$k: $got exact: $exact"
		q=$(awk -v k=$k -v got="$got" -v exact="$exact" 'BEGIN {
			if (split(got, g) != 4 || split(exact, e) != 4) print "not four"
			for (i = 1; i <= 4; i++) { d = g[i] - e[i]; if (d < 0) d = -d
				if (d * 2 ^ (k + 1) > e[i]) print "p" i ": " g[i] " is not " e[i] } }')
		same "$q" '' || return
	done
}

quantiles_by_other_keys() {
	local c=hist:keys=tag,id.log2=3:quantiles
	need_rust 'it has no quantiles' || return
	fresh && ok num $c && trigger_is num 'hist:keys=tag,id.log2=3:vals=hitcount:sort=hitcount:size=2048:quantiles [active]' || return
	q num 1 0 0 a 2 0 0 a 3 0 0 a 7 0 0 b 100 0 0 b || return
	same "$(sed -n '/^Quantiles/,/^$/p' $E/num/hist | tr -s ' ')" 'Quantiles:
{ tag: a } id.p50: 2 id.p90: 3 id.p99: 3 id.p99.9: 3
{ tag: b } id.p50: 7 id.p90: 99 id.p99: 99 id.p99.9: 99' || return
	drop num && ok num hist:keys=id.log2=3 && q num 1 0 0 a && ! grep -q Quantiles $E/num/hist || return
	drop num
	for c in hist:keys=id:quantiles hist:keys=id.log2:quantiles hist:keys=id.log2=2,delta.log2=2:quantiles; do
		refused_clean num $c 'Invalid argument' \
			"$(entry num "One key with a modifier log2=N is required for 'quantiles'" $c quantiles)" || return
	done
}

# A row whose hits hist_raw has taken has no quantiles until it is hit again.
quantiles_of_what_is_left() {
	need_rust 'it has no quantiles' || return
	fresh && ok num hist:keys=tag,id.log2=3:quantiles && q num 1 0 0 a 2 0 0 a 3 0 0 a 7 0 0 b || return
	same "$(grep -c 'id.p50:' $E/num/hist)" 2 && same "$(taken $E/num | sed 1d | wc -l)" 4 || return
	same "$(grep 'id.p50:' $E/num/hist)" '' && same "$(totals $E/num)" '4 4 0 ' || return
	q num 100 0 0 b 3 0 0 b 3 0 0 b || return
	same "$(grep 'id.p50:' $E/num/hist | tr -s ' ')" '{ tag: b } id.p50: 3 id.p90: 99 id.p99: 99 id.p99.9: 99'
}

# The bytes of the text of a trigger, the histogram that it names, and what is shown.
reuse_is_part_of_the_command() {
	local c='hist:keys=id:x1=total:reuse:sort=id'
	need_rust 'it has no reuse' || return
	fresh && ok num "$c" || return
	trigger_is num 'hist:keys=id:vals=hitcount:x1=total:sort=id:size=2048:reuse [active]' || return
	q num 7 0 0 a 7 0 0 a 3 0 0 a && rows_are num '{ id:          3 } hitcount:          1
{ id:          7 } hitcount:          2' || return
	same "$(sed -n '/^Totals/,$p' $E/num/hist)" 'Totals:
    Hits: 3
    Entries: 2
    Dropped: 0
    Reused: 0
    Lost: 0' || return
	same "$(raw_rows num)" $'3\t1\n7\t2' && ok num "!$c" && trigger_is num 'num: no trigger' || return
	ok num hist:name=foo:keys=id:x1=total:reuse || return
	refused pair hist:name=foo:keys=id:x1=total 'Invalid argument' "$(entry pair "$MISMATCH" hist:name=foo:keys=id:x1=total name=foo)" || return
	drop num
	# One without variables can be changed. Without the clause, it is another one.
	made_synth 'syn u64 total' || return
	c='hist:keys=id:sort=id:reuse:onmatch(user_events.pair).trace(syn,total)'
	ok num "$c" && q num 7 0 0 a && ok num "$c:pause" && q num 7 0 0 a && ok num "$c:cont" || return
	trigger_is num 'hist:keys=id:vals=hitcount:sort=id:size=2048:reuse:onmatch(user_events.pair).trace(syn,total) [active]' || return
	rows_are num '{ id:          7 } hitcount:          1' && ok num "$c:clear" && rows_are num '' || return
	refused num "${c/:reuse}:clear" 'No such file or directory' \
		"$(entry num "Can't clear or continue a nonexistent hist trigger" "${c/:reuse}:clear" '')" || return
	ok num "!$c" && trigger_is num 'num: no trigger'
}

reuse_is_refused() {
	local c
	need_rust 'it has no reuse' || return
	fresh || return
	for c in 'hist:keys=id:vals=total:x1=total:reuse' 'hist:keys=id:vals=total.max:x1=total:reuse' \
		'hist:keys=id:x1=total:reuse:onmax($x1).save(delta)' 'hist:keys=id:x1=total:reuse:onchange($x1).save(delta)' \
		'hist:keys=id.log2=3:x1=total:reuse:quantiles'; do
		refused_clean num "$c" 'Invalid argument' \
			"$(entry num "No values, quantiles, onmax(), onmin() or onchange() with 'reuse'" "$c" reuse)" || return
	done
	c=hist:keys=id:reuse
	refused_clean num $c 'Invalid argument' \
		"$(entry num "A variable or a handler onmatch() is required for 'reuse'" $c reuse)" || return
	refused_clean num hist:keys=id:x1=total:reuses 'Invalid argument' || return
	# That is a variable, as in C.
	ok num hist:keys=id:reuse=total && trigger_is num 'hist:keys=id:vals=hitcount:reuse=total:sort=hitcount:size=2048 [active]'
}

raw_rows() { # EVENT
	sed 1d "$E/$1/hist_raw" | sort -n
}

raw_is_for_programs() {
	need_rust 'it has no hist_raw' || return
	fresh && same "$(stat -c %a $E/num/hist_raw)" 640 && same "$(cat $E/num/hist_raw)" '' || return
	ok num hist:keys=id,tag:vals=hitcount,total,total.min:sort=total && q num 1 0 5 a 1 0 3 a 22 0 7 'b	c\' || return
	same "$(head -n 1 $E/num/hist_raw)" $'id\ttag\thitcount\ttotal\ttotal.min' &&
		same "$(raw_rows num)" $'1\ta\t2\t8\t3\n22\tb\\011c\\134\t1\t7\t7' || return
	# Several tables, and the other forms of keys.
	drop num && ok num hist:keys=id.hex,delta.buckets=10:vals=hitcount.percent:nohitcount && ok num hist:keys=id.log2,total.log2=2 &&
		q num 255 17 9 a || return
	same "$(cat $E/num/hist_raw)" $'id\tdelta.from\tdelta.to\thitcount\n255\t10\t19\t1\n\nid.log2\ttotal.from\ttotal.to\thitcount\n8\t8\t9\t1' || return
	# Signed whatever the modifier, and the sum that an average is of.
	made 'u:odd s32 n' && ok odd hist:keys=n.hex:vals=n.hex,n.avg:sort=n || return
	printf '%s\n' 'reg bit=0 : odd s32 n' 'w 0 u32:0xfffffff9' 'w 0 u32:0xfffffff9' | q ue || return
	same "$(cat $E/odd/hist_raw)" $'n\thitcount\tn\tn.sum\n-7\t2\t-14\t-14' || return
	drop num && ok num hist:keys=common_pid.execname && q num 1 0 0 a || return
	same "$(sed 's/^[0-9]*\t/PID\t/' $E/num/hist_raw)" $'common_pid\tcommon_pid.execname\thitcount\nPID\tuedrive\t1'
}

taken() { cat <>"$1/hist_raw"; }

raw_is_taken() {
	need_rust 'it has no hist_raw' || return
	fresh && ok num hist:keys=id:vals=total,total.max && q num 1 0 5 a 1 0 3 a 2 0 4 a || return
	same "$(taken $E/num | sort)" $'1\t2\t8\t5\n2\t1\t4\t4\nid\thitcount\ttotal\ttotal.max' || return
	same "$(taken $E/num)" $'id\thitcount\ttotal\ttotal.max' && q num 2 0 1 a || return
	# Reading alone takes nothing.
	same "$(raw_rows num)" $'1\t0\t0\t5\n2\t1\t1\t4' && same "$(raw_rows num)" $'1\t0\t0\t5\n2\t1\t1\t4' || return
	same "$(taken $E/num)" $'id\thitcount\ttotal\ttotal.max\n2\t1\t1\t4' && same "$(totals $E/num)" '4 2 0 '
}

# An average can be computed from what was taken.
raw_is_taken_of_averages() {
	need_rust 'it has no hist_raw' || return
	fresh && ok num hist:keys=id:vals=total.avg && q num 1 0 5 a 1 0 4 a || return
	same "$(taken $E/num)" $'id\thitcount\ttotal.sum\n1\t2\t9' && q num 1 0 8 a || return
	rows_are num '{ id:          1 } hitcount:          1  total.avg:          8' &&
		same "$(taken $E/num)" $'id\thitcount\ttotal.sum\n1\t1\t8'
}

# Writers of one element on all processors, and two readers that take what they have
# counted. The writers continue until both have taken something.
hot_key_is() { # TRIGGER HITS SUM: of a record
	local sc=events/syscalls/sys_enter_write c=$1 cpu pids=() n=30000 reader rounds
	need_rust 'it has no hist_raw' || return
	on $sc "$c" || return
	rm -f "$tmp"/taken-[12] "$tmp"/rounds-*
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		(
			for ((rounds = 0; rounds < 50; rounds++)); do
				if ((rounds)) && [ -s "$tmp/taken-1" ] && [ -s "$tmp/taken-2" ]; then break; fi
				taskset -c "$cpu" dd if=/dev/zero of=/dev/null bs=7 count=$n status=none
			done
			echo $rounds >"$tmp/rounds-$cpu"
		) &
		pids+=($!)
	done
	for reader in 1 2; do
		while kill -0 "${pids[@]}" 2>/dev/null; do taken $sc | sed 1d; done >"$tmp/taken-$reader" &
	done
	wait
	taken $sc | sed 1d >>"$tmp/taken-1"
	on $sc "!$c" || return
	n=$((n * ($(cat "$tmp"/rounds-* | paste -sd+))))
	same "$(awk -v sums=$(($3 > 0)) '{ hits += $(NF - sums); if (sums) sum += $NF } END { printf "%d %d\n", hits, sum }' "$tmp"/taken-[12])" \
		"$((n * $2)) $((n * $3))" &&
		[ -s "$tmp/taken-2" ]
}

raw_loses_no_hit_of_a_hot_key() { hot_key_is 'hist:keys=count:vals=count if comm == "dd"' 1 7; }

# Each processor has a part of the counts.
raw_loses_no_hit_of_counts() { hot_key_is 'hist:keys=count if comm == "dd"' 1 0; }
raw_loses_no_hit_of_counted_parts() { hot_key_is 'hist:keys=count.log2=3 if comm == "dd"' 1 0; }
raw_loses_no_hit_of_counted_texts() { hot_key_is 'hist:keys=common_comm,fd if comm == "dd"' 1 0; }

raw_has_stacks_and_symbols() {
	local e=events/kmem/kmem_cache_free
	need_rust 'it has no hist_raw' || return
	on $e hist:keys=common_stacktrace:size=1024 && on $e hist:keys=call_site.sym,common_comm || return
	sleep 0.01
	on $e hist:keys=common_stacktrace:size=1024:pause && on $e hist:keys=call_site.sym,common_comm:pause || return
	cat $e/hist_raw >"$tmp/raw"
	on $e '!hist:keys=call_site.sym,common_comm' && on $e '!hist:keys=common_stacktrace:size=1024' || return
	same "$(sed -n '1p;/^$/{n;p}' "$tmp/raw")" $'common_stacktrace\thitcount\ncall_site\tcommon_comm\thitcount' || return
	# Functions with commas in between, and a number. User-Mode Linux has no stacks.
	same "$(sed '1d;/^$/,$d' "$tmp/raw" | grep -vE $'^([^\t,]+(,[^\t,]+)*)?\t[0-9]+$')" '' || return
	same "$(sed '1,/^$/d' "$tmp/raw" | sed 1d | grep -vE $'^[^\t]+\t[^\t]+\t[0-9]+$')" '' || return
	[[ $(sed -n 2p "$tmp/raw") = $'\t'* ]] || grep -q '+0x[0-9a-f]*/0x[0-9a-f]*,' "$tmp/raw" && [ "$(sed '1,/^$/d' "$tmp/raw" | wc -l)" -gt 1 ]
}

# Writers on all processors, while a reader takes what they have counted.
raw_loses_no_hit() {
	local sc=events/syscalls/sys_enter_write c='hist:keys=common_pid:vals=count,count.max' cpu pids=() n=30000 reads=0
	need_rust 'it has no hist_raw' || return
	on $sc "$c if comm == \"dd\"" || return
	: >"$tmp/taken"
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		taskset -c "$cpu" dd if=/dev/zero of=/dev/null bs=7 count=$n status=none &
		pids+=($!)
	done
	while kill -0 "${pids[@]}" 2>/dev/null; do
		taken $sc | sed 1d >>"$tmp/taken"
		reads=$((reads + 1))
	done
	wait "${pids[@]}"
	taken $sc | sed 1d >>"$tmp/taken"
	echo "# $reads readings of ${#pids[@]} writers"
	on $sc "!$c if comm == \"dd\"" || return
	same "$(awk '{ hits += $2; sum += $3; if ($4 != 7) bad++ } END { print hits, sum, bad + 0 }' "$tmp/taken")" \
		"$((n * ${#pids[@]})) $((n * 7 * ${#pids[@]})) 0" && [ $reads -gt 1 ]
}

run_tests detect_refused_by_c log2_parts_shown_and_sorted log2_parts_of_negative_numbers log2_parts_are_refused \
	log2_parts_are_compared statistics_of_values statistics_of_signed_values statistics_of_named_histograms \
	statistics_are_refused onmin_saves_and_traces quantiles_close_to_exact quantiles_by_other_keys \
	quantiles_of_what_is_left reuse_is_part_of_the_command reuse_is_refused \
	raw_is_for_programs raw_is_taken raw_is_taken_of_averages raw_loses_no_hit raw_loses_no_hit_of_a_hot_key \
	raw_loses_no_hit_of_counts raw_loses_no_hit_of_counted_parts raw_loses_no_hit_of_counted_texts \
	raw_has_stacks_and_symbols
rc=$?
"$UEDRIVE" --reset || rc=1
exit $rc
