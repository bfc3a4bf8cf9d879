#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tests of samples/user_events/client/user_events on a kernel, each in a process of
# its own. CRATE_TEST is their program, which this builds there:
#
#   make -C samples/user_events/client user_events-kernel-test

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=ktap.sh
. "$here/ktap.sh"

CRATE_TEST=${CRATE_TEST:-$here/../../../../samples/user_events/client/user_events-kernel-test}
if [ ! -x "$CRATE_TEST" ]; then
	echo "# $CRATE_TEST is not built"
	exit 1
fi

# Runs the test that has the name of the caller. A name that no test has is no error of the
# program, so the output has to say that one passed.
run_it() {
	"$CRATE_TEST" --exact "${FUNCNAME[1]}" >"$tmp/log" 2>&1 &&
		grep -q '^test result: ok\. 1 passed;' "$tmp/log"
}

one_by_one() { run_it; }
batches_of_several_events() { run_it; }
record_that_fails() { run_it; }
words_are_unregistered() { run_it; }

# The program has these tests and no others.
all_are_listed() {
	same "$("$CRATE_TEST" --list | sed -n 's/: test$//p' | sort)" \
		"$(printf '%s\n' one_by_one batches_of_several_events record_that_fails words_are_unregistered | sort)"
}

run_tests all_are_listed one_by_one batches_of_several_events record_that_fails words_are_unregistered
