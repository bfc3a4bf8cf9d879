# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# One key: the table, what is read back, hist_debug.
make_events
cat $E/num/trigger $E/num/hist
trig num 'hist:keys=id'
num 1 0 0 a 2 0 0 a 2 0 0 a 3 0 0 a 3 0 0 a 3 0 0 a
all user_events/num
