# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions shared by the test scripts: building the tests, running them in the
# guest, counting their results. Sourced after lib.sh.

# shellcheck disable=SC2034 # used by the scripts that source this file
TESTS=$TOP/tools/testing/selftests/user_events_rust
# shellcheck disable=SC2034
HIST_TESTS=$TOP/tools/testing/selftests/hist_rust
# shellcheck disable=SC2034
RUST_TRACE_TESTS=$TOP/tools/testing/selftests/rust_trace
# shellcheck disable=SC2034
BINDER_TESTS=$TOP/tools/testing/selftests/binder_trace
# From the environment, where the scripts that are called have it as well.
ARCH=${ARCH:-x86_64}
OUT=$BUILD/test$([ "$ARCH" = x86_64 ] || printf '%s' "-$ARCH")

# Two runs in one folder would write to the same results.
run_alone() {
	mkdir -p "$OUT"
	exec 6>"$OUT/.lock"
	flock -n 6 || die "tests are being run in ${OUT#"$TOP/"} already"
}

# The triggers and the event of the command line that boot_test.sh expects.
# shellcheck disable=SC2034
BOOT_TRIGGERS='trace_trigger=sched_process_exec.hist:keys=pid,sched_process_fork.stacktrace'
BOOT_TRIGGERS+=',initcall_level.hist:keys=level,initcall_level.hist:keys=level trace_instance=boot_hist'
BOOT_TRIGGERS+=' trace_event=initcall:initcall_level ftrace_boot_snapshot'

# Boot parameters of rust_trace: the switch of the cases about tp_printk, and an
# event that is on from the start.
# shellcheck disable=SC2034
RUST_TRACE_BOOT='tp_printk tp_printk_stop_on_boot trace_event=rust_kunit:rust_kunit_gaps'

# Valid reasons to skip cases of ours on the Rust kernel, as a regular expression;
# whatever else is skipped there has failed. KUnit has the tags of addresses, where
# the processor has none. Debian's trace-cmd is built without sqlhist, as long as
# that is so.
SKIPS='no event happens in NMIs here|this trace-cmd has no sqlhist'
case $ARCH in
x86_64) SKIPS+='|the processor has no address tags.*' ;;
*) SKIPS+='|it is about the instructions of x86_64' ;;
esac
EXPECTED_SKIPS=$SKIPS

# The same for the kernel that the next guests have, by its configuration.
expect_skips_of() { # KERNEL'S-FOLDER
	EXPECTED_SKIPS=$SKIPS
	if ! grep -qx CONFIG_PERF_EVENTS=y "$1/.config"; then EXPECTED_SKIPS+='|there is no perf'; fi
	if grep -qx CONFIG_ARM64_64K_PAGES=y "$1/.config"; then EXPECTED_SKIPS+='|a record is shorter than a page'; fi
	if ! grep -qx CONFIG_KPROBE_EVENTS=y "$1/.config"; then EXPECTED_SKIPS+='|there are no kprobes'; fi
	if ! grep -qx CONFIG_FAULT_INJECTION=y "$1/.config"; then
		EXPECTED_SKIPS+='|no fault injection in this kernel.*|there is no fault injection'
	fi
	if ! grep -qx CONFIG_RUST_INLINE_HELPERS=y "$1/.config"; then EXPECTED_SKIPS+='|needs CONFIG_RUST_INLINE_HELPERS'; fi
	if ! grep -qx CONFIG_MODULE_FORCE_LOAD=y "$1/.config"; then EXPECTED_SKIPS+='|this kernel loads no module by force'; fi
	if grep -qx CONFIG_LOCKDEP=y "$1/.config"; then
		EXPECTED_SKIPS+='|lockdep adds a check to each event|lockdep ends with a module that is loaded by force'
	fi
}

# Results: one line per case, "ok N - PART: CASE" or "not ok N - ...", preceded
# by its messages, after a #.

passed=0 failed=0 skipped=0

