# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# A child has enable words of its own.
ue <<'END'
reg slot=0 bit=0 : fk u32 a
put events/user_events/fk/enable 1
fork
  wait 0 1
  w 0 u32:11
  put events/user_events/fk/enable 0
  wait 0 0
  put events/user_events/fk/enable 1
  wait 0 1
  unreg slot=0 bit=0
  val 0
  unreg slot=0 bit=0
end
wait 0 1
put events/user_events/fk/enable 0
wait 0 0
trace
unreg slot=0 bit=0
END
