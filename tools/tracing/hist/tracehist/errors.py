# SPDX-License-Identifier: GPL-2.0
"""Errors that are shown to the user: what failed, on which file, and what to do."""

from typing import Optional


class HistError(Exception):
    """A failure with an explanation. It ends the program with exit status 1.

    `hint` says what to do about it.
    """

    status = 1

    def __init__(self, message: str, hint: Optional[str] = None) -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}\n{self.hint}" if self.hint else message


class UsageError(HistError):
    """A wrong command line. The exit status is that of argparse for one."""

    status = 2


class FormatError(HistError):
    """A file that does not have the format that it should have."""


def of_file(error: OSError, doing: str) -> HistError:
    """Returns the error of an operation on a file, as in "cannot read FILE: No such file"."""
    name = error.filename if error.filename is not None else "the file"
    return HistError(f"cannot {doing} {name}: {error.strerror or error}")
