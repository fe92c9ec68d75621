"""Command lines of the package's commands: what is wrong with one is said in one line."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """Ends at a mistake with one line, as the other commands do, and status 2. As of those, options
    have no short forms, which would come to mean something else."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """What was wrong, and where to look."""
        self.exit(2, f"{self.prog}: {message}; see `{self.prog} --help`\n")


def count(text: str) -> int:
    """A number from one up."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 up")
    return int(text)
