# SPDX-License-Identifier: GPL-2.0
#
# Histograms in an output, in a form in which two kernels can be compared:
#
# - rows that are equal in what the table is sorted by have no order of their
#   own, and come in the order of their text;
# - numbers of processes, times, offsets of frames of stacks and the like are masked;
# - frames of the implementations themselves are left out, see own_frame();
# - addresses are numbered in the order in which they come in one dump, so that
#   what is the same in it has to be the same in the other one (memory that was
#   freed is used again at once by one kernel and later by the other);
# - a command in error_log and the caret below it are one line.

use strict;
use warnings;

# The text of a row under each name that it can be sorted by.
sub sort_text {
	my ($row, $names) = @_;
	my $first = $row->[0];
	my @shown;
	for my $name (@$names) {
		# Key: value pairs, as keys or behind them.
		my ($text) = $first =~ /(?<![\w.])\Q$name\E(?: \(%\))?: *(.*?)(?=, [\w.\$]+: | *\}|  ?[\w.\$]+(?: \(%\))?: |$)/;
		# Not shown: then it says nothing about the order.
		return undef unless defined $text;
		push @shown, $text;
	}
	return join "\0", @shown;
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
			push @out, sort { join("\n", @$a) cmp join("\n", @$b) } @run;
			@run = ();
		}
		push @run, $row;
		$last = $text;
	}
	push @out, sort { join("\n", @$a) cmp join("\n", @$b) } @run;
	return map { @$_ } @out;
}

# True for a function that the two kernels implement differently, of which a stack may have
# any number (the row stack-frame): one of user_events, and, in a stack that ftrace saves
# with a record, one of histograms. A stack that a histogram itself saves begins below these.
# All other frames have to be the same, in the same order.
sub own_frame {
	my ($symbol, $by_ftrace) = @_;
	return 1 if $symbol =~ /^(user_events?_\w+|_R\w*Cs[0-9A-Za-z]+_11user_events\w*)$/;
	return $by_ftrace && $symbol =~ /^(event_hist_trigger|action_trace|ontrack_action|_R\w*Cs[0-9A-Za-z]+_4hist\w*)$/;
}

# The line of a frame without its offset, and without what compilers add to the name; an
# empty text for one that is left out; undef for another line. ftrace shows no offsets.
sub frame {
	my $line = shift;
	my ($before, $symbol, $offset, $module) = $line =~ /^( {9,}| ?=> )(\S+?)(\+0x[0-9a-f]+\/0x[0-9a-f]+)?( \[\w+\])?$/;
	return undef unless defined $symbol && (defined $offset || $before eq ' => ');
	$symbol =~ s/\.(llvm|isra|part|constprop|cold)\b.*//;
	return own_frame($symbol, !defined $offset) ? '' : $before . $symbol . ($module // '');
}

sub canonical {
	my @in = @_;
	my (@out, @rows, %address);
	my $info = '';
	my $table = 0;
	my $flush = sub {
		push @out, sorted_rows($info, \@rows);
		@rows = ();
		$table = 0;
	};
	for my $line (@in) {
		%address = () if $line =~ /^# event histogram/;
		$line =~ s/\b(common_pid): +[0-9a-f]+/$1: PID/g;
		$line =~ s/\b(common_pid: \S+ *\[) *\d+\]/$1PID]/g;
		$line =~ s/\b(common_timestamp): +[0-9a-f]+/$1: TIME/g;
		$line =~ s/\b(common_type): +[0-9a-f]+/$1: TYPE/g;
		$line =~ s{(hist_data): ([0-9a-f]{16}|\(____ptrval____\))}{
			$address{$2} = 'ADDRESS' . (1 + keys %address) unless $address{$2};
			"$1: $address{$2}";
		}ge;
		my $frame = frame($line);
		next if defined $frame && $frame eq '';
		$line = $frame if defined $frame;
		if (@out && $out[-1] =~ /^  Command: / && $line =~ /^ {11}( *)\^$/) {
			my $at = length $1;
			$out[-1] =~ s/^  Command:/  Command($at):/;
			next;
		}
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
	# An empty text, between two others or at the end, is found by C at the beginning. In front
	# of an operator that is a modifier, or what is missing behind .buckets.
	return 1 if $c == 0 && substr($command, $rust, 1) =~ /^(|[:,=.() ])$/;
	return 1 if $c == 0 && substr($command, 0, $rust) =~ /\.(?:buckets?)?$/ && substr($command, $rust, 1) =~ /^[-+*\/]$/;
	return 0 unless $c < $rust && $rust < length $command;
	# Internally it has another spelling, which is not found in the command.
	return 1 if $c == 0 && $command =~ /\.sym-offset/;
	for my $n (1 .. length($command) - $rust) {
		next unless substr($command, $rust + $n, 1) =~ /^(|[^\w])$/;
		return 1 if index($command, substr($command, $rust, $n)) == $c;
	}
	return 0;
}

1;
