# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# The same word and bit again.
ue <<'END'
reg slot=0 bit=0 : q1 u32 a
reg slot=0 bit=0 : q1 u32 a
reg slot=0 bit=0 : q2 u32 a
reg slot=0 bit=1 : q2 u32 a
fd 4
reg slot=0 bit=1 : q1 u32 a
reg slot=1 bit=0 : q1 u32 a
reg slot=0 bit=32 width=8 : q1 u32 a
reg slot=0 bit=0 width=8 : q1 u32 a
fork
  reg slot=0 bit=0 : q1 u32 a
  unreg slot=0 bit=0
  reg slot=0 bit=0 : q1 u32 a
end
unreg slot=0 bit=32
unreg slot=0 bit=0
unreg slot=0 bit=0
END
