#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# More of what histograms do, group by group: names, instances, clocks, removal,
# what is read back, hist and hist_debug, error_log, synthetic events, and the
# other triggers beside them. All of it holds for the C implementation as well.
# shellcheck disable=SC2016 # $variables of histograms

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=lib.sh
. "$here/lib.sh"

plain='hist:keys=id:vals=hitcount:sort=hitcount:size=2048 [active]'

# Named histograms.

named_shared() {
	local table='{ id:          2 } hitcount:          1  total:          7
{ id:          1 } hitcount:          2  total:         11'
	fresh || return
	ok num hist:name=foo:keys=id:vals=total && ok pair hist:name=foo:keys=id:vals=total || return
	q num 1 0 5 a
	q pair 1 0 6 2 0 7
	rows_are num "$table" && rows_are pair "$table" || return
	trigger_is pair 'hist:name=foo:keys=id:vals=hitcount,total:sort=hitcount:size=2048 [active]' || return
	refused text hist:name=foo:keys=msg 'Invalid argument' \
		"$(entry text "Named hist trigger doesn't match existing named trigger (includes variables)" hist:name=foo:keys=msg name=foo:keys=msg)" || return
	# The data stays as long as a process has it.
	ok num '!hist:name=foo:keys=id:vals=total' && trigger_is num 'num: no trigger' && rows_are pair "$table" || return
	ok pair '!hist:keys=id:vals=total' && rows_are pair "$table" && ok pair '!hist:name=foo:keys=id:vals=total' &&
		trigger_is pair 'pair: no trigger'
}

named_pause_clear() {
	local c=hist:name=foo:keys=id:vals=total
	fresh || return
	ok num $c && ok pair $c && ok pair $c:pause || return
	q num 1 0 5 a
	q pair 1 0 6
	same "$(totals $E/num)" '1 1 0 ' && ok num $c:clear && same "$(totals $E/num)" '0 0 0 ' || return
	trigger_is pair 'hist:name=foo:keys=id:vals=hitcount,total:sort=hitcount:size=2048 [paused]' && ok pair $c:cont || return
	q pair 1 0 6
	same "$(totals $E/num)" '1 1 0 '
}

# Several triggers, the switching of histograms, instances.

several_on_one_event() {
	fresh || return
	ok num hist:keys=id && ok num hist:keys=id:vals=total && ok num 'hist:keys=id if delta < 1' && ok num hist:keys=tag || return
	refused num hist:keys=id 'File exists' "$(entry num 'Hist trigger already exists' hist:keys=id '')" &&
		refused num hist:keys=id:size=256 'File exists' "$(entry num 'Hist trigger already exists' hist:keys=id:size=256 '')" || return
	refused num hist:keys=id:vals=total:nohitcount 'File exists' \
		"$(entry num 'Hist trigger already exists' hist:keys=id:vals=total:nohitcount '')" || return
	q num 1 -1 10 a 1 1 20 b 1 1 20 b
	same "$(sed 's/^#.*//' $E/num/hist | sed '/^$/d; /^Totals/d; /Dropped/d')" '{ id:          1 } hitcount:          3
    Hits: 3
    Entries: 1
{ id:          1 } hitcount:          3  total:         50
    Hits: 3
    Entries: 1
{ id:          1 } hitcount:          1
    Hits: 1
    Entries: 1
{ tag: a                                                  } hitcount:          1
{ tag: b                                                  } hitcount:          2
    Hits: 3
    Entries: 2'
}

enable_disable_hist() {
	fresh || return
	ok pair hist:keys=id:pause && ok num 'enable_hist:user_events:pair:1 if id == 1' && ok text disable_hist:user_events:pair || return
	refused num disable_hist:user_events:pair 'File exists' && refused num enable_hist:user_events:none 'Invalid argument' &&
		refused num enable_hist:user_events 'Invalid argument' || return
	q pair 5 0 0
	q num 2 0 0 a
	q pair 5 0 0
	same "$(totals $E/pair)" '0 0 0 ' || return
	q num 1 0 0 a
	q pair 5 0 0
	same "$(totals $E/pair)" '1 1 0 ' && same "$(head -n 1 $E/num/trigger)" 'enable_hist:user_events:pair:count=0 if id == 1' || return
	q text 1 x
	q pair 5 0 0
	same "$(totals $E/pair)" '1 1 0 ' && trigger_is pair 'hist:keys=id:vals=hitcount:sort=hitcount:size=2048 [paused]'
}

