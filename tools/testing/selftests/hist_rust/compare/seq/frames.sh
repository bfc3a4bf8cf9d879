# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# The frames of stacks: as a key, as a variable, in a synthetic event, with records.
make_events
put dynamic_events 's:framed unsigned long[] stk'
trig num 'hist:keys=common_stacktrace'
trig num 'hist:keys=id:stk=common_stacktrace:onmatch(user_events.num).trace(framed,$stk)'
trig pair 'hist:keys=common_stacktrace,id'
echo 1 >events/synthetic/framed/enable
other synthetic/framed 'hist:keys=stk.stacktrace'
other ftrace/print 'hist:keys=common_stacktrace if buf == "framed"'
other syscalls/sys_enter_umask 'hist:keys=common_stacktrace if mask == 31'
num 1 0 0 a
printf 'reg bit=0 : %s\nwv 0 u32:1 u32:2 u64:3\n' "$PAIR" | ue
printf framed >trace_marker
(umask 37)
cat $E/num/hist $E/pair/hist events/ftrace/print/hist events/syscalls/sys_enter_umask/hist events/synthetic/framed/hist
body
: >trace
put $E/text/trigger stacktrace
echo 1 >$E/text/enable
text 1 abc
echo 1 >options/stacktrace
num 2 0 0 b
pair 2 0 0
body
echo 0 >options/stacktrace
