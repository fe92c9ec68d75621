"""The program that runs, and how many of it at a time."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from sluice.errors import ExperimentError

CORES = len(os.sched_getaffinity(0))


def find(given: Path | None) -> Path:
    """The program: as given, the one that started this one, or found on the PATH."""
    checkout = Path(__file__).parents[3] / "target/release/sluice"
    candidates: list[Any] = [given] if given else [
        os.environ.get("SLUICE"), checkout, shutil.which("sluice")]
    for candidate in candidates:
        if candidate and Path(candidate).is_file():
            return Path(candidate).resolve()
    raise ExperimentError(f"no program at {given}" if given else
                          "no `sluice` on the PATH; --sluice FILE names one")


def jobs(text: str) -> int:
    """A number of runs at a time."""
    count = int(text)
    if count < 1:
        raise ValueError
    return count
