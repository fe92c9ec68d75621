"""Pages on an eviction policy alone (`sluice.policy_misses` in Python).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyMisses:
    """Pages on an eviction policy alone (`sluice.policy_misses` in Python)."""
    misses: int
    """Accesses whose page was not in the cache."""
    seconds: float
    """Wall time, s."""
