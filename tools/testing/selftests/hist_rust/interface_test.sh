#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Behaviour of histograms, group by group: files and commands, grammar, fields,
# modifiers, expressions, variables, handlers, actions, and what is shown. All of
# it holds for the C implementation as well.
# shellcheck disable=SC2016 # $variables of histograms

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=lib.sh
. "$here/lib.sh"

# Files and command entry.

files_modes() {
	fresh || return
	same "$(cd $E/num && stat -c '%a %n' trigger hist hist_debug)" '640 trigger
440 hist
440 hist_debug' || return
	same "$(cat $E/num/trigger)" '# Available triggers:
# traceon traceoff snapshot stacktrace enable_event disable_event enable_hist disable_hist hist' || return
	same "$(cat $E/num/hist)" ''
}

files_writes() {
	fresh || return
	refused num '' ok && refused num nosuch 'Invalid argument' && refused num '!nosuch' 'Invalid argument' || return
	# In one write, which is not what the shell's own commands do with a large page.
	printf 'hist:keys=id if tag == "%s"' "$(printf 'x%.0s' $(seq "$(getconf PAGESIZE)"))" >"$tmp/long"
	: >error_log
	dd if="$tmp/long" of=$E/num/trigger bs=1M oflag=append conv=notrunc status=none 2>"$tmp/dd" && return 1
	grep -q 'Invalid argument' "$tmp/dd" && take_log && same "$REPLY" '' || return
	ok num '  hist:keys=id  ' && trigger_is num 'hist:keys=id:vals=hitcount:sort=hitcount:size=2048 [active]'
}

files_truncate() {
	fresh || return
	ok num hist:keys=id && ok num hist:keys=tag && ok num traceoff:1 && ok num enable_hist:user_events:pair || return
	# Other triggers are first in the list, and stay.
	trigger_is num 'enable_hist:user_events:pair:unlimited
traceoff:count=1
hist:keys=id:vals=hitcount:sort=hitcount:size=2048 [active]
hist:keys=tag:vals=hitcount:sort=hitcount:size=2048 [active]' || return
	same "$(new $E/num/trigger hist:keys=total)" ok && trigger_is num 'traceoff:count=1
hist:keys=total:vals=hitcount:sort=hitcount:size=2048 [active]'
}

# Grammar.

grammar_clauses() {
	local c
	fresh || return
	for c in keys=id:vals=total key=id:val=total keys=id:values=total vals=total:keys=id keys=delta:keys=id:vals=delta:vals=total \
		keys=id:vals=hitcount,total keys=id:vals=total,hitcount keys=id:vals=total:sort=hitcount keys=id:vals=total:size=1025 \
		keys=id:vals=total:size=0x800 keys=id:vals=total:clock=nosuch keys=id:vals=total:sort=hitcount.ascending; do
		ok num "hist:$c" && trigger_is num 'hist:keys=id:vals=hitcount,total:sort=hitcount:size=2048 [active]' || return
		drop num
	done
}

grammar_sizes() {
	local n
	fresh || return
	for n in 65=128 128=128 129=256 0x100=256 0400=256 131072=131072 131071=131072; do
		ok num "hist:keys=id:size=${n%=*}" &&
			trigger_is num "hist:keys=id:vals=hitcount:sort=hitcount:size=${n#*=} [active]" || return
		drop num
	done
	for n in 1 64 131073 262144 -1 x 12x ''; do
		if [ -n "$n" ]; then refused_clean num "hist:keys=id:size=$n" 'Invalid argument' || return; fi
	done
	refused_clean num hist:keys=id:size=99999999999999999999 'Numerical result out of range'
}

