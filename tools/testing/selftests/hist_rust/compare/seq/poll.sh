# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# poll() on hist: data since the last read, and since the last poll.
make_events
put $E/pair/trigger 'hist:keys=id'
polls() {
	perl -e '
		open F, "<", "events/user_events/pair/hist" or die;
		sub p { my ($n, $t) = @_; my $r = ""; vec($r, fileno F, 1) = 1; my $e = $r; my $c = select($r, undef, $e, $t);
			printf "%s n=%d in=%d pri=%d\n", $n, $c, vec($r, fileno F, 1), vec($e, fileno F, 1) }
		p("start", 0);
		if (!($x = fork)) { select undef, undef, undef, 0.5; open W, "|-", "$ENV{UEDRIVE} >/dev/null";
			print W "reg bit=0 : pair u32 id; u32 part; u64 total\nw 0 u32:1 u32:0 u64:0\n"; close W; exit }
		p("hit", 20);
		p("again", 0);
		sysread F, $b, 65536;
		p("read", 0);
		waitpid $x, 0'
}
polls
pair 1 0 0 >/dev/null
polls
