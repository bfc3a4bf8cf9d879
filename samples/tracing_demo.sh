# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions shared by the demonstrations: commands are shown with what they
# really print, and checked for what they should print. Sourced, not run.

shown=

fail() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

# A caption.
say() { printf '\n== %s\n' "$*"; }

# Shows a command, and what it prints; both can be checked afterwards.
show() { # COMMAND LINE
	printf '# %s\n' "$1"
	shown=$(eval "$1" 2>&1) || {
		printf '%s\n' "$shown"
		fail "this command failed: $1"
	}
	[ -z "$shown" ] || printf '%s\n' "$shown"
}

# The same for a command that has to fail, with the message that is expected.
refused() { # COMMAND LINE PATTERN
	printf '# %s\n' "$1"
	if shown=$(eval "$1" 2>&1); then fail "this command should have failed: $1"; fi
	# Without the place in this file.
	shown=$(sed 's/^.*: line [0-9]*: /    /' <<<"$shown")
	printf '%s\n' "$shown"
	expect "$2"
}

# The output just shown has (so many) lines of this kind.
expect() { # PATTERN [LINES]
	local lines
	lines=$(grep -cE -e "$1" <<<"$shown") || :
	if [ $# -gt 1 ]; then
		[ "$lines" = "$2" ] || fail "expected $2 lines with \"$1\", there are $lines"
	else
		[ "$lines" != 0 ] || fail "expected a line with \"$1\""
	fi
}
