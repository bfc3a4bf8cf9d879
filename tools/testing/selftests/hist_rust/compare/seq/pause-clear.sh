# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# pause, cont and clear, for an existing trigger and for none.
make_events
for c in :clear :cont :continue :pause ''; do trig pair "hist:keys=id$c"; done
triggers pair
pair 1 0 0
show pair
for c in :cont :pause:clear :cont :clear :clear-hist; do
	trig pair "hist:keys=id$c"
	pair 1 0 0 >/dev/null
	show pair
done
