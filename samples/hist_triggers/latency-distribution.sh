#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The distribution of wakeup latencies, with what only the histograms in Rust have:
# maps that more tasks than they have elements do not fill, parts of powers of two,
# quantiles, the least, the largest and the mean value, what accompanies the least
# one, a file for programs that is read and reset without losing a hit.
# Documentation/trace/rust/hist.rst describes them; wakeup-latency.sh explains how
# the latencies are computed. All output is what the commands really print.
#
# usage: latency-distribution.sh    (as root)

set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../tracing_demo.sh
. "$(dirname "$0")/../tracing_demo.sh"

cd /sys/kernel/tracing
[ "$(id -u)" = 0 ] || fail 'this needs root'
grep -q 'log2=K' README || fail 'this kernel has the histograms in C, which cannot do this'

WAKING=events/sched/sched_waking
SWITCH=events/sched/sched_switch
LATENCY=events/synthetic/wakeup_latency
SAVE='hist:keys=pid:ts0=common_timestamp.usecs:reuse if comm=="sleep"||comm=="bash"'
MATCH='hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).trace(wakeup_latency,$wakeup_lat,next_pid):reuse'
COUNT='hist:keys=lat.log2=2:vals=hitcount,lat.min,lat.max,lat.avg:sort=lat:quantiles'
LEAST='hist:keys=common_cpu:low=lat:onmin($low).save(pid)'

say 'With reuse, a new task gets the room of one whose latency is known.'
say 'Eight ranges between two powers of two would be .log2=3; these are four.'
show "echo 'wakeup_latency u64 lat; pid_t pid' >> synthetic_events"
show "echo '$SAVE' > $WAKING/trigger"
show "echo '$MATCH' > $SWITCH/trigger"
show "echo '$COUNT' > $LATENCY/trigger"
say 'And on each processor the shortest latency, with the task that had it.'
show "echo '$LEAST' >> $LATENCY/trigger"
for _ in 1 2 3 4 5 6 7 8; do sleep 0.01; done
show "cat $LATENCY/hist"
expect '^\{ lat: ~ [0-9]+-[0-9]+ \} hitcount: +[0-9]+  lat.min: +[0-9]+  lat.max: +[0-9]+  lat.avg: +[0-9]+$'
expect '^lat.p50: +[0-9]+  lat.p90: +[0-9]+  lat.p99: +[0-9]+  lat.p99.9: +[0-9]+$' 1
expect '^	min: +[0-9]+  pid: +[0-9]+$'

say 'For programs: opened for reading and writing, the file gives each hit once.'
show "cat <> $LATENCY/hist_raw"
expect '^[0-9]+	[0-9]+	[0-9]+	[0-9]+	[0-9]+	[0-9]+$'

say 'What belongs to it goes in the opposite order.'
show "echo '!$LEAST' >> $LATENCY/trigger"
show "echo '!$COUNT' > $LATENCY/trigger"
show "echo '!$MATCH' > $SWITCH/trigger"
show "echo '!$SAVE' > $WAKING/trigger"
show "echo '!wakeup_latency' >> synthetic_events"
