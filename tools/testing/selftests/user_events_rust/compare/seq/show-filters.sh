# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# show_event_filters and show_event_triggers.
make_events
put events/user_events/num/filter 'id == 1'
put events/user_events/pair/trigger 'hist:keys=id if part > 1'
put events/user_events/pair/trigger 'traceoff:3'
grep user_events show_event_filters
grep user_events show_event_triggers
put events/user_events/num/filter 0
