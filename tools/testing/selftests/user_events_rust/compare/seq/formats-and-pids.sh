# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Formats of one name in set_event, and tasks that fork and exit in set_event_pid.
ue <<'END'
reg slot=0 bit=0 flags=3 : mf u32 a
reg slot=1 bit=0 flags=3 : mf u64 a
END
# The number of a format is one that counts from boot: its field tells which it is.
of() { # TYPE
	basename "$(dirname "$(grep -l "field:$1 a;" events/user_events_multi/mf.*/format)")"
}
a=$(of u32)
b=$(of u64)
a=${a#mf.}
b=${b#mf.}
named() { sed -E "s/mf\\.0$a\\b/mf.0A/; s/mf\\.${b}0\\b/mf.B0/; s/mf\\.$a\\b/mf.A/; s/mf\\.$b\\b/mf.B/"; }
n=0
{
	echo 'reg slot=0 bit=0 flags=2 : mf u32 a'
	echo 'reg slot=1 bit=0 flags=2 : mf u64 a'
	for s in "user_events_multi:mf.$a" "!user_events_multi:mf.$a" "mf.$b" "user_events_multi:mf.$a" "!:mf.$b" "*:mf.$b" \
		'!user_events_multi:' 'user_events_multi:mf.*' "!user_events_multi:mf.$b" '!user_events_multi:mf.*' \
		user_events_multi:mf mf. "user_events:mf.$a" "user_events_multi:mf.${b}0" "user_events_multi:mf.0$a"; do
		echo "echo [$s]"
		echo "put set_event $s"
		echo 'sh grep user_events set_event | sort'
		echo 'val 0'
		echo 'val 1'
		n=$((n + 1))
		echo "w 0 u32:$n"
		echo "w 1 u64:$n"
	done
} | ue | named
body | named
new set_event ''
deleted() { [ "$(put dynamic_events "$1")" = ok ]; }
eventually deleted '-:mf u32 a'
eventually deleted '-:mf u64 a'

# With event-fork only, children are in the list, and tasks that have exited are removed soon.
make_events
echo 1 >events/user_events/pair/enable
listed() { # PID
	local list
	mapfile -t list <set_event_pid
	[[ " ${list[*]} " == *" $1 "* ]]
}
unlisted() { ! listed "$1"; }
# Other children of the task may exist.
pids() { # WHEN
	printf '%s:' "$1"
	if listed "$self"; then printf ' task'; fi
	if listed "$child"; then printf ' child'; fi
	echo
}
for fork in 0 1; do
	echo "== event-fork $fork"
	echo $fork >options/event-fork
	sleep 100 &
	self=$! child=none
	echo $self >set_event_pid
	pids 'a task'
	kill $self
	wait $self 2>/dev/null
	if [ $fork = 1 ]; then eventually unlisted $self; fi
	pids exited
	new set_event_pid ''
	(
		self=$BASHPID
		echo "$self" >set_event_pid
		sleep 100 &
		child=$!
		pids forked
		kill "$child"
		wait "$child" 2>/dev/null
		eventually unlisted "$child"
		pids exited
		pair $fork 1 1
	)
	new set_event_pid ''
done
body
echo 0 >options/event-fork
