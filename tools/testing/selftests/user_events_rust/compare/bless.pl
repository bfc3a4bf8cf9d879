#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
#
# Writes a list of accepted differences anew: removes the entries that accept
# nothing, and adds one for each difference that is not accepted yet, of the
# sequences in a directory.
#
# usage: compare/bless.pl LEFT ACCEPT SEQUENCES [ROW]
#
# LEFT is what compare/judge.pl writes to JUDGE_LEFT. An entry that is added is for the
# row ROW, matches the whole line, and follows the others of its sequence; it may be
# generalized by hand. Of a generated sequence only carets and frames are added: what is wrong
# with the command and where the caret is, and the numbers of frames, for all sequences of
# its kind. An entry that accepts more or fewer lines than it says has the new number. Without
# ROW only carets and frames can be added, which have rows of their own. Nothing is
# changed on an error.

use strict;
use warnings;

my ($left, $accept, $sequences, $row) = @ARGV;
die "usage: $0 LEFT ACCEPT SEQUENCES [ROW]\n" unless defined $sequences;

sub lines_of {
	my $file = shift;
	open(my $h, '<:raw', $file) or die "$file: $!\n";
	my @l = <$h>;
	chomp @l;
	return @l;
}

# A side that accepts some number of lines, or =N in all sequences.
sub with_count {
	my ($side, $n) = @_;
	return $side . ($n =~ /^=/ || $n > 1 ? $n : '');
}

my %row_of = (caret => 'exact-caret', frames => 'stack-frame');
my (%unused, %added, %times, %count);
for (lines_of($left)) {
	my ($name, $side, $line) = split /\t/, $_, 3;
	if ($name eq 'unused') {
		$unused{$line} = 1;
		next;
	}
	if ($name eq 'count') {
		$count{$line} = $side;
		next;
	}
	my $end = '^';
	# A generated sequence has another text with another seed.
	if ($row_of{$side} && $name =~ /^generated(-hist)?\S*: (plain|broken|several|named|linked|[a-z-]+)/) {
		my ($hist, $kind) = ($1, $2);
		next if defined $hist xor $sequences =~ /hist_rust/;
		$name = "generated*:_$kind*_*";
		$end = '' if $side eq 'caret' && $line =~ s/.* (?=# )//;
	} elsif ($name !~ /^[\w-]+$/ || !-e "$sequences/$name.sh") {
		next;
	}
	die "$name differs: --row has to say what row of deviations.rst that is\n" unless defined($row_of{$side} // $row);
	$line =~ s/([\\^\$.|?*+()\[\]{}])/\\$1/g;
	# A tab is to be seen.
	$line =~ s/\t/\\t/g;
	$line = "$end$line\$";
	push @{$added{$name}}, [$side, $line] unless $times{$name}{$side}{$line}++;
}
for my $name (keys %added) {
	for (@{$added{$name}}) {
		my ($side, $line) = @$_;
		my $n = $times{$name}{$side}{$line};
		$_ = ($row_of{$side} // $row) . " $name " . with_count($side, $name =~ /\*/ ? "=$n" : $n) . " $line";
	}
}

my @old = lines_of($accept);
my (@kept, %last);
for (@old) {
	next if $unused{$_};
	my $n = $count{$_};
	s/^(\S+\s+\S+\s+)([-+]|[a-z]+)(?:\d*|=[\d.]+)(?=\s)/$1 . with_count($2, $n)/e if $n;
	push @kept, $_;
	next if /^\s*(#|$)/;
	my (undef, $name) = split ' ';
	$last{$name} = $#kept if defined $name;
}
my @new;
for my $i (0 .. $#kept) {
	push @new, $kept[$i];
	for my $name (grep { $last{$_} == $i } sort keys %last) {
		push @new, @{delete $added{$name} // []};
	}
}
push @new, '', "# $_: name what differs.", @{$added{$_}} for sort keys %added;

# A comment whose entries are removed is removed with them, but for the head of
# the file.
my @out;
my @blocks = split /\n{2,}/, join("\n", @new);
for my $i (0 .. $#blocks) {
	push @out, $blocks[$i] if $i == 0 || grep { !/^\s*#/ } split /\n/, $blocks[$i];
}
open(my $h, '>:raw', "$accept.new") or die "$accept.new: $!\n";
print $h join("\n\n", @out), "\n";
close($h) or die "$accept.new: $!\n";
rename("$accept.new", $accept) or die "$accept: $!\n";
