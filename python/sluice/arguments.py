"""Command lines of the package's commands: what is wrong with one is said in one line."""

from __future__ import annotations

import argparse
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """Ends at a mistake with one line, as the other commands do, and status 2."""

    def error(self, message: str) -> NoReturn:
        """What was wrong, and where to look."""
        self.exit(2, f"{self.prog}: {message}; see `{self.prog} --help`\n")


def count(text: str) -> int:
    """A number from one up."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 up")
    return int(text)
