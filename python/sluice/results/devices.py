"""The devices that come with Sluice (`sluice device list --json`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedDevice:
    """A device that comes with Sluice."""
    live: bool
    """Whether a program can run on it (`sluice run`)."""
    live_instead: str | None
    """What to give to `sluice run` instead. `null` if a program can run on it."""
    meaning: str
    """What it is."""
    name: str
    """The name."""


Devices = list[NamedDevice]
"""The devices that come with Sluice (`sluice device list --json`)."""
