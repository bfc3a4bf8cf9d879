# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables of scripts/test
#
# The test suites of scripts/suites.list: the list of suites, which of them and of
# their cases are wanted, and the commands that run them. Sourced after testlib.sh.

declare -A BOOT_LIMIT BOOT_WITH BOOT_OPTIONS PART_OF BOOT_OF LIMIT_OF NEEDS_OF PLACES_OF KIND_OF ARGS_OF NOT_ON_C
BOOTS=() SUITES=()

boot() { # NAME LIMIT WITH [OPTION...]
	case $3 in quiet | alone | others) ;; *) die "scripts/suites.list: the boot $1 is with $3" ;; esac
	BOOTS+=("$1")
	BOOT_LIMIT[$1]=$2 BOOT_WITH[$1]=$3
	BOOT_OPTIONS[$1]=$(shift 3 && [ $# = 0 ] || printf '%q ' "$@")
}

suite() { # PART NAME BOOT LIMIT NEEDS PLACES KIND [ARGUMENT...]
	[ -z "${BOOT_OF[$2]:-}" ] || die "scripts/suites.list has $2 twice"
	[[ $3 == host* ]] || [ -n "${BOOT_LIMIT[$3]:-}" ] || die "scripts/suites.list has no boot $3"
	SUITES+=("$2")
	PART_OF[$2]=$1 BOOT_OF[$2]=$3 LIMIT_OF[$2]=$4 NEEDS_OF[$2]=$5 PLACES_OF[$2]=$6 KIND_OF[$2]=$7 ARGS_OF[$2]=${*:8}
}

not_on_c() { # SUITE:CASE REASON
	[ $# = 2 ] && [ -n "$2" ] || die "scripts/suites.list: not_on_c $1 has no reason"
	NOT_ON_C[$1]=$2
}

# shellcheck source=scripts/suites.list
. "$TOP/scripts/suites.list"

# Test files without a line in suites.list, lines without a file, and not_on_c without a case.
suites_problems() {
	local f s args have=' '
	for f in "${!NOT_ON_C[@]}"; do
		[ -n "${BOOT_OF[${f%%:*}]:-}" ] && runs_in "${f%%:*}" c && cases_of "${f%%:*}" | grep -qxF "dev.${f#*:}" ||
			echo "scripts/suites.list: not_on_c: no case on C that shows a deviation is $f"
	done
	for s in "${SUITES[@]}"; do
		read -r -a args <<<"${ARGS_OF[$s]}"
		case ${KIND_OF[$s]} in
		program | storm) f=${args[0]}.c ;;
		script | crate | binder) f=${args[0]} ;;
		*) continue ;;
		esac
		have+="$f "
		[ -f "$TOP/tools/testing/selftests/$f" ] || [ -f "$SRC/tools/testing/selftests/$f" ] || echo "scripts/suites.list: $s: there is no $f"
	done
	for f in "$TOP"/tools/testing/selftests/*/*_test.{c,sh}; do
		f=${f#"$TOP/tools/testing/selftests/"}
		[[ $have == *" $f "* ]] || echo "scripts/suites.list: no suite is $f"
	done
}

# The parts, which are groups of suites. cpus and 64k are about where suites run.
parts() {
	local s
	for s in "${SUITES[@]}"; do printf '%s\n' "${PART_OF[$s]//,/$'\n'}"; done | awk '!seen[$0]++'
}

in_part() { [[ ,${PART_OF[$1]}, == *,$2,* ]]; } # SUITE PART
runs_in() { [[ " ${PLACES_OF[$1]} " == *" $2 "* ]]; } # SUITE PLACE

# True if the subject of the suite exists, with this --impl and on this machine.
is_possible() { # SUITE IMPL
	case $2-${KIND_OF[$1]} in
	rust-binder) [ "$ARCH" = x86_64 ] ;;
	# The root has no Rust library of another architecture.
	rust-crate | c-crate) [ "$ARCH" = x86_64 ] ;;
	rust-*) ;;
	c-samples) ;;
	c-program | c-script | c-storm | c-ftracetest) ! in_part "$1" rust_trace ;;
	*) in_part "$1" rust_trace ;;
	esac
}

# The suites of unit tests in the sources, and their cases.
kunit_suites() {
	grep -rhoP 'kunit_tests\(\K\w+' "$TOP/kernel" "$TOP/rust" | sort -u
}

kunit_cases() { # SUITE
	grep -rlP "kunit_tests\\($1\\)" "$TOP/kernel" "$TOP/rust" | xargs -r awk -v suite="$1" '
		/kunit_tests\(/ { on = index($0, "kunit_tests(" suite ")") }
		on && /^ *#\[test\]/ { test = 1; next }
		on && test && match($0, /fn [a-z0-9_]+/) { print substr($0, RSTART + 3, RLENGTH - 3); test = 0 }'
}

# The cases of a suite as they are named in its output, from its source; nothing for
# one that is not divided.
cases_of() { # SUITE
	local file args
	read -r -a args <<<"${ARGS_OF[$1]}"
	case ${KIND_OF[$1]} in
	program)
		file=$TOP/tools/testing/selftests/${args[0]}.c
		[ -f "$file" ] || file=$SRC/tools/testing/selftests/${args[0]}.c
		sed -nE 's/^TEST_F(_TIMEOUT)?\((\w+), *(\w+).*/\2.\3/p; s/^TEST\((\w+)\).*/global.\1/p' "$file" | grep -E "${args[1]:+\.${args[1]}\$}"
		;;
	script | crate)
		awk '/^[ \t]*run_tests / || more { line = $0; more = sub(/\\$/, "", line); sub(/^[ \t]*run_tests /, "", line); print line }' \
			"$TOP/tools/testing/selftests/${args[0]}" | tr -s ' \t' '\n' | sed -E '/^$/d; s/:.*//; s/^dev_/dev./' |
			case ${args[1]:-} in
			cmdline) grep '^boot_' | sort -u ;;
			bootconfig) grep '^bootconfig_' | sort -u ;;
			*) cat ;;
			esac
		;;
	ftracetest) (cd "$SRC/tools/testing/selftests/ftrace" && find "${args[@]}" -name '*.tc' | sort) ;;
	kunit) kunit_suites ;;
	matrix) printf '%s\n' "${args[@]}" ;;
	lint) sed -nE 's/.*checks=\(([a-z].*)\).*/\1/p' "$TOP/scripts/lint" | tr ' ' '\n' ;;
	compare) "$TOP/scripts/compare" --list ;;
	esac
}

