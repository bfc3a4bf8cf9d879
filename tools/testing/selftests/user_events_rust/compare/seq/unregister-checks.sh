# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Reasons to refuse an unregistration.
echo 'unreg slot=0 bit=0' | ue
ue <<'END'
reg slot=0 bit=3 : u1 u32 a
unreg slot=0 bit=3 size=0
unreg slot=0 bit=3 size=15
unreg slot=0 bit=3 size=5000
unreg slot=0 bit=3 size=20 tail=00000001
unreg slot=0 bit=3 r1=1
unreg slot=0 bit=3 r2=1
unreg slot=0 bit=4
unreg slot=1 bit=3
unreg slot=0 off=1 bit=3
unreg slot=0 bit=255
fd 7
unreg slot=0 bit=3 size=32
unreg slot=0 bit=3
END
