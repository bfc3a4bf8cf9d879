#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
#
# Writes sequences for the driver: registrations, writes, switches, forks and
# deletions, valid ones and mutated ones. The same seed results in the same
# text.
#
# usage: compare/gen.pl SEED COUNT
#
# Known differences between the kernels (deviations.rst) are kept out of the
# ordinary sequences, as they would cause differences in the rest of a sequence
# as well. They are in sequences of their own, whose names begin with the name of
# the row: these are few commands with few results each.

use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/rnd.pl";

my ($seed, $count) = @ARGV;
die "usage: $0 SEED COUNT\n" unless defined $count;

seed($seed);

my @basic = ('s8', 'u8', 'char', 'unsigned char', 's16', 'u16', 'short', 'unsigned short',
	's32', 'u32', 'int', 'unsigned int', 's64', 'u64');
my %size = (s8 => 1, u8 => 1, char => 1, 'unsigned char' => 1, s16 => 2, u16 => 2, short => 2,
	'unsigned short' => 2, s32 => 4, u32 => 4, int => 4, 'unsigned int' => 4, s64 => 8, u64 => 8);

# Numbers below 0, which a field without a sign cuts as well.
my @negative = (-1, -2, -5, -127, -128, -129, -32768, -32769, '-2147483648', '-2147483649', '-9223372036854775808');

# A filter on a number, or an invalid one, as not every type has all of these.
sub filter {
	my $e = shift;
	my @numbers = grep { $_->[2] eq 'num' } @{$e->{f}};
	return pick('common_pid > -1', 'nosuch == -1', '0') unless @numbers && chance(90);
	my ($name) = pick(@numbers)->[0] =~ /(\w+)$/;
	my $n = chance(70) ? pick(@negative) : pick(0, 7, 128, 255, '-0x10', '--5', '-', '- 5');
	return pick('', '', '', '!(') =~ s/(.*)/"$1$name " . pick('==', '!=', '<', '<=', '>', '>=', '&') . " $n" . ($1 ? ')' : '')/er;
}

# A field: its text, its size, its kind.
sub field {
	my $name = pick('a' .. 'h') . shift;
	my $r = rnd(100);
	if ($r < 55) {
		my $t = pick(@basic);
		return ["$t $name", $size{$t}, 'num'];
	}
	if ($r < 70) {
		my $n = pick(1, 2, 3, 8, 15, 16, 64, 255, 1024);
		my $spelled = chance(80) ? $n : sprintf('0x%x', $n);
		return [pick('char', 'unsigned char') . "[$spelled] $name", $n, 'array'];
	}
	if ($r < 80) {
		my $n = pick(1, 3, 4, 8, 20, 100);
		return ['struct ' . pick('foo', 'bar_t') . " $name $n", $n, 'struct'];
	}
	if ($r < 92) {
		return ['__data_loc ' . pick('char[]', 'unsigned char[]', 'char') . " $name", 4, 'dstr'];
	}
	return ['__data_loc ' . pick('u32[]', 'u8[]', 's16') . " $name", 4, 'dnum'] if $r < 96;
	return ['__rel_loc ' . pick('u8', 'u32') . " $name", 4, 'rnum'];
}

sub event {
	my $name = pick('ev', 'log', 'net.io', 'a-b', 'x1', '9p', '-o', '.h', 'c++', '%s~@', "\xc3\xa9") . rnd(4);
	my @f = map { field($_) } 1 .. pick(0, 1, 1, 2, 2, 3, 4, 6);
	my $desc = $name . (@f ? ' ' . join(pick('; ', ';'), map { $_->[0] } @f) : '');
	# A record has to fit into a sub-buffer with room to spare.
	my $total = 0;
	$total += $_->[1] for @f;
	return event() if length $desc > 480 || $total > 2000;
	return { name => $name, f => \@f, desc => $desc };
}

# Another way to write the same.
sub spelling {
	my $d = shift->{desc};
	$d =~ s/; ?/pick(';', '; ', ';  ')/ge if chance(40);
	# Blanks within a field are only let through for an existing event.
	$d =~ s/ /  /g if chance(5);
	$d .= ';' if $d =~ / / && chance(15);
	return $d;
}

