#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Listens to user events before they exist: a pattern of names is written to the
# file set_user_event, then programs start, each of which registers an event of
# its own and writes one record as soon as it may. All of them are captured. The
# file user_events_status tells when events are created and removed,
# user_events_losses what became of their records. One of them has 60,000 bytes.
#
# usage: early.sh CLIENT [PROGRAMS]    (as root; CLIENT is client-rust or client-c)

set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../tracing_demo.sh
. "$(dirname "$0")/../tracing_demo.sh"

CLIENT=$(realpath "${1:?usage: early.sh CLIENT [PROGRAMS]}")
PROGRAMS=${2:-1000}
# Seconds; only for what hangs.
PATIENCE=120

# Returns when this many user events exist. poll() tells of each that was created or
# removed since the file was last read from its start.
wait_for() { # EVENTS
	timeout "$PATIENCE" python3 -c 'if True:
		import select, sys
		with open("user_events_status") as status:
		    changes = select.poll()
		    changes.register(status, select.POLLPRI)
		    while f"\nActive: {sys.argv[1]}\n" not in status.read():
		        changes.poll()
		        status.seek(0)' "$1" ||
		fail "there are not $1 events: $(grep '^Active' user_events_status)"
}

cd /sys/kernel/tracing
[ "$(id -u)" = 0 ] || fail 'this needs root'
[ -e set_user_event ] || fail "there is no set_user_event in $PWD"
echo >set_user_event
echo 0 >events/enable
echo nop >current_tracer
echo >trace
echo 1 >tracing_on
wait_for 0
data=$(mktemp)
trap 'echo >set_user_event; rm -f "$data" "$data.old"' EXIT

say 'Events are enabled when they are created: here all whose names match.'
show "echo 'early_*' >> set_user_event"
show 'cat set_user_event'
expect '^early_\*$'

say "$PROGRAMS programs start. Each registers its event and, if it is enabled, writes one record."
for ((i = 0; i < PROGRAMS; i++)); do
	echo | "$CLIENT" -n 1 "early_$i" >/dev/null || fail "program $i failed"
done
show "grep -o ': early_[0-9]*:' trace | sort -u | wc -l"
expect "^$PROGRAMS\$"
show 'tail -n 2 trace'
expect ': early_.* path=/' 2
show 'tail -n 2 user_events_status'
expect "^Busy: $PROGRAMS\$"

say 'Each program has written one record, and the buffer has got it.'
show 'head -n 2 user_events_losses | cut -f 1-4'
expect '^early_[0-9]+	1	0	1$' 1
show 'cut -f 2,4 user_events_losses | sort | uniq -c'
expect "^ *$PROGRAMS 1	1\$" 1

say 'The pattern is removed. That disables the events, and as no program uses them they go.'
show "echo '!early_*' >> set_user_event"
wait_for 0
show 'tail -n 2 user_events_status'
expect '^Active: 0$'

say 'A line with a trigger: no record is kept, but the very first one is counted.'
show "echo 'early_* hist:keys=path:vals=bytes' >> set_user_event"
printf '# %s early_one\n' "$(basename "$CLIENT")"
echo | "$CLIENT" early_one >/dev/null || fail 'the program failed'
show 'cat events/user_events/early_one/hist'
expect '\{ path: /  *\} hitcount:  *2  bytes:  *8192'
expect 'Hits: 6'

say 'A long record: the sub-buffers of ftrace have no room for it, perf takes it. Both is counted.'
show 'echo 1 > events/user_events/early_one/enable'
printf '# perf record -e user_events:early_one -- %s -n 1 -l 60000 early_one\n' "$(basename "$CLIENT")"
echo | perf record -q -a -e user_events:early_one -o "$data" -- "$CLIENT" -n 1 -l 60000 early_one >/dev/null ||
	fail 'perf failed'
show "perf script -i '$data' | cut -c 1-110"
expect ' user_events:early_one: id=1 bytes=4096 path=/-------' 1
show "perf script -i '$data' | grep -o 'path=.*' | tr -d '\n' | wc -c"
expect '^60005$'
show "grep -E '^(event|early_one)	' user_events_losses | cut -f 1,2,4,5,9"
expect '^early_one	7	(0	1|1	0)	1$'
show 'echo 0 > events/user_events/early_one/enable'

say 'A trigger that does not fit an event is shown with its reason; the program is not concerned.'
show "echo 'early_* hist:keys=nosuch' >> set_user_event"
show 'cat set_user_event'
expect '^# failed: 1, last: -22 for early_one$'
show 'echo > set_user_event'
wait_for 0
