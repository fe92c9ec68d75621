"""Every parameter with its value (`sluice device show --json`, `sluice device live --json`,
    `sluice system show --json`, `sluice fabric show --json`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter and its value."""
    default: str
    """The value if none is given."""
    default_source: str
    """Where the default comes from."""
    expected: str
    """The kind of value, with its unit and range."""
    key: str
    """The key, such as `nand.read`."""
    meaning: str
    """What it is."""
    source: str
    """Where the value comes from."""
    value: str
    """The value, as text with its unit."""


Parameters = list[Parameter]
"""Every parameter with its value (`sluice device show --json`, `sluice device live --json`,
    `sluice system show --json`, `sluice fabric show --json`)."""
