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

# True if the histograms of this kernel are those in Rust.
hist_is_rust() { zgrep -q '^CONFIG_HIST_TRIGGERS_RUST=y' /proc/config.gz; }

# For what would harm the run on the C implementation.
need_rust() { # WHY
	hist_is_rust || skip "not on the C implementation: $1"
}

# The program, and a kernel that has the system call.
need_perf() {
	command -v perf >/dev/null && [ -e /proc/sys/kernel/perf_event_paranoid ] || skip 'there is no perf'
}

# Everything gone, and the three events there.
fresh() {
	"$UEDRIVE" --reset >"$tmp/log" && make_events >>"$tmp/log" && [ ! -s "$tmp/log" ]
}

# A trigger that has to be taken, with what was wrong if it is not.
ok() { # EVENT COMMAND
	on "$E/$1" "$2"
}

on() { # EVENTDIR COMMAND
	local got
	: >error_log
	got=$(put "$1/trigger" "$2")
	[ "$got" = ok ] && return
	echo "# $1: $2: $got"
	elog | sed 's/^/#   /'
	return 1
}

# A trigger that has to be refused: the error, and all that error_log says (or
# nothing).
refused() { # EVENT COMMAND ERROR [LOG]
	local got
	: >error_log
	got=$(put "$E/$1/trigger" "$2")
	same "$2: $got" "$2: $3" && same "$(elog)" "${4-}"
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

# The rows of a histogram, as they are.
rows() { # EVENTDIR
	sed -n '/^{/,/^$/p' "$1/hist" | sed '/^$/d'
}

rows_are() { # EVENT TEXT
	same "$(rows "$E/$1")" "$2"
}

totals() { # EVENTDIR
	sed -n 's/^    \(Hits\|Entries\|Dropped\): //p' "$1/hist" | tr '\n' ' '
}

trigger_is() { # EVENT TEXT
	same "$(triggers "$1")" "$2"
}

records_are() { # TEXT
	same "$(body)" "$1"
}

# Without what it prints.
q() { "$@" >/dev/null; }
