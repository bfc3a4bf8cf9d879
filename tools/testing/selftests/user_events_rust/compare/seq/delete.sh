# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# DIAG_IOCSDEL: the users of an event.
make_events
ue <<END
fd 1
reg slot=0 bit=0 : $NUM
del num
fd 2
del num
del nosuch
del $(printf 'x%.0s' $(seq 600))
del
fd 1
unreg slot=0 bit=0
close 1
fd 2
put events/user_events/num/enable 1
del num
put events/user_events/num/enable 0
del num
del num
reg slot=1 bit=0 : auto1 u32 x
del auto1
fd 3
del auto1
END
