# SPDX-License-Identifier: GPL-2.0
"""A table that is refreshed in a terminal, or printed again and again elsewhere."""

import shutil
import time
from typing import TextIO

CLEAR = "\x1b[H\x1b[2J"
HOME = "\x1b[H"
TO_END_OF_LINE = "\x1b[K"
TO_END_OF_SCREEN = "\x1b[J"
OTHER_SCREEN = "\x1b[?1049h\x1b[?25l"
FIRST_SCREEN = "\x1b[?25h\x1b[?1049l"


class Screen:
    """Shows lines in place of those before. Use it in a `with`."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.terminal = out.isatty()
        self._shown = False

    def __enter__(self) -> "Screen":
        if self.terminal:
            self.out.write(OTHER_SCREEN + CLEAR)
            self.out.flush()
        return self

    def __exit__(self, *_: object) -> None:
        if self.terminal:
            self.out.write(FIRST_SCREEN)
            self.out.flush()

    def show(self, lines: list[str]) -> None:
        """Shows lines: as many as the terminal has, or all of them with the time above."""
        if self.terminal:
            columns, rows = shutil.get_terminal_size()
            shown = [line[:columns] for line in lines[: rows - 1]]
            self.out.write(HOME + "".join(line + TO_END_OF_LINE + "\n" for line in shown) + TO_END_OF_SCREEN)
        else:
            if self._shown:
                self.out.write("\n")
            self.out.write(time.strftime("%H:%M:%S") + "\n" + "\n".join(lines) + "\n")
        self._shown = True
        self.out.flush()


def width(out: TextIO) -> int:
    """Returns the width to use for text: that of the terminal, or 100."""
    return min(shutil.get_terminal_size((100, 24)).columns, 160) if out.isatty() else 100


def is_plain(out: TextIO) -> bool:
    """Returns True if only ASCII can be printed."""
    try:
        "█▏".encode(out.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return False