# In a job of scripts/test, where REPORT_TO is set, a result is a line for the script
# that counts. With $alone, a failure names the command that runs only that.
report() { # ok|not|skip PART CASE [WHY]
	local n=$((passed + failed + skipped + 1)) command=${ALONE_COMMAND:-}
	if [ "$1" = not ] && [ -n "${alone:-}" ]; then command=${ALONE_WITH:-make test ONLY=}$(alone_of "$alone"); fi
	if [ -n "${REPORT_TO:-}" ]; then printf '@@report\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s\n' "$1" "$2" "$3" "${4:-}" "$command"; fi
	case $1 in
	ok) passed=$((passed + 1)) ;;
	skip) skipped=$((skipped + 1)) ;;
	*) failed=$((failed + 1)) ;;
	esac
	if [ -n "${REPORT_TO:-}" ]; then return; fi
	case $1 in
	ok) printf 'ok %d - %s: %s\n' "$n" "$2" "$3" ;;
	skip) printf 'ok %d - %s: %s # SKIP %s\n' "$n" "$2" "$3" "$4" ;;
	*)
		if [ -n "$command" ]; then printf '# alone: %s\n' "$command"; fi
		printf 'not ok %d - %s: %s\n' "$n" "$2" "$3"
		;;
	esac
}

# The word of --only for a case.
alone_of() { # SUITE[:CASE]
	local word=${ALONE_IS:-$1} name=${1%%:*}
	# A test of tracing is a file.
	case $1 in
	ftracetest:* | trigger:*)
		word=$(grep -rlE "^#[[:space:]]*description: *$(sed 's/ (instance) *//; s/[^^]/[&]/g; s/\^/\\^/g' <<<"${1#*:}")\$" \
			"$SRC/tools/testing/selftests/ftrace/test.d" | head -n 1)
		word=$name${word:+:${word#*/test.d/}}
		;;
	*)
		# These have no cases that can be named.
		if [ "$name" = cpus ] || [ "${KIND_OF[$name]:-}" = storm ]; then
			word=$name
		elif [ -z "${ALONE_IS:-}" ] && [ -z "${BOOT_OF[$name]:-}" ] && ! kunit_suites | grep -qxF -- "$name"; then
			# Unit tests of others.
			word=kunit
		fi
		;;
	esac
	if [[ $word == *[!A-Za-z0-9_.:,/-]* ]]; then printf '%q' "$word"; else printf '%s' "$word"; fi
}

# The last line, and the exit status.
summary() {
	printf '%d passed, %d failed' "$passed" "$failed"
	((skipped == 0)) || printf ', %d skipped' "$skipped"
	printf '\n'
	((failed == 0 && passed > 0))
}

# A file as the explanation of the next result.
explain() { # FILE [LINES]
	tail -n "${2:-40}" "$1" | sed 's/^/# /'
}

# Builds the tree's tests and ours from build/linux, with its own headers. On arm64 the
# 32-bit programs are those of another architecture, and bring their libraries along.
build_tests() { # [FOLDER...]
	local linux=$BUILD/linux log=$BUILD/log/tests cross cross32='' dirs id
	if [ $# = 0 ]; then set -- user_events user_events_rust hist_rust; fi
	dirs=$(printf '%s\n' "$@" | sort -u | tr '\n' ' ')
	step "building the tests: $dirs"
	mkdir -p "$OUT"
	# The reference is not built from that tree.
	"$TOP/scripts/overlay"
	cross=$(cross "$ARCH")
	if [ "$ARCH" = arm64 ]; then
		cross32="make -s -C '$linux' O='$OUT/headers32' ARCH=arm headers_install"
		cross+=" 'CC32=arm-linux-gnueabihf-gcc -static -isystem $OUT/headers32/usr/include'"
	fi
	# The headers change with the patches only.
	id=$({ find "$TOP/include" -type f -exec cat {} + 2>/dev/null || :; } |
		cat - "$BUILD/.overlay/patches" "$BUILD/.overlay/source" "$CACHE/root.stamp" | sha256sum | cut -c1-32)
	# What is kept of the reference is found by the sources of programs. make does not see that a
	# header of the kernel has changed, so a program could be older than its sources.
	quietly "$log" "$TOP/scripts/in-root" sh -ec "
		if [ ! -f '$OUT/headers/id' ] || [ \"\$(cat '$OUT/headers/id')\" != '$id' ]; then
			make -s -C '$linux' O='$OUT/headers' $cross headers_install
			$cross32
			echo '$id' >'$OUT/headers/id'
		fi
		sum=\$(cd '$OUT/headers/usr/include' && find . -name '*.h' -exec sha256sum {} + | LC_ALL=C sort | sha256sum)
		for t in $dirs; do
			if [ \"\$(cat '$OUT/'\$t/headers.sum 2>/dev/null)\" != \"\$sum\" ]; then rm -rf '$OUT/'\$t; fi
			mkdir -p '$OUT/'\$t
			echo \"\$sum\" >'$OUT/'\$t/headers.sum
			make -s -j$(nproc) -C '$linux/tools/testing/selftests/'\$t OUTPUT='$OUT/'\$t $cross \
				KHDR_INCLUDES='-isystem $OUT/headers/usr/include' all
		done" || die 'the tests do not build'
}

# Reads an output while it is written. Prints how many milliseconds each case took.
times_of_cases() {
	local line name='' last=0 now
	while IFS= read -r line; do
		now=${EPOCHREALTIME/[.,]/}
		case $line in
		'@@ end '*) name= ;;
		'@@ '*) name=${line#@@ } last=$now ;;
		'ok '* | 'not ok '* | '    ok '* | '    not ok '*)
			[ -n "$name" ] || continue
			line=${line#"${line%%[! ]*}"} line=${line#not }
			line=${line#ok * } line=${line#- }
			printf '%d\t%s:%s\n' $(((now - last) / 1000)) "$name" "${line%% # *}"
			last=$now
			;;
		esac
	done
}

# Runs a shell script in the guest; its output is written to a file. A report of
# the kernel, a hang and a crash are results of their own. One that QEMU is to
# blame for is told, and the guest booted once more.
guest() { # PART OUTPUT LIMIT SCRIPT [VM OPTION...]
	local part=$1 output=$2 limit=$3 script=$4 rc=0 name try
	shift 4
	mkdir -p "$(dirname "$output")"
	# bpftrace compiles with the kernel's headers, which the root of arm64 has not got.
	if [ "$ARCH" = arm64 ]; then script="export CPATH='$OUT/headers/usr/include'"$'\n'$script; fi
	printf '%s\n' 'set -u' "$script" >"$output.sh"
	for try in 1 2; do
		rc=0
		"$TOP/scripts/vm" --timeout "$limit" ${GUEST_CPUS:+--cpus "$GUEST_CPUS"} "$@" -- bash "$output.sh" 2>"$output.err" </dev/null |
			tee "$output" | times_of_cases >"$output.times" || rc=${PIPESTATUS[0]}
		[ $rc = 123 ] && [ $try = 1 ] || break
		explain "$output.err" 80
		echo "# $part: what QEMU did wrong in the guest is told above; it is booted once more"
	done
	case $rc in
	124)
		explain "$output.err"
		report not "$part" "it comes to an end within $limit s"
		;;
	123 | 125)
		explain "$output.err" 80
		report not "$part" 'the kernel reports no problem'
		;;
	126)
		explain "$output.err" 80
		report not "$part" 'the guest stays up'
		;;
	*)
		report ok "$part" 'the kernel reports no problem'
		# The shell in the guest may have been killed between two sections.
		while IFS= read -r name; do
			grep -qxF "@@ $name" "$output" || report not "$part" "$name: it is run"
		done < <(sed -n 's/^echo "@@ \(.*\)"$/\1/p' "$output.sh" | grep -v '^end ')
		;;
	esac
	return 0
}

