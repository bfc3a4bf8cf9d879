# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Truncating dynamic_events while something is used.
make_events
ue <<'END'
reg slot=0 bit=0 : auto u32 a
trunc dynamic_events
cat dynamic_events
put dynamic_events -:auto u32 a
END
gone auto
new dynamic_events ''
cat dynamic_events
