#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs the program from the source tree, without an installation."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from tracehist.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
