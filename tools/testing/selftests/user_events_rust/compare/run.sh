#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the sequences (SEQ/*.sh) and the scripts of the drivers that are given, and
# leaves what they print in a folder: one file each.
#
# usage: compare/run.sh OUTDIR UEDRIVE [SCRIPT...]
#   ONLY=PATTERN     only the sequences whose names match
#   HALF=0|1         only every second one of what is left, from the first or the second
#   SEQ="DIR ..."    where they are (default: seq beside this script); what is in
#                    lib.sh beside the folder is theirs
#   HISTDRIVE=FILE   the driver of the scripts *.hist

here=$(cd "$(dirname "$0")" && pwd -P)
out=$1
# The driver is started thousands of times, so it is started from memory; and each line of a
# sequence would be a message to the host.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cp "$2" "$tmp/uedrive" || exit
export tmp UEDRIVE=$tmp/uedrive
# Removals wait for grace periods of RCU, which have no effect on what is printed.
[ ! -w /sys/kernel/rcu_expedited ] || echo 1 >/sys/kernel/rcu_expedited
shift 2
mkdir -p "$out"
out=$(cd "$out" && pwd -P)

n=0
in_half() {
	n=$((n + 1))
	[ -z "${HALF-}" ] || [ $(((n - 1) % 2)) = "$HALF" ]
}

for dir in ${SEQ-"$here/seq"}; do
	dir=$(cd "$dir" && pwd -P) || continue
	for s in "$dir"/*.sh; do
		name=$(basename "$s" .sh)
		# shellcheck disable=SC2053 # ONLY is a pattern
		[[ $name == ${ONLY:-*} ]] && in_half || continue
		SECONDS=0
		# A sequence that hangs is one that differs. The longest takes 20 seconds on a
		# machine that does nothing else.
		timeout -k 5 400 bash -c "
			'$UEDRIVE' --reset && . '$here/lib.sh' && . '$dir/../lib.sh' || { echo '? cannot begin'; exit; }
			. '$s'" sequence >"$tmp/sequence" 2>&1 </dev/null ||
			case $? in
			124 | 137) echo '? the time is up' >>"$tmp/sequence" ;;
			esac
		# The shell says where an error was: that is of no interest.
		sed -E 's,^[^ ]*/seq/[^ ]*: line [0-9]+: ,,; s,^sequence: line [0-9]+: ,,' "$tmp/sequence" >"$out/$name"
		echo "$SECONDS s  $name"
	done
done
for s; do
	in_half || continue
	SECONDS=0
	name=$(basename "$s")
	driver=$UEDRIVE
	case $name in
	*.hist) driver=$HISTDRIVE ;;
	esac
	timeout -k 5 900 "$driver" "$s" >"$out/${name%.*}" 2>&1 </dev/null ||
		echo "? the driver ended with $?" >>"$out/${name%.*}"
	echo "$SECONDS s  ${name%.*}"
done
echo "$(find "$out" -type f | wc -l) outputs"
