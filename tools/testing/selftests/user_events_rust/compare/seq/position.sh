# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Positions, reading, other ioctls.
ue <<'END'
reg slot=0 bit=0 : w3 u32 a
put events/user_events/w3/enable 1
pw 0 0 u32:7
pw 4 0 u32:7
lseek 0
lseek 8
read
ioctl 0x40082a03
ioctl 0x00002a00
ioctl 0x00005401
ioctl 0xc0102a00
END
body
