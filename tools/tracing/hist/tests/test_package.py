# SPDX-License-Identifier: GPL-2.0
"""The parts of the program besides its code: completions, the man page, the package."""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
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
    # What runs if a shell expands it leaves a file.
    EVIL = ["user_events:x$(touch${IFS}ran)y", "user_events:x`touch${IFS}ran`", "user_events:${HOME}*"]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with open(f"{self.folder}/available_events", "w", encoding="utf-8") as file:
            file.write("\n".join(["sched:sched_switch", "sched:sched_waking", "block:start"] + self.EVIL) + "\n")
        for name in ("one", "$(touch ran)"):
            os.makedirs(f"{self.folder}/instances/{name}")

    def complete(self, *words):
        """Returns the words that bash offers for the last one."""
        script = (
            f"source {TOOL}/completion/hist.bash; COMP_WORDS=({' '.join(map(shlex.quote, words))}); "
            f"COMP_CWORD={len(words) - 1}; _hist; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        )
        done = subprocess.run(
            ["bash", "-c", script], capture_output=True, encoding="utf-8", check=True, cwd=self.folder
        )
        self.assertEqual(done.stderr, "")
        return [word for word in done.stdout.split("\n") if word]

    def test_bash_has_the_events(self):
        tracefs = ("hist", "record", "--tracefs", self.folder)
        self.assertEqual(self.complete(*tracefs, "-e", "b"), ["block:start"])
        # bash has three words for it, the last of which is replaced.
        self.assertEqual(self.complete(*tracefs, "-e", "sched", ":"), ["sched_switch", "sched_waking"])
        self.assertEqual(self.complete(*tracefs, "-e", "sched", ":", "sched_s"), ["sched_switch"])
        self.assertEqual(self.complete(*tracefs, "--event", "=", "b"), ["block:start"])
        latency = ("hist", "latency", "--tracefs", self.folder)
        self.assertEqual(self.complete(*latency, "sched", ":", "sched_waking", "blo"), ["block:start"])

    def test_bash_has_the_command_and_files(self):
        self.assertIn("touch", self.complete("hist", "record", "-e", "x", "--", "touc"))
        self.assertEqual(self.complete("hist", "show", "av"), ["available_events"])

    def test_names_are_not_run(self):
        tracefs = ("hist", "show", "--tracefs", self.folder)
        for before, word, names in (
            (("-e",), "user", self.EVIL),
            (("-e", "user_events", ":"), "x", [name.partition(":")[2] for name in self.EVIL[:2]]),
            (("-e",), "b", ["block:start"]),
            (("--instance",), "", ["$(touch ran)", "one"]),
        ):
            # Quoted, so they are not run from the command line either.
            self.assertEqual([shlex.split(w) for w in self.complete(*tracefs, *before, word)], [[n] for n in names])
            self.assertEqual(os.listdir(self.folder).count("ran"), 0, (before, word))

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
        # Names that zsh has for its own tables, which its completion of commands uses.
        for line in re.findall(r"^\s*(?:local|typeset) .*", text, re.M):
            self.assertNotRegex(line, r" (commands|functions|aliases|builtins|options|parameters|path)( |$)")


class ManPageTest(unittest.TestCase):
    def test_has_each_command_and_option(self):
        text = read(MAN)
        for name, parser in commands().items():
            self.assertIn(f"**hist {name}**", text)
            for option in options(parser):
                self.assertIn(f"**{option}**", text, name)

    def test_help_fits_into_80_columns(self):
        for words in [[]] + [[name] for name in commands()]:
            done = subprocess.run(
                [sys.executable, "-B", f"{TOOL}/hist.py", *words, "--help"],
                capture_output=True,
                encoding="utf-8",
                env={**os.environ, "COLUMNS": "80"},
                check=True,
            )
            self.assertEqual([line for line in done.stdout.split("\n") if len(line) > 80], [])

    def test_has_the_examples(self):
        text = read(MAN)
        for line in arguments.EXAMPLES.split("\n"):
            if line.startswith("  hist "):
                self.assertIn("# " + line.strip(), text)


class InstallTest(unittest.TestCase):
    """make install and uninstall, with folders as packagers name them."""

    FILES = {
        "usr/bin/hist",
        "usr/share/bash-completion/completions/hist",
        "usr/share/zsh/site-functions/_hist",
        "usr/share/man/man1/hist.1",
    }

    def make(self, *args):
        # No rst2man is needed to see where the man page is installed.
        done = subprocess.run(
            ["make", "-C", TOOL, f"OUTPUT={self.folder}/", "RST2MAN=cp", *args],
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def files(self):
        return {
            os.path.relpath(os.path.join(folder, name), self.root)
            for folder, _, names in os.walk(self.root)
            for name in names
        }

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.root = f"{self.folder}/root"

    def test_installed_and_removed(self):
        for lib, options in (
            ("usr/lib/linux-hist", []),
            ("usr/lib/linux-hist", ["PREFIX=/usr"]),
            ("usr/lib64/linux-hist", ["PREFIX=/usr", "LIBDIR=/usr/lib64"]),
        ):
            other = os.path.join(self.root, os.path.dirname(lib), "libother.so")
            os.makedirs(os.path.dirname(other), exist_ok=True)
            with open(other, "w", encoding="utf-8"):
                pass
            self.make(f"DESTDIR={self.root}", *options, "install")
            program = {f"{lib}/tracehist/{n}" for n in os.listdir(f"{TOOL}/tracehist") if n.endswith(".py")}
            self.assertEqual(
                self.files() - {os.path.relpath(other, self.root)}, self.FILES | program | {f"{lib}/hist.py"}
            )
            self.assertEqual(os.readlink(f"{self.root}/usr/bin/hist"), f"/{lib}/hist.py")
            # As it is when the program has run.
            os.makedirs(f"{self.root}/{lib}/tracehist/__pycache__")
            with open(f"{self.root}/{lib}/tracehist/__pycache__/cli.cpython-311.pyc", "w", encoding="utf-8"):
                pass
            self.make(f"DESTDIR={self.root}", *options, "uninstall")
            self.assertEqual(self.files(), {os.path.relpath(other, self.root)})
            self.assertFalse(os.path.exists(f"{self.root}/{lib}"))
            os.remove(other)


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