# A clause that is misspelt is a variable.
grammar_misspelt() {
	fresh && ok num hist:keys=id:valz=total:sizes=256:sorts=id && trigger_is num \
		'hist:keys=id:vals=hitcount:valz=total,sizes=256,sorts=id:sort=hitcount:size=2048 [active]' || return
	q num 1 0 5 a && rows_are num '{ id:          1 } hitcount:          1' && ok num '!hist:keys=id:valz=total:sizes=256:sorts=id' &&
		trigger_is num 'num: no trigger' || return
	# Without keys, and one that is no assignment.
	refused_clean num hist:keyz=id 'Invalid argument' && refused_clean num hist:keys=id:pauze 'Invalid argument'
}

grammar_limits() {
	local v
	fresh || return
	ok num hist:keys=id,delta,total:vals=id,delta:sort=id,delta && drop num || return
	refused_clean num hist:keys=id,delta,total,tag 'Invalid argument' || return
	refused_clean num hist:keys=id:vals=id,delta,total 'Invalid argument' || return
	ok num hist:keys=id:vals=id,delta,hitcount && drop num || return
	refused_clean text hist:keys=msg,msg 'Invalid argument' || return
	v=$(for i in $(seq 16); do printf ':v%d=total' "$i"; done)
	ok num "hist:keys=id$v" && drop num || return
	refused_clean num "hist:keys=id$v:v17=total" 'Invalid argument' \
		"$(entry num 'Too many variables defined' "hist:keys=id$v:v17=total" v17=total)" || return
	v=$(for i in $(seq 8); do printf ':onmax($a).save(id)'; done)
	refused_clean num "hist:keys=id:a=total$v:onmax(\$a).save(id)" 'Invalid argument'
}

# All keys have 504 bytes at most, each rounded up to a multiple of eight.
grammar_key_bytes() {
	local desc='bytes char[256] aa; char[248] bb; char[249] cc; char[8] dd; char[248] ee' c a b n
	fresh && made "u:$desc" || return
	for c in aa,bb bb,cc bb,dd,ee aa,common_stacktrace; do
		ok bytes "hist:keys=$c" && drop bytes || return
	done
	for c in aa,cc aa,bb,dd bb,cc,dd aa,common_stacktrace,dd; do
		refused_clean bytes "hist:keys=$c" 'Invalid argument' || return
	done
	# The last byte in front of the NUL counts.
	a=$(printf 'a%.0s' $(seq 255)) b=$(printf 'b%.0s' $(seq 246))
	ok bytes hist:keys=aa,bb || return
	{
		echo "reg bit=0 : $desc"
		for n in 1 2 2; do echo "w 0 s:$a n:1 s:$b$n n:1 n:249 n:8 n:248"; done
	} | ue >"$tmp/log"
	same "$(rows $E/bytes | sed -E 's/^\{ aa: a{255}, bb: b{246}([12]) \} hitcount: +([0-9]+)$/\1:\2/' | tr '\n' ' ')" '1:1 2:2 '
}

grammar_filter() {
	fresh || return
	ok num 'hist:keys=id if id > 1 && tag != " if "' &&
		trigger_is num 'hist:keys=id:vals=hitcount:sort=hitcount:size=2048 if id > 1 && tag != " if " [active]' || return
	q num 1 0 0 x 3 0 0 x
	rows_are num '{ id:          3 } hitcount:          1' || return
	drop num
	refused_clean num 'hist:keys=id if' 'Invalid argument' && refused_clean num 'hist:if id > 1' 'Invalid argument'
}

# Fields.

fields_numbers() {
	fresh || return
	made 'u:wide s8 sb; u8 ub; s16 sh; u16 uh; s32 sw; u32 uw; s64 sl; u64 ul' || return
	ok wide 'hist:keys=ub,uh,uw:vals=ul' && ok wide 'hist:keys=sb,sh,sw:vals=sl' || return
	ue <<-END >"$tmp/log"
		reg bit=0 : wide s8 sb; u8 ub; s16 sh; u16 uh; s32 sw; u32 uw; s64 sl; u64 ul
		w 0 u8:127 u8:255 u16:32767 u16:65535 u32:2147483647 u32:4294967295 u64:9223372036854775807 u64:18446744073709551615
		w 0 u8:127 u8:255 u16:32767 u16:65535 u32:2147483647 u32:4294967295 u64:0 u64:2
	END
	same "$(rows $E/wide)" '{ ub:        255, uh:      65535, uw: 4294967295 } hitcount:          2  ul:          1
{ sb:        127, sh:      32767, sw: 2147483647 } hitcount:          2  sl: 9223372036854775807'
}

