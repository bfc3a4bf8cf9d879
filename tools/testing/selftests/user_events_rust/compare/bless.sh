#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Checks compare/judge.pl and compare/bless.pl with artificial outputs: what differs and is
# not accepted is said, is accepted after bless.pl, and entries that accept nothing are removed.
# Frames of stacks are compared by name, those of the implementations by their number.
#
# usage: compare/bless.sh

set -eu
here=$(cd "$(dirname "$0")" && pwd -P)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp"/{c,rust,seq}
printf '   * - %s\n' known other exact-caret stack-frame >"$tmp/rows"
touch "$tmp/seq/alpha.sh" "$tmp/seq/beta.sh"

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

printf '%s\n' same 'a.b [1]' last >"$tmp/c/alpha"
printf '%s\n' same $'a\tb' last >"$tmp/rust/alpha"
echo same | tee "$tmp/c/beta" "$tmp/rust/beta" "$tmp/c/generated" >"$tmp/rust/generated"
cat >"$tmp/accept" <<'END'
# The head.

# Entries that match no line.
known alpha - ^gone$

# These match no line, either.
other beta + ^gone$
other b* +=2 ^gone too$
END

all='not ok compare: alpha
ok compare: beta
ok compare: generated
not ok compare: compare.accept: not seen: known alpha - ^gone$
not ok compare: compare.accept: not seen: other beta + ^gone$'
judged "$all" 1
judged "$all
not ok compare: compare.accept: not seen: other b* +=2 ^gone too\$"

cp "$tmp/accept" "$tmp/before"
! bless 2>/dev/null || fail 'a difference without a row was accepted'
cmp "$tmp/before" "$tmp/accept"

bless known
diff - "$tmp/accept" <<'END' || fail 'bless.pl: this is not what it should write'
# The head.

# alpha: name what differs.
known alpha - ^a\.b \[1\]$
known alpha + ^a\tb$
END
judged 'ok compare: alpha (differs by known)
ok compare: beta
ok compare: generated'

# With nothing to change it changes nothing.
cp "$tmp/accept" "$tmp/before"
bless
cmp "$tmp/before" "$tmp/accept"

# Another line of a sequence that has entries follows them; what is generated, and what the run
# itself failed with, is never accepted.
echo 'more' >>"$tmp/rust/alpha"
echo 'more' >>"$tmp/rust/generated"
echo '? it did not work' >>"$tmp/rust/beta"
judged 'not ok compare: alpha
not ok compare: beta
not ok compare: generated'
bless other
tail -n 1 "$tmp/accept" | grep -qx 'other alpha + ^more\$' || fail 'the new entry is not where it should be'
judged 'ok compare: alpha (differs by known, other)
not ok compare: beta
not ok compare: generated'

# An entry of one side only accepts what has something of the other side in its place. It
# has the total.
rm "$tmp/c/"* "$tmp/rust/"*
touch "$tmp/c/beta" "$tmp/rust/beta"
printf '%s\n' same 'c 1' >"$tmp/c/part-1"
printf '%s\n' same 'rust 1' >"$tmp/rust/part-1"
printf '%s\n' same 'c 2' >"$tmp/c/part-2"
echo same | tee "$tmp/rust/part-2" "$tmp/c/beta" >"$tmp/rust/beta"
printf '%s\n' 'known part-* -=2 ^c \d$' 'known part-* +=1 ^rust \d$' >"$tmp/accept"
judged 'ok compare: beta
ok compare: part-1 (differs by known)
not ok compare: part-2'
printf '%s\n' 'known part-* - ^c \d$' 'known part-* +=1 ^rust \d$' >"$tmp/accept"
judged 'ok compare: beta
ok compare: part-1 (differs by known)
ok compare: part-2 (differs by known)
not ok compare: compare.accept: how many? known part-* - ^c \d$'
# As many lines of each kernel are in a sequence.
echo 'rust 2' >>"$tmp/rust/part-1"
printf '%s\n' 'known part-* -=2 ^c \d$' 'known part-* +=2 ^rust \d$' >"$tmp/accept"
judged 'ok compare: beta
not ok compare: part-1
not ok compare: part-2'
printf '%s\n' same 'rust 1' >"$tmp/rust/part-1"
# The number is that of all sequences, unless only a part of them is run.
wrong() { # NUMBER
	printf '%s\n' "known part-* -=$1 ^c \\d\$" 'other part-1 + ^rust' >"$tmp/accept"
	judged "ok compare: beta
ok compare: part-1 (differs by known, other)
ok compare: part-2 (differs by known)${2:+
not ok compare: compare.accept: 2 of known part-* -=$1 ^c \\d\$}" "${3:-}"
}
wrong 2
wrong 1..2
wrong 1 fails
wrong 3..4 fails
wrong 1 '' part
wrong 3 fails
bless
head -n 1 "$tmp/accept" | grep -qx 'known part-\* -=2 ^c \\d\$' || fail 'bless.pl: the number of all is not corrected'
# With a number it accepts as many in each sequence, and needs nothing of the other side.
printf '%s\n' 'known part-* -1 ^c \d$' 'known part-* +1 ^rust \d$' >"$tmp/accept"
judged 'ok compare: beta
ok compare: part-1 (differs by known)
not ok compare: part-2'
printf '%s\n' 'known part-1 - ^c \d$' 'known part-1 + ^rust \d$' 'known part-2 - ^c 2$' >"$tmp/accept"
judged 'ok compare: beta
ok compare: part-1 (differs by known)
ok compare: part-2 (differs by known)'
rm "$tmp/c/part-1" "$tmp/rust/part-1"
sed -i '/part-1/d' "$tmp/accept"
judged 'ok compare: beta
ok compare: part-2 (differs by known)'

