# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Strings as keys, two sort keys, a key that is too large.
make_events
trig num 'hist:keys=tag,id:vals=total:sort=tag,total.descending'
num 1 0 10 bb 2 0 30 aa 3 0 20 aa 1 0 5 bb 9 0 1 zzzzzzzz
show num
trig text 'hist:keys=msg:sort=msg'
text 1 hello
text 1 world
text 1 hello
text 1 "$(printf 'L%.0s' $(seq 300))"
show text
trig text 'hist:keys=msg,msg'
trig text 'hist:keys=msg,common_comm'
