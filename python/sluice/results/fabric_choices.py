"""What a fabric file can name (`sluice fabric choices --json`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluice.results.parts import Named


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricChoices:
    """What a fabric file can name (`sluice fabric choices --json`)."""
    endpoints: list[Named]
    """Kinds of endpoints."""
    patterns: list[Named]
    """Patterns of requests."""
    routings: list[Named]
    """Ways to choose among shortest paths."""
    spreads: list[Named]
    """Ways to spread addresses over endpoints."""
    topologies: list[Named]
    """Topologies."""
