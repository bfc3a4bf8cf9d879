# SPDX-License-Identifier: GPL-2.0
"""The files that were recorded from kernels; data/record.sh records them."""

import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def data(name: str) -> str:
    """Returns a file, such as "rust/parts.hist"."""
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def names(folder: str, suffix: str):
    """Returns the files of a folder that end in something."""
    return sorted(f"{folder}/{n}" for n in os.listdir(os.path.join(FOLDER, folder)) if n.endswith(suffix))
