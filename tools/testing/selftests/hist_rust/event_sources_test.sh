#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Histograms of all kinds of events, in an instance as well, while they happen on
# several processors; and the way that tools use them.
# shellcheck disable=SC2016 # $variables of histograms

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=lib.sh
. "$here/lib.sh"

# Something to do, twice.
busy() { # COMMAND...
	local a b
	for _ in $(seq 10); do "$@"; done &
	a=$!
	for _ in $(seq 10); do "$@"; done &
	b=$!
	wait $a $b
}

# The total of a table is the sum of its rows. If it was read while the event happened, MOST
# is what may have been counted between the rows and the total. Rows are not ahead of it but
# for the hit that each processor is at. DROPPED is how many hits may have been dropped.
adds_up() { # FILE [MOST [DROPPED]]
	awk -v most="${2:-0}" -v may_drop="${3:-0}" '/^{/ { n++; for (i = 1; i <= NF; i++) if ($i == "hitcount:") sum += $(i + 1) }
		/Hits:/ { hits = $2 } /Entries:/ { entries = $2 } /Dropped:/ { dropped = $2 }
		END {
			ahead = most ? 8 : 0
			exit !(hits > 0 && sum > 0 && sum - hits <= ahead && hits - sum <= most && n == entries && dropped <= may_drop)
		}' "$1" && return
	sed 's/^/#   /' "$1" | tail -n 20
	return 1
}

# Adds a histogram to an event in the top instance and in another one.
counted() { # EVENTDIR COMMAND WORK...
	local e=$1 c=$2 rc=0
	shift 2
	mkdir instances/hist || return
	on "$e" "$c" && on "instances/hist/$e" "$c" || rc=1
	"$@"
	# No more hits while it is read.
	on "$e" "$c:pause" && on "instances/hist/$e" "$c:pause" || rc=1
	adds_up "$e/hist" && adds_up "instances/hist/$e/hist" || rc=1
	on "$e" "!$c" && on "instances/hist/$e" "!$c" || rc=1
	rmdir instances/hist || rc=1
	return $rc
}

syscalls() {
	fresh && counted events/raw_syscalls/sys_enter hist:keys=id.syscall:vals=hitcount:sort=id busy /bin/true &&
		counted events/syscalls/sys_enter_openat hist:keys=common_pid busy /bin/true
}

scheduling() {
	fresh && counted events/sched/sched_switch hist:keys=prev_comm,next_comm busy sleep 0.01
}

kprobes() {
	local rc=0
	fresh && put kprobe_events 'p:hist_kp do_sys_openat2 dfd=$arg1:s32 name=+0($arg2):ustring' | q grep ok || return
	counted events/kprobes/hist_kp hist:keys=dfd busy /bin/true && counted events/kprobes/hist_kp hist:keys=name busy /bin/true || rc=1
	put kprobe_events -:hist_kp | q grep ok || rc=1
	return $rc
}

uprobes() {
	local rc=0 at
	at=$(command -v readelf nm >/dev/null && nm -D /bin/bash 2>/dev/null | awk '$3 == "main" || $3 == "_start" { print $1; exit }')
	[ -n "$at" ] || at=$(od -An -t x8 -j 24 -N 8 /bin/bash | tr -d ' ')
	fresh && put uprobe_events "p:hist_up /bin/bash:0x$at" | q grep ok || return
	counted events/uprobes/hist_up hist:keys=common_comm busy /bin/bash -c : || rc=1
	put uprobe_events -:hist_up | q grep ok || rc=1
	return $rc
}

# In the top instance only: a probe of a user event in another one leaves that in use.
event_probes() {
	local e=events/probes/hist_ep c=hist:keys=id:vals=total rc=0
	fresh && made 'e:probes/hist_ep user_events/num id=$id total=$total' || return
	on $e "$c" && echo 1 >$e/enable || rc=1
	busy q num 1 0 5 a 2 0 7 a
	on $e "$c:pause" && adds_up $e/hist || rc=1
	same "$(totals $e)" '40 2 0 ' || rc=1
	echo 0 >$e/enable
	on $e "!$c" && put dynamic_events '-:probes/hist_ep' | q grep ok || rc=1
	return $rc
}

synthetic_and_user_events() {
	fresh && made_synth 'syn u64 total' && ok num 'hist:keys=id:x1=total:onchange($x1).trace(syn,$x1)' || return
	counted events/synthetic/syn hist:keys=total busy q num 1 0 5 a 2 0 7 a 1 0 6 a 2 0 8 a || return
	drop num
	counted $E/num hist:keys=id,tag:vals=total busy q num 1 0 5 a 2 0 7 a
}

