"""What a sweep runs and measures, from its arguments: an experiment of which nothing was
published."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice.errors import ExperimentError
from sluice.reproduce.formula import Formula
from sluice.reproduce.matrix import names_to_fill
from sluice.reproduce.spec import Axis, Experiment, Label, Metric

LIVE = ("run", "vm")
"""Commands that measure time: one run at a time."""


RANGE_MAX = 10_000
"""Values of a range, at most."""


@dataclass(frozen=True)
class Plan:
    """``mean`` names the axis whose runs are repeats of one; without repeats it is empty."""

    experiment: Experiment
    mean: str


def plan(over: Sequence[str], measures: Sequence[str], command: Sequence[str],
         mean: str | None = None) -> Plan:
    """Raises ``ExperimentError`` that names the argument."""
    if not command:
        raise ExperimentError("no command to run; put it behind --, such as"
                              " `-- sim --workload zipf`")
    if not over:
        raise ExperimentError("nothing to sweep over; --over KEY=VALUE,VALUE names a setting or an"
                              " option and its values")
    pairs = [_over(text) for text in over]
    names = _names([key for key, _ in pairs])
    live = command[0] in LIVE
    axes, command, options = [], _without_json(command), []
    for (key, values), name in zip(pairs, names, strict=True):
        axes.append(Axis(name, key, tuple(_label(key, value) for value in values)))
        if "." not in key and name not in names_to_fill(command):
            options += [f"--{key}", f"{{{name}}}"]
    # What stands at the end of a live command is a program's.
    at = 1 if live else len(command)
    command = [*command[:at], *options, *command[at:]]
    _check_braces(command, names)
    derived = dict(_measure(text) for text in measures)
    used = {name for formula in derived.values() for name in formula.names}
    experiment = Experiment(
        name="sweep", folder=Path(), title="Sweep", paper="", place="", setup="", departs="",
        axes=tuple(axes), subcommand=(), command=tuple(command), skip=(), settings={}, per={},
        live=live, quick=False,
        metrics=metrics(sorted(used)),
        derived=derived, given={}, published=(), claims=(), sensitivity=None, figures=(),
        options_at=1 if live else None)
    return Plan(experiment, _mean(experiment, mean) if mean else "")


def _mean(experiment: Experiment, key: str) -> str:
    for axis in experiment.axes:
        if key.removeprefix("--") in (axis.title, axis.name):
            return axis.name
    raise ExperimentError(f"--mean {key}: no --over gives it values; there are"
                          f" {', '.join(axis.title for axis in experiment.axes)}")


def _without_json(command: Sequence[str]) -> list[str]:
    """The option is added to every run; behind ``--`` it is a program's."""
    words = [*command]
    until = words.index("--") if "--" in words else 0 if words[0] in LIVE else len(words)
    return [word for word in words[:until] if word != "--json"] + words[until:]


def metrics(names: Sequence[str]) -> dict[str, Metric]:
    """Where the output has these numbers: at their keys."""
    return {name: Metric((f"/{name.replace('.', '/')}",)) for name in names}


def _over(text: str) -> tuple[str, list[str]]:
    key, found, values = text.partition("=")
    key = key.strip().removeprefix("--")
    listed = [one for value in values.split(",") for one in _range(key, value.strip())]
    if not found or not re.fullmatch(r"[a-z][a-z0-9_.-]*", key) or not all(listed):
        raise ExperimentError(f"bad --over {text!r}; it is KEY=VALUE,VALUE, such as"
                              " cache.policy=lru,fifo or seed=1,2,3")
    twice = [value for value, count in Counter(listed).items() if count > 1]
    if twice:
        raise ExperimentError(f"--over {key}: {twice[0]!r} is there twice")
    return key, listed


def _range(key: str, value: str) -> list[str]:
    """``1..5`` is five values; anything else is one."""
    ends = re.fullmatch(r"(\d+)\.\.(\d+)", value)
    if not ends:
        return [value]
    first, last = int(ends[1]), int(ends[2])
    if not first <= last < first + RANGE_MAX:
        raise ExperimentError(f"--over {key}: {value} is no range; FIRST..LAST goes up, by"
                              f" {RANGE_MAX} values at most")
    return [str(one) for one in range(first, last + 1)]


def _names(keys: Sequence[str]) -> list[str]:
    """Keys by their last part, by which formulas call them; whole where two have the same."""
    twice = [key for key, count in Counter(keys).items() if count > 1]
    if twice:
        raise ExperimentError(f"--over {twice[0]} is there twice; give it all its values at once")
    last = [key.split(".")[-1].replace("-", "_") for key in keys]
    count = Counter(last)
    return [name if count[name] == 1 else re.sub(r"[.-]", "_", key)
            for key, name in zip(keys, last, strict=True)]


def _label(key: str, value: str) -> Label:
    return Label(value, value, set={key: value} if "." in key else {})


def _check_braces(command: Sequence[str], names: Sequence[str]) -> None:
    for name in names_to_fill(command):
        if name not in names:
            raise ExperimentError(f"the command has {{{name}}}, and no --over gives it values;"
                                  f" there are {', '.join(names)}. For the word itself in braces"
                                  f" write {{{{{name}}}}}")


def _measure(text: str) -> tuple[str, Formula]:
    """``NAME = FORMULA``, or a place in the output alone."""
    named = re.fullmatch(r"\s*([A-Za-z_][A-Za-z_0-9]*)\s*=(?!=)(.*)", text, re.DOTALL)
    formula = Formula(named[2] if named else text)
    return named[1] if named else formula.text, formula
