# SPDX-License-Identifier: GPL-2.0
"""The parts of the program besides its code: completions, the man page, the package."""

import argparse
import os
import re
import subprocess
import unittest

from tests.data_files import FOLDER
from tracehist import arguments

TOOL = os.path.dirname(os.path.dirname(FOLDER))
MAN = os.path.join(TOOL, "../../../Documentation/tools/hist/hist.rst")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def commands():
    """The commands with their parsers."""
    actions = arguments.parser()._actions
    return next(a for a in actions if isinstance(a, argparse._SubParsersAction)).choices


def options(parser):
    return [o for action in parser._actions for o in action.option_strings if o not in ("-h", "--help")]


class CompletionTest(unittest.TestCase):
    def complete(self, *words):
        """Returns the words that bash offers for the last one."""
        script = (
            f"source {TOOL}/completion/hist.bash; COMP_WORDS=({' '.join(repr(w) for w in words)}); "
            f"COMP_CWORD={len(words) - 1}; _hist; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        )
        done = subprocess.run(["bash", "-c", script], capture_output=True, encoding="utf-8", check=True)
        return [word for word in done.stdout.split("\n") if word]

    def test_bash_has_each_option(self):
        self.assertEqual(set(self.complete("hist", "")) - {"--help", "--version"}, set(commands()))
        for name, parser in commands().items():
            self.assertEqual(set(self.complete("hist", name, "-")) - {"--help"}, set(options(parser)), name)

    def test_bash_has_the_choices(self):
        for name, parser in commands().items():
            for action in parser._actions:
                if action.choices:
                    self.assertEqual(self.complete("hist", name, action.option_strings[0], ""), list(action.choices))

    def test_zsh_names_each_option(self):
        text = read(f"{TOOL}/completion/_hist")
        for name, parser in commands().items():
            self.assertRegex(text, rf"'{name}:")
            for option in options(parser):
                self.assertRegex(text, rf"['{{,]{option}['\[,}}]", f"{name} {option}")


class ManPageTest(unittest.TestCase):
    def test_has_each_command_and_option(self):
        text = read(MAN)
        for name, parser in commands().items():
            self.assertIn(f"**hist {name}**", text)
            for option in options(parser):
                self.assertIn(f"**{option}**", text, name)

    def test_has_the_examples(self):
        text = read(MAN)
        for line in arguments.EXAMPLES.split("\n"):
            if line.startswith("  hist "):
                self.assertIn("# " + line.strip(), text)


class PackageTest(unittest.TestCase):
    def test_packages_and_entry_point(self):
        text = read(f"{TOOL}/pyproject.toml")
        self.assertIn('packages = ["tracehist"]', text)
        module, function = re.search(r'hist = "([\w.]+):(\w+)"', text).groups()
        self.assertTrue(callable(getattr(__import__(module, fromlist=[function]), function)))
        # No folder of the program is left out of that list.
        self.assertEqual(
            [
                d
                for d in os.listdir(f"{TOOL}/tracehist")
                if os.path.isdir(f"{TOOL}/tracehist/{d}") and d != "__pycache__"
            ],
            [],
        )

    def test_each_file_has_a_licence_and_a_purpose(self):
        for folder in ("tracehist", "tests"):
            for name in os.listdir(f"{TOOL}/{folder}"):
                if name.endswith(".py") and name != "__init__.py":
                    lines = read(f"{TOOL}/{folder}/{name}").split("\n")
                    self.assertEqual(lines[0], "# SPDX-License-Identifier: GPL-2.0", name)
                    self.assertTrue(lines[1].startswith('"""'), name)
                    self.assertLess(len(lines), 400, name)


if __name__ == "__main__":
    unittest.main()
