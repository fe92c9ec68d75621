"""A recipe: a folder with `recipe.toml` and, mostly, a short `program.py`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from sluice.errors import ExperimentError
from sluice.reproduce import section

FILE = "recipe.toml"
SIZES = ("default", "small")


@dataclass(frozen=True)
class Recipe:
    """What the file says: ``size`` and ``footprint_mib`` for each of :data:`SIZES`."""

    name: str
    folder: Path
    title: str
    question: str
    program: tuple[str, ...]
    size: dict[str, str]
    footprint_mib: dict[str, str]
    draw: tuple[str, ...] = ()
    """Figures of the program that have a picture of their own, before that of the time."""
    place: tuple[str, ...] = ()
    """What of its memory is on the device, as ``sluice run --place`` says it."""
    python: tuple[str, ...] = ()
    """Distributions of PyPI that it needs."""
    debian: dict[str, str] = field(default_factory=dict)
    """Programs that it needs, and Debian's packages that have them."""


def find(root: Path) -> list[str]:
    """The names of all recipes. Raises ``ExperimentError`` if the folder has none."""
    names = sorted(path.parent.name for path in root.glob(f"*/{FILE}"))
    if not names:
        raise ExperimentError(f"no recipes in {root}; --recipes DIR names their folder")
    return names


def filled(one: Recipe, word: str, sluice: Path, size: str) -> str:
    """A word of its program with what stands in braces."""
    return word.format(python=sys.executable, folder=one.folder, sluice=sluice, size=size)


def load(root: Path, name: str) -> Recipe:
    """Raises ``ExperimentError`` that names file and key."""
    table = section.read(root / name / FILE)
    one = Recipe(name, root / name, table.text("title"), table.text("question"),
                 tuple(table.texts("program")), table.settings("size"),
                 table.settings("footprint_mib"), tuple(table.texts("draw", [])),
                 tuple(table.texts("place", [])), tuple(table.texts("python", [])),
                 table.settings("debian"))
    table.done()
    for word in one.program:
        try:
            filled(one, word, Path(), "")
        except (KeyError, IndexError, ValueError):
            raise table.error("program", f"{word}: in braces there are python, folder, sluice and"
                              " size; a brace of the program's own stands twice") from None
    for key, values in (("size", one.size), ("footprint_mib", one.footprint_mib)):
        for size in SIZES:
            if not values.get(size, "").isdecimal():
                raise table.error(f"{key}.{size}", "a whole number was needed")
    return one
