# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# Files that are open while their event is deleted.
make_events
fds=
for f in enable filter format trigger hist id; do
	exec {fd}<events/user_events/pair/$f
	fds="$fds $f:$fd"
done
exec {wf}>>events/user_events/pair/trigger
put dynamic_events "-:$PAIR"
for x in $fds; do
	n=${x##*:}
	printf '%s: ' "${x%%:*}"
	cat <&"$n" 2>&1 | sed 's/.*: //; s/^[0-9]*$/a number/' | head -n 2
	exec {n}<&-
done
(echo 'hist:keys=id' >&"$wf") 2>&1 | sed 's/.*: //'
exec {wf}>&-
find events/user_events -mindepth 1 -maxdepth 1 | sort