# In a sequence that is named, an entry accepts one line; bless.pl writes another number.
echo 'c 2' >>"$tmp/c/part-2"
judged 'ok compare: beta
not ok compare: part-2'
bless
[ "$(grep part-2 "$tmp/accept")" = 'known part-2 -2 ^c 2$' ] || fail 'bless.pl: the number is not corrected'
judged 'ok compare: beta
ok compare: part-2 (differs by known)'
printf '%s\n' 'c 3' 'c 3' 'c 3' >>"$tmp/c/part-2"
touch "$tmp/seq/part-2.sh"
judged 'ok compare: beta
not ok compare: part-2'
bless known
tail -n 1 "$tmp/accept" | grep -qx 'known part-2 -3 ^c 3\$' || fail 'bless.pl: the new entry has no number'
judged 'ok compare: beta
ok compare: part-2 (differs by known)'
rm "$tmp/c/"part* "$tmp/rust/"part*

# A caret may be at another place if that of C is where the text is first, and if it is accepted.
caret() { # FILE COLUMN
	printf 'hist:user_events:num: error: Invalid\n  Command: %s\n%*s^\n' 'hist:keys=total:sort=tot' $(($2 + 11)) '' >"$1"
}
caret "$tmp/c/one" 10
caret "$tmp/c/two" 11
caret "$tmp/rust/one" 21
caret "$tmp/rust/two" 21
: >"$tmp/accept"
judged 'ok compare: beta
not ok compare: one
not ok compare: two'
echo 'known * caret=1 ^hist:keys=total:sort=tot # Invalid, at a name$' >"$tmp/accept"
judged 'ok compare: beta
ok compare: one (differs by known)
not ok compare: two'
echo 'known one caret ^hist:keys=total:sort=tot$' >"$tmp/accept"
judged 'ok compare: beta
ok compare: one (differs by known)
not ok compare: two'
rm "$tmp"/{c,rust}/{one,two}
# Of generated sequences, by the error and by what the caret is at.
for side in c rust; do
	caret "$tmp/caret" "$([ $side = c ] && echo 10 || echo 21)"
	{
		echo '== broken 1'
		cat "$tmp/caret"
		echo '== broken-signed 2'
		cat "$tmp/caret"
	} >"$tmp/$side/generated-1"
done
: >"$tmp/accept"
judged 'ok compare: beta
not ok compare: generated-1: broken 1
not ok compare: generated-1: broken-signed 2'
bless
[ "$(tail -n 1 "$tmp/accept")" = 'exact-caret generated*:_broken*_* caret=2 # Invalid, at a name$' ] || fail "bless.pl: carets: $(cat "$tmp/accept" "$tmp/left")"
judged 'ok compare: beta
ok compare: generated-1: broken 1 (differs by exact-caret)
ok compare: generated-1: broken-signed 2 (differs by exact-caret)'
sed -i 's/a name/a number/' "$tmp/accept"
judged 'ok compare: beta
not ok compare: generated-1: broken 1
not ok compare: generated-1: broken-signed 2
not ok compare: compare.accept: not seen: exact-caret generated*:_broken*_* caret=2 # Invalid, at a number$'
rm "$tmp"/{c,rust}/generated-1

