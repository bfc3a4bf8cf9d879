# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Events with several formats, as source and in onmatch().
synth 'ms u64 lat'
M=events/user_events_multi
cat >/tmp/mm.sh <<'X'
a=$(ls $M | grep '^mm' | head -n 1)
b=$(ls $M | grep '^mm' | tail -n 1)
put() { printf '%s' "$2" >>"$1" && echo ok; }
if [ "$1" = set ]; then
	put $M/$a/trigger 'hist:keys=key:x1=val'
	put $M/$b/trigger "hist:keys=key:y1=\$x1:onmatch(user_events_multi.$a).trace(ms,\$y1)"
	put $M/$b/trigger "hist:keys=key:z1=user_events_multi.$a.\$x1"
else
	for e in $b $a; do cat $M/$e/trigger $M/$e/hist; done
	cat error_log
	for e in $b $a; do : >$M/$e/trigger; done
fi 2>&1 | sed -E 's/mm\.[0-9a-f]+/mm.ID/g; s/^\[ *[0-9.]+\] //; s/^.*: ([A-Z])/\1/'
X
export M
ue <<'X'
reg slot=0 bit=0 flags=2 : mm u32 key; u64 val
reg slot=1 bit=0 flags=2 : mm u32 key; u32 num
sh cd /sys/kernel/tracing; bash /tmp/mm.sh set
w 0 u32:1 u64:33
w 1 u32:1 u32:44
sh cd /sys/kernel/tracing; bash /tmp/mm.sh show
X
body