fields_strings() {
	local long
	long=$(printf 'l%.0s' $(seq 300))
	fresh || return
	ok num hist:keys=tag && q num 1 0 0 one 1 0 0 1234567 1 0 0 one || return
	rows_are num '{ tag: 1234567                                            } hitcount:          1
{ tag: one                                                } hitcount:          2' || return
	ok text hist:keys=msg && q text 1 hello && q text 1 hello && q text 1 "$long" || return
	rows_are text "{ msg: ${long:0:255} } hitcount:          1
{ msg: hello                                              } hitcount:          2"
}

fields_special() {
	fresh || return
	ok num hist:keys=common_comm && ok num hist:keys=common_pid.execname:vals=hitcount && ok num hist:keys=comm:vals=total || return
	q num 1 0 5 a
	same "$(rows $E/num | sed -E 's/\[ +[0-9]+\]/[PID]/')" \
'{ common_comm: uedrive                                            } hitcount:          1
{ common_pid: uedrive         [PID] } hitcount:          1
{ comm: uedrive                                            } hitcount:          1  total:          5' || return
	drop num
	ok num hist:keys=common_timestamp && q num 1 0 0 a 1 0 0 a && same "$(totals $E/num)" '2 2 0 '
}

# common_pid.execname is the name of the task that has created the element as a key and as
# a variable, and the number of the task as a value.
fields_execname() {
	local e=events/timer/hrtimer_expire_entry
	fresh && made_synth 'ran char[] comm; u64 total' || return
	ok num 'hist:keys=id:c1=common_pid.execname:x1=total:onchange($x1).trace(ran,$c1,$x1)' && trigger_is num \
		'hist:keys=id:vals=hitcount:c1=common_pid.execname,x1=total:sort=hitcount:size=2048:onchange($x1).trace(ran,$c1,$x1) [active]' || return
	cp "$UEDRIVE" "$tmp/another" || return
	q num 1 0 5 a
	UEDRIVE=$tmp/another q num 1 0 6 a 2 0 7 a
	records_are 'ran: comm=uedrive total=5
ran: comm=uedrive total=6
ran: comm=another total=7' || return
	drop num
	ok num hist:keys=common_pid:vals=common_pid.execname && q num 1 0 0 a || return
	same "$(rows $E/num | sed -E 's/: +([0-9]+) \} hitcount: +1  common_pid: +\1$/: PID } PID/')" '{ common_pid: PID } PID' || return
	# Timers that end the sleep of others run in the idle task.
	on $e 'hist:keys=common_pid.execname if common_pid == 0' || return
	eventually grep -q '^{' $e/hist && same "$(rows $e | sed 's/} .*/}/')" '{ common_pid: <idle>          [         0] }' || return
	: >$e/trigger
}

fields_refused() {
	local c
	fresh || return
	made 'u:odd struct blob raw 12; u32 id' || return
	refused_clean odd hist:keys=raw 'Cannot allocate memory' &&
		refused_clean odd hist:keys=none 'Invalid argument' "$(entry odd "Couldn't find field" hist:keys=none none)" || return
	for c in '' : :vals=id; do
		refused_clean odd "hist$c" 'Invalid argument' || return
	done
}

# Modifiers: each one's row, exactly.

