# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions shared by scripts/lint and scripts/doc: which Rust files are ours,
# and how build/rust was told to compile them. Sourced after lib.sh.

LINUX=$BUILD/linux
STATE=$BUILD/.overlay

# Runs a command where the source and the build are at the paths that the
# command lines of the build have, and with the environment it was given.
in_tree() {
	IN_ROOT_BINDS="$LINUX:/linux:ro $BUILD/rust:/build" "$TOP/scripts/in-root" \
		env RUSTC_BOOTSTRAP=1 CLIPPY_CONF_DIR=/linux "$@"
}

# Files of ours in the assembled tree, patched ones included, by suffix.
ours() { # SUFFIX-REGEX
	sort -u "$STATE/overlay.list" "$STATE/patched.list" | grep -E "\\.($1)\$" || [ $? = 1 ]
}

# The kernel crate, and the roots of our own crates that build/rust has.
crates() {
	echo rust/kernel.o
	ours rs | grep -v '^rust/' | while read -r f; do
		if [ -f "$BUILD/rust/$(dirname "$f")/.$(basename "$f" .rs).o.cmd" ]; then echo "${f%.rs}.o"; fi
	done
}

# The command line of a crate's compiler, with another program in its place and
# without its outputs.
crate_command() { # OBJECT PROGRAM
	sed -n '1s/^savedcmd_[^ ]* := *//p' "$BUILD/rust/$(dirname "$1")/.$(basename "$1").cmd" |
		sed -E "s/ ; *llvm-link .*//; s/ ;.*objtool .*//; s/ --emit=[^ ]*//g; s/ --out-dir [^ ]*//; s/ rustc / $2 /; s/\\\$\(pound\)/#/g"
}

# Messages about our files in the output of the compiler, or nothing.
about_ours() { # LOG
	ours rs | sed 's,.*,--> /linux/&:,' >"$STATE/rs.list"
	grep -B 3 -A 12 -Ff "$STATE/rs.list" "$1" || [ $? = 1 ]
}
