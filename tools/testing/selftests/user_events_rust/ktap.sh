# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# TAP for tests that are shell functions. Sourced.

# Where the tests leave what a failure is explained with: $tmp/log.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Polls for up to 30 seconds.
eventually() { # COMMAND...
	local i
	for i in $(seq 300); do
		if "$@"; then return; fi
		sleep 0.1
	done
	echo "# not in time ($i rounds): $*"
	return 1
}

same() { # GOT WANTED
	[ "$1" = "$2" ] && return
	printf '%s\n' 'wanted:' "$2" 'got:' "$1" | sed 's/^/# /'
	return 1
}

# Runs functions; "function:program" is skipped where there is no such program.
run_tests() {
	local t n=0 need failed=0
	echo 'TAP version 13'
	echo "1..$#"
	for t; do
		n=$((n + 1))
		need=${t#*:}
		t=${t%%:*}
		if [ "$need" != "$t" ] && ! command -v "$need" >/dev/null; then
			echo "ok $n $t # SKIP there is no $need"
			continue
		fi
		if "$t"; then
			echo "ok $n $t"
		else
			[ ! -s "$tmp/log" ] || sed 's/^/#   /' "$tmp/log" | tail -n 20
			echo "not ok $n $t"
			failed=1
		fi
	done
	return $failed
}
