# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The source of Linux: getting it, for scripts/setup, and what patches/ and the
# overlay make of it, for scripts/overlay and scripts/apply. Sourced after lib.sh.

# Paths that the overlay adds, one per line.
overlay_files() {
	overlay_plain
	[ ! -f "$TOP/Kconfig" ] || echo "$KCONFIG"
}

# Those whose place in the overlay is that in the tree.
overlay_plain() (
	cd "$TOP"
	for d in rust kernel samples tools Documentation include; do
		[ ! -d "$d" ] || find "$d" -type f ! -name '*.orig' ! -name '*.rej' ! -name '*~' \
			! -name '.*.sw?' ! -path '*/__pycache__/*'
	done
)

# The options, which have a place of their own in the overlay.
KCONFIG=kernel/trace/rust/Kconfig

put_kconfig() { # TREE
	[ -f "$TOP/Kconfig" ] || return 0
	mkdir -p "$1/$(dirname "$KCONFIG")"
	cmp -s "$TOP/Kconfig" "$1/$KCONFIG" || cp "$TOP/Kconfig" "$1/$KCONFIG"
}

patches() {
	local p
	for p in "$TOP"/patches/*.patch; do [ ! -f "$p" ] || printf '%s\n' "$p"; done
}

# Creates the files that patches change in an empty folder, from those of a tree.
# Writes a list of those that patches remove.
patched_files() { # TREE TO REMOVED
	local p f run=(patch)
	# apply needs no setup.
	if [ -f "$CACHE/root.stamp" ]; then run=("$TOP/scripts/in-root" patch); fi
	while read -r p; do
		sed -n -E 's,^(---|\+\+\+) [ab]/([^\t]*).*,\2,p' "$p"
	done < <(patches) | sort -u >"$2.named"
	while read -r f; do
		[ ! -f "$1/$f" ] || (cd "$1" && cp -p --parents "$f" "$2/")
	done <"$2.named"
	while read -r p; do
		"${run[@]}" -d "$2" -p1 -s -f -E --no-backup-if-mismatch -i "$p" >"$2.log" 2>&1 || {
			cat "$2.log" >&2
			die "patches/$(basename "$p") does not apply to $1; nothing has been changed"
		}
	done < <(patches)
	while read -r f; do
		if [ -f "$1/$f" ] && [ ! -f "$2/$f" ]; then printf '%s\n' "$f"; fi
	done <"$2.named" >"$3"
}

# The id of a file or a folder: a sum over the sums and names of its files.
tree_sum() { # TREE PATH
	(cd "$1" && find "$2" -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum | sha256sum | cut -d' ' -f1)
}

# A file from the network, by apt's own means: it knows proxies and checks the sum.
download() { # URL FILE [SHA256]
	"$TOP/scripts/in-root" /usr/lib/apt/apt-helper -o Acquire::Retries=1 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 \
		download-file "$1" "$2" ${3:+"SHA256:$3"}
}

# The tarball in a package of Debian, unpacked.
unpack_deb() { # FILE TO
	# shellcheck disable=SC2016
	"$TOP/scripts/in-root" sh -ec 'dpkg-deb --fsys-tarfile "$1" | tar -xOf - "./usr/src/$2.tar.xz" | xz -dc -T0' sh "$1" "$SOURCE_PACKAGE" |
		tar -C "$2" --strip-components=1 -xf -
}

# Each of these copies the source into a folder and says where it is from, or fails.

from_archive() { # TO WORK
	step "fetching the source of Linux $KVER (package $SOURCE_PACKAGE, 166 MB)"
	# In the root, as apt wants a folder of its own that others can read. The
	# package drags compilers of its own along: only its file is wanted.
	quietly "$CACHE/log/apt-source" "$TOP/scripts/in-root" sh -c "
		set -e
		apt-cache policy $SOURCE_PACKAGE | grep -q 'Candidate: [0-9]' || apt-get update
		rm -rf /var/tmp/src && mkdir -p /var/tmp/src && cd /var/tmp/src
		chmod 777 .
		apt-get download $SOURCE_PACKAGE
		mv *.deb '$2/source.deb'
		cd / && rm -rf /var/tmp/src" &&
		unpack_deb "$2/source.deb" "$1" &&
		from="the Debian archive, package $SOURCE_PACKAGE"
}

from_snapshot() { # TO WORK
	step "fetching it from the archive of past packages, $SNAPSHOT"
	quietly "$CACHE/log/snapshot-source" download "$SNAPSHOT/$SNAPSHOT_DEB" "$2/source.deb" "$SNAPSHOT_SHA256" &&
		unpack_deb "$2/source.deb" "$1" &&
		from="the archive of past packages, $(basename "$SNAPSHOT_DEB")"
}

from_release() { # TO WORK
	local path sum
	step "fetching the kernel's own release $RELEASE, $RELEASES"
	quietly "$CACHE/log/release-source" download "$RELEASES/linux-$RELEASE.tar.xz" "$2/source.tar.xz" "$RELEASE_SHA256" || return
	"$TOP/scripts/in-root" xz -dc -T0 "$2/source.tar.xz" | tar -C "$1" --strip-components=1 -xf - || return
	from="the kernel's own release $RELEASE"
	[ -z "$RELEASE_SHA256" ] || return 0
	while read -r path sum; do
		[ -n "$path" ] || continue
		[ "$(tree_sum "$1" "$path" 2>/dev/null)" = "$sum" ] || {
			say "linux-$RELEASE.tar.xz is not what was expected: $path differs from Debian's package of this release"
			return 1
		}
	done <<<"$RELEASE_CONTENT"
	say "The checksum of linux-$RELEASE.tar.xz is not known here. What the work changes or builds upon is as in Debian's
package of this release, except for what Debian changes itself (${RELEASE_DEBIAN// /, });
these and all other files have not been checked: see $RELEASES/sha256sums.asc."
}

# LINUX_SRC, or the first place that has it.
fetch_source() {
	local try from='' work=$CACHE/source.new
	rm -rf "$SRC.new" "$work"
	mkdir -p "$SRC.new" "$work"
	if [ -n "${LINUX_SRC:-}" ]; then
		if [ -d "$LINUX_SRC" ]; then
			step "taking the kernel source from $LINUX_SRC"
			(cd "$LINUX_SRC" && tar --exclude=.git -cf - .) | tar -C "$SRC.new" -xf -
		elif [ -f "$LINUX_SRC" ]; then
			step "unpacking $LINUX_SRC"
			tar -C "$SRC.new" --strip-components=1 -xf "$LINUX_SRC"
		else
			die "LINUX_SRC=$LINUX_SRC is neither a folder nor a file"
		fi
		from=$LINUX_SRC
	else
		for try in from_archive from_snapshot from_release; do
			if "$try" "$SRC.new" "$work"; then break; fi
			rm -rf "$SRC.new" "$work"
			mkdir -p "$SRC.new" "$work"
			from=
		done
		[ -n "$from" ] || die "the source of Linux $KVER is not to be had from the Debian archive, from the archive of past
packages or as a release of the kernel; give a tree or a tarball of it with LINUX_SRC=PATH"
	fi
	rm -rf "$work"
	grep -q "^PATCHLEVEL = ${KVER#*.}\$" "$SRC.new/Makefile" && grep -q "^VERSION = ${KVER%.*}\$" "$SRC.new/Makefile" ||
		die "that is not Linux $KVER: $(sed -n 2,4p "$SRC.new/Makefile" | tr '\n' ' ')"
	rm -rf "$SRC"
	mv "$SRC.new" "$SRC"
	printf '%s\n' "${LINUX_SRC:-debian}" >"$CACHE/source.stamp"
	say "the kernel source is from $from"
}
