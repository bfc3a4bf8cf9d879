#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# Prints functions whose stack frames are too large: rustc has no
# -Wframe-larger-than=, so CONFIG_FRAME_WARN does not apply to Rust code. A frame is
# what the prologue subtracts from the stack pointer of x86_64.
#
# usage: scripts/frames.py LIMIT OBJECT...   fails if a frame is larger
#        scripts/frames.py --self-test

import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
FRAME = re.compile(r"\bsubq?\s+\$(0x[0-9a-f]+|\d+), %rsp")


def frames(listing):
    """The largest subtraction in each function of a disassembly."""
    found, function = {}, None
    for line in listing.splitlines():
        if match := FUNCTION.match(line):
            function = match[1]
            found.setdefault(function, 0)
        elif match := FRAME.search(line):
            found[function] = max(found[function], int(match[1], 0))
    return found


def too_large(listing, limit):
    return sorted((n, f) for f, n in frames(listing).items() if n > limit)


def self_test():
    listing = """
0000000000000000 <small>:
       0:      	subq	$0x800, %rsp
0000000000000010 <large>:
      10:      	pushq	%rbx
      12:      	subq	$0x801, %rsp            # imm = 0x801
0000000000000020 <none>:
      20:      	subq	%rax, %rsp
      22:      	subq	$0x9000, %rax
"""
    assert frames(listing) == {"small": 0x800, "large": 0x801, "none": 0}
    assert too_large(listing, 2048) == [(0x801, "large")]


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    limit, bad = int(sys.argv[1]), False
    for name in sys.argv[2:]:
        listing = subprocess.run(
            ["llvm-objdump", "-d", "--no-show-raw-insn", name], check=True, capture_output=True, text=True
        ).stdout
        if not frames(listing):
            sys.exit(f"frames: error: {name} has no functions")
        for size, function in too_large(listing, limit):
            print(f"warning: frame of {size} bytes, more than {limit}: {function} of {name}")
            bad = True
    sys.exit(bad)


main()
