#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the sequences (compare/seq/*.sh) and the scripts of the driver that are
# given, and leaves what they print in a folder: one file each.
#
# usage: compare/run.sh OUTDIR UEDRIVE [SCRIPT...]
#   ONLY=PATTERN   only the sequences whose names match

here=$(cd "$(dirname "$0")" && pwd -P)
out=$1
export UEDRIVE=$2
shift 2
mkdir -p "$out"
out=$(cd "$out" && pwd -P)

for s in "$here"/seq/*.sh; do
	name=$(basename "$s" .sh)
	# shellcheck disable=SC2053 # ONLY is a pattern
	[[ $name == ${ONLY:-*} ]] || continue
	# A sequence that hangs is one that differs.
	timeout -k 5 90 bash -c "'$UEDRIVE' --reset && . '$here/lib.sh' && . '$s'" sequence >"$out/$name" 2>&1 </dev/null ||
		case $? in
		124 | 137) echo '? the time is up' >>"$out/$name" ;;
		esac
	# The shell says where an error was: that is of no interest.
	sed -i -E 's,^[^ ]*/seq/[^ ]*: line [0-9]+: ,,; s,^sequence: line [0-9]+: ,,' "$out/$name"
done
for s; do
	timeout -k 5 300 "$UEDRIVE" "$s" >"$out/$(basename "$s" .txt)" 2>&1 </dev/null ||
		echo "? the driver ended with $?" >>"$out/$(basename "$s" .txt)"
done
echo "$(find "$out" -type f | wc -l) outputs"
