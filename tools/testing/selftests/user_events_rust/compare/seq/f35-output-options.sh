# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# raw, hex, bin, fields, verbose.
make_events
echo 1 >events/user_events/pair/enable
pair 1 2 3
id=$(cat events/user_events/pair/id)
for o in raw hex bin fields verbose; do
	echo 1 >options/$o
	printf '%s: ' $o
	grep -av '^#' trace | sed "s/type: $id/type: ID/" | grep -aoE 'type: ID|pair:.*' | norm
	echo 0 >options/$o
done
echo 0 >options/context-info
grep -v '^#' trace
echo 1 >options/context-info
