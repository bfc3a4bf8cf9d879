# SPDX-License-Identifier: GPL-2.0
"""Times as they are given on the command line, such as 10s."""

import argparse
import re

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: str) -> float:
    """Returns a time in seconds; used as the type of an argument."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([a-z]*)", text)
    if match is None or match.group(2) not in UNITS:
        raise argparse.ArgumentTypeError(f"not a time: {text!r} (use for example 500ms, 10s, 2m, 1h)")
    value = float(match.group(1)) * UNITS[match.group(2)]
    if value <= 0:
        raise argparse.ArgumentTypeError(f"not a time: {text!r} (it is zero)")
    return value


def show(value: float) -> str:
    """Returns a time as a person writes it."""
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 120:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 120:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