modifiers_of_keys() {
	local m call
	fresh || return
	# The number of this system call is 39.
	case $(uname -m) in
	x86_64) call=sys_getpid ;;
	*) call=sys_umount ;;
	esac
	while IFS='|' read -r m row; do
		ok num "hist:keys=total.$m" && q num 1 0 39 a && rows_are num "$row" || return
		drop num
	done <<-END
		hex|{ total: 27 } hitcount:          1
		log2|{ total: ~ 2^6  } hitcount:          1
		buckets=10|{ total: ~ 30-39 } hitcount:          1
		bucket=0x10|{ total: ~ 32-47 } hitcount:          1
		syscall|{ total: $call                    [ 39] } hitcount:          1
		usecs|{ total:         39 } hitcount:          1
		sym|{ total: [27] 0x27                                          } hitcount:          1
		sym-offset|{ total: [27] 0x27                                                    } hitcount:          1
	END
}

modifiers_log2() {
	fresh || return
	ok num hist:keys=total.log2:sort=total && q num 1 0 1 a 1 0 2 a 1 0 3 a 1 0 4 a 1 0 5 a 1 0 4096 a 1 0 4097 a || return
	rows_are num '{ total: ~ 2^0  } hitcount:          1
{ total: ~ 2^1  } hitcount:          1
{ total: ~ 2^2  } hitcount:          2
{ total: ~ 2^3  } hitcount:          1
{ total: ~ 2^12 } hitcount:          1
{ total: ~ 2^13 } hitcount:          1'
}

modifiers_of_values() {
	fresh || return
	ok num hist:keys=id:vals=total.hex,hitcount.percent:sort=id || return
	ok num hist:keys=id:vals=total.percent,total.graph:sort=id || return
	ok num hist:keys=id:vals=hitcount.graph:nohitcount:sort=id || return
	q num 1 0 10 a 2 0 30 a 2 0 30 a 3 0 30 a
	same "$(rows $E/num | sed 's/$/|/')" '{ id:          1 } hitcount:          1  total:          a  hitcount (%):  25.00|
{ id:          2 } hitcount:          2  total:         3c  hitcount (%):  50.00|
{ id:          3 } hitcount:          1  total:         1e  hitcount (%):  25.00|
{ id:          1 } hitcount:          1  total (%):  10.00  total: ###                 |
{ id:          2 } hitcount:          2  total (%):  60.00  total: ####################|
{ id:          3 } hitcount:          1  total (%):  30.00  total: ##########          |
{ id:          1 }  hitcount: ##########          |
{ id:          2 }  hitcount: ####################|
{ id:          3 }  hitcount: ##########          |'
}

modifiers_refused() {
	local c text
	fresh || return
	while IFS='|' read -r c text; do
		refused_clean num "hist:$c" 'Invalid argument' "$(entry num 'Invalid field modifier' "hist:$c" "$text")" || return
	done <<-'END'
		keys=id.foo|foo
		keys=id.execname|execname
		keys=id.percent|percent
		keys=id.graph|graph
		keys=id:vals=total.log2|total.log2
		keys=id:vals=total.sym|total.sym
		keys=id:vals=total.syscall|total.syscall
		keys=id:vals=total.buckets=4|total.buckets=4
		keys=id:x1=total.log2|total.log2
		keys=id:x1=total.percent|percent
		keys=id:x1=total.graph|graph
	END
}

# Expressions: what a variable has, shown by a synthetic event.

value_of() { # EXPRESSION DELTA TOTAL
	drop num
	: >trace
	append $E/num/trigger "hist:keys=id:rr=$1:onchange(\$rr).trace(ex,\$rr)"
	[ "$REPLY" = ok ] || {
		echo "# $1 is refused"
		elog | sed 's/^/#   /'
	}
	q num 1 "$2" "$3" a
	sed -n 's/.*rr=//p' trace
}