# All histograms of the event are switched.
enable_disable_hist_of_several() {
	fresh && ok pair hist:keys=id:pause && ok pair hist:keys=part && ok num enable_hist:user_events:pair &&
		ok text disable_hist:user_events:pair || return
	q num 1 0 0 a
	trigger_is pair 'hist:keys=id:vals=hitcount:sort=hitcount:size=2048 [active]
hist:keys=part:vals=hitcount:sort=hitcount:size=2048 [active]' || return
	q pair 1 0 0
	same "$(totals $E/pair)" '1 1 0 1 1 0 ' && q text 1 x && trigger_is pair \
'hist:keys=id:vals=hitcount:sort=hitcount:size=2048 [paused]
hist:keys=part:vals=hitcount:sort=hitcount:size=2048 [paused]' || return
	q pair 1 0 0
	same "$(totals $E/pair)" '1 1 0 1 1 0 '
}

instances_isolated() {
	local i=instances/hist rc=0
	fresh && mkdir $i || return
	same "$(put $i/$E/pair/trigger hist:keys=id:x1=total)" ok && ok pair hist:keys=part || rc=1
	q pair 1 2 3
	same "$(rows $E/pair)$(rows $i/$E/pair)" '{ part:          2 } hitcount:          1{ id:          1 } hitcount:          1' || rc=1
	rmdir $i 2>/dev/null && rc=1
	q put $i/$E/pair/trigger hist:keys=nosuch
	same "$(grep -c Command error_log; grep -c Command $i/error_log)" '0
1' || rc=1
	refused_clean num 'hist:keys=id:yy=$x1' 'Invalid argument' "$(entry num "Couldn't find variable" 'hist:keys=id:yy=$x1' x1)
$(entry num "Couldn't find field" 'hist:keys=id:yy=$x1' '$x1')" || rc=1
	same "$(put $i/$E/pair/trigger '!hist:keys=id:x1=total')" ok && rmdir $i || rc=1
	return $rc
}

# Clocks.

clocks() {
	local rc=0
	fresh && echo local >trace_clock || return
	ok pair hist:keys=id:t1=common_timestamp.usecs:clock=mono && trigger_is pair \
		'hist:keys=id:vals=hitcount:t1=common_timestamp.usecs:sort=hitcount:size=2048:clock=mono [active]' || rc=1
	same "$(grep -o '\[.*\]' trace_clock)" '[mono]' || rc=1
	drop pair
	same "$(grep -o '\[.*\]' trace_clock)" '[mono]' || rc=1
	ok pair hist:keys=id:t1=common_timestamp && same "$(grep -o '\[.*\]' trace_clock)" '[global]' || rc=1
	drop pair
	refused_clean pair hist:keys=id:t1=common_timestamp:clock=none 'Invalid argument' \
		"$(entry pair "Couldn't set trace_clock" hist:keys=id:t1=common_timestamp:clock=none none)" || rc=1
	ok pair hist:keys=id:clock=none && trigger_is pair "$plain" || rc=1
	echo local >trace_clock
	return $rc
}

# In microseconds a time stamp is what the record of it shows, if the clock counts
# nanoseconds; that of another clock is not divided. All of a trigger are in the same unit.
clocks_and_usecs() {
	local clock c rc=0
	fresh && echo 1 >$E/num/enable || return
	for clock in $(tr -d '[]' <trace_clock); do
		for c in keys=common_timestamp.usecs keys=common_timestamp:t1=common_timestamp.usecs; do
			ok num "hist:$c:clock=$clock" || rc=1
			: >trace
			q num 1 0 0 a 2 0 0 a 3 0 0 a
			sed -n -E 's/^.* ([0-9.]+): num: .*/\1/p' trace | tr -d . | sed 's/^0*//' | sort -n | uniq >"$tmp/records"
			rows $E/num | sed -n -E 's/^\{ common_timestamp: +([0-9]+) .*/\1/p' | sort -n >"$tmp/stamps"
			[ -s "$tmp/records" ] && same "$clock, $c: $(cat "$tmp/stamps")" "$clock, $c: $(cat "$tmp/records")" || rc=1
			drop num
		done
	done
	same "$(tr -d '[]' <trace_clock | grep -ow -e counter -e uptime)" 'counter
uptime' || rc=1
	echo 0 >$E/num/enable
	echo local >trace_clock
	return $rc
}

