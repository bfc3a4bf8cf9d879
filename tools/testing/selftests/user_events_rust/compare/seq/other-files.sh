# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# trace_pipe, the files of each processor, id and headers.
make_events
echo 1 >events/user_events/pair/enable
pair 1 2 3 4 5 6
timeout 1 cat trace_pipe | sed 's/.*pair:/pair:/'
pair 7 8 9 >/dev/null
for c in per_cpu/cpu*/trace; do grep -a 'pair:' "$c" | sed 's/.*pair:/pair:/'; done
[ "$(cat events/user_events/pair/id)" -gt 0 ] && echo id ok
cat events/header_page events/header_event
