#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Checks compare/judge.pl and compare/bless.pl with outputs made up here: what differs and is
# not accepted is said, is accepted after bless.pl, and entries that accept nothing are removed.
#
# usage: compare/bless.sh

set -eu
here=$(cd "$(dirname "$0")" && pwd -P)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp"/{c,rust,seq}
printf '   * - %s\n' known other >"$tmp/rows"
touch "$tmp/seq/f01-one.sh" "$tmp/seq/f02-two.sh"

fail() {
	echo "$*"
	exit 1
}

# The result of judge.pl, without its comments, has to be this.
judged() { # WANTED [PART]
	local found
	found=$(JUDGE_LEFT=$tmp/left JUDGE_PART=${2:-} "$here/judge.pl" "$tmp/c" "$tmp/rust" "$tmp/accept" "$tmp/rows" |
		grep -v '^#') || :
	[ "$found" = "$1" ] || fail "wanted: $1; judge.pl: $found"
}
bless() { "$here/bless.pl" "$tmp/left" "$tmp/accept" "$tmp/seq" "$@"; }

printf '%s\n' same 'a.b [1]' last >"$tmp/c/f01-one"
printf '%s\n' same $'a\tb' last >"$tmp/rust/f01-one"
echo same | tee "$tmp/c/f02-two" "$tmp/rust/f02-two" "$tmp/c/generated" >"$tmp/rust/generated"
cat >"$tmp/accept" <<'END'
# The head.

# Lines that are gone.
known f01-one - ^gone$

# All of these are gone, too.
other f02-two + ^gone$
other f0* + ^gone too$
END

all='not ok compare: f01-one
ok compare: f02-two
ok compare: generated
not ok compare: compare.accept: not seen: known f01-one - ^gone$
not ok compare: compare.accept: not seen: other f02-two + ^gone$'
judged "$all" 1
judged "$all
not ok compare: compare.accept: not seen: other f0* + ^gone too\$"

cp "$tmp/accept" "$tmp/before"
! bless 2>/dev/null || fail 'a difference without a row was accepted'
cmp "$tmp/before" "$tmp/accept"

bless known
diff - "$tmp/accept" <<'END' || fail 'bless.pl: this is not what it should write'
# The head.

# f01-one: name what differs.
known f01-one - ^a\.b \[1\]$
known f01-one + ^a\tb$
END
judged 'ok compare: f01-one (differs by known)
ok compare: f02-two
ok compare: generated'

# With nothing to change it changes nothing.
cp "$tmp/accept" "$tmp/before"
bless
cmp "$tmp/before" "$tmp/accept"

# Another line of a sequence that has entries follows them; what is generated, and what the run
# itself failed with, is never accepted.
echo 'more' >>"$tmp/rust/f01-one"
echo 'more' >>"$tmp/rust/generated"
echo '? it did not work' >>"$tmp/rust/f02-two"
judged 'not ok compare: f01-one
not ok compare: f02-two
not ok compare: generated'
bless other
tail -n 1 "$tmp/accept" | grep -qx 'other f01-one + ^more\$' || fail 'the new entry is not where it should be'
judged 'ok compare: f01-one (differs by known, other)
not ok compare: f02-two
not ok compare: generated'
