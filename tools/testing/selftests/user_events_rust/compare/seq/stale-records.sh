# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# The records of a removed event.
ue <<'END'
reg slot=0 bit=0 : old u32 a
put events/user_events/old/enable 1
w 0 u32:77
put events/user_events/old/enable 0
END
gone old
body | sed -E 's/type [0-9]+/type N/'
put dynamic_events 'u:newer u64 z'
body
put dynamic_events '-:newer u64 z'
body

# The buffers that a deletion empties: those of which an instance had the event enabled.
for i in st1 st2; do mkdir instances/$i; done
buffers() {
	local b
	for b in trace snapshot instances/st1/trace instances/st2/trace; do
		printf '%s: ' $b
		body $b | sed -E 's/type [0-9]+/type N/' | tr '\n' ';'
		echo
	done
}
# A record of each of the two events, where it is enabled.
records() {
	ue <<'END'
reg slot=0 bit=0 : stays u32 a
reg slot=1 bit=0 : goes u32 a
w 0 u32:1
w 1 u32:2
END
}
enable() { # EVENT VALUE INSTANCE...
	local b
	for b in "${@:3}"; do echo "$2" >"$b/events/user_events/$1/enable"; done
}
deleted() { [ "$(put dynamic_events "$1")" = ok ]; }

put dynamic_events 'u:stays u32 a'
put dynamic_events 'u:goes u32 a'
enable stays 1 . instances/st1 instances/st2
enable goes 1 .
records
echo '== busy'
put dynamic_events '-:goes u32 a'
buffers
echo '== enabled before'
enable goes 0 .
eventually deleted '-:goes u32 a'
buffers

echo '== in an instance'
put dynamic_events 'u:goes u32 a'
enable goes 1 instances/st1
records
enable goes 0 instances/st1
eventually deleted '-:goes u32 a'
buffers

echo '== in a snapshot'
put dynamic_events 'u:goes u32 a'
enable goes 1 .
records
enable goes 0 .
echo 1 >snapshot
records
buffers
eventually deleted '-:goes u32 a'
buffers

echo '== by the ioctl'
put dynamic_events 'u:goes u32 a'
enable goes 1 .
records
enable goes 0 .
echo 'del goes' | ue
buffers
# The next command empties them, whatever it deletes.
put dynamic_events '-:nosuch'
buffers

enable stays 0 . instances/st1 instances/st2
echo 0 >snapshot
for i in st1 st2; do rmdir instances/$i; done
eventually deleted '-:stays u32 a'
cat dynamic_events