# The cases that show a deviation from C, as words of --only, but for those that not_on_c leaves
# out of "make test".
deviations() {
	local s c
	for s in "${SUITES[@]}"; do
		runs_in "$s" c && is_possible "$s" c || continue
		while IFS= read -r c; do
			[ -n "${NOT_ON_C[$s:${c#dev.}]:-}" ] || printf '%s:%s\n' "$s" "$c"
		done < <(cases_of "$s" | grep '^dev\.')
	done
}

# What to run, by what was asked for: CASES_OF has each suite, with its cases or
# nothing for all of them.
declare -A CASES_OF

unknown() { # WHAT LIST
	die "--only: there is no $1. There are:
$(fmt -w 100 <<<"$2" | sed 's/^/  /')"
}

# A suite that is wanted as a whole has the case already.
add_case() { # SUITE CASE
	if [ -z "${CASES_OF[$1]+there}" ]; then
		CASES_OF[$1]=$2
	elif [ -n "${CASES_OF[$1]}" ]; then
		CASES_OF[$1]+=" $2"
	fi
}

# Resolves one word of --only in a place.
ask_for() { # WORD PLACE IMPL
	local word=$1 place=$2 impl=$3 name case='' s all found=''
	name=${word%%:*}
	if [ "$name" != "$word" ]; then case=${word#*:}; fi
	# Of a part, what runs there by default, or all of it if nothing does.
	if [ -z "$case" ]; then
		for all in '' 1; do
			for s in "${SUITES[@]}"; do
				in_part "$s" "$name" && is_possible "$s" "$impl" && { runs_in "$s" "$place" || [ -n "$all" ]; } || continue
				CASES_OF[$s]=''
				found=1
			done
			if [ -n "$found" ]; then return; fi
		done
	fi
	if [ -n "${BOOT_OF[$name]:-}" ]; then
		is_possible "$name" "$impl" || die "--only: $name does not run with --impl $impl on $ARCH"
		if [ -z "$case" ]; then
			CASES_OF[$name]=''
			return
		fi
		all=$(cases_of "$name")
		# The fixture, the mark of a deviation and the folder of a test of tracing may be left out.
		found=$(awk -v want="$case" '$0 == want { print; exit }
			{ short = $0; if (!sub(/^test\.d\//, "", short)) sub(/^[^.]*\./, "", short); if (short == want && !found) found = $0 }
			END { if (found) print found }' <<<"$all" | head -n 1)
		# A unit test of a suite.
		if [ "${KIND_OF[$name]}" = kunit ] && [ -z "$found" ] && kunit_suites | grep -qxF -- "${case%%.*}"; then
			ask_for "${case/./:}" "$place" "$impl"
			return
		fi
		[ -n "$found" ] || unknown "$name:$case" "${all:-$name has no cases}"
		add_case "$name" "$found"
		return
	fi
	if [ "$impl" = rust ] && kunit_suites | grep -qxF -- "$name"; then
		if [ -n "$case" ] && ! kunit_cases "$name" | grep -qxF -- "$case"; then unknown "$name:$case" "$(kunit_cases "$name")"; fi
		add_case kunit "$name${case:+.$case}"
		return
	fi
	unknown "$name" "parts: $(parts | tr '\n' ' ') cpus 64k

suites: ${SUITES[*]}

unit tests: $(kunit_suites | tr '\n' ' ')"
}

# What has nothing said about it, in a place: all that runs there by default.
ask_for_all() { # PLACE IMPL
	local s
	for s in "${SUITES[@]}"; do
		if runs_in "$s" "$1" && is_possible "$s" "$2"; then CASES_OF[$s]=''; fi
	done
}

# The command of a suite for the script of a guest, with the cases that are wanted.
# Shell scripts start thousands of programs, each of which would read the files of a locale.
suite_script() { # SUITE FACTOR SECONDS
	local s=$1 args only='' c cmd limit=$((LIMIT_OF[$1] * $2))
	read -r -a args <<<"${ARGS_OF[$s]}"
	case ${KIND_OF[$s]} in
	program | script | crate)
		[ "${KIND_OF[$s]}" != program ] || [ -z "${args[1]:-}" ] || only=" -t ${args[1]}"
		for c in ${CASES_OF[$s]}; do
			if [ "${KIND_OF[$s]}" = program ] && [[ $c == *.* ]]; then
				only+=" -r $c"
			else
				only+=" -t $c"
			fi
		done
		;;
	esac
	case ${KIND_OF[$s]} in
	program) cmd="cd '$OUT/$(dirname "${args[0]}")' && timeout $limit env ${args[2]:-} ./$(basename "${args[0]}")$only" ;;
	script)
		cmd="cd '$TOP/tools/testing/selftests/$(dirname "${args[0]}")' && LC_ALL=C UEDRIVE='$OUT/user_events_rust/compare/uedrive' \
			timeout $limit ./$(basename "${args[0]}")${args[1]:+ ${args[1]}}$only"
		;;
	crate)
		cmd="cd '$TOP/tools/testing/selftests/$(dirname "${args[0]}")' && CRATE_TEST='$OUT/client/user_events-kernel-test' \
			timeout $limit ./$(basename "${args[0]}")$only"
		;;
	storm) cmd="echo TAP version 13; echo 1..1; timeout $(($3 + limit)) '$OUT/${args[0]}' $3" ;;
	ftracetest)
		cmd="cd '$BUILD/linux/tools/testing/selftests/ftrace' && LC_ALL=C timeout $limit ./ftracetest -K -l /tmp/ftrace-logs ${CASES_OF[$s]:-${args[*]}}"
		;;
	kunit)
		# shellcheck disable=SC2086 # words
		kunit_script "$config" ${CASES_OF[kunit]}
		return
		;;
	esac
	if [[ ,${NEEDS_OF[$s]}, == *,grace,* && $place == @(lean|c|um|64k) ]]; then
		printf 'echo 1 >/sys/kernel/rcu_expedited\n%s\necho 0 >/sys/kernel/rcu_expedited\n' "$(section "$s" "$cmd")"
	else
		section "$s" "$cmd"
	fi
}
