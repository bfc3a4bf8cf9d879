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

# Writes a text at once: ok, or the message of the error.
put() { # FILE TEXT
	local out
	if out=$( (printf '%s' "$2" >>"$1") 2>&1); then echo ok; else echo "${out##*: }"; fi
}

# The same with truncation; an empty text only truncates.
new() { # FILE TEXT
	local out
	if out=$( (printf '%s' "$2" >"$1") 2>&1); then echo ok; else echo "${out##*: }"; fi
}

ue() { "$UEDRIVE"; }

make_events() {
	local e
	for e in "$NUM" "$PAIR" "$TEXT"; do
		[ "$(put dynamic_events "u:$e")" = ok ] || echo "? cannot make $e"
	done
}

# Records of one event from a process of its own: a count of each result.
num() { # ID DELTA TOTAL TAG, ...
	{
		echo "reg bit=0 : $NUM"
		while [ $# -gt 0 ]; do
			echo "w 0 u32:$1 u32:$2 u64:$3 s:$4 n:$((8 - ${#4}))"
			shift 4
		done
	} | ue | sort | uniq -c | sed 's/^ *//'
}

pair() { # ID PART TOTAL, ...
	{
		echo "reg bit=0 : $PAIR"
		while [ $# -gt 0 ]; do
			echo "w 0 u32:$1 u32:$2 u64:$3"
			shift 3
		done
	} | ue | sort | uniq -c | sed 's/^ *//'
}

text() { # ID STRING
	printf 'reg bit=0 : %s\nw 0 u32:%s u32:%d z:%s\n' "$TEXT" "$1" $(((${#2} + 1) << 16 | 16)) "$2" | ue
}

# Values that change from boot to boot. Numbers that are longer than an address are
# none.
norm() {
	sed -E 's/\b0x[0-9a-f]{11,16}\b/0xADDR/g; s/\b[0-9a-f]{16}\b/ADDR/g; s/Unknown type [0-9]+/Unknown type N/
		s/caller_offs=[^ ]+/caller_offs=SYMBOL/'
}

# The records of a buffer, without task, processor, flags and time.
body() { # [FILE]
	grep -av '^#' "${1:-trace}" | sed -E 's/^ *[^ ]+-[0-9]+ +\[[0-9]+\] +[^ ]+ +[0-9.]+: //' | norm
}

elog() {
	sed -E 's/^\[ *[0-9.]+\] //' error_log
	: >error_log
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
