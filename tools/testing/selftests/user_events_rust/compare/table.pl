# SPDX-License-Identifier: GPL-2.0
#
# Histograms in an output, in a form in which two kernels can be compared:
#
# - rows that are equal in what the table is sorted by have no order of their
#   own, and are in the order of their text;
# - numbers of processes, times, offsets of frames of stacks and the like are masked;
# - frames of the implementations themselves that follow one another are one line, which has
#   their number, see own_frame();
# - addresses are numbered in the order of one dump, so that
#   what is the same in it has to be the same in the other one (memory that was
#   freed is used again at once by one kernel and later by the other);
# - a command in error_log and the caret below it are one line;
# - in hist_debug, the sign of a field is on one line with its name and its function.
#
# Rules of an accepted row (see judge.pl) change the table of the C kernel to what the Rust
# one has to show, which is then compared as a whole:
#
# - signed: a number from 2^63 on in a column of a certain name is negative (signed-output);
# - merged: rows with the same keys are one (key-after-nul).

use strict;
use warnings;

# The text of a row under each name that it can be sorted by.
sub sort_text {
	my ($row, $names) = @_;
	my $first = $row->[0];
	my @shown;
	for my $name (@$names) {
		# Key: value pairs, as keys or after them.
		my ($text) = $first =~ /(?<!\S)\Q$name\E(?: \(%\))?: *(.*?)(?=, [\w.\$]+: | *\}|  ?[\w.\$]+(?: \(%\))?: |$)/;
		# Not shown: then it says nothing about the order.
		return undef unless defined $text;
		push @shown, $text;
	}
	return join "\0", @shown;
}

# The text of a row that has no order of its own. How many frames a stack has of the
# implementation says nothing about it.
sub row_text {
	my $row = shift;
	return join "\n", map { s/\bOWN x\d+$/OWN/r } @$row;
}