# Another clock empties the buffer, if the histogram uses it.
clock_change_clears() {
	local rc=0
	fresh && echo local >trace_clock && echo 1 >$E/num/enable || return
	q num 1 0 0 a
	ok pair hist:keys=id:clock=mono && same "$(grep -o '\[.*\]' trace_clock)" '[local]' && same "$(body | wc -l)" 1 || rc=1
	ok text hist:keys=id:t1=common_timestamp:clock=mono && same "$(grep -o '\[.*\]' trace_clock)" '[mono]' && same "$(body)" '' || rc=1
	q num 1 0 0 a
	same "$(body | wc -l)" 1 || rc=1
	drop pair text
	echo 0 >$E/num/enable
	echo local >trace_clock
	return $rc
}

# Removal and reading back.

removal_matches() {
	local c
	fresh && ok num 'hist:keys=id:vals=total:sort=total:size=256 if delta > 0' || return
	for c in keys=id keys=id:vals=total keys=id:vals=total:sort=total 'keys=id:vals=total:sort=total if delta > 1' \
		'keys=id:vals=total if delta > 0'; do
		ok num "!hist:$c" && same "$(triggers num | wc -l)" 1 && trigger_is num \
			'hist:keys=id:vals=hitcount,total:sort=total:size=256 if delta > 0 [active]' || return
	done
	ok num '!hist:keys=id:vals=total:sort=total:size=4096 if delta > 0' && trigger_is num 'num: no trigger'
}

# What a removal refers to has to exist.
removal_of_references() {
	fresh && ok num hist:keys=id:x1=total && ok pair 'hist:keys=id:y1=$x1' || return
	refused pair '!hist:keys=id:y1=$gone' 'Invalid argument' "$(entry pair "Couldn't find variable" 'hist:keys=id:y1=$gone' gone)
$(entry pair "Couldn't find field" 'hist:keys=id:y1=$gone' '$gone')" || return
	trigger_is pair 'hist:keys=id:vals=hitcount:y1=$x1:sort=hitcount:size=2048 [active]' && ok pair '!hist:keys=id:y1=$x1' &&
		trigger_is pair 'pair: no trigger' && ok num '!hist:keys=id:x1=total' && trigger_is num 'num: no trigger' || return
	refused pair '!hist:keys=id:y1=$x1' 'Invalid argument' "$(entry pair "Couldn't find variable" 'hist:keys=id:y1=$x1' x1)
$(entry pair "Couldn't find field" 'hist:keys=id:y1=$x1' '$x1')"
}

# A shown line can be written, and with ! removes the trigger that it shows.
read_back() {
	local c line
	fresh || return
	made_synth 'syn u64 lat; u32 id' || return
	while read -r c; do
		ok num "$c" && line=$(triggers num) && line=${line% \[active\]} || return
		ok num "!$line" && trigger_is num 'num: no trigger' || return
		ok num "$line" && trigger_is num "$line [active]" && ok num "!$line" && trigger_is num 'num: no trigger' || return
	done <<-'END'
		hist:keys=id
		hist:keys=id.hex,tag,total.log2:vals=delta.hex,hitcount.percent:sort=tag.descending:size=4096
		hist:keys=id.buckets=0x10:vals=total.graph:nohitcount
		hist:keys=total.sym-offset:vals=total if id > 2 || tag == "x"
		hist:keys=common_pid.execname,id.syscall,delta.sym
		hist:keys=common_stacktrace:sort=hitcount
		hist:keys=common_comm
		hist:keys=id+3:x1=total*2+delta,y1=-(total):z1=common_timestamp.usecs:clock=mono
		hist:name=named:keys=id:vals=total
		hist:keys=id:x1=total:onmax($x1).save(delta,tag):onchange($x1).trace(syn,$x1,id):onmax($x1).syn($x1,id)
		hist:keys=id:x1=7:s1=tag:t1=common_pid.execname
	END
}

# The output.

