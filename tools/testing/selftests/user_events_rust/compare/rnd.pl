# SPDX-License-Identifier: GPL-2.0
#
# Random choices for the generators: the same seed results in the same ones,
# with any version of perl.

use strict;
use warnings;

my $state;

sub seed { $state = $_[0] * 2654435761 % 2**32 || 1 }

sub rnd {
	my $n = shift;
	for my $shift (13, -17, 5) {
		my $x = $shift > 0 ? $state << $shift : $state >> -$shift;
		$state = ($state ^ $x) & 0xffffffff;
	}
	return int($state / 2**32 * $n);
}
sub pick { return $_[rnd(scalar @_)] }
sub chance { return rnd(100) < $_[0] }

1;
