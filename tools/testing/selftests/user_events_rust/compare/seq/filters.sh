# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Filters: operators and types.
make_events
echo 1 >events/user_events/num/enable
for f in 'id == 2' 'id != 2' 'delta < -1' 'delta >= -2' 'total >= 0x20' 'total & 16' 'id & 1' 'tag == "aa"' 'tag != "aa"' 'tag ~ "a*"' 'tag ~ "*b"' 'tag ~ "?b"' 'tag ~ "[ab]a"' '!(id == 1) && delta != -3' 'id==1 || tag=="bb"' 'id==1||id==2&&delta==0' 'common_pid > 0' 'CPU < 4096' 'CPUS{0-63} & CPU' 'CPU & CPUS{0-63}' 'common_type == 1'; do
	: >trace
	printf '## %s : ' "$f"
	put events/user_events/num/filter "$f"
	cat events/user_events/num/filter
	num 1 -1 16 aa 2 -2 32 bb 3 -3 48 ab >/dev/null
	body | sed 's/ total=.*//'
done
put events/user_events/num/filter 0
cat events/user_events/num/filter
