# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Triggers, variables and error_log are an instance's own.
make_events
i=instances/i1
mkdir $i
put $i/$E/pair/trigger 'hist:keys=id'
put $E/pair/trigger 'hist:keys=part'
pair 1 2 3
cat $E/pair/hist $i/$E/pair/hist
put $i/$E/pair/trigger 'hist:keys=id:x1=total'
rmdir $i 2>&1 | sed 's/.*: //'
put $i/$E/pair/trigger 'hist:keys=nosuch'
sed -E 's/^\[ *[0-9.]+\] //' $i/error_log
cat error_log
# shellcheck disable=SC2016
put $E/num/trigger 'hist:keys=id:y1=$x1'
elog
put $i/$E/pair/trigger '!hist:keys=id:x1=total'
rmdir $i && echo removed