# A table of C is compared as a whole with its numbers negative, in the order of these, and
# with rows that look alike as one.
table() { # INFO ROW...
	printf '# event histogram\n#\n# trigger info: hist:%s [active]\n#\n\n' "$1"
	shift
	printf '%s\n' "$@" '' 'Totals:' '    Hits: 9' "    Entries: $#" '    Dropped: 0'
}
table keys=id,delta:vals=hitcount:sort=delta:size=2048 '{ id:          3, delta:          5 } hitcount:          1' \
	'{ id: 18446744073709551615, delta: 18446744073709551606 } hitcount:          1' \
	'{ id:          1, delta: 18446744073709551615 } hitcount:          2' >"$tmp/c/signs"
signs() { table keys=id,delta:vals=hitcount:sort=delta:size=2048 "$@" >"$tmp/rust/signs"; }
a='{ id: 18446744073709551615, delta:        -10 } hitcount:          1'
b='{ id:          1, delta:         -1 } hitcount:          2'
c='{ id:          3, delta:          5 } hitcount:          1'
signs "$a" "$b" "$c"
echo 'known signs signed2 ^delta$' >"$tmp/accept"
judged 'ok compare: beta
ok compare: signs (differs by known)'
differ() {
	judged 'ok compare: beta
not ok compare: signs'
}
signs "$c" "$a" "$b"
differ
signs "${a/18446744073709551615/        -1}" "$b" "$c"
differ
signs "${a/-10/-11}" "$b" "$c"
differ
signs "$a" "$b" "$c"
sed -i 's/signed2/signed/' "$tmp/accept"
differ
rm "$tmp"/{c,rust}/signs
table keys=tag:vals=hitcount:sort=hitcount:size=2048 '{ tag: a } hitcount:          1' \
	'{ tag: b } hitcount:          2' '{ tag: a } hitcount:          3' >"$tmp/c/signs"
table keys=tag:vals=hitcount:sort=hitcount:size=2048 '{ tag: b } hitcount:          2' \
	'{ tag: a } hitcount:          4' >"$tmp/rust/signs"
echo 'known signs merged ^\{ tag: ' >"$tmp/accept"
judged 'ok compare: beta
ok compare: signs (differs by known)'
sed -i 's/4$/5/' "$tmp/rust/signs"
differ
rm "$tmp"/{c,rust}/signs

# The frames of a key and those of a record.
stack() { # FRAME...
	printf '{ common_stacktrace:\n'
	printf '         %s+0x1/0x20\n' "$@"
	printf '} hitcount:          1\n\n<stack trace>\n'
	printf ' => %s\n' "$@"
}
rust=_RNvMNtCs1KkRNbfVzRu_11user_events4file5write hist=_RNvNtCs4C1ZPlwmmM3_4hist3hit6handle
: >"$tmp/accept"
stack user_event_ftrace user_events_write vfs_write >"$tmp/c/stacks"
stack $rust $rust vfs_write.llvm.123 | sed 's/0x1/0x17/' >"$tmp/rust/stacks"
judged 'ok compare: beta
ok compare: stacks'
for frames in "$rust $rust new_sync_write vfs_write" "$rust $rust" "vfs_write $rust $rust ksys_write" \
	"$rust $rust $hist vfs_write" "_RNvCsb5MLIFMWygY_6kernel5write vfs_write" "$rust vfs_write $rust"; do
	stack $frames >"$tmp/rust/stacks"
	judged 'ok compare: beta
not ok compare: stacks'
done
# One more of those of the implementation.
stack $rust $rust $rust vfs_write >"$tmp/rust/stacks"
judged 'ok compare: beta
not ok compare: stacks'
touch "$tmp/seq/stacks.sh"
bless
[ "$(tail -n 1 "$tmp/accept")" = 'stack-frame stacks frames2 ^2 -> 3$' ] || fail 'bless.pl: frames'
judged 'ok compare: beta
ok compare: stacks (differs by stack-frame)'
stack $rust $rust $rust $rust vfs_write >"$tmp/rust/stacks"
judged 'ok compare: beta
not ok compare: stacks
not ok compare: compare.accept: not seen: stack-frame stacks frames2 ^2 -> 3$'
: >"$tmp/accept"

# Functions of histograms are in the stack of a record only.
stack user_event_ftrace event_hist_trigger vfs_write | sed '2,4{/hist/d}' >"$tmp/c/stacks"
stack $rust $hist vfs_write | sed '2,4{/hist/d}' >"$tmp/rust/stacks"
judged 'ok compare: beta
ok compare: stacks'
