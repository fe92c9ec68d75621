"""Formulas over grids, as an experiment's file has them: arithmetic, comparisons, reductions.

``geomean(at(time, system='base-cssd') / time, 'workload')`` is read by Python's own parser; what
is not listed here is refused, so that a formula can compute and do nothing else.
"""

from __future__ import annotations

import ast
import json
import math
import operator
import statistics
from collections.abc import Callable, Mapping
from typing import Any

from sluice.errors import ExperimentError
from sluice.reproduce.grid import Grid, numbers_of
from sluice.reproduce.spread import interval, stddev

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Pow: lambda a, b: _power(a, b),
    ast.Div: lambda a, b: a / b if b else math.nan,
}
_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}
Line = dict[Any, Any]
"""The values along an axis, by label; over several axes at once by their labels."""


def finite(value: Any) -> Any:
    """The value; what is endless is no number, of which a mean or a spread would be none."""
    return math.nan if isinstance(value, float) and math.isinf(value) else value


def _computed(by: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Arithmetic with numbers; a truth is none."""
    def compute(a: Any, b: Any) -> Any:
        if isinstance(a, bool) or isinstance(b, bool):
            raise ExperimentError("a truth is no number to compute with")
        return finite(by(a, b))

    return compute


def _compared(by: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    """A comparison; of what is no number nothing is true, nor false."""
    def compare(a: Any, b: Any) -> Any:
        return math.nan if math.isnan(a) or math.isnan(b) else by(a, b)

    return compare


def _joined(is_and: bool) -> Callable[[Any, Any], Any]:
    """Both, or one of both; unknown if that depends on what is unknown."""
    def join(a: Any, b: Any) -> Any:
        values = [_truth(a), _truth(b)]
        if (not is_and) in values:
            return not is_and
        return math.nan if any(math.isnan(value) for value in values) else is_and

    return join


def _truth(value: Any) -> Any:
    """The truth, or no number where it is unknown."""
    if isinstance(value, bool) or (isinstance(value, float) and math.isnan(value)):
        return value
    raise ExperimentError(f"true or false was needed, not {value!r}")


def _power(a: float, b: float) -> float:
    """A power that is a number: of whole ones it could be larger than memory."""
    try:
        power = float(a) ** b
    except (ZeroDivisionError, OverflowError):
        return math.nan
    return math.nan if isinstance(power, complex) else power


def _geomean(line: Line) -> float:
    values = list(line.values())
    return statistics.geometric_mean(values) if all(v > 0 for v in values) else math.nan


def _harmean(values: list[float]) -> float:
    total = sum(1 / value for value in values) if all(values) else 0.0
    return len(values) / total if total else math.nan


def _label_of(line: Line, which: Callable[..., Any]) -> float:
    """The label of the least or the greatest value, as a number."""
    return dict(zip(line, numbers_of(list(line)), strict=True))[which(line, key=line.__getitem__)]


_REDUCTIONS: dict[str, Callable[[Line], Any]] = {
    "geomean": _geomean,
    "mean": lambda line: statistics.fmean(line.values()),
    "stddev": lambda line: stddev(list(line.values())),
    "interval": lambda line: interval(list(line.values())),
    "harmean": lambda line: _harmean(list(line.values())),
    "sum": lambda line: sum(line.values()),
    "min": lambda line: min(line.values()),
    "max": lambda line: max(line.values()),
    "all": lambda line: all(line.values()),
    "any": lambda line: any(line.values()),
    "count": lambda line: sum(line.values()),
    "argmin": lambda line: _label_of(line, min),
    "argmax": lambda line: _label_of(line, max),
}
_OF_TRUTHS = ("all", "any", "count")
_OF_LABELS = ("argmin", "argmax")


def _reduced(name: str) -> Callable[[Line], Any]:
    """The reduction; of values of which one does not exist there is none either."""
    by = _REDUCTIONS[name]

    def reduce(line: Line) -> Any:
        if name in _OF_TRUTHS:
            line = {label: _truth(value) for label, value in line.items()}
        gaps = any(math.isnan(value) for value in line.values())
        return math.nan if gaps or not line else by(line)

    return reduce


def _quantile(pairs: list[list[float]], share: float) -> float:
    """The smallest value that at least ``share`` of the counts do not exceed."""
    total = sum(count for _, count in pairs)
    seen = 0.0
    for value, count in sorted(pairs) if total else ():
        seen += count
        if seen >= share * total - 1e-9:
            return value
    return math.nan


def _share_within(pairs: list[list[float]], limit: float) -> float:
    """The share of the counts at values up to ``limit``."""
    total = sum(count for _, count in pairs)
    return sum(count for value, count in pairs if value <= limit) / total if total else math.nan


def _by_index(counts: list[float]) -> list[list[float]]:
    """Counts by position become pairs of value and count."""
    return [[float(index), float(count)] for index, count in enumerate(counts)]


def _slope(points: list[list[float]]) -> float:
    """Of the straight line nearest to points by least squares."""
    known = [(x, y) for x, y in points if x is not None and y is not None]
    return statistics.linear_regression(*zip(*known, strict=True)).slope


def _correlation(points: list[list[float]]) -> float:
    """Pearson's coefficient of points."""
    known = [(x, y) for x, y in points if x is not None and y is not None]
    return statistics.correlation(*zip(*known, strict=True))


_WITH_NUMBER: dict[str, Callable[[Any, float], Any]] = {
    "quantile": _quantile,
    "share_within": _share_within,
}
_OF_VALUE: dict[str, Callable[[Any], Any]] = {
    "pairs": _by_index,
    "slope": _slope,
    "correlation": _correlation,
    "abs": abs,
    "log": lambda value: math.log(value) if value > 0 else math.nan,
    "total": lambda values: sum(values),
}
_WITH_LABELS = ("at", "pick")
_QUANTITY = ast.Name | ast.Attribute | ast.Subscript
"""``time_s``, ``cache.hits``, ``loads[0].time_s``."""
FUNCTIONS = sorted([*_REDUCTIONS, *_WITH_NUMBER, *_OF_VALUE, *_WITH_LABELS, "known", "where"])


class Formula:
    """A formula that was read; ``names`` are the quantities that it needs."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())
        try:
            self._tree = ast.parse(self.text, mode="eval").body
        except SyntaxError as error:
            raise ExperimentError(f"no formula: {self.text!r} ({error.msg})") from None
        called = {id(node.func) for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        self.names = {_dotted(node) for node in ast.walk(self._tree)
                      if isinstance(node, _QUANTITY) and id(node) not in called
                      and not _inside(node, self._tree)}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call):
                _check_call(node, self.text)

    def __call__(self, known: Mapping[str, Grid]) -> Grid:
        """Its value. Raises ``ExperimentError`` that names what is missing or does not fit."""
        try:
            return _value(self._tree, known)
        except (TypeError, ZeroDivisionError, ValueError, OverflowError) as error:
            raise ExperimentError(f"{self.text!r}: {error}") from None
        except ExperimentError as error:
            raise ExperimentError(f"{self.text!r}: {error}") from None

    def numbers(self, known: Mapping[str, Grid]) -> Grid:
        """Its value, which is numbers: what is not finite is none of them. Raises
        ``ExperimentError`` for a text, a truth, a list or an object."""
        try:
            return self(known).map(_number)
        except TypeError as error:
            raise ExperimentError(f"{self.text!r}: {error}") from None

    def number(self, known: Mapping[str, Grid]) -> float:
        """The same of a value without axes."""
        return float(self.numbers(known).only)


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"a number was needed, not {json.dumps(value)[:40]}")
    return finite(value)


def _check_call(node: ast.Call, text: str) -> None:
    """Raises ``ExperimentError`` for a function that is none, and for arguments that it would pass
    over: without them the formula would say something else."""
    name = _dotted(node.func)
    if name not in FUNCTIONS:
        raise ExperimentError(f"no function {name!r} in {text!r}; there are {', '.join(FUNCTIONS)}")
    if name in _WITH_LABELS:
        needs = f"a quantity and labels, such as {name}(time_s, policy='lru')"
        is_right = len(node.args) == 1 and bool(node.keywords)
    elif name in _REDUCTIONS:
        needs = f"a quantity, and axes in quotes, such as {name}(time_s, 'seed')"
        is_right = bool(node.args) and not node.keywords
    elif name in _WITH_NUMBER or name == "where":
        needs = f"a quantity and a {'condition' if name == 'where' else 'number'}"
        is_right = len(node.args) == 2 and not node.keywords
    else:
        needs, is_right = "one quantity", len(node.args) == 1 and not node.keywords
    if not is_right:
        raise ExperimentError(f"{text!r}: {name} needs {needs}")


def _inside(node: ast.AST, tree: ast.AST) -> bool:
    """Whether the name is only the first part of a dotted one."""
    return any(isinstance(one, ast.Attribute | ast.Subscript) and one.value is node
               for one in ast.walk(tree))


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) \
            and type(node.slice.value) is int:
        return f"{_dotted(node.value)}[{node.slice.value}]"
    raise ExperimentError(f"cannot read {ast.unparse(node)!r}")


def _value(node: ast.AST, known: Mapping[str, Grid]) -> Grid:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Grid.one(node.value)
    if isinstance(node, _QUANTITY):
        name = _dotted(node)
        if name not in known:
            raise ExperimentError(f"no quantity {name!r}; there are {', '.join(sorted(known))}")
        return known[name]
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        by = _computed(_BINARY[type(node.op)])
        return _value(node.left, known).with_(_value(node.right, known), by)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        negated = _computed(operator.mul)
        return _value(node.operand, known).map(lambda value: negated(-1, value))
    if isinstance(node, ast.BoolOp):
        first, *rest = (_value(part, known) for part in node.values)
        for part in rest:
            first = first.with_(part, _joined(isinstance(node.op, ast.And)))
        return first
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
        right = _value(node.comparators[0], known)
        return _value(node.left, known).with_(right, _compared(_COMPARE[type(node.ops[0])]))
    if isinstance(node, ast.Call):
        return _call(node, known)
    raise ExperimentError(f"cannot read {ast.unparse(node)!r}")


def _call(node: ast.Call, known: Mapping[str, Grid]) -> Grid:
    name = _dotted(node.func)
    of = _value(node.args[0], known)
    if name == "at":
        return of.at({key.arg or "": _text(key.value) for key in node.keywords})
    if name == "known":
        return of.thin()
    if name == "pick":
        for key in node.keywords:
            labels = key.value.elts if isinstance(key.value, ast.Tuple | ast.List) else [key.value]
            of = of.pick(key.arg or "", [_text(label) for label in labels])
        return of
    if name == "where":
        both = of.with_(_value(node.args[1], known), lambda a, b: (a, _truth(b)))
        return Grid(both.axes, {cell: a for cell, (a, b) in both.cells.items() if b is True},
                    thinned=True)
    if name in _REDUCTIONS:
        by = name
        for axis in node.args[1:]:
            of = of.reduce(_text(axis), _reduced(by))
            # Counts of several lines are counted together.
            by = "sum" if name == "count" else name
        return of if len(node.args) > 1 else _whole(of, name)
    if name in _WITH_NUMBER:
        return of.with_(_value(node.args[1], known), _WITH_NUMBER[name])
    return of.map(_OF_VALUE[name])


def _whole(of: Grid, name: str) -> Grid:
    """Reduced over all its axes at once."""
    places = math.prod(len(labels) for labels in of.axes.values())
    if len(of.cells) < places and not of.thinned:
        raise ExperimentError(f"{places - len(of.cells)} of {places} values are not there")
    if name in _OF_LABELS and len(of.axes) > 1:
        raise ExperimentError(f"{name} needs an axis")
    alone = len(of.axes) == 1
    return Grid.one(_reduced(name)({cell[0] if alone else cell: value
                                    for cell, value in of.rows()}))


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    raise ExperimentError(f"a label or axis in quotes was needed, not {ast.unparse(node)!r}")