# The items of a record: as described, or not quite.
sub record {
	my $e = shift;
	my $pos = 8;
	my $end = 8;
	$end += $_->[1] for @{$e->{f}};
	my ($items, $tail) = ('', '');
	for my $f (@{$e->{f}}) {
		my ($n, $kind) = ($f->[1], $f->[2]);
		if ($kind eq 'num') {
			my $v = pick(0, 1, 7, 65, 127, 128, 255, 1000, 0x7fffffff, '0xffffffffffffffff', @negative);
			$items .= ' u' . (8 * $n) . ":$v";
		} elsif ($kind eq 'array') {
			my $s = substr(pick('x', 'hello', 'ab\\x01c', 'long' x 20), 0, $n);
			$s =~ s/\\.{0,2}$//;
			my $len = length($s =~ s/\\x../x/gr);
			$items .= ($len ? " s:$s" : '') . ' n:' . ($n - $len);
		} elsif ($kind eq 'struct') {
			$items .= " n:$n";
		} else {
			my $from = $kind eq 'rnum' ? $end - $pos - 4 : $end;
			my $text = pick('h', 'text', 'a b' =~ s/ /_/r, 'x' x 30);
			my $len = length($text) + 1;
			my ($o, $l) = ($from, $len);
			my $bad = rnd(100);
			if ($bad < 6) { $l += 1000 }
			elsif ($bad < 12) { $o = pick(0xffff, 60000) }
			# Without the NUL: an error for text only.
			elsif ($bad < 18) { $l -= 1 }
			elsif ($bad < 24) { $o += 1; $l -= 1 }
			$items .= ' u32:' . ($l << 16 | $o);
			$tail .= " z:$text";
			$end += $len;
		}
		$pos += $n;
	}
	my $r = rnd(100);
	return $items . $tail . ' n:' . pick(1, 3, 100) if $r < 8;
	if ($r < 14 && !$tail && $items) {
		# Too short.
		$items =~ s/ [^ ]+$//;
	}
	return $items . $tail;
}

# Breaks a description in a way that both kernels refuse.
sub broken {
	my $d = 'bad' . rnd(1000) . ' ' . field(1)->[0];
	return pick(
		sub { $d =~ s/ (\w+)(?= \d+$|$)/  $1/; $d },
		sub { "$d " . rnd(9) . ' x' },
		sub { $d =~ s/^(\w+) /$1: /; $d },
		sub { $d =~ s/^(\w+) .*/"$1 " . pick('long', 'size_t', 'bool', 'U32', 'pid_t', 'u128', 's33') . ' a'/e; $d },
		sub { $d =~ s/^(\w+) .*/"$1 " . pick('u32', 's64', 'struct x', 'struct x y', 'unsigned', 'unsigned int', '__data_loc', '__rel_loc char[]')/e; $d },
		sub { $d =~ s/^(\w+) .*/"$1 char[" . pick('', '0', '1025', '9999', 'x', '-1', '4', '00000001', '12345678') . pick(' a', ' a b', '')/e; $d },
		sub { $d =~ s/^(\w+) .*/"$1 struct x y " . pick('0', '-1', '0x10', '4 4', '99999999999', 'z')/e; $d },
		sub { "$d;u32" },
		sub { 'u' x 520 },
	)->();
}

# The fields of a description, for comparing.
sub fields_of {
	my $d = shift;
	return '' unless $d =~ s/^[^ ]+ //;
	$d =~ s/ *; */;/g;
	$d =~ s/ +/ /g;
	$d =~ s/;+$//;
	return $d;
}