show_table() {
	fresh && ok num hist:keys=id,tag:vals=total:sort=total.descending,id || return
	q num 1 0 10 bb 2 0 30 aa 3 0 30 aa 1 0 5 bb
	same "$(cat $E/num/hist)" '# event histogram
#
# trigger info: hist:keys=id,tag:vals=hitcount,total:sort=total.descending,id:size=2048 [active]
#

{ id:          2, tag: aa                                                 } hitcount:          1  total:         30
{ id:          3, tag: aa                                                 } hitcount:          1  total:         30
{ id:          1, tag: bb                                                 } hitcount:          2  total:         15

Totals:
    Hits: 4
    Entries: 3
    Dropped: 0'
}

show_sorted() {
	local want
	fresh || return
	q put dynamic_events 'u:order u64 value; u32 other'
	ok order hist:keys=value:sort=value && ok order hist:keys=value:sort=value.descending && ok order hist:keys=value:sort=hitcount,value || return
	{
		echo 'reg bit=0 : order u64 value; u32 other'
		for i in $(seq 200); do echo "w 0 u64:$((i * 7919 % 211 * 4294967296)) u32:0"; done
		for i in $(seq 0 3 200); do echo "w 0 u64:$((i * 4294967296)) u32:0"; done
	} | ue >"$tmp/log"
	same "$(totals $E/order)" '267 205 0 267 205 0 267 205 0 ' || return
	# Ascending, descending, and by how often and then ascending.
	rows $E/order | grep -o 'value: *[0-9]*' | tr -dc '0-9\n' >"$tmp/got"
	sed -n 1,205p "$tmp/got" >"$tmp/1"
	sed -n 206,410p "$tmp/got" >"$tmp/2"
	sort -n "$tmp/1" | cmp - "$tmp/1" && sort -rn "$tmp/1" | cmp - "$tmp/2" || return
	want=$(sed -n -E 's/^\{ value: *([0-9]+) \} hitcount: *([0-9]+)$/\2 \1/p' $E/order/hist | tail -n 205)
	same "$(printf '%s\n' "$want" | sort -n -k1,1 -k2,2)" "$want"
}

show_sorted_by_a_value_named_as_a_key() {
	fresh && ok num hist:keys=id:vals=id:sort=id || return
	# The sums are 9, 4, 8: sorted by them and not by the keys.
	q num 9 0 0 a 2 0 0 a 2 0 0 a 8 0 0 a
	same "$(rows $E/num | sed -E 's/.*id: +([0-9]+) .*id: +([0-9]+)$/\1:\2/' | tr '\n' ' ')" '2:4 8:8 9:9 '
}

# Longer than a string of varying length can be.
show_long_array() {
	local a
	a=$(printf 'a%.0s' $(seq 280))
	fresh && same "$(put dynamic_events 'u:long char[300] s')" ok && ok long hist:keys=s || return
	printf 'reg bit=0 : long char[300] s\nw 0 s:%s1 n:19\nw 0 s:%s1 n:19\nw 0 s:%s2 n:19\n' "$a" "$a" "$a" | ue | q cat
	same "$(rows $E/long | sed -E 's/^\{ s: a{280}([12]) +\} hitcount: +([0-9]+)$/\1:\2/' | tr '\n' ' ')" '2:1 1:2 '
}

show_stack() {
	fresh && ok pair hist:keys=common_stacktrace || return
	q pair 1 0 0 1 0 0
	same "$(grep -v '+0x' $E/pair/hist)" '# event histogram
#
# trigger info: hist:keys=common_stacktrace:vals=hitcount:sort=hitcount:size=2048 [active]
#

{ common_stacktrace:
} hitcount:          2

Totals:
    Hits: 2
    Entries: 1
    Dropped: 0' && same "$(grep -cE '^         [a-z_A-Z0-9.]+\+0x[0-9a-f]+/0x[0-9a-f]+$' $E/pair/hist | sed 's/[1-9].*/frames/')" frames
}

# Writes a record of pair as a batch. Prints the number of records, or the error.
batch() {
	perl -e '
		open F, "+<", "user_events_data" or die $!;
		$word = pack "L", 0;
		$name = "$ARGV[0]\0";
		$reg = pack "LCCSQQL", 28, 0, 4, 0, unpack("Q", pack "P", $word), unpack("Q", pack "P", $name), 0;
		ioctl F, 0xc0082a00, $reg or die $!;
		$records = pack "LLLLQ", 24, (unpack "LCCSQQL", $reg)[6], 1, 2, 3;
		$batch = pack "LLQ", 16, length $records, unpack "Q", pack "P", $records;
		print ioctl(F, 0x40082a03, $batch) // $!, "\n"' "$PAIR"
}

