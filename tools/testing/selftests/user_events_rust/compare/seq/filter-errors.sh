# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Filters that are refused.
make_events
for f in '(id == 1' 'id == 1)' 'tag == "x' 'tag == x' 'id = 1' 'id ==' 'id' '== 1' 'nosuch == 1' 'tag > "a"' 'id == "a"' 'tag == 1' '&& id == 1' 'id == 1 &&' 'id == 1 & 2' 'id == 1 id == 2' 'id == 999999999999999999999999' 'id ~ "1"' '!' '()' 'CPUS{0' 'CPU & CPUS{x}' 'id == 0x' 'id.function == schedule'; do
	try events/user_events/num/filter "$f"
	cat events/user_events/num/filter
	try events/user_events/num/trigger "hist:keys=id if $f"
	put events/user_events/num/filter 0 >/dev/null
	put events/user_events/num/trigger "!hist:keys=id if $f" >/dev/null
done
