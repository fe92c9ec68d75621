"""Quantities by name, of which those that are derived are computed when somebody asks."""

from __future__ import annotations

from collections.abc import Mapping

from sluice.reproduce.formula import Formula
from sluice.reproduce.grid import Grid


class Known(dict[str, Grid]):
    """What was measured and published, and what follows from it."""

    def __init__(self, grids: Mapping[str, Grid], derived: Mapping[str, Formula]) -> None:
        super().__init__(grids)
        self._derived = derived

    def __missing__(self, name: str) -> Grid:
        if name not in self._derived:
            raise KeyError(name)
        self[name] = self._derived[name](self)
        return self[name]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._derived
