#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The trace events of the binder driver, whichever it is: all of them exist, all are
# traced while client.c runs its steps, and tools can print them.
#
# usage: binder_trace_test.sh [FOLDER]
#
# The formats and the records are written to the folder, for compare.py. The cases dev_* fail with
# the driver in C.

here=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=/dev/null
. "$here/../user_events_rust/ktap.sh"
tmp=${tmp:?made by ktap.sh}
client=${CLIENT:-$here/client}
to=${1:-$tmp/output}
fs=$tmp/binderfs

EVENTS='alloc_lru_end alloc_lru_start alloc_page_end alloc_page_start command free_lru_end free_lru_start
ioctl ioctl_done netlink_report read_done return transaction transaction_alloc_buf
transaction_buffer_release transaction_failed_buffer_release transaction_fd_recv
transaction_fd_send transaction_node_to_ref transaction_received transaction_ref_to_node
transaction_ref_to_ref transaction_update_buffer_release txn_latency_free unmap_kernel_end
unmap_kernel_start unmap_user_end unmap_user_start update_page_range wait_for_work write_done'

cd /sys/kernel/tracing || exit 4
mkdir -p "$to/format" "$fs" || exit 4
mount -t binder none "$fs" || exit 4
trap 'umount "$fs"; rm -rf "$tmp"' EXIT

run_client() { "$client" "$fs" "${@:2}" >"$1" 2>"$tmp/log" </dev/null; }

all_events() {
	same "$(find events/binder -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort)" \
		"$(printf 'binder_%s\n' $EVENTS | sort)" || return
	for event in $EVENTS; do cp "events/binder/binder_$event/format" "$to/format/binder_$event" || return; done
}

is_rust() { zgrep -q '^CONFIG_ANDROID_BINDER_IPC_RUST=y' /proc/config.gz; }

# One instance shows the fields of the records, another one prints them, except for the record of
# netlink of the driver in C: its text is the warning of an unsafe pointer.
records() {
	local i
	for i in fields text; do
		mkdir instances/$i || return
		echo counter >instances/$i/trace_clock
		echo 1 >instances/$i/events/binder/enable
	done
	echo 1 >instances/fields/options/fields
	is_rust || echo 0 >instances/text/events/binder/binder_netlink_report/enable
	run_client "$to/steps" || return
	for i in fields text; do
		echo 0 >instances/$i/events/enable
		cp instances/$i/trace "$to/$i"
		rmdir instances/$i
	done
	! grep -q 'LOST' "$to/fields" "$to/text"
}

# At least once each.
all_happen() {
	local event rc=0
	for event in $EVENTS; do
		grep -q ": binder_$event: " "$to/fields" || {
			echo "# binder_$event has not happened"
			rc=1
		}
	done
	return $rc
}

# The text of the kernel and the one that libtraceevent prints by the format.
dev_binder_names__tools() {
	trace-cmd record -q -o "$tmp/trace.dat" -e binder:binder_command -e binder:binder_return -e binder:binder_transaction \
		"$client" "$fs" >"$tmp/out" 2>"$tmp/log" </dev/null || return
	trace-cmd report -i "$tmp/trace.dat" 2>"$tmp/log" | sed -n 's/.*: *\(binder_[a-z]*\): */\1: /p' >"$to/tool"
	grep -q '^binder_transaction: transaction=' "$to/tool" || { echo '# no transaction is printed'; return 1; }
	same "$(grep -E '^binder_(command|return): ' "$to/tool" | sort -u)" \
		"$(sed -n 's/.*: \(binder_\(command\|return\): .*\)/\1/p' "$to/text" | sort -u)"
}

# The name of the device is in what is printed, whichever it is.
dev_binder_context__printed() {
	is_rust || skip 'the driver in C warns on the console' || return
	echo 1 >events/binder/binder_netlink_report/enable
	run_client "$tmp/out" && run_client "$tmp/out" named-by-test
	echo 0 >events/binder/binder_netlink_report/enable
	local context rest='error=[0-9]* is_reply=[01] flags=0x[0-9a-f]* code=0x[0-9a-f]* size=[0-9]*$'
	for context in binder named-by-test; do
		grep -q ": binder_netlink_report: from [0-9]*:[0-9]* to [0-9]*:[0-9]* context=$context $rest" trace || return
	done
}

run_tests all_events records all_happen dev_binder_names__tools:trace-cmd dev_binder_context__printed
