"""A command and where it ran (`command.json` of an output folder).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCommand:
    """A command and where it ran (`command.json` of an output folder)."""
    arguments: list[str]
    """Every argument, those of a program among them."""
    directory: str
    """The folder that it was given in."""
    environment: dict[str, str]
    """Variables by which it may differ."""
    host: dict[str, str]
    """What it ran on."""
    schema: str
    """Version of the fields."""
    version: str
    """Version of Sluice."""
