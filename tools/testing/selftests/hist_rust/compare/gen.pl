#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
#
# Writes sequences for histdrive: trigger commands generated from their grammar,
# and mutated ones. The same seed results in the same text.
#
# usage: compare/gen.pl SEED COUNT
#
# Known differences between the kernels (deviations.rst) are kept out of the
# ordinary sequences, and are in sequences whose names begin with the name of the
# row, as for user_events_rust/compare/gen.pl. Numbers are negative in the sequences
# whose names have "-signed": what C shows of these is known as a whole. Buckets of
# signed fields are in those that have "-buckets", large numbers as system calls in
# "-syscall".

use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/../../user_events_rust/compare/rnd.pl";

my ($seed, $count) = @ARGV;
die "usage: $0 SEED COUNT\n" unless defined $count;
seed($seed);

# The events of histdrive.c. Signed fields are negative only after "signed".
my $negative = 0;
my %unsigned = (num => [qw(id total kind pad)], pair => [qw(id part total)]);
my %signed = (num => [qw(delta tiny)], pair => []);
my %text = (num => [qw(tag msg)], pair => [qw(tag note)]);
my $strings = 'tag|msg|note|comm|COMM|common_comm';

sub some { my @a = @_; my $n = shift @a; my %had; return grep { !$had{$_}++ } map { pick(@a) } 1 .. $n }
sub number {
	my $e = shift;
	return pick(@{$signed{$e}}) if $negative && @{$signed{$e}} && chance(40);
	return pick(@{$unsigned{$e}}, @{$unsigned{$e}}, @{$signed{$e}});
}

sub key {
	my $e = shift;
	my $r = rnd(100);
	return number($e) if $r < 30;
	return number($e) . '.' . pick('hex', 'log2', 'sym', 'sym-offset', 'syscall', 'usecs',
		'buckets=' . pick(1, 2, 3, 10, '0x10', 100), 'bucket=' . pick(5, 8)) if $r < 60;
	return pick(@{$text{$e}}) if $r < 80;
	return pick('common_pid', 'common_pid.execname', 'common_comm', 'comm', 'COMM') if $r < 90;
	return pick('common_stacktrace', 'stacktrace') if $r < 94;
	return 'common_timestamp' . pick('', '.usecs') if $r < 96;
	return number($e) . '+' . pick(1, 7, number($e));
}

sub value {
	my $e = shift;
	return 'hitcount' . pick('', '', '.percent', '.graph', '.hex') if chance(20);
	return number($e) . pick('', '', '', '.hex', '.percent', '.graph', '.usecs');
}

# An expression that does not round. The sign is that of the first operand: it is signed only
# where numbers are negative. Nothing is divided there that has a sign, or by what has one.
sub expression {
	my ($e, @refs) = @_;
	my $x = @refs && chance(30) ? pick(@refs) : chance(85) ? pick(@{$unsigned{$e}}) : pick(1, 10, '0x20', 1000000);
	$x = pick(@{$signed{$e}}) if $negative && !@refs && @{$signed{$e}} && chance(40);
	for (1 .. pick(0, 1, 1, 2, 3)) {
		my $op = pick('+', '-', '*', '/');
		my $y = $op eq '/' ? pick(1, 2, 4, 64, 4096, pick(@{$unsigned{$e}}))
			: @refs && chance(40) ? pick(@refs) : chance(60) ? number($e) : pick(0, 1, 3, 100, '0xff', 1 << 40);
		$x .= "$op$y";
	}
	return $x;
}

sub variable {
	my ($e, $name, @refs) = @_;
	my $r = rnd(100);
	return "$name=" . expression($e, @refs) if $r < 55;
	return "$name=" . number($e) . pick('', '', '.hex') if $r < 70;
	return "s$name=" . pick(@{$text{$e}}, 'common_comm', 'common_pid.execname') if $r < 80;
	return "$name=common_timestamp" . pick('', '.usecs') if $r < 88;
	return "$name=-(" . pick(@{$unsigned{$e}}, $negative ? @{$signed{$e}} : ()) . pick('', '+1', '*2') . ')' if $r < 91;
	return "s$name=common_stacktrace" if $r < 94;
	return "$name=" . pick(1, 42, '0x10', '3*5', '64/4', '1+2*3', '5-10', '1-2*3', '0-1');
}