write_pair() { # w | wv
	printf 'reg bit=0 : %s\n%s 0 u32:1 u32:2 u64:3\n' "$PAIR" "$1" | ue
}

# A stack begins with one function of user_events, the outermost: those that lead from there
# to the histogram are left out, and no others are. A batch, which C does not have, may show
# more of them.
show_stack_of_writes() {
	local way how most after names own least=1 more=0
	# Other functions are inlined.
	if zgrep -qE '^CONFIG_(KASAN|KCSAN|KCOV|PROVE_LOCKING)=y' /proc/config.gz; then least=0 more=1; fi
	fresh || return
	while read -r way how most after; do
		if [ "$way" = batch ] && ! hist_is_rust; then continue; fi
		# C leaves that function by a jump.
		if [ "$how" = wv ] && ! hist_is_rust; then least=0; fi
		ok pair hist:keys=common_stacktrace || return
		$way "$how" >"$tmp/log"
		same "$(totals $E/pair)" '1 1 0 ' || return
		names=$(rows $E/pair | sed -n 's/^ *\([^ ]*\)+0x.*/\1/p')
		own=$(awk '!/user_events/ { exit } { n++ } END { print n + 0 }' <<<"$names")
		names=$(tail -n +$((own + 1)) <<<"$names" | paste -sd' ')
		[ "$own" -ge $least ] && [ "$own" -le $((most + more)) ] && grep -qE "^$after " <<<"$names" || {
			echo "# $way $how: $own of user_events, then $names"
			return 1
		}
		drop pair
	done <<-'END'
		write_pair w 1 (new_sync_write )?vfs_write
		write_pair wv 1 (do_iter_readv_writev )?vfs_writev
		batch - 4 [a-z0-9_]*sys_ioctl
	END
}

show_debug() {
	fresh && ok num hist:keys=id,tag:vals=total:c1=3:x1=delta || return
	same "$(sed -E 's/hist_data: .*/hist_data: ADDRESS/' $E/num/hist_debug)" "$(cat "$here/expected/debug")"
}

show_counts_while_full() {
	fresh && ok pair hist:keys=id:size=128:sort=id || return
	# shellcheck disable=SC2046
	q pair $(for _ in 1 2; do for i in $(seq 200); do echo "$i 0 0"; done; done)
	same "$(totals $E/pair)" '256 128 144 ' && same "$(rows $E/pair | tail -n 1)" '{ id:        128 } hitcount:          2'
}

# At run time.

run_paused_and_cleared() {
	fresh && ok pair hist:keys=id:pause || return
	q pair 1 0 0
	same "$(totals $E/pair)" '0 0 0 ' && ok pair hist:keys=id:cont || return
	q pair 1 0 0
	same "$(totals $E/pair)" '1 1 0 ' && ok pair hist:keys=id:clear && same "$(totals $E/pair)" '0 0 0 ' || return
	q pair 1 0 0
	same "$(totals $E/pair)" '1 1 0 ' && ok pair hist:keys=id:pause:clear && q pair 1 0 0 || return
	trigger_is pair 'hist:keys=id:vals=hitcount:sort=hitcount:size=2048 [paused]' && drop pair || return
	refused pair hist:keys=id:clear 'No such file or directory' \
		"$(entry pair "Can't clear or continue a nonexistent hist trigger" hist:keys=id:clear '')" &&
		refused pair hist:keys=id:cont 'No such file or directory' \
			"$(entry pair "Can't clear or continue a nonexistent hist trigger" hist:keys=id:cont '')"
}

