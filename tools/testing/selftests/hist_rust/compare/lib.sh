# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Library of the sequences about histograms, on top of lib.sh of
# user_events_rust/compare: events num, pair and text. Rows and addresses are left
# as they are; judge.pl knows what they are worth.

E=events/user_events

# A trigger command with its result and what error_log says about it.
trig() { # EVENT COMMAND
	try_back "$E/$1/trigger" "$2"
}

# The same for another event than a user event.
other() { # GROUP/EVENT COMMAND
	try_back "events/$1/trigger" "$2"
}

hist_lines() { # FILE
	grep '^hist:' "$1"
}

# With WRITE_BACK=1 each line that is new is removed by its own text and written
# again, which prints nothing if it works. In the end the command is there as before.
try_back() { # FILE COMMAND
	local before line text after
	before=$(hist_lines "$1")
	try "$1" "$2"
	after=$(hist_lines "$1")
	[ "${WRITE_BACK-}" ] && [ "$before" != "$after" ] || return 0
	before=$(sed 's/ \[[a-z]*\]$//' <<<"$before")
	while IFS= read -r line; do
		text=${line% \[*\]}
		if [ -z "$text" ] || grep -qxF -- "$text" <<<"$before"; then continue; fi
		removed_by "$1" "$text"
		[ "$(put "$1" "$text")" = ok ] && hist_lines "$1" | grep -qxF -- "$text [active]" || echo "? not written again: $text"
		removed_by "$1" "$text"
		[ "$(put "$1" "$2")" = ok ] || echo "? not taken again: $2"
	done <<<"$after"
	[ "$(hist_lines "$1")" = "$after" ] || {
		echo '? in the end it is'
		hist_lines "$1"
	}
	: >error_log
}

removed_by() { # FILE LINE
	[ "$(put "$1" "!$2")" = ok ] && ! hist_lines "$1" | grep -qF -- "$2 [" || echo "? not removed by !$2"
}

# Removes all histograms of events, and says nothing.
drop() { # EVENT...
	local e
	for e; do : >"$E/$e/trigger"; done 2>/dev/null
}

triggers() { # EVENT...
	local e
	for e; do grep -v '^#' "$E/$e/trigger" || echo "$e: no trigger"; done
}

show() { # EVENT...
	local e
	for e; do cat "$E/$e/trigger" "$E/$e/hist"; done
}

all() { # GROUP/EVENT: also what hist_debug says
	cat "events/$1/trigger" "events/$1/hist" "events/$1/hist_debug"
}

synth() { # DEFINITION...
	local s
	for s; do printf '%s: %s\n' "$s" "$(put synthetic_events "$s")"; done
	# shellcheck disable=SC2034
	echo 1 >events/synthetic/enable
}

# Records of several events from one process: "num ID DELTA TOTAL TAG",
# "pair ID PART TOTAL", one after the other.
mixed() {
	{
		echo "reg slot=0 bit=0 : $NUM"
		echo "reg slot=1 bit=0 : $PAIR"
		while [ $# -gt 0 ]; do
			if [ "$1" = num ]; then
				echo "w 0 u32:$2 u32:$3 u64:$4 s:$5 n:$((8 - ${#5}))"
				shift 5
			else
				echo "w 1 u32:$2 u32:$3 u64:$4"
				shift 4
			fi
		done
	} | ue | grep -v '^reg' | sort | uniq -c | sed 's/^ *//'
}

frames() { sed -E 's/\+0x.*//'; }
