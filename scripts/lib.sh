# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Settings and helpers shared by the scripts in this folder. Sourced, not run.

set -euo pipefail

# The work tree, and the cache outside of it: everything that is downloaded or
# that is worth keeping between clones lives there.
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
CACHE=${TRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/linux-trace-rust}
BUILD=$TOP/build

# shellcheck source=scripts/version.sh
. "${TRACE_VERSION:-$TOP/scripts/version.sh}"
MIRROR=${DEBIAN_MIRROR:-}

# shellcheck disable=SC2034 # used by the scripts that source this file
ROOT=$CACHE/root
# shellcheck disable=SC2034
SRC=$CACHE/linux-$KVER

# The folder in build/ of a kernel.
kernel_name() { # ARCH IMPL CONFIG
	local name=$2
	if [ "$1" != x86_64 ]; then name=$1-$name; fi
	if [ "$3" != lean ]; then name+=-$3; fi
	printf '%s' "$name"
}

# The image that is booted.
kernel_image() { # ARCH
	case $1 in
	x86_64) printf arch/x86/boot/bzImage ;;
	um) printf linux ;;
	*) printf 'arch/%s/boot/Image' "$1" ;;
	esac
}

# The variables of a Makefile that builds programs for the guest, as shell words.
cross() { # ARCH
	case $1 in
	x86_64) ;;
	arm64) printf '%s' "ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- CC=aarch64-linux-gnu-gcc" ;;
	esac
}

say() { printf '%s\n' "$*" >&2; }
step() { printf '== %s\n' "$*" >&2; }
die() {
	printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

# What results depend on besides the sources: the versions of all that is installed in the root.
tool_versions() { cat "$CACHE/root.stamp" "$ROOT/var/lib/dpkg/status"; }

have() { command -v "$1" >/dev/null 2>&1; }

# Runs a command with progress: its output is written to a log, a dot a few
# seconds is shown, and the end of the log if it fails.
quietly() { # LOG COMMAND...
	local log=$1 pid rc=0 n=0
	shift
	mkdir -p "$(dirname "$log")"
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		sleep 1
		n=$((n + 1))
		if ((n % 10 == 0)); then printf '.' >&2; fi
	done
	wait "$pid" || rc=$?
	if ((n >= 10)); then printf '\n' >&2; fi
	if ((rc)); then
		tail -n 40 "$log" >&2
		say "(whole log: $log)"
	fi
	return "$rc"
}

# make, on fixed paths, so that the compiler cache serves every clone: the source at
# /linux, where nothing can be written, and the output at /build. The fixed time and
# names keep the version string, and all that depends on it, from changing with every
# build. It takes the shell over, so that it does not outlive the caller. In /tmp the
# job servers of two builds would have the same name.
#
# The compiler cache does not see what .incbin reads, so an old kernel of the same
# size would be linked into the image. A word that is never the same keeps piggy.o
# out of the cache.
kernel_make() { # SOURCE OUTPUT ARCH clang|gcc ARG...
	local linux=$1 out=$2 arch=$3 tools=(LLVM=1 'CC=ccache clang')
	if [ "$4" = gcc ]; then tools=('CC=ccache gcc'); fi
	shift 4
	rm -rf "$out/.tmp"
	mkdir -p "$out/.tmp"
	exec setpriv --pdeathsig KILL env IN_ROOT_BINDS="$linux:/linux:ro $out:/build" "$TOP/scripts/in-root" env -C /build \
		TMPDIR=/build/.tmp KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 2026' KBUILD_BUILD_USER=user KBUILD_BUILD_HOST=host CCACHE_DEPEND=1 \
		make -C /linux O=/build ARCH="${arch/x86_64/x86}" "${tools[@]}" "AFLAGS_piggy.o=-DBUILD_$(date +%s%N)" "$@"
}

# Problems in a log of the console.
problems() { # FILE
	grep -aE -e 'Kernel panic|Oops|kernel BUG|BUG: |WARNING: |\[ cut here \]' \
		-e 'INFO: (task .* blocked|rcu|trying to register|lockdep)|possible .* lock|suspicious RCU|inconsistent lock' \
		-e 'rcu.*(stall|detected expedited)|(soft|hard) (lockup|LOCKUP)|LOCKUP|sleeping function called' \
		-e 'KASAN|UBSAN|KCSAN|unreferenced object .*\(size [0-9]+\)|refcount_t:|(list_add|list_del) corruption|general protection' \
		-e 'Unable to handle kernel|unable to handle|ODEBUG:|rust_kernel: panicked|Bad page|scheduling while atomic' \
		-e "$([ "${impl:-rust}" = c ] && echo 'Kernel panic' || echo 'user_events: (Unable to delete event|[Cc]ould not )')" \
		"$1" | grep -avP "$RACE_IN_C"
}

# KCSAN's report of a race of which neither place is in Rust. Linux has known ones.
RACE_IN_C='BUG: KCSAN: (?!.*\b(_R|rust_helper_))'

# Takes a lock in the cache, so that two clones do not set it up at once.
cache_lock() {
	mkdir -p "$CACHE"
	exec 9>"$CACHE/lock"
	flock 9
}

# The configurations of scripts/matrix, which says what their settings are.
MATRIX=$TOP/configs/matrix

# The value of a setting of one, or the default.
setting() { # NAME SETTING [DEFAULT]
	local value
	value=$(sed -n "s/^# $2: //p" "$MATRIX/$1.config")
	printf '%s\n' "${value:-${3:-}}"
}

# Options, the later of two winning.
merged() {
	grep '^CONFIG_' | tac | awk -F= '!seen[$1]++' | tac
}

# The options that a configuration asks for.
asked() { # NAME
	local part files=("$TOP/configs/rust.config")
	for part in $(setting "$1" with); do files+=("$MATRIX/with/$part.config"); done
	cat "${files[@]}" "$MATRIX/$1.config" | merged
}