# Of several of these clauses pause takes precedence over cont, and cont over
# clear.
run_several_of_pause_cont_clear() {
	local c missing='No such file or directory' plain=hist:keys=id state
	fresh || return
	for c in pause:cont pause:clear cont:clear; do
		refused_clean pair $plain:$c "$missing" "$(entry pair "Can't clear or continue a nonexistent hist trigger" $plain:$c '')" || return
	done
	while read -r state c; do
		ok pair $plain && q pair 1 0 0 || return
		[ "$state" = active ] || ok pair $plain:pause || return
		ok pair "$plain:${c% *}" || return
		same "$state, $c: $(triggers pair | grep -o '\[.*')" "$state, $c: [${c#* }]" && same "$c: $(totals $E/pair)" "$c: 1 1 0 " || return
		drop pair
	done <<-'END'
		active pause:cont paused
		active cont:pause paused
		active pause:clear paused
		active clear:pause paused
		active clear:cont:pause paused
		active cont:clear active
		paused pause:clear paused
		paused cont:clear active
		paused clear:cont active
		paused pause:cont paused
	END
	# Alone it clears, and leaves the state.
	ok pair $plain && q pair 1 0 0 && ok pair $plain:pause && ok pair $plain:clear && same "$(totals $E/pair)" '0 0 0 ' &&
		same "$(triggers pair | grep -o '\[.*')" '[paused]'
}

run_without_recording() {
	fresh && ok pair hist:keys=id || return
	q pair 1 0 0
	same "$(body)" '' && same "$(cat $E/pair/enable)" '0*' || return
	echo 1 >$E/pair/enable
	echo 'id == 7' >$E/pair/filter
	q pair 1 0 0
	echo 0 >tracing_on
	q pair 1 0 0
	echo 1 >tracing_on
	same "$(body)" '' && same "$(totals $E/pair)" '3 1 0 ' || return
	# Tasks that the instance does not trace do not count.
	echo 1 >set_event_pid
	q pair 1 0 0
	echo >set_event_pid
	same "$(totals $E/pair)" '3 1 0 '
}

run_poll() {
	fresh || return
	: >dynamic_events
	# shellcheck disable=SC2154
	same "$(. "$here/compare/seq/poll.sh")" 'ok
start n=0 in=0 pri=0
hit n=2 in=1 pri=1
again n=1 in=1 pri=0
read n=0 in=0 pri=0
start n=1 in=1 pri=0
hit n=1 in=1 pri=0
again n=1 in=1 pri=0
read n=0 in=0 pri=0'
}

# error_log.

log_last_eight() {
	local i want=''
	fresh || return
	for i in $(seq 12); do q put $E/pair/trigger "hist:keys=nosuch$i"; done
	for i in $(seq 5 12); do want+=$(entry pair "Couldn't find field" "hist:keys=nosuch$i" "nosuch$i")$'\n'; done
	same "$(sed -E 's/^\[ *[0-9.]+\] //' error_log)" "${want%?}" || return
	ok pair hist:keys=id && : >error_log && same "$(cat error_log)" ''
}

log_messages() {
	local c msg text
	fresh || return
	while IFS='|' read -r c msg text; do
		refused_clean num "hist:keys=id:$c" 'Invalid argument' "$(entry num "$msg" "hist:keys=id:$c" "$text")" || return
	done <<-'END'
		vals=nosuch|Couldn't find field|nosuch
		sort=total|Sort field must be a key or a val|total
		sort=id.foo|Invalid sort modifier|foo
		sort=|Empty assignment|sort=
		sort=id,hitcount,id|Too many sort fields (Max = 2)|sort=id,hitcount,id
	END
	refused_clean num hist:keys=id:nohitcount 'No such file or directory' \
		"$(entry num "Non-hitcount value is required for 'nohitcount'" hist:keys=id:nohitcount '')" || return
	refused_clean num 'hist:keys=id:a1=total:onmax($a1).save(delta):onmax($a1).save(tag)' 'File exists' \
		"$(entry num "Can't have more than one save() action per hist" 'hist:keys=id:a1=total:onmax($a1).save(delta):onmax($a1).save(tag)' '')"
}

# Without time, a line of the log: of an event of so long a name.
log_line() { # LENGTH
	local n
	n=$(printf 'n%.0s' $(seq "$1"))
	made "u:$n u32 id" || return
	: >error_log
	q put "$E/$n/trigger" hist:keys=nosuch
	sed -n -E '1s/^\[ *[0-9.]+\] //p' error_log
}