# As libtracefs and rtla do it: a text with a name of their own in it, written,
# read, and removed with an exclamation mark.
like_libraries() {
	local a='hist:keys=pid:__arg_41_1=common_timestamp.usecs,__arg_41_2=prio' rc=0
	local b='hist:keys=next_pid:__lat_41_3=common_timestamp.usecs-$__arg_41_1,__arg_41_4=$__arg_41_2:onmatch(sched.sched_waking).trace(wake_lat,$__lat_41_3,$__arg_41_4,next_comm)'
	fresh && made 's:wake_lat u64 lat; int prio; char[16] comm' || return
	mkdir instances/lib
	on instances/lib/events/sched/sched_waking "$a" && on instances/lib/events/sched/sched_switch "$b" || rc=1
	on instances/lib/events/synthetic/wake_lat hist:keys=comm:vals=lat || rc=1
	busy sleep 0.01
	on instances/lib/events/synthetic/wake_lat hist:keys=comm:vals=lat:pause || rc=1
	adds_up instances/lib/events/synthetic/wake_lat/hist || rc=1
	on instances/lib/events/synthetic/wake_lat '!hist:keys=comm:vals=lat' || rc=1
	on instances/lib/events/sched/sched_switch "!$b" && on instances/lib/events/sched/sched_waking "!$a" || rc=1
	rmdir instances/lib && put dynamic_events '-:wake_lat' | q grep ok || rc=1
	return $rc
}

# The commands of rtla for "-e sched:sched_switch --trigger hist:...": in its
# instance, each time opening the file with truncation, with a newline after the
# text. It saves hist when it stops, and removes the trigger with its own text.
like_rtla() {
	local dir=instances/timerlat_hist t='hist:keys=next_comm,next_prio:vals=hitcount:sort=hitcount.descending:size=4096 if next_pid != 0' rc=0
	local e=$dir/events/sched/sched_switch
	fresh && mkdir $dir || return
	same "$(new $e/trigger "$t"$'\n')" ok && echo 1 >$e/enable || rc=1
	busy sleep 0.01
	echo 0 >$dir/tracing_on
	cat $e/hist >"$tmp/sched_sched_switch_hist.txt"
	same "$(new $e/trigger "!$t"$'\n')" ok && same "$(grep -vc '^#' $e/trigger)" 0 || rc=1
	grep -q '^{ next_comm: sleep *, next_prio: *120 } hitcount: *[1-9]' "$tmp/sched_sched_switch_hist.txt" &&
		adds_up "$tmp/sched_sched_switch_hist.txt" || rc=1
	rmdir $dir || rc=1
	return $rc
}

# rtla itself, with a histogram on an event of its tracer and on one of the
# scheduler: it adds them to its instance, saves what they show when it ends, and
# leaves nothing.
rtla_events() {
	local t='hist:keys=next_comm:vals=hitcount:sort=hitcount.descending' rc=0 f
	grep -qw timerlat available_tracers || skip 'no timerlat tracer' || return
	fresh || return
	(cd "$tmp" && rtla timerlat hist -k -d 3s -c 0 -p 10000 -t"$tmp/rtla.trace" \
		-e sched:sched_switch --trigger "$t" -e osnoise:timerlat_sample --trigger hist:keys=context:vals=timer_latency) \
		>"$tmp/rtla.log" 2>&1 || rc=1
	for f in sched_sched_switch osnoise_timerlat_sample; do
		same "$(grep -c 'Saving event '"${f/_/:} " "$tmp/rtla.log")" 1 || rc=1
		grep -q '^    Hits: [1-9]' "$tmp/${f}_hist.txt" || rc=1
		grep -q '^    Dropped: 0$' "$tmp/${f}_hist.txt" || rc=1
	done
	grep -q '^{ next_comm: timerlat/0 *} hitcount: *[1-9]' "$tmp/sched_sched_switch_hist.txt" || rc=1
	grep -q '^{ context: *[01] } hitcount: *[1-9][0-9]*  timer_latency: *[1-9]' "$tmp/osnoise_timerlat_sample_hist.txt" || rc=1
	same "$(ls instances)" '' || rc=1
	[ $rc = 0 ] || sed 's/^/# /' "$tmp/rtla.log"
	return $rc
}

