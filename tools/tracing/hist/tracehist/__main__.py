# SPDX-License-Identifier: GPL-2.0
"""python3 -m tracehist"""

import sys

from tracehist.cli import main

if __name__ == "__main__":
    sys.exit(main())
