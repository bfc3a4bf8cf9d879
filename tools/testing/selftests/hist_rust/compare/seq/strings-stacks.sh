# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Strings and stacks as variables, in synthetic events.
make_events
put dynamic_events 's:dynst char[] m; char[8] tg; unsigned long[] stk'
grep -v ^ID events/synthetic/dynst/format
trig num 'hist:keys=id:tg=tag:stk=common_stacktrace:mm=tag:onmatch(user_events.num).trace(dynst,$mm,$tg,$stk)'
echo 1 >events/synthetic/dynst/enable
other synthetic/dynst 'hist:keys=m,stk.stacktrace'
other synthetic/dynst 'hist:keys=m,tg'
num 1 0 0 hello 1 0 0 hello2
body | sed -n -E 's/^(dynst: .*STACK:).*/\1/p'
cat events/synthetic/dynst/trigger
grep -c hitcount: events/synthetic/dynst/hist
cat $E/num/hist_debug
