#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Shows one user event from its registration to its end, with the tools that
# people use for it: tracefs, perf, trace-cmd and a histogram. All output is
# what the commands really print, and each step is checked: the script fails if
# one of them does not show what it should.
#
# usage: demo.sh CLIENT    (as root; CLIENT is client-rust or client-c)

set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../../tracing_demo.sh
. "$(dirname "$0")/../../tracing_demo.sh"

CLIENT=$(realpath "${1:?usage: demo.sh CLIENT}")
EVENT=web_request
TRACING=/sys/kernel/tracing
DIR=$TRACING/events/user_events/$EVENT
HIST='hist:keys=path:vals=bytes:sort=bytes.descending'
# Nothing here takes longer, however slow the machine: it is for what hangs.
PATIENCE=60

work=$(mktemp -d)
client=

cleanup() {
	if [ -n "$client" ]; then kill "$client" 2>/dev/null || :; fi
	rm -rf "$work"
}
trap cleanup EXIT

# The next line of the client, which has to be this one.
answer() { # LINE
	local line
	read -r -t "$PATIENCE" line <&4 || fail "the client did not say \"$1\""
	printf '    client: %s\n' "$line"
	[ "$line" = "$1" ] || fail "expected the client to say \"$1\""
}

# Has the client write its records. Also run by perf and trace-cmd, as the
# command to record.
write_records() {
	echo >&3
	answer "wrote 6 records"
}
export -f write_records answer fail
export PATIENCE

cd "$TRACING"
[ "$(id -u)" = 0 ] || fail 'this needs root'
[ -e user_events_data ] || fail "there is no $TRACING/user_events_data"
echo 0 >events/enable
echo nop >current_tracer
echo >trace
echo 1 >tracing_on

mkfifo "$work/in" "$work/out"

say '1. A program registers the event. Nobody listens, so its enable bit is 0.'
printf '# %s\n' "$(basename "$CLIENT")"
"$CLIENT" "$EVENT" <"$work/in" >"$work/out" &
client=$!
exec 3>"$work/in" 4<"$work/out"
answer "registered $EVENT, write index 0"
answer 'enable bit 31 is 0'
show 'cat user_events_status'
expect "^$EVENT\$"
expect '^Active: 1$'
expect '^Busy: 0$'
show "cat events/user_events/$EVENT/format"
expect 'field:u32 bytes;	offset:12;	size:4;	signed:0;'
expect 'print fmt: .*path=.*__get_str\(path\)'

say '2. ftrace enables it: the kernel sets the bit in the memory of the program, which writes records.'
show "echo 1 > events/user_events/$EVENT/enable"
answer 'enable bit 31 is 1'
write_records
show 'cat trace'
expect " $EVENT: id=.* bytes=.* path=/login\$" 2
expect " $EVENT: " 6
show 'cat user_events_status'
expect "^$EVENT # Used by ftrace\$"
expect '^Busy: 1$'
show "echo 0 > events/user_events/$EVENT/enable"
answer 'enable bit 31 is 0'

say '3. perf records it.'
cd "$work"
show "perf record -q -a -e user_events:$EVENT -o perf.data -- bash -c 'answer \"enable bit 31 is 1\"; cat $TRACING/user_events_status; write_records'"
expect 'client: enable bit 31 is 1'
expect "^$EVENT # Used by perf\$"
expect 'client: wrote 6 records'
answer 'enable bit 31 is 0'
show 'perf script -i perf.data'
expect "user_events:$EVENT: .*path=/login" 2
expect "user_events:$EVENT: " 6

say '4. trace-cmd records it.'
show "trace-cmd record -q -e user_events:$EVENT -o trace.dat bash -c 'answer \"enable bit 31 is 1\"; write_records'"
expect 'client: wrote 6 records'
answer 'enable bit 31 is 0'
show "trace-cmd report -q -i trace.dat | grep -v ^cpus="
expect "$EVENT: .*path=/login" 2
expect "$EVENT: " 6
cd "$TRACING"

say '5. A histogram, made in the kernel: the bytes of each path. No record is kept.'
show "echo '$HIST' > events/user_events/$EVENT/trigger"
answer 'enable bit 31 is 1'
write_records
show "cat events/user_events/$EVENT/hist"
expect '\{ path: /  *\} hitcount:  *2  bytes:  *8192'
expect '\{ path: /style.css  *\} hitcount:  *2  bytes:  *1024'
expect '\{ path: /login  *\} hitcount:  *2  bytes:  *2048'
expect 'Hits: 6'
show "echo '!$HIST' > events/user_events/$EVENT/trigger"
answer 'enable bit 31 is 0'

say '6. The program ends, and the event goes with it.'
exec 3>&-
answer "unregistered $EVENT"
wait "$client" || fail 'the client failed'
client=
# The kernel removes it in the background.
for ((i = 0; i < PATIENCE * 10; i++)); do
	if [ ! -e "$DIR" ]; then break; fi
	sleep 0.1
done
show 'cat user_events_status'
expect '^Active: 0$'
