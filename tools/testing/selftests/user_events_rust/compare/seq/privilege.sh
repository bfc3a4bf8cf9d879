# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Operations that need CAP_PERFMON.
make_events
chmod 755 .
chmod 666 user_events_data dynamic_events
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
commands='reg slot=0 bit=0 : cap1 u32 a
reg slot=1 bit=0 flags=1 : cap2 u32 a
reg slot=1 bit=0 flags=2 : cap3 u32 a
reg slot=1 bit=1 flags=1 : '$PAIR'
del num
put dynamic_events u:capx u32 a
put dynamic_events -:'$PAIR'
sh ls -d events/user_events/cap1'
echo "$commands" | as_nobody --bounding-set -all "$UEDRIVE"
eventually test ! -e events/user_events/cap1
echo "$commands" | as_nobody --inh-caps +perfmon --ambient-caps +perfmon "$UEDRIVE"
# From the beginning again, with CAP_SYS_ADMIN in its place.
gone cap1
eventually test ! -e events/user_events_multi
deleted() { [ "$(put dynamic_events "$1")" = ok ]; }
eventually deleted '-:cap2 u32 a'
eventually deleted '-:capx u32 a'
make_events
cat dynamic_events
echo "$commands" | as_nobody --inh-caps +sys_admin --ambient-caps +sys_admin "$UEDRIVE"
chmod 640 user_events_data dynamic_events
chmod 700 .
gone cap1
gone cap3
cat dynamic_events