sub sorted_rows {
	my ($info, $rows) = @_;
	my ($sort) = $info =~ /:sort=([^:\s]+)/;
	my @names = map { s/\.(descending|ascending|hex|sym|sym-offset|execname|syscall|log2|usecs|buckets?=\w+|stacktrace|percent|graph)//gr }
		split /,/, $sort // 'hitcount';
	my @out;
	my @run;
	my $last;
	for my $row (@$rows) {
		my $text = sort_text($row, \@names);
		# A stack has no order, and neither have bars and what is not shown.
		$text = '' if !defined $text || $names[0] =~ /stack/;
		if (@run && $text ne $last) {
			push @out, sort { row_text($a) cmp row_text($b) } @run;
			@run = ();
		}
		push @run, $row;
		$last = $text;
	}
	push @out, sort { row_text($a) cmp row_text($b) } @run;
	return map { @$_ } @out;
}

# The number that a column is sorted by, or its text.
sub sort_value {
	my ($text, $hex, $signed) = @_;
	return $1 if $text =~ /\[ *(-?\d+)\]$/ || $text =~ /^~ 2\^(\d+)/ || $text =~ /^~ (-?\d+)-/;
	return $text unless $text =~ /^\[([0-9a-f]{1,16})\]/ || ($hex && $text =~ /^([0-9a-f]{1,16})$/);
	# In two parts, as perl warns of a number that long.
	my $n = hex(substr("0$1", 0, -8) || 0) << 32 | hex(substr("00000000$1", -8));
	return $signed && $n >= 9223372036854775808 ? -(18446744073709551615 - $n) - 1 : $n;
}

sub by_column {
	my ($x, $y) = @_;
	return $x =~ /^-?\d+$/ && $y =~ /^-?\d+$/ ? $x <=> $y : $x cmp $y;
}

# The names of the columns that a table is sorted by.
sub sort_names {
	my ($sort) = $_[0] =~ /:sort=([^:\s]+)/;
	return split /,/, $sort // 'hitcount';
}

# Sorts rows by what the table is sorted by, unless a column is not shown. What the rules match
# has a sign.
sub sorted_anew {
	my ($info, $rows, @rules) = @_;
	my @down = map { scalar(/\.descending/) } sort_names($info);
	my @names = map { s/\..*//r } sort_names($info);
	my @hex = map { scalar($info =~ /[=,]\Q$_\E\.hex\b/) } @names;
	my @signed = map { my $name = $_; scalar(grep { $name =~ $_->{regex} } @rules) } @names;
	my @keyed;
	for my $row (@$rows) {
		my $text = sort_text($row, \@names);
		return @$rows unless defined $text;
		my @text = split /\0/, $text, -1;
		push @keyed, [$row, map { sort_value($text[$_] // '', $hex[$_], $signed[$_]) } 0 .. $#names];
	}
	return map { $_->[0] } sort {
		my $order = 0;
		for my $i (0 .. $#names) {
			$order = by_column($a->[$i + 1], $b->[$i + 1]) * ($down[$i] ? -1 : 1);
			last if $order;
		}
		$order;
	} @keyed;
}

# The number of columns that the names of a rule match and that are negative; these are
# written as such.
sub make_signed {
	my ($names, $rows) = @_;
	my $changed = 0;
	for my $row (@$rows) {
		for (@$row) {
			s{(?<![^\s,])([^\s{},:]+): +(unknown_syscall +\[)?(\d{19,20})(?![^\s,\]\}])}{
				my ($name, $call, $n) = ($1, $2, $3);
				if ($n >= 9223372036854775808 && $name =~ $names) {
					$changed++;
					sprintf(defined $call ? '%s: %s%3s' : '%s: %s%10s', $name, $call // '', -(18446744073709551615 - $n) - 1);
				} else {
					$&;
				}
			}ge;
		}
	}
	return $changed;
}

# Merges rows whose keys match and are the same, and which have only a hitcount.
# Returns the rows that are left.
sub merged_rows {
	my ($keys, $rows) = @_;
	my (@out, %first);
	for my $row (@$rows) {
		my ($text, $count) = $row->[0] =~ /^(\{ .* \} hitcount:) +(\d+|N)$/;
		if (!defined $text || @$row > 1 || $text !~ $keys) {
			push @out, $row;
		} elsif ($first{$text}) {
			my ($sum) = $first{$text}[0] =~ /(\d+|N)$/;
			$sum += $count unless $count eq 'N';
			$first{$text}[0] = $count eq 'N' ? "$text N" : sprintf('%s %10d', $text, $sum);
		} else {
			push @out, $first{$text} = [$row->[0]];
		}
	}
	return @out;
}

# True for a function that the two kernels implement differently (the row stack-frame): one of
# user_events, and, in a stack that ftrace saves with a record, one of histograms. A stack that
# a histogram itself saves begins below these. All other frames have to be the same, in the
# same order; of these, an entry says how many each kernel has.
sub own_frame {
	my ($symbol, $by_ftrace) = @_;
	return 1 if $symbol =~ /^(user_events?_\w+|_R\w*Cs[0-9A-Za-z]+_11user_events\w*)$/;
	return $by_ftrace && $symbol =~ /^(event_hist_trigger|action_trace|ontrack_action|_R\w*Cs[0-9A-Za-z]+_4hist\w*)$/;
}

# What is in front of a frame, and the frame without its offset and without what compilers add
# to the name, or OWN; nothing for another line. ftrace shows no offsets.
sub frame {
	my $line = shift;
	my ($before, $symbol, $offset, $module) = $line =~ /^( {9,}| ?=> )(\S+?)(\+0x[0-9a-f]+\/0x[0-9a-f]+)?( \[\w+\])?$/;
	return unless defined $symbol && (defined $offset || $before eq ' => ');
	$symbol =~ s/\.(llvm|isra|part|constprop|cold)\b.*//;
	return ($before, own_frame($symbol, !defined $offset) ? 'OWN' : $symbol . ($module // ''));
}

# The lines with these frames: OWN xN for N that follow one another.
sub with_frames {
	my (@out, $own);
	for my $line (@_) {
		my ($before, $frame) = frame($line);
		if (!defined $frame || $frame ne 'OWN') {
			$own = undef;
			push @out, defined $frame ? $before . $frame : $line;
		} elsif (defined $own) {
			$out[-1] = "${before}OWN x" . ++$own;
		} else {
			$own = 1;
			push @out, "${before}OWN x1";
		}
	}
	return @out;
}

# By its text with the caret, the error of each command in the log that canonical() had last.
our %error_of;

# Rules are lists of what a side has, "signed" or "merged": a regular expression and a count,
# to which the number of changes is added.
sub canonical {
	my ($in, %rules) = @_;
	my @in = with_frames(@$in);
	%error_of = ();
	my (@out, @rows, %address);
	my $info = '';
	my $table = 0;
	my $less = 0;
	my $field = '';
	my $flush = sub {
		my $changed = 0;
		for my $rule (@{$rules{signed} // []}) {
			my $n = make_signed($rule->{regex}, \@rows);
			$rule->{here} += $n;
			$changed += $n;
		}
		for my $name (map { s/\..*//r } sort_names($info)) {
			$changed = 1 if grep { $name =~ $_->{regex} } @{$rules{signed} // []};
		}
		$less = 0;
		for my $rule (@{$rules{merged} // []}) {
			my @left = merged_rows($rule->{regex}, \@rows);
			$rule->{here} += @rows - @left;
			$less += @rows - @left;
			@rows = @left;
		}
		@rows = sorted_anew($info, \@rows, @{$rules{signed} // []}) if $changed || $less;
		push @out, sorted_rows($info, \@rows);
		@rows = ();
		$table = 0;
	};
	for my $line (@in) {
		if ($line =~ /^# event histogram/) {
			%address = ();
			$less = 0;
		}
		$line =~ s/\b(common_pid): +[0-9a-f]+/$1: PID/g;
		$line =~ s/\b(common_pid: \S+ *\[) *\d+\]/$1PID]/g;
		$line =~ s/\b(common_timestamp): +[0-9a-f]+/$1: TIME/g;
		$line =~ s/\b(common_type): +[0-9a-f]+/$1: TYPE/g;
		$line =~ s{(hist_data): ([0-9a-f]{16}|\(____ptrval____\))}{
			$address{$2} = 'ADDRESS' . (1 + keys %address) unless $address{$2};
			"$1: $address{$2}";
		}ge;
		if (@out && $out[-1] =~ /^  Command: / && $line =~ /^ {11}( *)\^$/) {
			my $at = length $1;
			$out[-1] =~ s/^  Command:/  Command($at):/;
			$error_of{$out[-1]} = $1 if @out > 1 && $out[-2] =~ /^hist:[^ ]+ error: (.*)/;
			next;
		}
		$field = '' if $line !~ /^ {6}\S/;
		$field = $1 if $line =~ /^      ftrace_event_field name: (.*)/;
		$line .= ", $field" if $line =~ /^      is_signed: \d$/ && $field ne '';
		if (@out && $out[-1] =~ /^      is_signed: / && $line =~ /^      function: (.*)/) {
			$out[-1] .= ", $1";
			next;
		}
		$line =~ s/^(    Entries: )(\d+)$/$1 . ($2 - $less)/e if $less;
		$info = $line if $line =~ /^# trigger info: /;
		if ($line =~ /^\{ /) {
			$table = 1;
			push @rows, [$line];
		} elsif ($table && ($line eq '' || $line =~ /^#/)) {
			$flush->();
			push @out, $line;
		} elsif ($table) {
			# More of the last row: frames, a maximum, what was saved.
			push @{$rows[-1]}, $line;
		} else {
			push @out, $line;
		}
	}
	$flush->();
	return @out;
}

# True if a caret of the C kernel is at the first place where the text is found
# that the caret of the Rust one is at: in C it always is.
sub first_occurrence {
	my ($command, $c, $rust) = @_;
	# An empty text, between two others or at the end, is found by C at the beginning.
	# Before an operator that is a modifier, or what is missing after .buckets.
	return 1 if $c == 0 && substr($command, $rust, 1) =~ /^(|[:,=.() ])$/;
	return 1 if $c == 0 && substr($command, 0, $rust) =~ /\.(?:buckets?=?)?$/ && substr($command, $rust, 1) =~ /^[-+*\/]$/;
	return 0 unless $c < $rust && $rust < length $command;
	# Internally it has another spelling, which is not found in the command.
	return 1 if $c == 0 && substr($command, $rust) =~ /^[^:,]*\.sym-offset/;
	for my $n (1 .. length($command) - $rust) {
		next unless substr($command, $rust + $n, 1) =~ /^(|[^\w])$/;
		return 1 if index($command, substr($command, $rust, $n)) == $c;
	}
	return 0;
}

# What a caret is at, in words.
sub place_of {
	my ($command, $at) = @_;
	my $c = $at < length $command ? substr($command, $at, 1) : '';
	return $c eq '' ? 'the end' : $c =~ /[A-Za-z_\$]/ ? 'a name' : $c =~ /\d/ ? 'a number' : $c eq ' ' ? 'a blank' : $c;
}

1;
