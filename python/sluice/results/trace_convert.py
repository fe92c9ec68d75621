"""What was converted (`sluice trace convert`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceConvert:
    """What was converted (`sluice trace convert`)."""
    accesses: int
    """Accesses that were written."""
    fetches_left_out: int
    """Fetches of instructions that were left out (`--fetches` keeps them)."""
    from_: str
    """The format that was read."""
    lost: list[str]
    """What the other format has no place for."""
    notes: list[str]
    """What was assumed."""
    schema: str
    """Version of the fields."""
    to: str
    """The format that was written."""
