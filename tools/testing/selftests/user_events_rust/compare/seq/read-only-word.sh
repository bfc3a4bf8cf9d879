# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# The word in a page that cannot be written.
ue <<'END'
prot 1 r
reg slot=1024 bit=0 : ro u32 a
prot 1 rw
reg slot=1024 bit=0 : ro u32 a
prot 1 r
put events/user_events/ro/enable 1
val 1024
prot 1 rw
sh for i in 1 2 3 4 5; do echo 0 >events/user_events/ro/enable; echo 1 >events/user_events/ro/enable; sleep 0.1; done
wait 1024 1
prot 1 r
unreg slot=1024 bit=0
unreg slot=1024 bit=0
val 1024
END