log_form() {
	local n from to
	fresh && : >error_log || return
	# The time is that of the kernel's log. A removal has no ! in the command.
	echo "log_form $$ from" >/dev/kmsg
	refused num '!hist:keys=nosuch' 'Invalid argument' "$(entry num "Couldn't find field" hist:keys=nosuch nosuch)" || return
	q put $E/num/trigger '!hist:keys=nosuch'
	echo "log_form $$ to" >/dev/kmsg
	from=$(dmesg | grep "log_form $$ from") to=$(dmesg | grep "log_form $$ to")
	same "$(head -n 1 error_log | sed -E 's/^\[ {0,4}[0-9]+\.[0-9]{6}\] /TIME /')" "TIME hist:user_events:num: error: Couldn't find field" || return
	same "$(printf '%s\n' "$from" "$(head -n 1 error_log)" "$to" | sort -t '[' -k 2,2g | grep -o 'from\|error\|to$' | tr '\n' ' ')" 'from error to ' || return
	# What is written is ignored, without truncation.
	n=$(cat error_log)
	same "$(put error_log nonsense)" ok && same "$(cat error_log)" "$n" || return
	same "$(new error_log nonsense)" ok && same "$(cat error_log)" '' || return
	# The line has room for 127 bytes before the message.
	for n in 101 102 105 120; do
		to="hist:user_events:$(printf 'n%.0s' $(seq "$n")): error: "
		same "$(log_line "$n")" "${to:0:127}Couldn't find field" || return
	done
}

# Synthetic events.

synthetic_definitions() {
	fresh || return
	same "$(synth 'ok1 u64 a' 'ok2 u64 a; s32 b; char c[16]; char[] d' 'ok1 u64 a' 'bad-name u64 a' 'b4 short a')" \
'ok1 u64 a: ok
ok2 u64 a; s32 b; char c[16]; char[] d: ok
ok1 u64 a: File exists
bad-name u64 a: Invalid argument
b4 short a: Invalid argument' && same "$(sort synthetic_events)" "$(printf 'ok1\tu64 a\nok2\tu64 a; s32 b; char[16] c; char[] d')" || return
	echo 0 >events/synthetic/enable
	same "$(put synthetic_events '!ok2')" ok && same "$(cat synthetic_events)" "$(printf 'ok1\tu64 a')"
}

synthetic_busy() {
	fresh && made_synth 'busy u64 val' && echo 0 >events/synthetic/enable || return
	ok num hist:keys=id:x1=total && ok pair 'hist:keys=id:yy=$x1:onmatch(user_events.num).trace(busy,$yy)' || return
	same "$(put synthetic_events '!busy')" 'Device or resource busy' &&
		same "$(put $E/num/trigger '!hist:keys=id:x1=total')" 'Device or resource busy' && drop pair && drop num &&
		same "$(put synthetic_events '!busy')" ok
}

# In a buffer that is new: C prints the old contents as flags, and crashes then.
synthetic_gfp_and_stack() {
	local i=instances/gfp rc=0
	fresh && made_synth 'gs gfp_t flags; unsigned long[] stk' 'last u64 val; gfp_t flags' && mkdir $i || return
	echo 0 >events/synthetic/enable
	echo 1 >$i/events/synthetic/enable
	ok num 'hist:keys=id:x1=id:s1=common_stacktrace:y1=total:onchange($x1).trace(gs,$x1,$s1):onchange($x1).trace(last,$y1,$x1)' || rc=1
	q num $((0xcc0)) 0 7 a
	# The names of flags end with a NUL.
	same "$(body $i/trace | tr -d '\0' | grep -v '^=> ' | sed '/^$/d')" 'gs: flags=cc0  (GFP_KERNEL)stk=STACK:
last: val=7 flags=cc0 (GFP_KERNEL)' || rc=1
	same "$(body $i/trace | grep -caE '^=> [a-z_A-Z0-9.]+\+0x[0-9a-f]+/0x[0-9a-f]+$' | sed 's/[1-9].*/frames/')" frames || rc=1
	echo 0 >$i/events/synthetic/enable
	rmdir $i || rc=1
	return $rc
}

# A field that is no number: that of the other event, or EINVAL.
params_of_odd_fields() {
	local c='hist:keys=id:x=id:onmax($x).trace(syn,raw)'
	fresh && made_synth 'syn u32 v' && same "$(put dynamic_events 'u:odd u32 id; struct blob raw 3')" ok &&
		same "$(put dynamic_events 'u:even u32 id; u32 raw')" ok || return
	refused odd "$c" 'Invalid argument' "$(entry odd "Couldn't parse field variable" "$c" raw)" || return
	ok even hist:keys=id && ok odd 'hist:keys=id:onmatch(user_events.even).trace(syn,raw)'
}

