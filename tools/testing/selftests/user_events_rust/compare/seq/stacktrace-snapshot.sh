# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# stacktrace and snapshot.
make_events
for t in 'stacktrace:1 if id == 2' 'snapshot:1 if id == 3' stacktrace snapshot; do put events/user_events/pair/trigger "$t"; done
cat events/user_events/pair/trigger
echo 1 >events/user_events/pair/enable
pair 1 0 0 2 0 0 3 0 0 4 0 0
# The path of the write differs between the implementations.
body | grep -E 'pair:|stack trace'
echo --
body snapshot | grep pair:
for t in '!stacktrace' '!snapshot'; do put events/user_events/pair/trigger "$t"; done
echo 0 >snapshot
