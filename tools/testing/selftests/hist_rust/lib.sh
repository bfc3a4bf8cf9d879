# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Library of the tests of histograms: TAP, the events num, pair and text with
# records of them, and the comparing of files of tracefs byte for byte. Sourced,
# with $here set.

here=${here:?the folder of the test}
ue=$here/../user_events_rust
UEDRIVE=${UEDRIVE:-$ue/compare/uedrive}
UEDRIVE=$(readlink -f "$UEDRIVE")
export UEDRIVE
# shellcheck source=/dev/null
. "$ue/compare/lib.sh"
# shellcheck source=/dev/null
. "$here/compare/lib.sh"
# shellcheck source=/dev/null
. "$ue/ktap.sh"
tmp=${tmp:?made by ktap.sh}
# It is started very often: from a file in memory.
cp "$UEDRIVE" "$tmp/uedrive" && UEDRIVE=$tmp/uedrive

# True if the histograms of this kernel are those in Rust.
hist_is_rust() {
	[ -n "${is_rust-}" ] || is_rust=$(zgrep -c '^CONFIG_HIST_TRIGGERS_RUST=y' /proc/config.gz)
	[ "$is_rust" != 0 ]
}

# For what would harm the run on the C implementation.
need_rust() { # WHY
	hist_is_rust || skip "not on the C implementation: $1"
}

# The program, and a kernel that has the system call.
need_perf() {
	command -v perf >/dev/null && [ -e /proc/sys/kernel/perf_event_paranoid ] || skip 'there is no perf'
}

# Everything removed, and the three events created.
fresh() {
	"$UEDRIVE" --reset >"$tmp/log" && make_events >>"$tmp/log" && [ ! -s "$tmp/log" ]
}

# A trigger that has to be taken, with what was wrong if it is not.
ok() { # EVENT COMMAND
	on "$E/$1" "$2"
}

on() { # EVENTDIR COMMAND
	: >error_log
	append "$1/trigger" "$2"
	[ "$REPLY" = ok ] && return
	echo "# $1: $2: $REPLY"
	elog | sed 's/^/#   /'
	return 1
}

# A trigger that has to be refused: the error, and all that error_log says (or
# nothing).
refused() { # EVENT COMMAND ERROR [LOG]
	: >error_log
	append "$E/$1/trigger" "$2"
	same "$2: $REPLY" "$2: $3" && take_log && same "$REPLY" "${4-}"
}

# Taken by mistake would be the worst: leave nothing.
refused_clean() {
	local rc=0
	refused "$@" || rc=1
	drop "$1"
	return $rc
}

# One entry of error_log.
entry() { # EVENT MESSAGE COMMAND TEXT: the caret is at the last occurrence of TEXT
	local before=${3%"$4"*}
	[ "$before" != "$3" ] || before=
	printf 'hist:user_events:%s: error: %s\n  Command: %s\n%*s^' "$1" "$2" "$3" $((11 + ${#before})) ''
}

# Definitions of events that have to be taken.
taken_by() { # FILE DEFINITION...
	local file=$1 definition
	shift
	for definition; do
		append "$file" "$definition"
		same "$definition: $REPLY" "$definition: ok" || return
	done
}

made() { taken_by dynamic_events "$@"; } # DEFINITION...

# The same for synthetic events, which are enabled.
made_synth() { # DEFINITION...
	taken_by synthetic_events "$@" && echo 1 >events/synthetic/enable
}

# Sets REPLY to the rows of a histogram, as they are, without the last end of a line.
read_rows() { # EVENTDIR
	local line lines=() in=
	mapfile -t lines <"$1/hist"
	REPLY=
	for line in "${lines[@]}"; do
		case $line in
		'') in= ;;
		'{'*) in=1 ;;
		esac
		[ -z "$in" ] || REPLY+=${REPLY:+$'\n'}$line
	done
}

rows() { # EVENTDIR
	read_rows "$1"
	if [ -n "$REPLY" ]; then printf '%s\n' "$REPLY"; fi
}

rows_are() { # EVENT TEXT
	read_rows "$E/$1"
	same "$REPLY" "$2"
}

totals() { # EVENTDIR
	local line lines=()
	mapfile -t lines <"$1/hist"
	for line in "${lines[@]}"; do
		case $line in '    Hits: '* | '    Entries: '* | '    Dropped: '*) printf '%s ' "${line##*: }" ;; esac
	done
}

trigger_is() { # EVENT TEXT
	read_triggers "$1"
	same "$REPLY" "$2"
}

records_are() { # TEXT
	same "$(body)" "$1"
}

# Without what it prints.
q() {
	# shellcheck disable=SC2034 # for run_driver()
	local quiet=1
	"$@" >/dev/null
}