# A variable that is generated for a field has no sign: it fits a parameter of the
# same type, or an unsigned one of the same size.
params_of_field_variables() {
	local c='hist:keys=id:x1=total:onmax($x1).trace' e=events/sched/sched_process_exit t
	fresh && synth 'same s32 val' 'other int val' 'unsig u32 val' 'long s64 val' 'tpid pid_t pid' 'tint int pid' 'tuint unsigned int pid' |
		grep -c ok | q grep 7 || return
	for t in same unsig; do
		ok num "$c($t,delta)" && drop num || return
	done
	for t in other long; do
		refused_clean num "$c($t,delta)" 'Invalid argument' \
			"$(entry num "Param type doesn't match synthetic event field type" "$c($t,delta)" 'delta)')" || return
	done
	# A variable that the command defines has the sign of its field.
	ok num 'hist:keys=id:x1=total:d1=delta:onmax($x1).trace(other,$d1)' && drop num || return
	refused_clean num 'hist:keys=id:x1=total:d1=delta:onmax($x1).trace(unsig,$d1)' 'Invalid argument' \
		"$(entry num "Param type doesn't match synthetic event field type" 'hist:keys=id:x1=total:d1=delta:onmax($x1).trace(unsig,$d1)' '$d1)')" || return
	for t in tpid tuint; do
		on $e "hist:keys=prio:x1=prio:onmax(\$x1).trace($t,pid)" || return
		: >$e/trigger
	done
	same "$(put $e/trigger 'hist:keys=prio:x1=prio:onmax($x1).trace(tint,pid)')" 'Invalid argument' &&
		grep -q "hist:sched:sched_process_exit: error: Param type doesn't match synthetic event field type$" error_log
}

# The other triggers, on the same events.

others_syntax() {
	fresh && ok num hist:keys=id || return
	ok num traceoff:2 && ok num 'stacktrace:1 if id == 2' && ok num enable_event:user_events:pair:3 || return
	refused num traceon 'File exists' && refused num stacktrace 'File exists' && refused text traceoff:x 'Invalid argument' &&
		refused num enable_event:user_events:none 'Invalid argument' && refused num enable_event:user_events 'Invalid argument' &&
		refused num disable_event:user_events:pair 'File exists' || return
	trigger_is num "enable_event:user_events:pair:count=3
stacktrace:count=1 if id == 2
traceoff:count=2
$plain" || return
	ok num '!traceoff' && ok num '!stacktrace:7' && ok num '!enable_event:user_events:pair' && ok num '!snapshot' && trigger_is num "$plain"
}

others_effects() {
	fresh && ok num 'traceoff:1 if id == 3' && ok num hist:keys=id && ok pair traceon || return
	ok num 'enable_event:user_events:text:1 if id == 1' || return
	echo 1 >$E/num/enable
	q num 1 0 0 a 3 0 0 a 4 0 0 a
	q text 1 x
	same "$(body | cut -d: -f1 | uniq -c | sed 's/^ *//')" '2 num' && same "$(cat tracing_on)" 0 || return
	q pair 1 0 0
	same "$(cat tracing_on)" 1 && q text 1 x && same "$(body | tail -n 1 | cut -d: -f1)" text || return
	same "$(totals $E/num)" '3 3 0 '
}

run_tests named_shared named_pause_clear several_on_one_event enable_disable_hist enable_disable_hist_of_several \
	instances_isolated clocks clocks_and_usecs clock_change_clears removal_matches removal_of_references read_back \
	show_table show_sorted show_sorted_by_a_value_named_as_a_key show_long_array show_stack show_stack_of_writes show_debug \
	show_counts_while_full run_paused_and_cleared run_several_of_pause_cont_clear run_without_recording run_poll \
	log_last_eight log_messages log_form params_of_odd_fields params_of_field_variables synthetic_definitions \
	synthetic_busy synthetic_gfp_and_stack others_syntax others_effects
rc=$?
"$UEDRIVE" --reset || rc=1
exit $rc