# The inputs of a result of the reference, as an id: the image of the kernel, the
# guest's file system, and the arguments.
reference_id() { # KERNEL'S-FOLDER WORD|FILE|FOLDER...
	local kernel=$1/$(kernel_image "$ARCH") word
	shift
	{
		sha256sum <"$kernel"
		tool_versions
		cat "$TOP/scripts/vm"
		[ "$ARCH" = x86_64 ] || cat "$ROOT-$ARCH/etc/root.stamp"
		for word; do
			if [ -d "$word" ]; then
				(cd "$word" && find . -type f ! -name '*.log' -exec sha256sum {} + | sort)
			elif [ -f "$word" ]; then
				sha256sum <"$word"
			else
				printf '%s\n' "$word"
			fi
		done
	} | sha256sum | cut -c1-32
}

# The reference is the same in every clone, and so are its results: those of a
# successful run are kept in the cache. TEST_FRESH=1 runs everything again.
kept_result() { # ID OUTPUT: whether there was one
	[ -z "${TEST_FRESH:-}" ] && [ -e "$CACHE/results/$1" ] || return 1
	rm -rf "$2"
	cp -a "$CACHE/results/$1" "$2"
}

keep_result() { # ID OUTPUT
	local new
	mkdir -p "$CACHE/results"
	new=$(mktemp -d "$CACHE/results/new.XXXXXX")
	cp -a "$2" "$new/result"
	rm -rf "${CACHE:?}/results/$1"
	# Unless another clone has kept the same just now.
	mv -T "$new/result" "$CACHE/results/$1" 2>/dev/null || :
	rm -rf "$new"
	# Old ones are of other kernels or other tests.
	find "$CACHE/results" -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {} +
}

