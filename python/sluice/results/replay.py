"""Pages on a simulated device (`sluice.replay` in Python).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Pages on a simulated device (`sluice.replay` in Python)."""
    accesses: int
    """Accesses issued."""
    hits: int
    """Accesses that found their page in the cache."""
    misses: int
    """Accesses that went to flash."""
    seconds: float
    """Wall time, s."""