expressions_values() {
	local x want
	fresh || return
	made_synth 'ex u64 rr' || return
	while read -r x want; do
		same "$x: $(value_of "$x" 3 1000)" "$x: $want" || return
	done <<-'END'
		total+delta 1003
		total-delta 997
		total-1-1 998
		total*2 2000
		total+2*3 1006
		2*3+total 1006
		total-delta*2 994
		total*delta+1 3001
		total/delta 333
		total/4 250
		total/1 1000
		total/2/2/2 125
		total-100+1 901
		100/4+total 1025
		0x10+010 24
		-(total) 18446744073709550616
		-(total+delta) 18446744073709550613
		18446744073709551615+total 999
		total 1000
		7 7
		64/8/4/2 1
		1000/1000 1
	END
	same "by 0: $(value_of total/delta 0 5)" 'by 0: 18446744073709551615'
}

expressions_refused() {
	local x log
	fresh || return
	while IFS='|' read -r x log text; do
		if [ -n "$log" ]; then log=$(entry num "$log" "hist:keys=id:rr=$x" "$text"); fi
		refused_clean num "hist:keys=id:rr=$x" 'Invalid argument' "$log" || return
	done <<-'END'
		total+||
		+total||
		total+1x|Expecting numeric literal|1x
		-(total)+1|Unary minus not supported in sub-expressions|total)+1
		tag+1|String type can not be an operand in expression|tag
		1+2+3+4+5|Too many subexpressions (3 max)|1+2+3+4+5
		common_timestamp.usecs-total|Timestamp units in expression don't match|
		nosuch+1|Couldn't find field|nosuch
	END
	refused_clean num hist:keys=id:rr=total/0 'Numerical argument out of domain' \
		"$(entry num 'Division by zero' hist:keys=id:rr=total/0 0)" || return
	refused_clean num hist:keys=id:zz=0:rr=total/\$zz 'Invalid argument' \
		"$(entry num "Couldn't find field" 'hist:keys=id:zz=0:rr=total/$zz' 0:rr)"
}

expressions_keys() {
	fresh || return
	ok num hist:keys=id*10+1:sort=hitcount && q num 1 0 0 a 2 0 0 a 2 0 0 a && same "$(totals $E/num)" '3 2 0 ' || return
	trigger_is num 'hist:keys=id*10+1:vals=hitcount:sort=hitcount:size=2048 [active]' || return
	drop num
	ok num hist:keys=id:x1=total || return
	refused_clean pair 'hist:keys=$x1' 'Invalid argument' "$(entry pair 'Using variable references in keys not supported' 'hist:keys=$x1' '$x1')"
}

# Variables and references.

variables_match() {
	fresh || return
	ok num hist:keys=id:x1=total && ok pair 'hist:keys=id:vals=$x1' || return
	# No entry for this key yet: as if it had not happened.
	q pair 1 0 0
	same "$(totals $E/pair)" '0 0 0 ' || return
	q num 1 0 7 a
	q pair 1 0 0 1 0 0 2 0 0
	rows_are pair '{ id:          1 } hitcount:          2  x1:         14'
}

variables_read_once() {
	fresh || return
	ok num hist:keys=id:x1=total && ok pair 'hist:keys=id:yy=total-$x1' || return
	q num 1 0 10 a
	q pair 1 0 15 1 0 16
	same "$(totals $E/pair)" '1 1 0 ' || return
	q num 1 0 10 a
	q pair 1 0 15
	same "$(totals $E/pair)" '2 1 0 '
}

variables_names() {
	fresh || return
	ok num hist:keys=id:x1=total && ok text hist:keys=id:x1=id || return
	refused num hist:keys=tag:x1=delta 'Invalid argument' "$(entry num 'Variable already defined' hist:keys=tag:x1=delta x1)" || return
	refused_clean pair 'hist:keys=id:yy=$none' 'Invalid argument' "$(entry pair "Couldn't find variable" 'hist:keys=id:yy=$none' none)
$(entry pair "Couldn't find field" 'hist:keys=id:yy=$none' '$none')" || return
	ok pair 'hist:keys=id:yy=user_events.num.$x1:zz=user_events.text.$x1' &&
		trigger_is pair 'hist:keys=id:vals=hitcount:yy=user_events.num.$x1,zz=user_events.text.$x1:sort=hitcount:size=2048 [active]' || return
	same "$(put $E/num/trigger '!hist:keys=id:x1=total')" 'Device or resource busy' &&
		same "$(new $E/num/trigger '')" ok && same "$(triggers num | wc -l)" 1
}

