#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
#
# Compares what compare/run.sh left of two kernels, and says for each sequence
# whether it is the same, or differs only in what is accepted, or differs.
#
# usage: compare/judge.pl C_DIR RUST_DIR ACCEPT DEVIATIONS
#
# ACCEPT has a line for each accepted difference:
#
#   ROW SEQUENCE SIDE[COUNT] REGEX
#
# ROW is one of DEVIATIONS (Documentation/trace/rust/deviations.rst), SEQUENCE a
# glob, with _ for a blank, and SIDE is
#
#   -       for a line that only the C kernel prints and that REGEX matches,
#   +       for one that only the Rust kernel prints,
#   caret   for a command in error_log whose caret is at another place than in C, if C's is
#           at the first occurrence of the text that is wrong (exact-caret). REGEX matches
#           COMMAND, or COMMAND # ERROR, at WHAT: what the Rust kernel's caret is at, see
#           place_of(),
#   frames  for functions of the implementation that follow one another in a stack, and are
#           others in number (stack-frame). REGEX matches N -> M, of C and of Rust, 0 for none,
#   signed  for a negative number, which C shows from 2^63 on, in a column of a histogram
#           whose name REGEX matches; the rows are sorted by it (signed-output),
#   merged  for a row of a histogram whose keys are those of another row in C only; their
#           hitcounts are added up (key-after-nul).
#
# COUNT says how many of them each such sequence has, neither fewer nor more; without it that
# is 1. If SEQUENCE has a *, COUNT is required, and may be =N or =N..M: the number in all these
# sequences together. That is about the generated ones of scripts/compare without options, see
# JUDGE_PART. An entry that accepts nothing is an error, as is one whose row is not
# there. If a row has entries of both - and + with =N for a sequence, each kernel has to print
# as many of these lines in it: one takes the place of the other.
#
# Each line of the output begins with "ok", "not ok", or with # if it explains the
# next one.
#
# With JUDGE_LEFT=FILE in the environment, compare/bless.pl gets there what is to be
# changed in ACCEPT: SEQUENCE, SIDE and the line of each difference that is not accepted,
# "unused" and the entry of each that accepts nothing, and "count", the number and the
# entry of each whose number is another one, separated by tabs. With JUDGE_PART=1 other
# sequences were run, or not all: an entry with a glob may accept something in the others, and
# another number than N.

use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/table.pl";

my ($c_dir, $rust_dir, $accept, $deviations) = @ARGV;
die "usage: $0 C_DIR RUST_DIR ACCEPT DEVIATIONS\n" unless defined $deviations;

sub lines_of {
	my $file = shift;
	open(my $h, '<:raw', $file) or return;
	my @l = <$h>;
	chomp @l;
	return \@l;
}

