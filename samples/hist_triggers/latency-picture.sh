#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The distribution of wakeup latencies as bars and as pictures, by tools/tracing/hist. It sets
# the three triggers that wakeup-latency.sh explains, in an instance of its own, and reads them
# in intervals. With the histograms in C it has coarser buckets. All output is what the command
# really prints.
#
# usage: latency-picture.sh FOLDER    (as root; FOLDER is for the pictures)

set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../tracing_demo.sh
. "$(dirname "$0")/../tracing_demo.sh"

[ $# = 1 ] || fail 'it takes the folder for the pictures'
[ "$(id -u)" = 0 ] || fail 'this needs root'
mkdir -p "$1"
PATH=$PATH:$(cd "$(dirname "$0")/../../tools/tracing/hist" && pwd)
export PATH PYTHONDONTWRITEBYTECODE=1

# Tasks that sleep and are woken, with processors that are busy half of the time.
work() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		sleep 0.1
		if ((i % 4 == 3)); then timeout 0.4 sh -c 'while :; do :; done' & fi
	done
	wait
}
export -f work

say 'How long tasks wait for a processor, for people who would rather look.'
show "hist.py latency sched_waking sched_switch --key pid=next_pid -i 100ms --svg '$1/wakeup-latency.svg' --heatmap '$1/wakeup-heatmap.svg' -- bash -c work"
expect '^time from sched:sched_waking to sched:sched_switch: [0-9,]+ hits in [0-9.]+ s$' 1
expect '^ *[0-9]+(-[0-9]+)? +[0-9,]+ +[0-9.]+ % +[█▏▎▍▌▋▊▉]'
expect '^p50 [0-9,]+  p90 [0-9,]+  p99 [0-9,]+  p99.9 [0-9,]+ .*\(us\)$' 1
for name in latency heatmap; do
	grep -q '^</svg>$' "$1/wakeup-$name.svg" || fail "there is no picture $1/wakeup-$name.svg"
done
say "Pictures: $1/wakeup-latency.svg, $1/wakeup-heatmap.svg"
