# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# TAP for tests that are shell functions. Sourced.

# The directory of the log that explains a failure: $tmp/log.
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

# True if each function succeeded.
all_worked() { # FUNCTION...
	local f
	for f; do [ -e "$tmp/worked-$f" ] || return; done
}

# Runs functions in the background, again and again, for some seconds. Each has to
# succeed once at least, for which it has a minute more: all of them may fail at
# times, as the others are in the way, but one that always fails takes part in no
# race.
race() { # SECONDS FUNCTION...
	local f end=$((SECONDS + $1)) pids=() rc=0
	shift
	rm -f "$tmp"/worked-*
	for f; do
		(
			while [ $SECONDS -lt $end ] ||
				{ [ $SECONDS -lt $((end + 60)) ] && ! all_worked "$@"; }; do
				if $f; then : >"$tmp/worked-$f"; fi
			done
		) >/dev/null 2>&1 &
		pids+=($!)
	done
	for f in "${pids[@]}"; do wait "$f" || rc=1; done
	for f; do
		[ -e "$tmp/worked-$f" ] && continue
		echo "# it has never worked: $f"
		rc=1
	done
	return $rc
}

# Aborts a test: skip "why" || return.
skip() {
	skipped=$*
	return 4
}

# With -t NAME, once or several times, a script runs only these of its functions, as
# a program with kselftest_harness.h does. Read from the script's own arguments.
ktap_only=' '
ktap_arguments() {
	while [ $# -gt 1 ]; do
		if [ "$1" = -t ]; then
			ktap_only+="${2/#dev./dev_} "
			shift
		fi
		shift
	done
}
ktap_arguments "$@"

# Runs functions; "function:program" is skipped if the program does not exist.
# dev_ROW__WHAT shows row ROW of deviations.rst, and is called dev.ROW__WHAT.
run_tests() {
	local t n=0 need failed=0 rc wanted=()
	if [ "$ktap_only" != ' ' ]; then
		for t; do [[ $ktap_only != *" ${t%%:*} "* ]] || wanted+=("$t"); done
		set -- "${wanted[@]}"
	fi
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
		rc=0
		"$t" || rc=$?
		t=${t/#dev_/dev.}
		if [ $rc = 0 ]; then
			echo "ok $n $t"
		elif [ $rc = 4 ] && [ -n "${skipped:-}" ]; then
			echo "ok $n $t # SKIP $skipped"
			skipped=
		else
			[ ! -s "$tmp/log" ] || sed 's/^/#   /' "$tmp/log" | tail -n 20
			echo "not ok $n $t"
			failed=1
		fi
	done
	return $failed
}