variables_definitions() {
	fresh || return
	ok num hist:keys=id:a1=total,b1=delta:c1=5:s1=tag && trigger_is num \
		'hist:keys=id:vals=hitcount:a1=total,b1=delta,c1=5,s1=tag:sort=hitcount:size=2048 [active]' || return
	drop num
	refused_clean num hist:keys=id:a1= 'Invalid argument' "$(entry num 'Empty assignment' hist:keys=id:a1= a1=)" &&
		refused_clean num hist:keys=id:a1=total,b1 'Invalid argument' "$(entry num 'Malformed assignment' hist:keys=id:a1=total,b1 b1)"
}

variables_alias() {
	fresh || return
	made_synth 'al u64 val' || return
	ok num hist:keys=id:x1=total && ok pair 'hist:keys=id:yy=$x1:onmatch(user_events.num).trace(al,$yy)' || return
	q mixed num 1 0 42 a pair 1 0 0 pair 1 0 0
	records_are 'al: val=42
al: val=42'
}

variables_strings() {
	fresh || return
	made_synth 'st char[] text; char[8] tag; u64 total' || return
	ok num 'hist:keys=id:s1=tag:s2=tag:x1=total:onchange($x1).trace(st,$s1,$s2,$x1)' || return
	q num 1 0 5 five 1 0 5 same 1 0 6 longest
	records_are 'st: text=five tag=five total=5
st: text=longest tag=longest total=6'
}

# An address in a variable is a number.
variables_sym() {
	local c='x1=total.sym:onchange($x1).trace(ex,$x1)'
	fresh && made_synth 'ex u64 rr' && ok num "hist:keys=id:$c" && trigger_is num \
		"hist:keys=id:vals=hitcount:x1=total.sym:sort=hitcount:size=2048:${c#*:} [active]" || return
	q num 1 0 39 a 1 0 18446744073709551615 a
	records_are 'ex: rr=39
ex: rr=18446744073709551615'
}

# Handlers and actions.

handlers_onmatch() {
	fresh || return
	made_synth 'syn u64 lat; u32 id' || return
	ok num hist:keys=id:st=total && ok pair 'hist:keys=id:lat=total-$st:onmatch(user_events.num).trace(syn,$lat,id)' &&
		on events/synthetic/syn hist:keys=id,lat:sort=id || return
	q mixed num 1 0 100 x pair 1 0 150 pair 1 0 170 num 2 0 200 x pair 2 0 275 pair 3 0 999
	records_are 'syn: lat=50 id=1
syn: lat=75 id=2' && same "$(rows events/synthetic/syn)" '{ id:          1, lat:         50 } hitcount:          1
{ id:          2, lat:         75 } hitcount:          1'
}

handlers_onmax_onchange() {
	fresh || return
	ok num 'hist:keys=id:x1=total:onmax($x1).save(delta,tag)' && ok pair 'hist:keys=id:y1=total:onchange($y1).save(part)' || return
	q num 1 1 10 aa 1 2 50 bb 1 3 50 cc 1 4 20 dd 2 7 1 zz
	q pair 1 1 0 1 2 5 1 3 5 1 4 0 1 5 5 1 6 5
	same "$(rows $E/num)" "$(printf '%s\n' '{ id:          2 } hitcount:          1' \
		'	max:          1  delta:          7  tag: zz                              ' '{ id:          1 } hitcount:          4' \
		'	max:         50  delta:          2  tag: bb                              ')" || return
	same "$(rows $E/pair)" '{ id:          1 } hitcount:          6
	changed:          5  part:          5'
}