# Text for the script of a guest: lets modprobe find the modules of the kernel. scripts/vm has
# /usr/lib so that this can be written.
modules_script() { # KERNEL'S FOLDER
	cat <<-END
		to=/usr/lib/modules/\$(uname -r)
		mkdir -p \$to
		mapfile -t modules <'$1/modules.order'
		modules=("\${modules[@]/#/$1/}")
		modules=("\${modules[@]/%.o/.ko}")
		for module in '$1'/tests/*.ko; do [ ! -f "\$module" ] || modules+=("\$module"); done
		cp "\${modules[@]}" \$to
		depmod
	END
}

# Sections of the output of a guest: "@@ NAME" begins one, "@@ end STATUS" ends it.
section() { # NAME COMMAND: text for the script of a guest
	printf 'echo "@@ %s"\n%s\necho "@@ end $?"\n' "$1" "$2 2>&1"
}

last_of() { # LINE...
	if [ $# -gt 0 ]; then printf '%s\n' "$@" | tail -n 30 | sed 's/^/# /'; fi
}

# Reads the TAP of all sections of an output. WHY_SKIPPED says why the kernel's own
# tests skip what they skip; ours print reasons, see EXPECTED_SKIPS.
#
# Cases of the fixture "dev" show what the Rust implementation does other than the
# C one: run on that, they have to fail.
read_tap() { # PART OUTPUT IMPL
	local part=$1 impl=$3 line name='' plan=0 count=0 bad=0 said=() what why verdict ended alone
	while IFS= read -r line; do
		case $line in
		'@@ end '*)
			ended=${line#@@ end } alone=$name
			if ((plan == 0 || count != plan)); then
				printf '# status %s\n' "$ended"
				last_of "${said[@]}"
				report not "$part" "$name: $count of $plan cases were run"
			elif [ "$impl" = rust ] && [ $bad = 0 ] && [[ $ended != [04] ]]; then
				last_of "${said[@]}"
				report not "$part" "$name: all cases pass, but its status is $ended"
			fi
			name=''
			;;
		'@@ '*)
			name=${line#@@ }
			alone=$name
			plan=0 count=0 bad=0 said=()
			;;
		1..[0-9]*)
			plan=${line#1..}
			plan=${plan%% *}
			;;
		'ok '* | 'not ok '*)
			if [ -z "$name" ]; then continue; fi
			count=$((count + 1))
			verdict=ok alone=$name
			if [[ $line == not* ]]; then verdict=not; fi
			what=${line#not }
			what=${what#ok }
			what=${what#[0-9]* }
			what=${what#- }
			why=
			if [[ $what == *'# SKIP'* ]]; then
				verdict=skip
				why=${what#*# SKIP}
				why=${why# }
				what=${what%% # SKIP*}
			fi
			# ftracetest stopped it, which it does not count as a failure.
			if [[ $what == *' # UNRESOLVED' ]]; then
				verdict=skip why='UNRESOLVED: a module or a tool that it needs is missing'
				what=${what%% # UNRESOLVED}
			fi
			alone=$name:$what
			if [ "$impl" = c ] && [[ $what == dev.* ]] && [ $verdict != skip ]; then
				if [ $verdict = not ] && [[ ${said[*]} == *'ue_reset()'* || ${said[*]} == *'the reset failed'* ]]; then
					report not "$part" "$name: $what (was not run: what a case before it has left is in the way)"
				elif [ $verdict = not ]; then
					report ok "$part" "$name: $what (fails in C, as it should)"
				else
					report not "$part" "$name: $what (passes in C: what does it show?)"
				fi
			else
				if [ "$impl" = rust ] && [ $verdict = skip ] && [ -z "${WHY_SKIPPED:-}" ] && [[ ! $why =~ ^($EXPECTED_SKIPS)$ ]]; then
					verdict=not
					said+=("skipped, which it is not to be: $why")
				fi
				if [ $verdict = not ]; then
					bad=1
					last_of "${said[@]}"
				fi
				report $verdict "$part" "$name: $what" "${why:-${WHY_SKIPPED:-no reason is given}}"
			fi
			said=()
			;;
		'#  RUN '* | '# Starting'* | '#            OK '* | '# PASSED'* | '# FAILED'* | '# Totals'* | 'TAP version'* | 'KTAP version'*) ;;
		*) said+=("${line#\# }") ;;
		esac
	done <"$2"
	if [ -n "$name" ]; then
		alone=$name
		last_of "${said[@]}"
		report not "$part" "$name: it was not over after $count of $plan cases"
	fi
}

# Suites of the kernel's own that cannot be run, and why. SpinLockIrq leaves interrupts
# alone on PREEMPT_RT, as spin_lock_irq() does, and its test has them asserted to be off.
kunit_not_run() { # CONFIG
	if [ "$1" = rt ]; then echo 'rust_spinlock_irq_condvar it asserts that interrupts are off, which they are not on PREEMPT_RT'; fi
}

# The unit tests: each suite is run through debugfs and has its results there.
kunit_script() { # CONFIG [SUITE[.CASE]...]
	local not_run
	not_run=$(kunit_not_run "$1" | cut -d' ' -f1)
	shift
	printf 'not_run=%q only=%q\n' "$not_run" "$(printf '%s\n' "${@%%.*}")"
	cat <<'END'
k=/sys/kernel/debug/kunit
echo "@@ kunit"
for s in $k/*; do
	# A line of the list. No process is started, where each takes its time.
	name=$'\n'${s##*/}$'\n'
	if [[ $'\n'$not_run$'\n' == *"$name"* ]]; then continue; fi
	if [ -n "$only" ] && [[ $'\n'$only$'\n' != *"$name"* ]]; then continue; fi
	[ ! -e "$s/run" ] || echo 1 >"$s/run"
	mapfile results <"$s/results" && printf '%s' "${results[@]}"
