# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# onmax and onchange with save.
make_events
trig num 'hist:keys=id:x1=total:onmax($x1).save(delta,tag,common_pid)'
trig pair 'hist:keys=id:y1=total:onchange($y1).save(part)'
num 1 1 10 aa 1 2 50 bb 1 3 50 cc 1 4 20 dd 2 7 0 zz
pair 1 1 0 1 2 5 1 3 5 1 4 0 1 5 5
all user_events/num
all user_events/pair