# An ordinary sequence. What is registered is kept track of, so that a record is
# one of the event that it is written to: another one could have an empty string
# where its event has a string, which is zero-size-string.
sub sequence {
	my @out;
	my @ev = map { event() } 1 .. 1 + rnd(4);
	# One format for each name, and one way to keep it.
	my %seen;
	@ev = grep { !$seen{$_->{name}}++ } @ev;
	$_->{flags} = pick(0, 0, 0, 1) for @ev;
	my $multi = chance(25);
	my (%used, @table, %made);
	my $fd = 0;
	my $say = sub { push @out, join '', @_ };
	# A registration that is good, but for the bit perhaps.
	my $reg = sub {
		my ($e, $s, $bit, $width, $flags, $desc, $used, $indent) = @_;
		$say->("${indent}reg slot=$s bit=$bit width=$width flags=$flags : $desc");
		return if $used->{"$s:$bit"}++;
		my $id = $flags & 2 ? "multi $e->{name} " . fields_of($desc) : $e->{name};
		$made{$id} = 1;
		push @{$table[$fd]}, [$id, $e] unless grep { $_->[0] eq $id } @{$table[$fd]};
		$say->("${indent}put events/user_events/$e->{name}/enable 1") if !($flags & 2) && chance(40);
	};
	my $write = sub {
		my $indent = shift;
		my $t = $table[$fd] // [];
		if (!@$t || chance(12)) {
			$say->($indent, pick('w', 'wv'), ' ', pick(-1, -2147483648, 9, scalar @$t, 2147483647), record(pick(@ev)));
			return;
		}
		my $i = rnd(scalar @$t);
		my $to = $t->[$i][1];
		# Anything will do if the field has no string in it.
		my $e = chance(15) && !grep({ $_->[2] eq 'dstr' } @{$to->{f}}) ? pick(@ev) : $to;
		$say->($indent, pick('w', 'w', 'wv'), " $i", record($e));
	};

	for (1 .. 10 + rnd(20)) {
		my $r = @out < 2 ? 0 : rnd(100);
		my $e = pick(@ev);
		my $slot = rnd(6);
		my $width = chance(80) ? 4 : 8;
		my $bit = pick(0, 1, 5, 31);
		my $s = $width == 8 ? $slot & ~1 : $slot;

		if ($r < 24) {
			$bit += 32 if $width == 8 && chance(50);
			$reg->($e, $s, $bit, $width, $e->{flags}, $made{$e->{name}} ? spelling($e) : $e->{desc}, \%used, '');
		} elsif ($r < 28) {
			next unless $multi;
			my $m = event();
			$m->{name} = "m$m->{name}";
			$reg->($m, $s, $bit, $width, 2, "m$m->{desc}", \%used, '');
		} elsif ($r < 33) {
			$say->("reg slot=$s bit=$bit : " . broken());
		} elsif ($r < 37) {
			# Other fields under an existing name.
			my $o = event();
			next if !$made{$e->{name}} || fields_of($o->{desc}) eq fields_of($e->{desc});
			my $args = $o->{desc} =~ / / ? $o->{desc} =~ s/^[^ ]+//r : '';
			$say->("reg slot=$s bit=$bit flags=$e->{flags} : $e->{name}$args");
		} elsif ($r < 41) {
			$say->(pick(
				"reg slot=$slot bit=32 : $e->{desc}", "reg slot=$slot off=1 : $e->{desc}",
				"reg slot=$slot bit=3 width=" . pick(0, 1, 2, 5, 16, 255) . " : $e->{desc}",
				"reg slot=$slot bit=3 flags=" . pick(4, 8, 0x8000) . " : $e->{desc}",
				"reg slot=$slot bit=3 size=" . pick(0, 4, 27, 4097, 70000) . " : $e->{desc}",
				"reg slot=$slot bit=3 size=40 tail=000000000100 : $e->{desc}",
				"reg slot=$slot bit=3 addr=0xffff888000000000 : $e->{desc}",
				"reg slot=$slot bit=3 null :"));
		} elsif ($r < 66) {
			$write->('');
		} elsif ($r < 77) {
			my $on = chance(70) ? 1 : 0;
			$say->("put events/user_events/$e->{name}/enable $on");
			next unless chance(30);
			$say->("put events/user_events/$e->{name}/filter " . filter($e));
			$say->("cat events/user_events/$e->{name}/filter") if chance(50);
		} elsif ($r < 83) {
			my $bad = chance(10) ? pick(' size=3', ' r1=1', ' r2=9', ' size=20 tail=00000009') : '';
			$say->("unreg slot=$s bit=$bit$bad");
			delete $used{"$s:$bit"} unless $bad;
		} elsif ($r < 85) {
			$say->('del ' . (chance(50) ? $e->{name} : pick('nosuch', 'x' x 600, 'a b')));
		} elsif ($r < 89) {
			$fd = rnd(2);
			$say->("fd $fd");
		} elsif ($r < 93) {
			$say->("val $s" . ($s % 2 ? '' : pick('', ' 8')));
		} elsif ($r < 96) {
			# The child has the bits of its parent, and the same files.
			my %child = %used;
			$say->('fork');
			if (chance(50)) {
				$say->("  unreg slot=$s bit=$bit");
				delete $child{"$s:$bit"};
			}
			$write->('  ');
			$reg->($e, $s, $bit, 4, $e->{flags}, $e->{desc}, \%child, '  ') if chance(50) && $width == 4 && $made{$e->{name}};
			$say->('end');
		} elsif ($r < 98) {
			$say->(pick('read', 'lseek 0', 'ioctl 0x2a00', 'raw 00', 'raw 0000', 'raw 000000', 'ioctl 0x40082a04'));
		} else {
			$say->('list');
		}
	}
	$say->('list');
	$say->('trace');
	return @out;
}