my %rows;
for (@{lines_of($deviations) // []}) {
	$rows{$1} = 1 if /^   \* - ([a-z0-9-]+)$/;
}

my (@accept, @errors);
for (@{lines_of($accept) // die "$accept: $!\n"}) {
	next if /^\s*(#|$)/;
	my ($row, $glob, $side, $regex) = split ' ', $_, 4;
	my ($kind, $count, $least, $most) = ($side // '') =~ /^([-+]|caret|frames|signed|merged)(?:([1-9]\d*)|=([1-9]\d*)(?:\.\.(\d+))?)?$/;
	if (!defined $regex || !defined $kind || (defined $least && $glob !~ /\*/)) {
		push @errors, "compare.accept: not an entry: $_";
		next;
	}
	push @errors, "compare.accept: how many? $_" if $glob =~ /\*/ && !defined $count && !defined $least;
	$most //= $least;
	$count //= 1 unless defined $least;
	push @errors, "compare.accept: no row $row in deviations.rst" unless $rows{$row};
	my $name = join '', map { $_ eq '*' ? '.*' : $_ eq '_' ? ' ' : quotemeta } split /([*_])/, $glob;
	push @accept, { row => $row, glob => $glob, name => qr/^$name$/, side => $kind, count => $count, least => $least, most => $most,
		regex => qr/$regex/, text => $_, used => 0 };
}

# The lines of @$x and @$y that are not common to both: a longest common
# subsequence, by the usual table, after what is equal at both ends.
sub differences {
	my ($x, $y) = @_;
	my ($from, $xe, $ye) = (0, scalar @$x, scalar @$y);
	$from++ while $from < $xe && $from < $ye && $x->[$from] eq $y->[$from];
	while ($xe > $from && $ye > $from && $x->[$xe - 1] eq $y->[$ye - 1]) { $xe--; $ye-- }
	my @len;
	for my $i (reverse $from .. $xe - 1) {
		for my $j (reverse $from .. $ye - 1) {
			$len[$i][$j] = $x->[$i] eq $y->[$j] ? 1 + ($len[$i + 1][$j + 1] // 0)
				: ($len[$i + 1][$j] // 0) > ($len[$i][$j + 1] // 0) ? $len[$i + 1][$j] // 0 : $len[$i][$j + 1] // 0;
		}
	}
	my ($i, $j, @d) = ($from, $from);
	while ($i < $xe || $j < $ye) {
		if ($i < $xe && $j < $ye && $x->[$i] eq $y->[$j]) { $i++; $j++ }
		elsif ($j >= $ye || ($i < $xe && ($len[$i + 1][$j] // 0) >= ($len[$i][$j + 1] // 0))) { push @d, ['-', $x->[$i++]] }
		else { push @d, ['+', $y->[$j++]] }
	}
	return @d;
}

my $left;
if ($ENV{JUDGE_LEFT}) {
	open($left, '>:raw', $ENV{JUDGE_LEFT}) or die "$ENV{JUDGE_LEFT}: $!\n";
}

my ($bad, %judged) = (0);
sub judge {
	my ($name, $x, $y) = @_;
	$judged{$name} = 1;
	my @mine = grep { $name =~ $_->{name} } @accept;
	my %of_side;
	for (@mine) {
		$_->{here} = 0;
		push @{$of_side{$_->{side}}}, $_;
	}
	my @in_c = canonical($x, %of_side);
	my %error = our %error_of;
	my @d = differences(\@in_c, [canonical($y)]);
	my (%seen, %sides, @open);
	# A line that begins with ? is a failure of the run, on any side.
	push @open, "- $_" for grep { /^\? / } @$x;
	push @open, "+ $_" for grep { /^\? / } @$y;
	my (%carets, %exact);
	for (@d) {
		push @{$carets{$2}}, $1 if $_->[0] eq '+' && $_->[1] =~ /^  Command\((\d+)\): (.*)/;
	}
	for my $i (0 .. $#d) {
		next unless $d[$i];
		my ($side, $line) = @{$d[$i]};
		if ($line =~ /^  Command\((\d+)\): (.*)/) {
			my ($at, $text) = ($1, $2);
			if ($side eq '+' && @{$exact{$text} // []} && $exact{$text}[0] == $at) {
				shift @{$exact{$text}};
				next;
			}
			if ($side eq '-' && @{$carets{$text} // []} && first_occurrence($text, $at, $carets{$text}[0])) {
				push @{$exact{$text}}, shift @{$carets{$text}};
				($side, $line) = ('caret', "$text # " . ($error{$line} // '?') . ', at ' . place_of($text, $exact{$text}[-1]));
			}
		}
		# Those of the other kernel have the same in front of them; the line before may differ.
		if ($line =~ /^( *(?:=> )?)OWN x(\d+)$/) {
			my ($before, $c, $rust) = ($1, $side eq '-' ? ($2, 0) : (0, $2));
			for my $next ($side eq '-' ? @d[$i + 1 .. ($i + 2 < $#d ? $i + 2 : $#d)] : ()) {
				next unless $next && $next->[0] eq '+' && $next->[1] =~ /^\Q$before\EOWN x(\d+)$/;
				$rust = $1;
				$next = undef;
				last;
			}
			($side, $line) = ('frames', "$c -> $rust");
		}
		my ($a) = grep { $line =~ $_->{regex} || ($side eq 'caret' && $line =~ s/ # .*//r =~ $_->{regex}) } @{$of_side{$side} // []};
		if ($a) {
			$a->{here}++;
			$sides{$a->{row}}{$side}++ unless defined $a->{count};
		} else {
			push @open, "$side $line";
			print $left "$name\t$side\t$line\n" if $left && $line !~ /^\? / && !($ENV{JUDGE_PART} && $name =~ /: /);
		}
	}
	for my $a (@mine) {
		$a->{used} += $a->{here};
		$seen{$a->{row}} = 1 if $a->{here};
		next if !defined $a->{count} || $a->{here} == $a->{count};
		# That nothing is accepted in a sequence of this name is told in the end.
		next if $a->{here} == 0 && $a->{glob} eq $name;
		push @open, "$a->{here} in place of $a->{count}: $a->{text}";
		print $left "count\t$a->{here}\t$a->{text}\n" if $left && $a->{glob} eq $name;
	}
	for my $row (sort keys %sides) {
		next if grep { my $side = $_; !grep { $_->{row} eq $row && !defined $_->{count} } @{$of_side{$side} // []} } '-', '+';
		my ($c, $rust) = map { $sides{$row}{$_} // 0 } '-', '+';
		push @open, "$c of C and $rust of Rust of $row" if $c != $rust;
	}
	if (@open) {
		$bad++;
		print map { "#   $_\n" } splice(@open, 0, 30);
		print "#   and ", scalar @open, " more\n" if @open;
		print "not ok compare: $name\n";
	} elsif (%seen) {
		print "ok compare: $name (differs by ", join(', ', sort keys %seen), ")\n";
	} else {
		print "ok compare: $name\n";
	}
}

my %names;
for my $dir ($c_dir, $rust_dir) {
	opendir(my $d, $dir) or die "$dir: $!\n";
	$names{$_} = 1 for grep { !/^\./ } readdir $d;
}
for my $name (sort keys %names) {
	my ($x, $y) = (lines_of("$c_dir/$name"), lines_of("$rust_dir/$name"));
	if (!$x || !$y) {
		$bad++;
		print "#   there is no output of the ", ($x ? 'Rust' : 'C'), " kernel\nnot ok compare: $name\n";
		next;
	}
	if (!@$x || !@$y) {
		$bad++;
		print "#   it is empty\nnot ok compare: $name\n";
		next;
	}
	if ($x->[0] !~ /^== /) {
		judge($name, $x, $y);
		next;
	}
	# Many in one file.
	my (%parts, @order);
	for my $side ($x, $y) {
		my $part;
		for (@$side) {
			if (/^== (.*)/) {
				$part = $1;
				push @order, $part if $side == $x || !$parts{$part};
				$parts{$part}{$side == $x ? 'c' : 'rust'} = [];
			} else {
				push @{$parts{$part}{$side == $x ? 'c' : 'rust'}}, $_;
			}
		}
	}
	for my $part (@order) {
		my ($pc, $pr) = @{$parts{$part}}{'c', 'rust'};
		if ($pc && $pr) {
			judge("$name: $part", $pc, $pr);
		} else {
			$bad++;
			print "#   there is no output of the ", ($pc ? 'Rust' : 'C'), " kernel\nnot ok compare: $name: $part\n";
		}
	}
}
# With a part of the sequences only, not everything can be seen.
my @unused = grep { !$_->{used} && (!$ENV{JUDGE_PART} || $judged{$_->{glob}}) } @accept;
push @errors, map { "compare.accept: not seen: $_->{text}" } @unused;
my @others = grep { $_->{used} && defined $_->{least} && ($_->{used} < $_->{least} || $_->{used} > $_->{most}) } @accept;
@others = () if $ENV{JUDGE_PART};
push @errors, map { "compare.accept: $_->{used} of $_->{text}" } @others;
if ($left) {
	print $left "unused\t\t$_->{text}\n" for @unused;
	print $left "count\t=$_->{used}\t$_->{text}\n" for @others;
	close($left) or die "$ENV{JUDGE_LEFT}: $!\n";
}
for (@errors) {
	$bad++;
	print "not ok compare: $_\n";
}
exit($bad ? 1 : 0);
