"""What this host can do (`sluice doctor --json`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Doctor:
    """What this host can do (`sluice doctor --json`)."""
    checks: list[DoctorCheck]
    """What was looked at."""
    modes: DoctorModes
    """Whether `sluice run` works here, by the way in which it traps."""
    schema: str
    """Version of the fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorCheck:
    """One thing that was looked at."""
    found: str
    """What was found, in words."""
    mend: str | None
    """What would mend it, in words. `null` if it is as it should be."""
    name: str
    """Its name."""
    needed_for: str
    """What needs it, in words."""
    ok: bool
    """Whether it is as it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorModes:
    """Whether `sluice run` works, by `--trap`."""
    event: bool
    """With `--trap event`, the default."""
    signal: bool
    """With `--trap signal`."""