# Sequences that show one deviation each.
my %special = (
	'name-charset' => sub {
		my $c = pick('/', '\\t', '\\x01', '\\x7f', '\\xe9', '\\xc3', '\\xc2\\x85');
		my $n = pick("nc${c}a", "${c}nc", "nc$c", 'enable', 'filter', '', 'n' x 256);
		return ("reg slot=0 bit=0 flags=" . ($n =~ /^(enable|filter)$/ ? 0 : pick(0, 2)) . " : $n u32 a");
	},
	'field-charset' => sub {
		my $f = pick('u32 ', 'u32 a%d', 'u16 a"', "u8 a'", 'u32 a\\\\b', 'u32 a\\tb', 'u32 x,y', 'u32 f(x)',
			'u32 a[2]', 'u32 ]', 'u32 \\xe9', 'u32 common_pid', 'u64 common_flags', 'u32 a; u64 a', 's8 q;u8 q');
		return ("reg slot=0 bit=0 : fc $f");
	},
	'array-suffix' => sub { return ('reg slot=0 bit=0 : as ' . pick('char[5]z a', 'unsigned char[4]] a', 'char[3][2] a', 'char[7]0 a')) },
	'payload-bound' => sub {
		my $f = pick('struct x f 70000', 'struct x f 2147483647', 'struct x f 4294967295',
			'struct x f 65000; struct x g 1000', 'struct a a 2147483647; u32 b');
		return ("reg slot=0 bit=0 : pb $f");
	},
	'enable-fault' => sub {
		return ('prot 1 ' . pick('r', 'none'), 'reg slot=' . (1024 + rnd(8)) . ' bit=' . pick(0, 31) . ' : ef u32 a', 'gone ef',
			'reg slot=0 bit=0 : ef_next u32 a');
	},
	'zero-size-string' => sub {
		my $rel = chance(50);
		my $o = $rel ? pick(0 .. 8) : pick(0, 8, 9, 12, 16, 19, 20);
		return ('reg slot=0 bit=0 : zs ' . ($rel ? '__rel_loc' : '__data_loc') . ' char[] s',
			'put events/user_events/zs/enable 1', "w 0 u32:$o s:abc n:" . pick(1, 4, 5));
	},
	'oversize-record' => sub {
		# Around the end of a sub-buffer of 4 KiB or 8, with a filter that all pass
		# or without. What is recorded must be the same.
		my $big = chance(30);
		my @sizes = $big ? (8160 .. 8200) : (4040 .. 4100);
		my @out = ('reg slot=0 bit=0 : or u32 a');
		push @out, 'put buffer_subbuf_size_kb 8' if $big;
		push @out, 'put events/user_events/or/enable 1';
		push @out, 'put events/user_events/or/filter a == 0' if chance(50);
		push @out, map { 'w 0 n:' . (chance(80) ? pick(@sizes) : pick(5000, 8184, 20000, 65536, 100000)) } 1 .. 12;
		push @out, 'trace';
		push @out, 'put buffer_subbuf_size_kb 4' if $big;
		return @out;
	},
	'delete-by-name' => sub {
		my $d = pick('-:dbn', '!u:dbn', '-:user_events/dbn', '-:dbn u32 a;u64 b');
		return ('put dynamic_events u:dbn u32 a; u64 b', "put dynamic_events $d", 'list');
	},
	'persist-upgrade' => sub {
		return ('reg slot=0 bit=0 : pu u32 a', pick('put dynamic_events u:pu u32 a', 'reg slot=0 bit=1 flags=1 : pu u32 a'),
			'unreg slot=0 bit=0', 'unreg slot=0 bit=1', 'close 0', 'gone pu');
	},
	'mm-wide-enable' => sub {
		return ('thread', '  reg slot=0 bit=0 : mwe u32 a', 'end', 'put events/user_events/mwe/enable 1', 'wait 0 1',
			'unreg slot=0 bit=0');
	},
	'mm-wide-enable-again' => sub {
		return ('thread', '  reg slot=0 bit=0 : mwe u32 a', 'end', 'reg slot=0 bit=0 : mwe u32 a');
	},
	'array-length' => sub {
		my $n = pick(1, 8, 20, 1000);
		return ("reg slot=0 bit=0 : al char[$n] a", 'sh grep -o "field:char a.*" /sys/kernel/tracing/events/user_events/al/format');
	},
	'position' => sub {
		return ('reg slot=0 bit=0 : pos u32 a', 'put events/user_events/pos/enable 1', 'pw 0 0 u32:1', 'pw 8 0 u32:1');
	},
);

my @kinds = sort keys %special;
for my $i (1 .. $count) {
	if ($i % 5 == 0) {
		my $k = $kinds[($i / 5) % @kinds];
		print "seq $k $i\n", map { "$_\n" } $special{$k}->();
	} else {
		print "seq ordinary $i\n", map { "$_\n" } sequence();
	}
}
