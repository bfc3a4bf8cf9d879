# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# The records of an event that is gone.
ue <<'END'
reg slot=0 bit=0 : old u32 a
put events/user_events/old/enable 1
w 0 u32:77
put events/user_events/old/enable 0
END
gone old
body | sed -E 's/type [0-9]+/type N/'
put dynamic_events 'u:newer u64 z'
body
put dynamic_events '-:newer u64 z'
body