done
echo "@@ end $?"
END
}

# All suites that the sources have, with as many cases as each has planned. The
# examples of the documentation are a suite where the kernel has them.
read_kunit() { # PART OUTPUT KERNEL'S FOLDER CONFIG [SUITE[.CASE] ...]
	local line suite='' in_kunit='' said=() alone
	if [ -z "${5:-}" ]; then
		while read -r suite line; do report skip "$1" "$suite" "$line"; done < <(kunit_not_run "$4")
	fi
	local -A plan=() cases=()
	while IFS= read -r line; do
		case $line in
		'@@ kunit') in_kunit=1 ;;
		'@@ '*) in_kunit= ;;
		esac
		[ -n "$in_kunit" ] || continue
		if [[ $line =~ ^\ {4}#\ Subtest:\ (.*) ]]; then
			suite=${BASH_REMATCH[1]}
			cases[$suite]=0
		elif [[ $line =~ ^\ {4}1\.\.([0-9]+)$ ]]; then
			plan[$suite]=${BASH_REMATCH[1]}
		elif [[ $line =~ ^\ {4}(not\ )?ok\ [0-9]+\ ([^ ]*)(.*) ]]; then
			cases[$suite]=$((${cases[$suite]} + 1))
			alone=$suite:${BASH_REMATCH[2]}
			if [ -n "${BASH_REMATCH[1]}" ]; then
				last_of "${said[@]}"
				report not "$1" "$suite: ${BASH_REMATCH[2]}"
			elif [[ ${BASH_REMATCH[3]} == *'# SKIP'* ]]; then
				report skip "$1" "$suite: ${BASH_REMATCH[2]}" "${BASH_REMATCH[3]#*# SKIP }"
			else
				report ok "$1" "$suite: ${BASH_REMATCH[2]}"
			fi
			said=()
		elif [[ $line =~ ^\ {4,}#\ (.*) ]]; then
			said+=("${BASH_REMATCH[1]}")
		fi
	done <"$2"
	while IFS= read -r suite; do
		alone=$suite
		if [ "$suite" = rust_kernel_trace_kprobe ] && ! grep -q '^CONFIG_KPROBE_EVENTS=y' "$3/.config"; then
			report skip "$1" "$suite" 'there are no kprobes'
		elif [ "${cases[$suite]:-0}" = 0 ] || [ "${cases[$suite]}" != "${plan[$suite]:-}" ]; then
			report not "$1" "$suite: ${cases[$suite]:-0} of ${plan[$suite]:-?} cases were run"
		fi
	done < <(if [ -n "${5:-}" ]; then
		tr ' ' '\n' <<<"$5" | sed 's/\..*//' | sort -u
	else
		if grep -q '^CONFIG_RUST_KERNEL_DOCTESTS=y' "$3/.config"; then echo rust_doctests_kernel; fi
		printf '%s\n' "${!cases[@]}"
		kunit_suites
	fi | sort -u)
}
