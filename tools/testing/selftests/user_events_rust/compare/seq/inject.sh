# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Records that are created by writing to inject.
make_events
try events/user_events/num/trigger 'hist:keys=id,tag'
for s in 'id=5 delta=-7 total=99 tag="abc"' 'id=6' 'id=0x10 total=010' 'nosuch=1' 'id=' 'id="a"' 'tag=5' 'tag="waytoolongstring"' ''; do
	printf '[%s] ' "$s"
	put events/user_events/num/inject "$s"
done
put events/user_events/text/inject 'id=1 msg="dyn"'
body
hist num