# The same on all processors while a user event happens, with a histogram on that in
# both instances, and on the noise that the tracer measures. No hit is lost in the
# top instance; in the other one those count that happened while rtla had its
# trigger there. rtla saves its tables while all these events continue.
rtla_under_load() {
	local rc=0 n=0 f rtla hits drops
	grep -qw timerlat available_tracers || skip 'no timerlat tracer' || return
	fresh && ok num hist:keys=id:vals=total:sort=id || return
	(cd "$tmp" && exec rtla timerlat hist -k -d 5s -p 10000 -t"$tmp/rtla.trace" \
		-e user_events:num --trigger hist:keys=id:vals=total \
		-e osnoise:irq_noise --trigger hist:keys=desc:vals=duration:sort=duration.descending \
		-e osnoise:thread_noise --trigger 'hist:keys=comm:d=duration:onmax($d).save(pid)' \
		-e osnoise:timerlat_sample --trigger hist:keys=context,timer_latency.log2) >"$tmp/rtla.log" 2>&1 &
	rtla=$!
	while kill -0 $rtla 2>/dev/null; do
		busy q num 1 0 5 a 2 0 7 a
		n=$((n + 20))
	done
	wait $rtla || rc=1
	on $E/num hist:keys=id:vals=total:sort=id:pause && same "$(rows $E/num)" "$(printf '{ id: %10d } hitcount: %10d  total: %10d\n' 1 $n $((5 * n)) 2 $n $((7 * n)))" || rc=1
	same "$(totals $E/num)" "$((2 * n)) 2 0 " || rc=1
	for f in user_events_num osnoise_irq_noise osnoise_thread_noise osnoise_timerlat_sample; do
		hits=$(sed -n 's/^    Hits: //p' "$tmp/${f}_hist.txt")
		drops=0
		# A hit skips onmax() when another processor has the element for too long, as one
		# does whose emulation has to wait.
		if [ $f = osnoise_thread_noise ]; then drops=$((hits / 10 + 1)); fi
		# The reader may have to wait for its processor between the rows and the total.
		adds_up "$tmp/${f}_hist.txt" $((hits / 2 + 10)) $drops || rc=1
	done
	hits=$(sed -n 's/^    Hits: //p' "$tmp/user_events_num_hist.txt")
	[ "$hits" -gt 0 ] && [ "$hits" -le $((2 * n)) ] || same "hits in the instance of rtla: $hits" "1 to $((2 * n))" || rc=1
	# Both exist, and the thread of each processor.
	same "$(grep -o '^{ context: *[01]' "$tmp/osnoise_timerlat_sample_hist.txt" | sort -u | wc -l)" 2 || rc=1
	same "$(ls instances)" '' || rc=1
	drop num
	[ $rc = 0 ] || sed 's/^/# /' "$tmp/rtla.log"
	return $rc
}

# The output of trigger is saved, removes all triggers, and restores them.
saved_and_restored() {
	local saved e
	fresh && made_synth 'syn u64 lat; char[8] tag' || return
	ok num 'hist:keys=id:x1=total,s1=tag' && ok num 'hist:keys=tag,id.hex:vals=delta.hex' &&
		ok num 'hist:keys=id.log2:vals=total.percent:sort=hitcount.descending if id > 1' || return
	ok pair 'hist:keys=id:lat=total-$x1:onmatch(user_events.num).trace(syn,$lat,$s1)' || return
	for e in pair num; do triggers $e >"$tmp/saved-$e"; done
	for e in pair num; do
		while read -r saved; do ok $e "!${saved% \[active\]}" || return; done <"$tmp/saved-$e"
		trigger_is $e "$e: no trigger" || return
	done
	for e in num pair; do
		while read -r saved; do ok $e "${saved% \[active\]}" || return; done <"$tmp/saved-$e"
		trigger_is $e "$(cat "$tmp/saved-$e")" || return
	done
	q mixed num 1 0 10 ab pair 1 0 17
	records_are 'syn: lat=7 tag=ab'
}

libtracefs_calls() {
	python3 - "$@" <<-'END'
		import ctypes, subprocess, sys
		lib = ctypes.CDLL("libtracefs.so.1")
		for name in "local_events hist_alloc sql event_file_read".split():
		    getattr(lib, "tracefs_" + name).restype = ctypes.c_void_p
		p = ctypes.c_void_p
		def check(what, good):
		    if not good:
		        print("# " + what)
		        sys.exit(1)
		def text(at):
		    return ctypes.string_at(at).decode() if at else ""
		def num(name):
		    return text(lib.tracefs_event_file_read(None, b"user_events", b"num", name, None))
		start, pause, go_on, clear, destroy = range(5)
		def command(what):
		    check("command %d" % what, lib.tracefs_hist_command(None, hist, what) == 0)
		tep = p(lib.tracefs_local_events(None))
		check("events", tep)
		if sys.argv[1] == "hist":
		    hist = p(lib.tracefs_hist_alloc(tep, b"user_events", b"num", b"id", 0))
		    check("alloc", hist)
		    check("value", lib.tracefs_hist_add_value(hist, b"total") == 0)
		    check("sort", lib.tracefs_hist_add_sort_key(hist, b"total") == 0)
		    check("direction", lib.tracefs_hist_sort_key_direction(hist, b"total", 1) == 0)
		    command(start)
		    subprocess.run(["bash", "-c", sys.argv[2]], check=True)
		    command(pause)
		    check("paused", "[paused]" in num(b"trigger"))
		    print("\n".join(l for l in num(b"hist").split("\n") if l[:1] == "{"))
		    command(go_on)
		    check("active", "[active]" in num(b"trigger"))
		    command(clear)
		    check("empty", "Hits: 0" in num(b"hist"))
		    command(destroy)
		else:
		    error = p()
		    synth = p(lib.tracefs_sql(tep, b"lat", sys.argv[2].encode(), ctypes.byref(error)))
		    check(text(error.value), synth)
		    check("create", lib.tracefs_synth_create(synth) == 0)
		    subprocess.run(["bash", "-c", sys.argv[3]], check=True)
	END
}

