# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Persistent, or removed with its last user.
ue <<'END'
reg slot=0 bit=0 : au u32 a
reg slot=1 bit=0 flags=1 : pe u32 a
END
gone au
cat dynamic_events
ue <<'END'
reg slot=0 bit=0 : up u32 a
reg slot=1 bit=0 flags=1 : up u32 a
END
sleep 0.5
cat dynamic_events
ue <<'END'
reg slot=0 bit=0 : held u32 a
put events/user_events/held/enable 1
END
sleep 0.5
cat dynamic_events
echo 0 >events/user_events/held/enable
gone held
cat dynamic_events