sub filter {
	my $e = shift;
	return pick('id > -1', 'total == -5', 'total & -8', 'id != -1 || id < 3', 'total >= -9223372036854775808') if chance(10);
	return pick('delta < -3', 'delta == -10', 'delta >= -2147483648 && tiny != -1', 'tiny > -50', 'tiny <= -128 || delta < 0',
		'delta & -8', '!(delta != -1)', 'delta > -2147483649', 'tiny == -0x10') if $e eq 'num' && chance($negative ? 40 : 10);
	return pick('id > 1', 'id == 2 || total > 100', 'tag == "bb"', 'tag ~ "*o*"', 'total & 8', '!(id < 3)',
		'common_pid > 0', 'id != 4 && ' . ($e eq 'num' ? 'msg ~ "*text*"' : 'note != "x"'));
}

# Sort keys: keys and values as they are, each of them one of a kind.
sub sorting {
	my %n;
	$n{$_}++ for @_;
	# Columns that are not shown or have no order cannot be compared.
	my @by = grep { $n{$_} == 1 && !/stack|[-+*\/]|^comm|COMM|timestamp/ } keys %n;
	@by = sort @by;
	return '' unless @by;
	return ':sort=' . join ',', map { $_ . pick('', '', '.descending', '.ascending') } some(pick(1, 1, 2), @by);
}

