# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Library of the sequences. Sourced by bash, in tracefs.

T=/sys/kernel/tracing
UEDRIVE=${UEDRIVE:?the driver}
cd $T || exit 2

# Three events that most sequences use, with the items of one record each.
NUM='num u32 id; s32 delta; u64 total; char[8] tag'
PAIR='pair u32 id; u32 part; u64 total'
TEXT='text u32 id; __data_loc char[] msg'

# Where the CPU is emulated, a process takes some ten milliseconds: what most
# sequences call forks none, and has its result in REPLY. Short texts are written to
# files in this folder, which the script that sources this creates.
tmp=${tmp:-}

# Sets REPLY to ok, or to the message of the error, by the status and the text of a command.
result_of() { # STATUS
	REPLY=ok
	[ "$1" != 0 ] || return 0
	IFS= read -r -d '' REPLY <"$tmp/error.$BASHPID"
	REPLY=${REPLY%$'\n'}
	REPLY=${REPLY##*: }
}

# Writes a text at once.
append() { # FILE TEXT
	{ printf '%s' "$2" >>"$1"; } 2>"$tmp/error.$BASHPID"
	result_of $?
}

# The same with truncation; an empty text only truncates.
replace() { # FILE TEXT
	{ printf '%s' "$2" >"$1"; } 2>"$tmp/error.$BASHPID"
	result_of $?
}

# The same two, which print the result.
put() { # FILE TEXT
	append "$1" "$2"
	printf '%s\n' "$REPLY"
}

new() { # FILE TEXT
	replace "$1" "$2"
	printf '%s\n' "$REPLY"
}

ue() { "$UEDRIVE"; }

make_events() {
	local e
	for e in "$NUM" "$PAIR" "$TEXT"; do
		append dynamic_events "u:$e"
		[ "$REPLY" = ok ] || echo "? cannot make $e"
	done
}

# Runs the driver, and prints how often it printed each line, in the order of these. With
# quiet=1, for a caller that drops it, nothing is counted.
run_driver() { # SCRIPT [PATTERN]: lines that match the pattern are not counted
	local line lines=() sorted=() i out=$tmp/driver.$BASHPID
	local -A times=()
	if [ -n "${quiet-}" ]; then out=/dev/null; fi
	"$UEDRIVE" <<<"$1" >"$out"
	mapfile -t lines <"$out"
	for line in "${lines[@]}"; do
		# shellcheck disable=SC2053 # a pattern
		if [ -n "${2-}" ] && [[ $line == $2 ]]; then continue; fi
		if [ -z "${times[=$line]-}" ]; then
			for ((i = ${#sorted[@]}; i > 0; i--)); do
				[[ ${sorted[i - 1]} > $line ]] || break
				sorted[i]=${sorted[i - 1]}
			done
			sorted[i]=$line
		fi
		times[=$line]=$((${times[=$line]:-0} + 1))
	done
	for line in "${sorted[@]}"; do printf '%s %s\n' "${times[=$line]}" "$line"; done
}

# Sets REPLY to the command of the driver that writes a record.
num_record() { REPLY="w $1 u32:$2 u32:$3 u64:$4 s:$5 n:$((8 - ${#5}))"; } # INDEX ID DELTA TOTAL TAG
pair_record() { REPLY="w $1 u32:$2 u32:$3 u64:$4"; }                      # INDEX ID PART TOTAL

# Records of one event from a process of its own: a count of each result.
records_of() { # EVENT FUNCTION N ITEM...: the function has N items for each record
	local REPLY script="reg bit=0 : $1" record=$2 n=$3
	shift 3
	while [ $# -gt 0 ]; do
		"$record" 0 "${@:1:n}"
		script+=$'\n'$REPLY
		shift "$n"
	done
	run_driver "$script"
}

num() { records_of "$NUM" num_record 4 "$@"; }    # ID DELTA TOTAL TAG, ...
pair() { records_of "$PAIR" pair_record 3 "$@"; } # ID PART TOTAL, ...

text() { # ID STRING
	"$UEDRIVE" <<<"reg bit=0 : $TEXT"$'\n'"w 0 u32:$1 u32:$(((${#2} + 1) << 16 | 16)) z:$2"
}

# Values that change from boot to boot. Numbers that are longer than an address are
# none.
NORM='s/\b0x[0-9a-f]{11,16}\b/0xADDR/g; s/\b[0-9a-f]{16}\b/ADDR/g; s/Unknown type [0-9]+/Unknown type N/
	s/caller_offs=[^ ]+/caller_offs=SYMBOL/'
norm() { sed -E "$NORM"; }

# The records of a buffer, without task, processor, flags and time.
body() { # [FILE]
	sed -E "/^#/d; s/^ *[^ ]+-[0-9]+ +\[[0-9]+\] +[^ ]+ +[0-9.]+: //; $NORM" "${1:-trace}"
}

# Sets REPLY to what error_log says, without the times and the last end of a line. It is emptied.
take_log() {
	local line lines=()
	mapfile -t lines <error_log
	REPLY=
	for line in "${lines[@]}"; do
		if [[ $line =~ ^\[\ *[0-9.]+\]\  ]]; then line=${line:${#BASH_REMATCH}}; fi
		REPLY+=${REPLY:+$'\n'}$line
	done
	: >error_log
}

elog() {
	take_log
	if [ -n "$REPLY" ]; then printf '%s\n' "$REPLY"; fi
}

# A write and what error_log says about it.
try() { # FILE TEXT
	: >error_log
	printf '[%s] ' "$2"
	put "$1" "$2"
	elog
}

# Polls for up to five seconds, and says if it was in vain.
eventually() { # COMMAND...
	for _ in $(seq 100); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.05
	done
	echo "? not in time: $*"
}

gone() { eventually test ! -e "events/user_events/$1"; }

used_by() { grep -q "^$1 # Used by.*$2" user_events_status; }
unused() { ! grep -q "^$1 # Used by" user_events_status; }

status() { sed '/^$/,$d' user_events_status | sort; sed -n '/^Active/,$p' user_events_status; }

# A histogram; rows with equal counts have no order.
hist() { # EVENT
	norm <"events/user_events/$1/hist" | awk '
		/^{/ { print | "sort"; next }
		{ close("sort"); print }'
}