handlers_refused() {
	local c msg text
	fresh || return
	made_synth 'syn u64 lat; u32 id' || return
	while IFS='|' read -r c msg text; do
		refused_clean pair "hist:keys=id:$c" 'Invalid argument' "$(entry pair "$msg" "hist:keys=id:$c" "$text")" || return
	done <<-'END'
		onmatch(user_events.num|No closing paren found|user_events.num
		onmatch(num).trace(syn,total,id)|Missing subsystem|num
		onmatch(user_events.none).trace(syn,total,id)|Invalid subsystem or event name|none
		onmatch(user_events.num)|No action found|
		onmax(total).save(id)|For onmax(x) or onchange(x), x must be a variable|total
		onmax($zz).save(id)|Couldn't find onmax or onchange variable|zz
		onmatch(user_events.num).save(part)|Handler doesn't support action|save
		onmatch(user_events.num).snapshot()|Handler doesn't support action|snapshot
		onmatch(user_events.num).nosyn(total)|Couldn't find synthetic event|nosyn
		onmatch(user_events.num).trace(syn,total)|Param count doesn't match synthetic event field count|syn
		onmatch(user_events.num).trace(syn,total,q)|Invalid action param|q
	END
	refused_clean pair 'hist:keys=id:onfoo(total).save(id)' 'Invalid argument'
}

actions_field_of_match() {
	local c='hist:keys=id:lat=total-$st:onmatch(user_events.num).syn2($lat,user_events.num.delta,user_events.num.tag)'
	fresh || return
	made_synth 'syn2 u64 lat; s32 delta; char[8] tag' || return
	ok num 'hist:keys=id:st=total' && ok pair "$c" || return
	trigger_is num 'hist:keys=id:vals=hitcount:st=total:sort=hitcount:size=2048 [active]
hist:keys=id:vals=hitcount:synthetic_delta=delta:sort=hitcount:size=2048 [active]
hist:keys=id:vals=hitcount:synthetic_tag=tag:sort=hitcount:size=2048 [active]' || return
	q mixed num 1 -9 100 tagone pair 1 0 150
	records_are 'syn2: lat=50 delta=-9 tag=tagone' || return
	# Auto-created histograms are removed with the trigger that they were created for.
	ok pair "!$c" && trigger_is num 'hist:keys=id:vals=hitcount:st=total:sort=hitcount:size=2048 [active]'
}

actions_several() {
	fresh || return
	made_synth 'mx u64 top; u32 id' 'ch u64 now' || return
	ok pair 'hist:keys=id:vv=total:onmax($vv).trace(mx,$vv,id):onchange($vv).trace(ch,$vv):onmax($vv).save(part)' || return
	q pair 1 0 5 1 0 3 1 0 3 1 0 9
	records_are 'mx: top=5 id=1
ch: now=5
ch: now=3
mx: top=9 id=1
ch: now=9' && trigger_is pair \
'hist:keys=id:vals=hitcount:vv=total:sort=hitcount:size=2048:onmax($vv).trace(mx,$vv,id):onchange($vv).trace(ch,$vv):onmax($vv).save(part) [active]'
}

# The events and fields of the actions of a named histogram are looked up at each
# event that joins it.
actions_of_a_name() {
	local c='hist:name=foo:keys=id:x1=id:onmax($x1).save(aa)' i=instances/joins rc=0
	fresh && made 'u:with u32 id; u32 aa' &&
		made 'u:without u32 id; u32 bb' && ok with "$c" || return
	refused_clean without "$c" 'Invalid argument' "$(entry without "Couldn't find field" "$c" aa)
$(entry without "Couldn't parse field variable" "$c" aa)
$(entry without "Couldn't create field variable" "$c" aa)" || return
	c='hist:name=baz:keys=id:y1=id:onmax($y1).trace(narrow,aa)'
	made 'u:wide u32 id; u64 aa' && made_synth 'narrow u32 aa' && ok with "$c" || return
	refused_clean wide "$c" 'Invalid argument' \
		"$(entry wide "Param type doesn't match synthetic event field type" "$c" 'aa)')" || return
	drop with
	made_synth 'syn u64 val; s32 delta' && ok num hist:keys=id:ts0=total || return
	c='hist:name=bar:keys=id:onmatch(user_events.num).trace(syn,$ts0,delta)'
	mkdir $i && ok pair "$c" && ok text "$c" || rc=1
	same "$(put $i/$E/pair/trigger "$c")" 'Invalid argument' && grep -q "error: Couldn't find param$" $i/error_log || rc=1
	rmdir $i || rc=1
	q num 1 3 5 a
	q pair 1 0 0
	q text 1 x
	records_are 'syn: val=5 delta=3
syn: val=5 delta=3' || rc=1
	drop text pair
	return $rc
}

