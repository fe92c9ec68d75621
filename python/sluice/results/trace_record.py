"""What was recorded into a trace (`sluice trace record`, `sluice vm --record`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRecord:
    """What was recorded into a trace (`sluice trace record`, `sluice vm --record`)."""
    accesses: int
    """Of the accesses seen, those in the trace."""
    accesses_seen: int
    """Accesses that QEMU reported."""
    accesses_seen_per_s: float
    """Accesses seen in a second of wall time."""
    bytes: int
    """Bytes of the file."""
    bytes_per_access: float | None
    """Bytes of the file for an access."""
    command: list[str]
    """What was executed."""
    file: str
    """The file."""
    filter: str
    """What kept accesses out of the trace."""
    instructions: list[int]
    """Instructions executed, by CPU."""
    schema: str
    """Version of the fields."""
    version: str
    """Version of Sluice."""
    wall_s: float
    """Wall time, s."""
