# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# exec and exit drop the enable words.
ue <<'END'
reg slot=0 bit=0 : exe u32 a
sh grep -c ':exe ' dynamic_events
exec for i in $(seq 100); do [ -e events/user_events/exe ] || break; sleep 0.05; done; grep -c ':exe ' dynamic_events
END
