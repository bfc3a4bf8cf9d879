#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Measures how long tasks wait for a processor after they were woken, in the
# kernel: a variable of the histogram on sched_waking keeps the time, the one on
# sched_switch subtracts it and generates a synthetic event with the difference,
# and a third histogram counts those by length.
# Documentation/trace/histogram.rst explains this recipe. All output is what the
# commands really print.
#
# usage: wakeup-latency.sh    (as root)

set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../tracing_demo.sh
. "$(dirname "$0")/../tracing_demo.sh"

cd /sys/kernel/tracing
[ "$(id -u)" = 0 ] || fail 'this needs root'

WAKING=events/sched/sched_waking
SWITCH=events/sched/sched_switch
LATENCY=events/synthetic/wakeup_latency
SAVE='hist:keys=pid:ts0=common_timestamp.usecs if comm=="sleep"||comm=="bash"'
MATCH='hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).trace(wakeup_latency,$wakeup_lat,next_pid)'
COUNT='hist:keys=lat.log2:sort=lat'

say 'A histogram of wakeup latencies: variables, a synthetic event, a handler.'
show "echo 'wakeup_latency u64 lat; pid_t pid' >> synthetic_events"
show "echo '$SAVE' > $WAKING/trigger"
show "echo '$MATCH' > $SWITCH/trigger"
show "echo '$COUNT' > $LATENCY/trigger"
for _ in 1 2 3 4 5 6 7 8; do sleep 0.01; done
show "cat $LATENCY/hist"
expect '^\{ lat: ~ 2\^[0-9]+ +\} hitcount: +[0-9]+$'
expect '^    Hits: [1-9]'

say 'What belongs to it goes in the opposite order: a histogram that is referred to stays.'
refused "echo '!$SAVE' > $WAKING/trigger" 'Device or resource busy'
show "echo '!$COUNT' > $LATENCY/trigger"
show "echo '!$MATCH' > $SWITCH/trigger"
show "echo '!$SAVE' > $WAKING/trigger"
show "echo '!wakeup_latency' >> synthetic_events"
