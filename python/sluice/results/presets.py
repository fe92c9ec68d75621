"""What there is by name (`sluice system list --json`, `sluice fabric list --json`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from sluice.results.parts import Named

Presets = list[Named]
"""What there is by name (`sluice system list --json`, `sluice fabric list --json`)."""
