"""The policies that there are (`sluice policy list --json`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPolicy:
    """A policy."""
    decides_by: str
    """By what it decides: `hits` and misses, `misses` alone, or `stale pages`."""
    kind: str
    """What it decides on: `eviction`, `prefetch` or `gc`."""
    meaning: str
    """What it does."""
    name: str
    """The name."""
    source: str
    """Where it was published."""


Policies = list[NamedPolicy]
"""The policies that there are (`sluice policy list --json`)."""
