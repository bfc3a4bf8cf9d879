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

# Sets REPLY to the histograms among the triggers of a file.
read_hist() { # FILE
	local line lines=()
	mapfile -t lines <"$1"
	REPLY=
	for line in "${lines[@]}"; do
		[[ $line != hist:* ]] || REPLY+=$line$'\n'
	done
}

has_line() { # LINES LINE
	[[ $'\n'$1 == *$'\n'"$2"$'\n'* ]]
}

# With WRITE_BACK=1 each line that is new is removed by its own text and written
# again, which prints nothing if it works. In the end the command is in the file as
# before.
try_back() { # FILE COMMAND
	local before line text after texts=
	if [ -z "${WRITE_BACK-}" ]; then
		try "$1" "$2"
		return
	fi
	read_hist "$1"
	before=$REPLY
	try "$1" "$2"
	read_hist "$1"
	after=$REPLY
	[ "$before" != "$after" ] || return 0
	while IFS= read -r line; do texts+=${line% \[*\]}$'\n'; done <<<"$before"
	while IFS= read -r line; do
		text=${line% \[*\]}
		if [ -z "$text" ] || has_line "$texts" "$text"; then continue; fi
		removed_by "$1" "$text"
		append "$1" "$text"
		[ "$REPLY" = ok ] && read_hist "$1" && has_line "$REPLY" "$text [active]" || echo "? not written again: $text"
		removed_by "$1" "$text"
		append "$1" "$2"
		[ "$REPLY" = ok ] || echo "? not taken again: $2"
	done <<<"$after"
	read_hist "$1"
	[ "$REPLY" = "$after" ] || {
		echo '? in the end it is'
		printf '%s' "$REPLY"
	}
	: >error_log
}

removed_by() { # FILE LINE
	append "$1" "!$2"
	if [ "$REPLY" = ok ]; then
		read_hist "$1"
		[[ $REPLY == *"$2 ["* ]] || return 0
	fi
	echo "? not removed by !$2"
}

# Removes all histograms of events, and says nothing.
drop() { # EVENT...
	local e
	for e; do : >"$E/$e/trigger"; done 2>/dev/null
}

# Sets REPLY to the triggers of events, without the last end of a line.
read_triggers() { # EVENT...
	local e line lines text=
	for e; do
		lines=() REPLY=
		mapfile -t lines <"$E/$e/trigger"
		for line in "${lines[@]}"; do
			[[ $line == \#* ]] || REPLY+=${REPLY:+$'\n'}$line
		done
		text+=${text:+$'\n'}${REPLY:-$e: no trigger}
	done
	REPLY=$text
}

triggers() { # EVENT...
	read_triggers "$@"
	printf '%s\n' "$REPLY"
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
	for s; do
		append synthetic_events "$s"
		printf '%s: %s\n' "$s" "$REPLY"
	done
	# shellcheck disable=SC2034
	echo 1 >events/synthetic/enable
}

# Records of several events from one process: "num ID DELTA TOTAL TAG",
# "pair ID PART TOTAL", one after the other.
mixed() {
	local REPLY script="reg slot=0 bit=0 : $NUM"$'\n'"reg slot=1 bit=0 : $PAIR"
	while [ $# -gt 0 ]; do
		if [ "$1" = num ]; then
			num_record 0 "${@:2:4}"
			shift 5
		else
			pair_record 1 "${@:2:3}"
			shift 4
		fi
		script+=$'\n'$REPLY
	done
	run_driver "$script" 'reg*'
}

frames() { sed -E 's/\+0x.*//'; }