sub bare { return map { my $f = $_; $f =~ s/\..*//; $f } @_ }

# A whole command, and the names of its variables.
sub command {
	my ($e, %o) = @_;
	my @keys = $o{keys} ? @{$o{keys}} : some(pick(1, 1, 1, 2, 2, 3), map { key($e) } 1 .. 4);
	my (@vals, @vars, @clauses);
	if (chance(50)) {
		@vals = some(pick(1, 2), map { value($e) } 1 .. 3);
		# Another one may be seen as the same.
		my %names;
		@vals = grep { !$names{(bare($_))[0]}++ } @vals;
	}
	push @clauses, pick('vals', 'val', 'values') . '=' . join(',', @vals) if @vals;
	if ($o{vars} // chance(40)) {
		my @v = map { variable($e, ($o{prefix} // 'v') . $_, @{$o{refs} // []}) } 1 .. pick(1, 1, 2, 3);
		push @clauses, chance(50) ? join(',', @v) : @v;
		@vars = map { /^(\w+)=/ } @v;
	}
	push @clauses, 'size=' . pick(65, 128, 256, '0x400', 2048, 4096, 131072) if chance(15);
	push @clauses, pick('pause', 'nohitcount', 'NOHC', 'clock=mono', 'clock=global') if chance(10);
	push @clauses, @{$o{clauses} // []};
	my $sort = chance(50) ? sorting(bare(@keys), grep({ $_ ne 'hitcount' } bare(@vals)), 'hitcount') : '';
	push @clauses, $sort =~ s/^://r if $sort;
	my $text = join ':', pick('hist:keys=', 'hist:keys=', 'hist:key=') . join(',', @keys), @clauses;
	$text .= ' if ' . filter($e) if chance(20);
	return ($text, @vars);
}

# Commands for which C deviates, or depends on the contents of memory.
sub deviates {
	my $c = shift;
	return 1 if $c =~ /\b($strings)\.(log2|bucket|hex|sym|sys|usecs|exec|stack|percent|graph)/;
	return 1 if $c =~ /:val\w*=[^: ]*(\b($strings|common_stacktrace|stacktrace|STACKTRACE)\b|[-+*\/])/;
	return 1 if $c =~ /(save|trace|snapshot)[^(:.=,]+\(/;
	return 1 if $c =~ /onmatch.*onmatch/;
	return 1 if $c =~ /\.(percent|graph)\w/;
	return 1 if $c =~ /\b(cpu|CPU|common_cpu)\b/;
	return 1 if $c =~ /\bcommon_(pid|timestamp|type|flags)\.(log2|bucket)|common_(type|flags|preempt)/;
	return 1 if $negative && $c =~ m{\b(delta|tiny)\.bucket};
	return 1 if $negative && $c =~ m{(?<![*/])\b(delta|tiny)\b([*/][^-+*/:,)]+)*/};
	return 1 if $negative && $c =~ m{/(delta|tiny)\b};
	return 1 if $negative && $c =~ /\b(delta|tiny)\.(percent|graph)/ && $c =~ /:sort=[^:]*\b(delta|tiny)/;
	return 1 if $c =~ m{/(\d\w*)} && !grep { $1 eq $_ } 1, 2, 4, 64, 4096;
	return 1 if $c =~ /\$s\w+ *[-+*\/]|[-+*\/]\$s|\bs\w+\.(log2|bucket)/;
	# The keys of a reference are those of the variable.
	return 1 if $c =~ /\$/ && $c !~ /^hist:keys?=id(:[^:=]*\(|:(?!key)|$| )/;
	return 1 if $c =~ /:keys?=/ && $c =~ /\$/ && $c =~ /:keys?=.*:keys?=/;
	# Sorting by what is a key as well as a value.
	my ($keys) = $c =~ /keys?=([^: ]*)/;
	my ($vals) = $c =~ /:val\w*=([^: ]*)/;
	my ($sort) = $c =~ /:sort=([^: ]*)/;
	if (defined $keys && defined $vals && defined $sort) {
		for my $f (bare(split /,/, $sort)) {
			return 1 if grep({ $_ eq $f } bare(split /,/, $keys)) && grep({ $_ eq $f } bare(split /,/, $vals));
		}
	}
	return 1 if defined $sort && $sort =~ /comm/i;
	return 0;
}

# Breaks a command somewhere.
sub mutated {
	my $c = shift;
	for (1 .. pick(1, 1, 1, 2)) {
		my @parts = split /:/, $c, -1;
		@parts = ('') unless @parts;
		my $i = rnd(scalar @parts);
		$c = pick(
			sub { splice @parts, $i, 1; join ':', @parts },
			sub { splice @parts, $i, 0, $parts[$i]; join ':', @parts },
			sub { my $j = rnd(scalar @parts); @parts[$i, $j] = @parts[$j, $i]; join ':', @parts },
			sub { my $at = rnd(length $c); substr($c, $at, 1) = ''; $c },
			sub { my $at = rnd(length $c); substr($c, $at, 0) = pick(split //, '=:,.$()-+*/ x9\'"[]{}'); $c },
			sub { my $at = rnd(length $c); substr($c, $at, 1) = pick(split //, '=:,.$()-+*/ x9'); $c },
			sub { substr $c, 0, rnd(length $c) },
			sub { my @w = $c =~ /\b([a-z_]\w+)\b/g; my $w = pick(@w, 'hist'); my $n = pick('nosuch', 'id', 'total', 'tag', 'hitcount', '$nosuch', '7', 'common_pid', ''); $c =~ s/\b$w\b/$n/; $c },
			sub { $c =~ s/(\.\w+)(?=[:, ]|$)/pick('.foo', '.percent', '.log2', '.buckets', '.buckets=0', '.buckets=-5', '.buckets=x', '.execname', '.sym.hex', '.stacktrace', '.', '.descending')/e; $c },
			sub { $c . ':' . pick('foo', 'a=', '=b', 'sort=', 'sort=nosuch', 'sort=id,total,part', 'size=1', 'size=x', 'size=262144', 'clear', 'cont', 'continue', 'pause', 'nohc', 'clock=foo', 'vals=', 'vals=nosuch', 'name=', 'onmatch(', 'onmax($x)', 'onmax(id).save(total)', 'onchange($nosuch).save(id)', 'onmatch(num).trace(syn,total,id)', 'onmatch(user_events.none).trace(syn,total,id)', 'onmax().save()', 'onfoo(x).save(id)', 'a1=id,b1', 'a1=id+', 'a1=+id', 'a1=tag+1', 'a1=id*id*id*id*id', 'a1=id/0', 'a1=9z', 'a1=-(id)+1', 'a1=(id', 'a1=common_timestamp.usecs-id', 'a1=-1', 'a1=id+-1', 'a1=id*-2', 'a1=id--1', 'a1=-id', 'a1=-(-1)', 'a1=-(5)', 'a1=-(5)-1', 'a1=-(-(id))', 'a1=-(5-10)', 'a1=-9223372036854775808', 'size=-1', 'sort=-id', 'vals=-(total)', 'vals=-1', 'onmax(-1).save(total)', 'a1=total.buckets=-5', 'sort=id.buckets=-5') },
			sub { $c . pick(' if', ' if ', ' if nosuch == 1', ' if id >', ' if id ==== 2', ' if (id == 1', '  ', ' x') },
			sub { my @k = map { key('num') } 1 .. 4; $c =~ s/(keys?=)[^: ]*/$1 . join ',', @k/e; $c },
			sub { $c =~ s/hist:/pick('hist', 'hist::', 'Hist:', ' hist:', 'hist :', 'hist=', 'histo:')/e; $c },
		)->();
	}
	return $c;
}

sub ordinary_command {
	for (;;) {
		my ($c, @v) = command(@_);
		return ($c, @v) unless deviates($c) || length $c > 600;
	}
}

sub bad_command {
	for (;;) {
		my $c = mutated(@_);
		return $c unless deviates($c) || $c =~ /^\s*!|^[^:]*able_/ || !length $c;
	}
}

sub event { return $negative ? 'num' : pick('num', 'pair') }

# Commands without references.
sub plain {
	my $e = event();
	return map { 'full ' . "$e " . (ordinary_command($e))[0] } 1 .. 3;
}

sub broken {
	my $e = event();
	return map { "full $e " . bad_command((ordinary_command($e))[0]) } 1 .. 6;
}

# One trigger, the commands for an existing one, and another one beside it.
sub several {
	my $e = event();
	my ($c) = ordinary_command($e, keys => ['id']);
	my ($d) = ordinary_command($e, keys => [pick('total', 'tag')], prefix => 'w');
	my ($plain, $if) = $c =~ /^(.*?)( if .*|)$/;
	return ("try $e $c", "try $e $c", "try $e $d", 'feed', map({ "try $e $plain:" . $_ . $if } some(3, 'pause', 'cont', 'clear', 'continue', 'pause:clear')),
		'feed', "show $e", "try $e !$d", "trigger $e", "try $e !$c", "trigger $e");
}

sub named {
	my ($c) = ordinary_command('num', keys => [pick('id', 'total', 'id,total')], vars => 0);
	$c =~ s/ if .*//;
	$c =~ s/\b(kind|pad|delta|tiny|tag|msg)\b/total/g;
	return plain() if deviates($c);
	$c =~ s/^hist:/hist:name=shared:/;
	my $other = $c =~ s/:vals?=|:values=/:vals=id,/r;
	return ("try num $c", "try pair $c", pick("try pair $other", 'try pair hist:name=shared', "try num $c"),
		'feed', 'show num', 'show pair', pick('try num hist:name=shared:pause', 'try pair hist:name=shared:clear', "try num $c:pause"),
		'feed', 'show pair', pick("try num !$c", "try pair !$c"), 'trigger num', 'show pair', "try num !$c", "try pair !$c");
}

# Variables of one event used by another one, synthetic events, maxima.
sub action {
	my @n = @_;
	my $x = pick(@n);
	my $param = pick('$' . $x, '$' . $x, 'user_events.num.$' . $x);
	my $handler = pick('onmatch(user_events.num)', 'onmatch(user_events.num)', 'onmax($lat)', 'onchange($lat)');
	my $save = join ',', some(3, 'part', 'tag', 'note', 'id', 'common_pid');
	return "$handler.save($save)" if $handler !~ /match/ && chance(60);
	my ($name, $args) = @{pick(['syn', '$lat,id'], ['syn', "$param,part"], ['syn_one', '$lat'], ['syn_text', 'note,$lat'],
		['syn_text', 'tag,total'], $handler =~ /match/ ? (['syn_fixed', 'user_events.num.tag,delta'], ['syn_one', 'user_events.num.total']) : ())};
	return "$handler." . (chance(50) ? "trace($name,$args)" : "$name($args)");
}

sub linked {
	# A variable with a sign is called n1 or n2, as what refers to it is shown with one.
	my (@n, @v);
	for (1 .. 2) {
		my $x;
		do { $x = expression('num') } while deviates("x=$x");
		push @n, ($x =~ /^(delta|tiny)/ ? 'n' : 'x') . $_;
		push @v, "$n[-1]=$x";
	}
	my @refs = map { ('$' . $_, '$' . $_, 'user_events.num.$' . $_) } @n;
	my @out = ('try num hist:keys=id:' . join(chance(50) ? ',' : ':', @v), 'try syn hist:keys=who:vals=lat.hex',
		'try syn_one hist:keys=only', 'try syn_text hist:keys=text:vals=len', 'try syn_fixed hist:keys=label,diff');
	my @extra;
	push @extra, 'vals=' . pick(@refs) if chance(30);
	for (1 .. 4) {
		my $lat = 'lat=' . pick('total-' . pick(@refs), pick(@refs), expression('pair', @refs));
		my ($c) = command('pair', keys => ['id'], refs => \@refs, prefix => 'y',
			clauses => [@extra, $lat, map { action(@n) } 1 .. pick(1, 1, 2)]);
		# The second one renders the variables ambiguous: see same-variable.
		next if $c =~ /onmatch.*onmatch/;
		# A maximum with a sign, and a quotient of one: see signed-output.
		next if $c =~ /\blat=[\w.]*\$n/ && $c =~ /on(max|change)/;
		next if $c =~ m{(?<![*/])(?<![\w.])[\w.]*\$n\d([*/][^-+*/:,)]+)*/};
		next if deviates($c) || length $c > 900;
		push @out, 'full pair ' . (chance(70) ? $c : bad_command($c));
	}
	return (@out, 'try num !hist:keys=id:' . join(',', @v), 'trigger num');
}

# Records with numbers below 0.
my $below = 'feed num:1:-5:0:a:x num:1:3:1:a:x num:1:-5:2:a:x num:1:-100:3:a:x';

# Each shows one deviation.
my %special = (
	'string-modifier' => sub { return 'try num hist:keys=' . pick('common_stacktrace', 'stacktrace') . '.' . pick('sym', 'syscall', 'hex') },
	'string-value' => sub { return 'try num hist:keys=id:vals=' . pick('tag', 'msg', 'total,tag') },
	'incompatible-keys' => sub {
		return ('try num hist:keys=' . pick('tag', 'msg', 'id,total') . ':x1=total', 'try pair hist:keys=id:y1=$x1');
	},
	'synth-param-type' => sub {
		return pick('try num hist:keys=id:x1=total:onmax($x1).trace(syn_fixed,$x1,delta)',
			'try num hist:keys=id:x1=total:s1=tag:onmax($x1).trace(syn_one,$s1)');
	},
	# 299 is not a multiple; the other one is too large to be rounded up.
	'floor-division' => sub {
		return ('try syn_one hist:keys=only', 'try num hist:keys=id:x1=total/' . pick(3, 5, 7, 10, 100) . ':onchange($x1).trace(syn_one,$x1)',
			'feed num:1:0:299:a:x num:2:0:3000001:a:x', 'show syn_one');
	},
	'signed-output' => sub {
		return ('try num hist:keys=delta:vals=' . pick('total', 'hitcount') . ':sort=' . pick('delta', 'delta.descending', 'hitcount'),
			$below, 'cat events/user_events/num/hist');
	},
	'signed-output-buckets' => sub {
		return ('try num hist:keys=delta.buckets=10:sort=delta', $below, 'cat events/user_events/num/hist');
	},
	'signed-output-division' => sub {
		return ('try syn_fixed hist:keys=diff:sort=diff', 'try num hist:keys=id:x1=delta/4:onchange($x1).trace(syn_fixed,tag,$x1)',
			$below, 'cat events/synthetic/syn_fixed/hist');
	},
	'signed-output-maximum' => sub {
		return ('try num hist:keys=id:x1=delta:onmax($x1).save(total,delta)', $below, 'cat events/user_events/num/hist');
	},
	'signed-output-change' => sub {
		return ('try num hist:keys=id:x1=delta:onchange($x1).save(total,delta)', $below, 'cat events/user_events/num/hist');
	},
	'expression-values' => sub { return 'full num hist:keys=id:vals=' . pick('total+id', 'total*2', 'kind-id') },
	'exact-match' => sub {
		my ($one, $two) = @{pick(['id.buckets=10', 'id.buckets=20'], ['id+1', 'id+2'], ['id+total', 'id-total'])};
		return ("try num hist:keys=$one", "try num hist:keys=$two", "try num !hist:keys=$two", 'trigger num');
	},
	'cpu-read-back' => sub { return 'full num hist:keys=' . pick('common_cpu', 'cpu', 'CPU') },
	'exact-action' => sub {
		my $c = 'hist:keys=id:x1=total:onmax($x1).save_it($x1)';
		return ('put synthetic_events save_it u64 only', "try num $c", 'trigger num', "try num !$c", 'put synthetic_events !save_it');
	},
	'exact-action-else' => sub {
		my $c = 'hist:keys=id:x1=total:onmax($x1).' . pick('saved(delta)', 'tracer(syn_one,$x1)');
		return ("try num $c", 'trigger num', "try num !$c");
	},
	'exact-modifier' => sub { return 'try num hist:keys=id:vals=total.' . pick('percentx', 'graphs') },
	'same-variable' => sub {
		return ('try num hist:keys=id:x1=total', 'try pair hist:keys=id:lat=' . pick('total-$x1', '$x1')
			. ':onmatch(user_events.num).trace(syn_one,$lat):onmatch(user_events.num).syn($lat,id)', 'trigger pair');
	},
	'remove-named' => sub { return ('try num hist:keys=id', 'try num !hist:name=none:keys=id', 'trigger num') },
	'exact-caret' => sub {
		return 'try num ' . pick('hist:keys=id:vals=val', 'hist:keys=id:vals=s', 'hist:keys=total:sort=tot', 'hist:keys=total:vals=id:x1=$otal');
	},
);

# Triggers that pause a histogram of another event, and snapshots, which are taken a little later:
# these get no records.
my %others = (
	enabling => sub {
		my ($c) = ordinary_command('pair', keys => ['id'], vars => 0);
		$c =~ s/ if .*|:pause\b//g;
		my $name = pick('enable_hist', 'disable_hist');
		my $other = "$name:user_events:pair";
		my $if = pick('', ' if id == 2', ' if total > 100', ' if tag == "bb"');
		return ("try pair $c" . ($name eq 'enable_hist' ? ':pause' : ''), "try num $other" . pick('', '', ':1', ':2', ':0', ':x') . $if,
			"try num $other$if", 'trigger num', 'feed', 'show pair', 'trigger num', "try num !$other", 'trigger num', "try num $name:" . pick('user_events', 'user_events:none', ''));
	},
	snapshots => sub {
		my $action = pick('onmax($x1)', 'onchange($x1)', 'onmatch(user_events.pair)') . '.' . pick('snapshot()', 'snapshot()', 'snapshot(id)');
		my $c = 'hist:keys=id:x1=' . pick('total', 'kind', 'id') . ":$action";
		return ("try num $c", 'trigger num', 'try pair hist:keys=id:y1=total:onmax($y1).snapshot()', 'trigger pair', "try num !$c", 'trigger num');
	},
);

my @kinds = sort keys %special;
my @other_kinds = sort keys %others;
my $commands = 0;
for my $i (1 .. $count) {
	my ($name, @lines);
	if ($i % 8 == 0) {
		$name = $kinds[($i / 8) % @kinds];
		@lines = $special{$name}->();
	} else {
		my $how;
		($name, $how) = @{pick([plain => \&plain], [broken => \&broken], [broken => \&broken], [several => \&several],
			[named => \&named], [linked => \&linked], [linked => \&linked])};
		$negative = chance(40);
		# The name of an action may have been broken: see exact-action.
		@lines = grep { !/\.(save|trace|snapshot)[^(:=,]+\(/ } $how->();
		if ($negative) {
			unshift @lines, 'signed';
			$name .= '-signed';
		}
		$negative = 0;
		$name .= '-syscall' if grep { /^(try|full) .*\btotal\.syscall/ } @lines;
		$name .= '-buckets' if grep { /^(try|full) num .*\b(delta|tiny)\.bucket/ } @lines;
	}
	$commands += grep { /^(try|full) / } @lines;
	print "seq $name $i\n", map { "$_\n" } @lines;
}
# One more for each 20: those before are the same without.
for my $i (1 .. $count / 20) {
	my $name = $other_kinds[$i % @other_kinds];
	my @lines = $others{$name}->();
	$commands += grep { /^(try|full) / } @lines;
	print "seq $name ", $count + $i, "\n", map { "$_\n" } @lines;
}
print "# $commands commands\n";
