# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# The messages of error_log, and the failures without an entry. The messages about names,
# expressions, clocks, and missing or existing triggers are covered by other sequences.
# No command leads to "Too many field variables defined", which is for 64 where 16
# variables are too many already, nor to "No params found for save()", as an empty list
# has a parameter that is invalid.
make_events
synth 'syn u64 lat; u32 id' 'mark u64 ip'
put $E/num/trigger 'hist:keys=id:x1=total'
while read -r c; do
	trig pair "$c"
	drop pair
done <<'X'
hist
hist:
hist:vals=total
hist:keys=
hist:keys=nosuch
hist:keys=id:vals=nosuch
hist:keys=id:sort=
hist:keys=id:sort=total
hist:keys=id:sort=id.foo
hist:keys=id:sort=id,hitcount,id
hist:keys=id:sort=id,
hist:keys=id:foo
hist:keys=id:=total
hist:keys=id:a1=
hist:keys=id:a1=total,b1
hist:keys=id:a1=nosuch
hist:keys=id:a1=common_comm+1
hist:keys=id.execname
hist:keys=id.foo
hist:keys=id.percent
hist:keys=id:vals=total.log2
hist:keys=id:vals=total.sym
hist:keys=id:a1=total.buckets=4
hist:keys=id:onmatch(user_events.num
hist:keys=id:onmatch(num).trace(syn,$x1,id)
hist:keys=id:onmatch(user_events.nosuch).trace(syn,$x1,id)
hist:keys=id:onmatch(user_events.num)
hist:keys=id:onmatch(user_events.num).
hist:keys=id:onmatch(user_events.num).trace(syn,$x1)
hist:keys=id:onmatch(user_events.num).trace(syn,$x1,id,part)
hist:keys=id:onmatch(user_events.num).trace(syn,id,id)
hist:keys=id:onmatch(user_events.num).trace(syn,$nosuch,id)
hist:keys=id:onmatch(user_events.num).trace(syn,nosuch,id)
hist:keys=id:onmatch(user_events.num).trace(syn,user_events.none.val,id)
hist:keys=id:onmatch(user_events.num).trace(syn,num.total,id)
hist:keys=id:onmatch(user_events.num).trace(syn,user_events.num.nosuch,id)
hist:keys=id:onmatch(user_events.text).trace(syn,user_events.text.msg,id)
hist:keys=id:onmatch(user_events.num).trace(syn,v,id)
hist:keys=id:onmatch(user_events.num).trace(syn,,id)
hist:keys=id:onmatch(user_events.num).trace(syn)
hist:keys=id:onmatch(user_events.num).trace()
hist:keys=id:onmatch(user_events.num).nosyn($x1)
hist:keys=id:onmatch(user_events.num).save(part)
hist:keys=id:onmatch(user_events.num).snapshot()
hist:keys=id:onmax(total).save(id)
hist:keys=id:onmax($zz).save(id)
hist:keys=id:onmax($zz.save(id)
hist:keys=id:a1=total:onmax($a1)
hist:keys=id:a1=total:onmax($a1).save(nosuch)
hist:keys=id:a1=total:onmax($a1).save()
hist:keys=id:part=total:onmax($part).save(part)
hist:keys=id:__max=total:onmax($__max).save(part)
hist:keys=id:__change=total:onchange($__change).save(part)
hist:keys=id:a1=total:onmax($a1).save(id):onmax($a1).save(part)
hist:keys=id:a1=total:onmax($a1).snapshot(
hist:keys=id:onfoo($a1).save(id)
hist:keys=id if
hist:keys=id if nosuch == 1
foo:keys=id
X
trig pair "hist:keys=id$(for i in $(seq 17); do printf ':v%d=total' $i; done)"
trig pair "hist:keys=id$(for i in $(seq 15); do printf ':v%d=total' $i; done):onmax(\$v1).save(part)"
trig pair "hist:keys=id$(for i in $(seq 16); do printf ':v%d=total' $i; done):onmax(\$v1).save(part)"
trig pair "hist:keys=id:onmatch(user_events.num).trace(syn$(for i in $(seq 65); do printf ',w%d' $i; done))"
trig num 'hist:keys=tag:x1=delta'
trig pair "hist:keys=id:a1=total$(for _ in $(seq 9); do printf ':onmax($a1).trace(syn,$a1,id)'; done)"
triggers pair
# "Couldn't find synthetic variable": C creates it, but does not find it there.
other ftrace/print 'hist:keys=common_pid'
trig pair 'hist:keys=common_pid:onmatch(ftrace.print).trace(mark,ftrace.print.ip)'
drop pair
: >events/ftrace/print/trigger
