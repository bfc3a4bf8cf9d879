# SPDX-License-Identifier: GPL-2.0
"""The table that is refreshed."""

import io
import unittest

from tracehist import live


class Terminal(io.StringIO):
    """A text file that is a terminal."""

    encoding = "utf-8"

    def isatty(self):
        return True


class ScreenTest(unittest.TestCase):
    def test_terminal_is_refreshed_and_restored(self):
        out = Terminal()
        with live.Screen(out) as screen:
            screen.show(["one", "two"])
            screen.show(["three"])
        text = out.getvalue()
        self.assertTrue(text.startswith(live.OTHER_SCREEN + live.CLEAR))
        self.assertIn(f"{live.HOME}three{live.TO_END_OF_LINE}\n{live.TO_END_OF_SCREEN}", text)
        self.assertTrue(text.endswith(live.FIRST_SCREEN))

    def test_terminal_is_restored_after_an_error(self):
        out = Terminal()
        with self.assertRaises(ValueError), live.Screen(out):
            raise ValueError
        self.assertTrue(out.getvalue().endswith(live.FIRST_SCREEN))

    def test_no_more_lines_than_the_terminal_has(self):
        out = Terminal()
        with live.Screen(out) as screen:
            screen.show([str(i) for i in range(1000)])
        self.assertLess(out.getvalue().count("\n"), 1000)

    def test_text_elsewhere(self):
        out = io.StringIO()
        with live.Screen(out) as screen:
            screen.show(["one"])
            screen.show(["two"])
        self.assertRegex(out.getvalue(), r"^\d\d:\d\d:\d\d\none\n\n\d\d:\d\d:\d\d\ntwo\n$")


if __name__ == "__main__":
    unittest.main()
