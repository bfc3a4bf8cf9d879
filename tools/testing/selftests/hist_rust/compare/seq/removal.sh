# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# The parts of a command that must match to remove a trigger.
make_events
f=$E/num/trigger
put $f 'hist:keys=id:vals=total:sort=total:size=256 if delta > 0'
for c in keys=id keys=id:vals=total keys=id:vals=total:sort=total 'keys=id:vals=total:sort=total if delta > 1' \
	'keys=id:vals=total:sort=total:size=4096 if delta > 0' 'keys=id:vals=total:sort=total if delta > 0' keys=nosuch; do
	trig num "!hist:$c"
	triggers num
done
put $f 'hist:keys=id'
put $f 'hist:keys=tag'
put $f 'traceoff:1'
triggers num
new $f 'hist:keys=delta'
triggers num
new $f ''
triggers num
put $f '!traceoff'
