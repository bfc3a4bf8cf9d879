# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Builds of the tree with the work in it that are kept in the cache, as the beginning of the
# build of a fresh clone: make then compiles what has changed since. Sourced after lib.sh.
#
# make compares time stamps: what was built from another content than a file has now must be
# older than the file. All files of ours in a new tree are newer than any build that is kept,
# so a file that is the same in each of these is given the time of the source; only then, as
# nothing has been built from the tree yet. When a build is taken that was kept later, the files
# that differ from its own are renewed; not if something was built from the tree, which would be
# built again then, perhaps while guests use it: such a build is not taken.

# What is compiled of ours, patched files included. What is tested with is not a part of a kernel.
kernel_files() { grep -vE '^(tools/testing|Documentation)/' "$BUILD/.overlay/manifest"; }

# Their sums, as sorted lines.
kernel_sums() { (cd "$BUILD/linux" && kernel_files | xargs -d '\n' sha256sum) | LC_ALL=C sort; }

# True if none of them has changed since.
unchanged_since() { # FILE
	(cd "$BUILD/linux" && kernel_files | xargs -d '\n' stat -c '%.9Y') |
		awk -v since="$(stat -c %.9Y "$1")" '$1 >= since { new = 1 } END { exit new }'
}

# The id of what all of a build depends on. A build with another id is not used.
kept_id() { # FILE...
	{
		cat "$BUILD/.overlay/source" "$BUILD/.overlay/removed" "$@"
		tool_versions
	} | sha256sum
}

# A build that is kept has the file .kept: its id, the time, and the sums.
kept_sums() { sed 1,2d "$1/.kept"; }

# True if something was built from the tree.
has_builds() { compgen -G "$BUILD/*/.config" >/dev/null || compgen -G "$BUILD/matrix/*/.config" >/dev/null; }

# True if a copy of the folder leaves room for what the rest of a run writes.
has_room() { # FOLDER
	local size free
	size=$(du -sk "$1" | cut -f1) && free=$(df --output=avail -k "$CACHE" | tail -n 1) && ((free - size > 4 * 1024 * 1024))
}

# Keeps a build, if scripts/test asks for it. FILE is older than the build. Only whole copies have
# a file .kept where it is looked for, also where the shell does not stop at a failure. The sums
# are those of what was built only if no file was changed before they were taken.
keep_build() { # NAME FOLDER FILE [FILE...]: as for kept_id
	local kept=$CACHE/build-$1
	[ -n "${KEEP_BUILDS:-}" ] && unchanged_since "$3" || return 0
	(
		cache_lock
		{ kept_id "${@:4}" && date +%s && kernel_sums; } >"$2/.kept" && unchanged_since "$3" || exit
		if [ -f "$kept/.kept" ] && cmp -s <(sed 2d "$kept/.kept") <(sed 2d "$2/.kept") &&
			cmp -s "$kept/.config.id" "$2/.config.id"; then exit; fi
		rm -f "$kept/.kept" && rm -rf "$kept" "$kept.new" && has_room "$2" || exit
		if cp -a "$2" "$kept.new" && rm -rf "$kept.new/.tmp" && mv "$kept.new" "$kept"; then exit; fi
		rm -rf "$kept.new"
		exit 1
	) || say "(the build of $1 is not kept)"
}

# The files that differ from those of a build, and are not newer.
changed_unseen() { # FOLDER SUMS
	local f
	LC_ALL=C comm -13 <(kept_sums "$1") - <<<"$2" | cut -c67- | while read -r f; do
		if (($(stat -c %Y "$BUILD/linux/$f") > $(sed -n 2p "$1/.kept"))); then continue; fi
		printf '%s\n' "$f"
	done
}

# Copies a build that is kept to a folder that does not exist yet. Returns false if none may be
# used: the object of a file that was removed since might be left in it.
take_build() { # NAME FOLDER [FILE...]: as for kept_id
	local kept=$CACHE/build-$1 sums f
	[ -z "${TEST_FRESH:-}" ] && [ -f "$kept/.kept" ] && sums=$(kernel_sums) || return 1
	(
		cache_lock
		[ "$(sed -n 1p "$kept/.kept")" = "$(kept_id "${@:3}")" ] || exit 1
		(($(sed -n 2p "$kept/.kept") < $(date +%s))) || exit 1
		[ -z "$(LC_ALL=C comm -23 <(kept_sums "$kept" | cut -c67- | LC_ALL=C sort) <(kernel_files | LC_ALL=C sort))" ] || exit 1
		! has_builds || [ -z "$(changed_unseen "$kept" "$sums")" ] || exit 1
		cp -a "$kept" "$2"
	) || return 1
	changed_unseen "$2" "$sums" | while read -r f; do
		cp --preserve=mode "$BUILD/linux/$f" "$BUILD/linux/$f.new" && mv "$BUILD/linux/$f.new" "$BUILD/linux/$f" || exit 1
	done
}

# In a tree that has just been assembled, and from which nothing has been built: the files
# that are the same in all builds that are kept look as old as the source.
age_kept_files() {
	local kept sums
	if has_builds; then return; fi
	sums=$(kernel_sums)
	for kept in "$CACHE"/build-*/.kept; do
		[ -f "$kept" ] || return 0
		sums=$(LC_ALL=C comm -12 - <(sed 1,2d "$kept") <<<"$sums") || return 0
	done
	# A hard link would be the source itself.
	(cd "$BUILD/linux" && cut -c67- <<<"$sums" | while read -r f; do
		if [ -f "$f" ] && [ "$(stat -c %h "$f")" = 1 ]; then printf '%s\n' "$f"; fi
	done | xargs -d '\n' -r touch -r "$SRC/Makefile")
}
