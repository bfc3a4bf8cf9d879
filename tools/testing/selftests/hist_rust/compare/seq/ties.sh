# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Rows that are equal in what is sorted by.
make_events
trig num 'hist:keys=id'
num $(for i in $(seq 1 40); do echo $((i * 7919 % 251)) 0 0 a; done)
show num