actions_snapshot() {
	local c='hist:keys=id:x1=total:onmax($x1).snapshot()' rc=0
	fresh || return
	echo 1 >$E/pair/enable
	ok pair "$c" || return
	same "$(put $E/num/trigger "$c")" 'Device or resource busy' || rc=1
	q pair 1 0 5 2 0 3 1 0 9 1 0 1
	eventually grep -q '(9)' snapshot || rc=1
	same "$(sed -n '/^Snapshot/,$p' $E/pair/hist)" 'Snapshot taken (see tracing/snapshot).  Details:
	triggering value { onmax($x1) }:          9	triggered by event with key: { id:          1 }

Totals:
    Hits: 4
    Entries: 2
    Dropped: 0' || rc=1
	ok pair "!$c" || rc=1
	echo 0 >snapshot
	echo 0 >$E/pair/enable
	return $rc
}

ids_are() { # SORT IDS
	ok pair "hist:keys=id:vals=total:sort=$1" || return
	# shellcheck disable=SC2046
	q pair $(for i in $(seq 40); do echo "$((i * 7919 % 251)) 0 $((i % 3))"; done)
	same "$(rows $E/pair | sed -E 's/.*id: +([0-9]+) .*/\1/' | paste -sd' ')" "$2" && drop pair
}

# Rows that are equal have the order that the heap sort of C leaves.
order_of_equal_rows() {
	fresh || return
	ids_are hitcount '12 25 36 37 49 50 61 62 74 75 86 87 99 100 111 112 124 125 137 138 149 150 162 163 174 175 187 188 199 200 212 213 224 225 237 238 249 250 24 11' || return
	ids_are hitcount,total '212 124 238 75 36 199 62 225 111 163 49 137 150 213 125 37 138 86 112 249 187 50 174 99 24 200 11 224 237 250 74 149 162 25 87 175 188 100 61 12' || return
	ids_are total.descending '61 237 87 25 162 100 224 74 188 250 149 175 12 200 249 50 213 125 138 112 174 37 187 86 99 24 11 212 111 225 238 124 137 62 36 150 75 163 199 49'
}

run_tests files_modes files_writes files_truncate grammar_clauses grammar_sizes grammar_misspelt grammar_limits \
	grammar_key_bytes grammar_filter fields_numbers fields_strings fields_special fields_execname fields_refused modifiers_of_keys modifiers_log2 modifiers_of_values \
	modifiers_refused expressions_values expressions_refused expressions_keys variables_match variables_read_once \
	variables_names variables_definitions variables_alias variables_strings variables_sym handlers_onmatch handlers_onmax_onchange \
	handlers_refused actions_field_of_match actions_several actions_of_a_name actions_snapshot \
	order_of_equal_rows
rc=$?
"$UEDRIVE" --reset || rc=1
exit $rc
