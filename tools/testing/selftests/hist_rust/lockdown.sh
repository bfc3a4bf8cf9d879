#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A kernel that is locked down: the files that show what a kernel does cannot be opened, those
# that programs register and write events by can. It cannot be undone, so this is for a guest
# of its own.

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=lib.sh
. "$here/lib.sh"

lockdown=/sys/kernel/security/lockdown

# What opening a file says, if it is refused.
opened() { # FILE
	({ : <"$1"; } 2>&1) | sed 's/.*: //'
}

what_can_be_opened() {
	local f rc=0 files=(dynamic_events set_event set_user_event "$E"/pair/{hist,trigger,filter,enable})
	[ -e $lockdown ] || mount -t securityfs none /sys/kernel/security || return
	[ -e $lockdown ] || skip 'there is no lockdown in this kernel' || return
	fresh && ok pair hist:keys=id && q pair 1 0 0 || return
	hist_is_rust && files+=("$E"/pair/hist_raw)
	[ ! -e "$E/pair/hist_debug" ] || files+=("$E"/pair/hist_debug)
	for f in "${files[@]}"; do same "$f: $(opened "$f")" "$f: " || rc=1; done
	exec 7>"$E/pair/trigger"
	echo confidentiality >$lockdown || return

	for f in "${files[@]}"; do same "$f: $(opened "$f")" "$f: Operation not permitted" || rc=1; done
	# Those of programs, and a file that is open already.
	same "$(opened user_events_status)" '' || rc=1
	same "$(echo 'reg slot=0 bit=0 : later u32 a' | "$UEDRIVE")" 'reg -> index 0' || rc=1
	echo hist:keys=part >&7 || rc=1
	q pair 2 0 0 || rc=1
	exec 7>&-
	return $rc
}

run_tests what_can_be_opened
