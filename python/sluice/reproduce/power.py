"""Could a verdict have come out otherwise? Each claim is judged again on spoilt measurements.

Nothing runs again. Measurements are spoilt in four ways, and what is derived from them is computed
anew. The labels of one axis are dealt out otherwise, or all values of a metric change places; each
metric has its mean everywhere, or each value is off by up to 30 %. A claim that such numbers fulfil
as well says little.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations, zip_longest
from math import factorial, isinf, isnan
from typing import Any

from sluice.errors import ExperimentError
from sluice.reproduce.claims import (
    CONTRADICTS,
    MATCH,
    MEDIUM,
    NOTHING,
    STRONG,
    UNCHECKED,
    WEAK,
    Claim,
    Judged,
    Power,
)
from sluice.reproduce.formula import Formula
from sluice.reproduce.grid import Cell, Grid
from sluice.reproduce.judge import judge
from sluice.reproduce.known import Known

Grids = Mapping[str, Grid]

_ALL = 120
"""Permutations of an axis are all tried up to this many, else :data:`_DRAWN` of them."""
_DRAWN = 240
_NOISES = 240
_NOISE = 0.3
_FEW, _MOST = 0.1, 0.5
_SAME = 0.01
"""Two values that differ by less are the same measurement: labels that have them are not told
apart by exchanging them."""


def with_power(judged: Sequence[Judged], measured: Grids, told: Grids,
               derived: Mapping[str, Formula], seed: str) -> list[Judged]:
    """Each claim with its power. ``told`` is what was published or given, which nothing spoils."""
    def worlds(spoilt: Iterator[Grids]) -> list[Grids]:
        return [Known({**told, **grids}, derived) for grids in spoilt]

    permuted = worlds(_permuted(measured, seed))
    shuffled = worlds(_shuffled(measured, seed))
    noisy = worlds(_noisy(measured, seed))
    mean = {name: _no_effect(grid) for name, grid in measured.items()}
    alike = None if mean == measured else Known({**told, **mean}, derived)
    return [one if one.outcome == UNCHECKED else
            replace(one, power=_power(one, permuted, shuffled, noisy, alike)) for one in judged]


def _power(one: Judged, permuted: Sequence[Grids], shuffled: Sequence[Grids],
           noisy: Sequence[Grids], alike: Grids | None) -> Power:
    def holding(tried: Sequence[Judged | None]) -> tuple[int, int]:
        return sum(_holds(found, one) for found in tried), len(tried)

    labels = holding([found for found in (_again(one.claim, world) for world in permuted)
                      if found is None or not _alike(found, one)])
    dealt = [_again(one.claim, world) for world in shuffled]
    # A mean of everything is the same wherever the values stand.
    unmoved = all(found and _alike(found, one) for found in dealt)
    cells = (0, 0) if unmoved else holding(dealt)
    noise = holding([_again(one.claim, world) for world in noisy])
    equal = alike and _again(one.claim, alike)
    no_effect = _holds(equal, one) if equal and _is_of_numbers(equal) else None
    # What was chosen so that the claim holds could not have come out otherwise.
    word = NOTHING if one.claim.fitted else _word(one, labels, cells, noise, no_effect)
    return Power(word, labels, noise, no_effect, cells)


def _is_of_numbers(judged: Judged) -> bool:
    """Whether there are numbers to compare: 0 / 0 is neither a match nor none."""
    return not any(isinf(one.excess) for one in judged.findings)


def _again(claim: Claim, world: Grids) -> Judged | None:
    """Judged there; nothing where spoilt numbers cannot even be compared."""
    try:
        return judge(claim, world)
    except (ExperimentError, ValueError, ArithmeticError):
        return None


def _holds(judged: Judged | None, one: Judged) -> bool:
    """Whether it comes out as well; what measures what was published is no longer contradicted."""
    good = (MATCH, CONTRADICTS)
    wanted = (one.outcome,) if one.outcome in good else good
    return judged is not None and judged.outcome in wanted


def _alike(found: Judged, one: Judged) -> bool:
    """Whether the same is compared, wherever. A permutation that changes nothing of it by more than
    :data:`_SAME`, or only the names of the places at which it is compared, is no test of the claim:
    labels that measure the same are exchanged."""
    ours, theirs = _shown(found), _shown(one)
    return len(ours) == len(theirs) and all(map(_same, ours, theirs)) \
        and found.outcome == one.outcome


def _shown(judged: Judged) -> list[Any]:
    # How far two numbers are apart says no more of them, and changes by more than they do.
    findings = [(one.published, one.ours, one.excess if isinstance(one.ours, str) else 0.0)
                for one in judged.findings]
    # Numbers are brought into an order as numbers: as text 9.9 would stand behind 10.
    findings.sort(key=lambda values: [(isinstance(value, str), value) if isinstance(
        value, str | int | float) else (True, repr(value)) for value in values])
    return [value for values in findings for value in values] \
        + [value for _, value, _ in judged.reasons]


def _same(one: Any, other: Any) -> bool:
    numbers = all(isinstance(value, int | float) for value in (one, other))
    if not numbers or isnan(one) or isnan(other) or one == other:
        return repr(one) == repr(other)
    return bool(abs(one - other) <= _SAME * max(abs(one), abs(other)))


def _word(one: Judged, labels: tuple[int, int], cells: tuple[int, int], noise: tuple[int, int],
          no_effect: bool | None) -> str:
    noisy = noise[0] / noise[1]
    # Where a shuffle moves nothing of what is compared, it is no test.
    dealt = cells[0] / cells[1] if cells[1] else None
    # The order as measured is one of the permutations. Where no other changes anything, as with one
    # value or a mean, noise decides alone.
    share = (labels[0] + _holds(one, one)) / (labels[1] + 1) if labels[1] else noisy
    if share == noisy == 1 and dealt in (1, None) and no_effect is not False:
        return NOTHING
    # So few that even if none holds the share is not small, as of two labels: noise as well.
    fails_in_all = labels[0] == 0 and 1 / (labels[1] + 1) >= _FEW and noisy < _FEW
    # Where equal values are no test, noise is one in their place.
    is_effect = no_effect is False or no_effect is None and noisy < _FEW
    if (share < _FEW or fails_in_all) and (dealt or 0) < _FEW and is_effect:
        return STRONG
    return WEAK if share > _MOST and (noisy > _MOST or no_effect) else MEDIUM


def _permuted(measured: Grids, seed: str) -> Iterator[Grids]:
    # Some metrics have some labels of an axis only.
    axes: dict[str, dict[str, None]] = {}
    for grid in sorted(measured.values(), key=lambda grid: -len(grid.cells)):
        for axis, labels in grid.axes.items():
            axes.setdefault(axis, {}).update(dict.fromkeys(labels))
    for axis, known in axes.items():
        labels = tuple(known)
        for order in _orders(labels, f"{seed} {axis}"):
            yield {name: _relabelled(grid, axis, order) if axis in grid.axes else grid
                   for name, grid in measured.items()}


def _orders(labels: Sequence[str], seed: str) -> Iterator[tuple[str, ...]]:
    """Other orders of the labels, each once."""
    if len(labels) < 2:
        return
    if factorial(len(labels)) <= _ALL:
        yield from list(permutations(labels))[1:]
        return
    draw = random.Random(seed)
    seen = {tuple(labels)}
    while len(seen) <= _DRAWN:
        order = tuple(draw.sample(labels, len(labels)))
        if order not in seen:
            seen.add(order)
            yield order


def _relabelled(grid: Grid, axis: str, order: Sequence[str]) -> Grid:
    """The same values, each line along the axis dealt out in another order. A line that has values
    for some labels only deals those out among these."""
    index = list(grid.axes).index(axis)
    lines: dict[Cell, dict[str, Any]] = {}
    for cell, value in grid.cells.items():
        lines.setdefault(cell[:index] + cell[index + 1:], {})[cell[index]] = value
    cells = {}
    for rest, line in lines.items():
        theirs = [label for label in grid.axes[axis] if label in line]
        others = [label for label in order if label in line]
        for label, other in zip(theirs, others, strict=True):
            cells[(*rest[:index], label, *rest[index:])] = line[other]
    return replace(grid, cells=cells)


def _shuffled(measured: Grids, seed: str) -> Iterator[Grids]:
    """All values dealt out over all places, those of metrics with the same places alike. Labels
    that measure the same tell nothing of a value that most places have; this does."""
    for turn in range(_NOISES):
        orders = {name: _order(grid, f"{seed} shuffle {turn}") for name, grid in measured.items()}
        # Where few places are, some draws leave everything where it is.
        if any(order != sorted(order) for order in orders.values()):
            yield {name: _dealt(grid, orders[name]) for name, grid in measured.items()}


def _order(grid: Grid, seed: str) -> list[int]:
    return random.Random(seed).sample(range(len(grid.cells)), len(grid.cells))


def _dealt(grid: Grid, order: Sequence[int]) -> Grid:
    rows = list(grid.rows())
    return replace(grid, cells={cell: rows[other][1]
                                for (cell, _), other in zip(rows, order, strict=True)})


def _no_effect(grid: Grid) -> Grid:
    """Its mean everywhere; distributions are put together."""
    values = list(grid.cells.values())
    mean = _mean(values)
    # What is true or false has no mean, and a missing value gets none.
    return grid.map(lambda value: value if isinstance(value, bool) or _is_missing(value) else mean)


def _is_missing(value: Any) -> bool:
    return value is None or isinstance(value, float) and isnan(value)


def _mean(values: list[Any]) -> Any:
    if not all(isinstance(value, list) for value in values):
        known = [value for value in values if isinstance(value, int | float) and not isnan(value)]
        return sum(known) / len(known) if known else float("nan")
    if any(isinstance(one, list) for value in values for one in value):
        return [pair for value in values for pair in value]
    return [sum(line) / len(values) for line in zip_longest(*values, fillvalue=0)]


def _noisy(measured: Grids, seed: str) -> Iterator[Grids]:
    for turn in range(_NOISES):
        factor = partial(random.Random(f"{seed} noise {turn}").uniform, 1 - _NOISE, 1 + _NOISE)
        yield {name: replace(grid, cells={cell: _off(value, factor) for cell, value in grid.rows()})
               for name, grid in measured.items()}


def _off(value: Any, factor: Callable[[], float]) -> Any:
    """A number times a factor. The values of a distribution share one, counts have their own."""
    if isinstance(value, bool) or value is None:
        return value
    if not isinstance(value, list):
        return value * factor()
    if not any(isinstance(one, list) for one in value):
        return [_off(one, factor) for one in value]
    shared = factor()
    return [[first if first is None else first * shared, *(_off(one, factor) for one in rest)]
            for first, *rest in value]
