# SPDX-License-Identifier: GPL-2.0
"""Records and shows histograms that the kernel counts (hist triggers)."""

__version__ = "1.0"