libtracefs() {
	python3 -c 'import ctypes; ctypes.CDLL("libtracefs.so.1")' 2>/dev/null || skip 'there is no libtracefs'
}

# The library creates a histogram, and the actions of a SQL statement.
libtracefs_hist() {
	libtracefs || return
	fresh || return
	printf '%s\n' "reg bit=0 : $NUM" 'w 0 u32:1 u32:0 u64:5 s:a n:7' 'w 0 u32:2 u32:0 u64:9 s:a n:7' 'w 0 u32:1 u32:0 u64:1 s:a n:7' >"$tmp/script"
	same "$(libtracefs_calls hist "'$UEDRIVE' '$tmp/script' >/dev/null")" '{ id:          2 } hitcount:          1  total:          9
{ id:          1 } hitcount:          2  total:          6' && trigger_is num 'num: no trigger'
}

libtracefs_sql() {
	local q e t
	libtracefs || return
	fresh || return
	# shellcheck disable=SC2034
	q='SELECT end.id AS id, (end.total - start.total) AS lat FROM user_events.num AS start JOIN user_events.pair AS end ON start.id = end.id WHERE start.total > 3'
	printf '%s\n' "reg slot=0 bit=0 : $NUM" "reg slot=1 bit=0 : $PAIR" 'w 0 u32:1 u32:0 u64:10 s:a n:7' 'w 0 u32:2 u32:0 u64:2 s:a n:7' \
		'w 1 u32:1 u32:0 u64:17' 'w 1 u32:2 u32:0 u64:18' >"$tmp/script"
	libtracefs_calls sql "$q" "echo 1 >events/synthetic/lat/enable; '$UEDRIVE' '$tmp/script' >/dev/null; echo 0 >events/synthetic/lat/enable" || return
	records_are 'lat: id=1 lat=7' || return
	# tracefs_synth_destroy() of 1.8.1 removes nothing, whatever the kernel is.
	for e in pair num; do
		t=$(triggers $e)
		ok $e "!${t% \[active\]}" && trigger_is $e "$e: no trigger" || return
	done
	same "$(put synthetic_events '!lat')" ok
}

# trace-cmd sets a trigger for as long as it records.
trace_cmd() {
	fresh || return
	trace-cmd record -o "$tmp/dat" -e user_events:num -R hist:keys=id:vals=total cp $E/num/trigger "$tmp/during" >"$tmp/log" 2>&1 || return
	same "$(cat "$tmp/during")" 'hist:keys=id:vals=hitcount,total:sort=hitcount:size=2048 [active]' || return
	trace-cmd reset >"$tmp/log" 2>&1
	trigger_is num 'num: no trigger'
}

# The same until it is told to stop, with the histogram read during that time.
trace_cmd_start() {
	fresh && trace-cmd start -e user_events:num -R hist:keys=id:vals=total >"$tmp/log" 2>&1 || return
	q num 1 0 5 a 1 0 6 a
	same "$(trace-cmd show 2>/dev/null | grep -c ': num: id=')" 2 && rows_are num '{ id:          1 } hitcount:          2  total:         11' || return
	trace-cmd stop >"$tmp/log" 2>&1 && trace-cmd reset >"$tmp/log" 2>&1
	trigger_is num 'num: no trigger'
}

trace_cmd_sqlhist() {
	trace-cmd sqlhist -h >"$tmp/log" 2>&1 || skip 'this trace-cmd has no sqlhist' || return
	fresh || return
	trace-cmd sqlhist -e -n wakes 'SELECT end.next_pid AS pid, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid' >"$tmp/log" 2>&1 || return
	on events/synthetic/wakes hist:keys=pid:vals=lat || return
	busy sleep 0.01
	on events/synthetic/wakes hist:keys=pid:vals=lat:pause && adds_up events/synthetic/wakes/hist
}

run_tests syscalls scheduling kprobes uprobes event_probes synthetic_and_user_events like_libraries like_rtla rtla_events:rtla \
	rtla_under_load:rtla saved_and_restored libtracefs_hist:python3 libtracefs_sql:python3 trace_cmd:trace-cmd trace_cmd_start:trace-cmd \
	trace_cmd_sqlhist:trace-cmd
rc=$?
"$UEDRIVE" --reset || rc=1
exit $rc
