# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# set_event, and the states of enable files.
make_events
grep user_events available_events | sort
for s in user_events:num '!user_events:num' pair 'user_events:' '!user_events:*' '*:text' ':num' nosuch 'user_events:nosuch' '!'; do
	printf '%-22s ' "[$s]"
	put set_event "$s"
	grep user_events set_event | sort | tr '\n' ' '
	cat events/user_events/enable
done
new set_event ''
cat set_event events/user_events/enable
for v in 0 1 2 x ''; do
	printf '[%s] ' "$v"
	put events/user_events/num/enable "$v"
done
cat events/user_events/num/enable
put events/user_events/pair/trigger stacktrace
cat events/user_events/pair/enable
put events/user_events/pair/trigger '!stacktrace'
cat events/user_events/pair/enable
