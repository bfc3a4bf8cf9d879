# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Triggers that share a table by name.
make_events
trig num 'hist:name=foo:keys=id:vals=total'
trig pair 'hist:name=foo:keys=id:vals=total'
trig pair 'hist:name=foo'
trig text 'hist:name=foo:keys=msg'
trig text 'hist:name=foo'
trig num 'hist:name=foo:keys=id:vals=total'
num 1 0 5 a
pair 1 0 6 2 0 7
show num pair
trig pair 'hist:name=foo:pause'
num 1 0 5 a >/dev/null
pair 1 0 6 >/dev/null
show num pair
trig num 'hist:name=foo:cont'
trig pair 'hist:name=foo:clear'
show num pair
trig num '!hist:name=foo:keys=id:vals=total'
triggers num
show pair
trig num '!hist:keys=id:vals=total'
trig pair '!hist:keys=id:vals=total'
trig pair '!hist:name=foo'
triggers num pair
