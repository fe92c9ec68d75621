"""What a sweep runs and measures: an experiment of which nothing was published."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice import parquet
from sluice.errors import ExperimentError
from sluice.paths import shown
from sluice.reproduce.formula import Formula
from sluice.reproduce.matrix import names_to_fill
from sluice.reproduce.spec import Axis, Experiment, Label, Metric
from sluice.sweep import cells
from sluice.sweep.file import File, Points

LIVE = ("run", "vm")
"""Commands that measure time: one run at a time. So do some of others."""
NATIVE = ("workload", "recipe")
"""Commands that measure time as well. Options stand behind the commands that they have."""
HOSTS = ("live", "host")
"""Where a curve measures time."""

RANGE_MAX = 10_000
"""Values of a range, at most."""

NOTHING = File((), {}, (), (), None)


@dataclass(frozen=True)
class Plan:
    """``mean`` names the axis whose runs are repeats of one; without repeats it is empty."""

    experiment: Experiment
    mean: str
    samples: tuple[Points, ...] = ()
    """What was drawn, with its seed."""
    command: tuple[str, ...] = ()
    """The command as it was given."""


def plan(over: Sequence[str], measures: Sequence[str], command: Sequence[str],
         mean: str | None = None, file: File = NOTHING) -> Plan:
    """Raises ``ExperimentError`` that names the argument."""
    if command and file.command:
        raise ExperimentError("the command is in the file, and behind --; leave one out")
    command = [*command, *file.command]
    if not command:
        raise ExperimentError("no command to run; put it behind --, such as"
                              " `-- sim --workload zipf`")
    pairs = [(key, _values(key, values)) for key, values in file.grid.items()]
    pairs += [_over(text) for text in over]
    if not pairs and not file.points:
        raise ExperimentError("nothing to sweep over; --over KEY=VALUE,VALUE names a setting or an"
                              " option and its values")
    keys = [key for key, _ in pairs] + [key for one in file.points for key in one.values[0]]
    names = dict(zip(keys, _names(keys), strict=True))
    axes = [_points(one, names) for one in file.points]
    axes += [Axis(names[key], key, tuple(_label(key, value) for value in values))
             for key, values in pairs]
    valued = pairs + [(key, [values[key] for values in one.values])
                      for one in file.points for key in one.values[0]]
    live, given = _is_live(command, valued), tuple(command)
    # A program behind it may have no -- before it.
    first = live and command[0] not in NATIVE
    command = _without_json(command, first)
    command, options_at = _with_options(command, names, 1 if first else _end(command))
    _check_braces(command, [*names.values(), *(one.name for one in file.points)])
    derived = _derived([*file.measures, *measures], cells.heads(axes))
    used = {name for formula in derived.values() for name in formula.names}
    experiment = Experiment(
        name="sweep", folder=Path(), title="Sweep", paper="", place="", setup="", departs="",
        axes=tuple(axes), subcommand=(), command=tuple(command), skip=(), settings={}, per={},
        live=live, quick=False,
        metrics=metrics(sorted(used)),
        derived=derived, given={}, published=(), claims=(), sensitivity=None, figures=(),
        options_at=1 if first else options_at)
    if mean and file.mean:
        raise ExperimentError(f"--mean {mean}: the file has mean = {file.mean!r}; leave one out")
    mean = mean or file.mean
    return Plan(experiment, _mean(experiment, mean) if mean else "", file.points,
                given)


def _is_live(command: Sequence[str], pairs: Sequence[tuple[str, Sequence[str]]]) -> bool:
    """Whether its runs measure time, so that two at once would disturb each other."""
    ours = command[:_end(command)]
    if command[0] == "size":
        traced = any(word.split("=")[0] == "--trace" for word in ours)
        return not traced and all(key != "trace" for key, _ in pairs)
    if command[0] == "curve":
        on = [value for key, values in pairs if key == "on" for value in values]
        behind = [word.removeprefix("--on=") for word in ours if word.startswith("--on=")]
        behind += [next_ for word, next_ in zip(ours, ours[1:], strict=False) if word == "--on"]
        return any(value in HOSTS for value in [*on, *behind])
    return command[0] in LIVE + NATIVE


def _end(command: Sequence[str]) -> int:
    """Where the options of a command end: what stands behind ``--`` is a program's."""
    return command.index("--") if "--" in command else len(command)


def _with_options(command: Sequence[str], names: dict[str, str], at: int) -> tuple[list[str], int]:
    """With an option at this place for each key that is no setting and stands nowhere in it; and
    the place behind them."""
    options: list[str] = []
    for key, name in names.items():
        if "." not in key and name not in names_to_fill(command):
            options += [f"--{key}", f"{{{name}}}"]
    return [*command[:at], *options, *command[at:]], at + len(options)


def _points(points: Points, names: dict[str, str]) -> Axis:
    """An axis whose labels are numbers, and set several parameters each."""
    labels = []
    for number, values in enumerate(points.values, start=1):
        words = {names[key]: value for key, value in values.items()}
        labels.append(Label(str(number), str(number), values=values, settings=words,
                            set={key: value for key, value in values.items() if "." in key}))
    if points.name in names.values():
        raise ExperimentError(f"{points.name} is the name of the file's points; no parameter can"
                              " have it")
    return Axis(points.name, points.name, tuple(labels), keys=tuple(points.values[0]))


def _mean(experiment: Experiment, key: str) -> str:
    for axis in experiment.axes:
        if key.removeprefix("--") in (axis.title, axis.name):
            return axis.name
    raise ExperimentError(f"--mean {key}: no --over gives it values; there are"
                          f" {', '.join(axis.title for axis in experiment.axes)}")


def _without_json(command: Sequence[str], first: bool) -> list[str]:
    """The option is added to every run; behind ``--`` it is a program's."""
    words = [*command]
    until = 0 if first and "--" not in words else _end(words)
    return [word for word in words[:until] if word != "--json"] + words[until:]


def metrics(names: Sequence[str]) -> dict[str, Metric]:
    """Where the output has these numbers: at their keys."""
    return {name: Metric(("/" + re.sub(r"\.|\[", "/", name).replace("]", ""),)) for name in names}


def _over(text: str) -> tuple[str, list[str]]:
    key, found, values = text.partition("=")
    key = key.strip().removeprefix("--")
    given = [value.strip() for value in values.split(",")]
    if not found or not re.fullmatch(r"[a-z][a-z0-9_.-]*", key) or not all(given):
        raise ExperimentError(f"bad --over {text!r}; it is KEY=VALUE,VALUE, such as"
                              " cache.policy=lru,fifo or seed=1,2,3")
    return key, _values(key, given)


def _values(key: str, given: Sequence[str]) -> list[str]:
    listed = [one for value in given for one in _range(key, value)]
    twice = [value for value, count in Counter(listed).items() if count > 1]
    if twice:
        raise ExperimentError(f"--over {key}: {twice[0]!r} is there twice")
    return listed


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
    return Label(value, shown(value), set={key: value} if "." in key else {})


def _check_braces(command: Sequence[str], names: Sequence[str]) -> None:
    for name in names_to_fill(command):
        if name not in names:
            raise ExperimentError(f"the command has {{{name}}}, and no --over gives it values;"
                                  f" there are {', '.join(names)}. For the word itself in braces"
                                  f" write {{{{{name}}}}}")


def _derived(texts: Sequence[str], heads: Sequence[str]) -> dict[str, Formula]:
    """Measures by their names, which the tables have as heads beside others."""
    if parquet.ERROR in heads:
        raise ExperimentError(f"--over {parquet.ERROR}: the results have that name for what was"
                              " wrong with a run")
    derived: dict[str, Formula] = {}
    for name, formula in map(_measure, texts):
        if name == parquet.ERROR or name.startswith(parquet.CONFIG):
            why = "the results have that name for what was wrong with a run, or its settings"
        elif name in heads:
            why = "--over has that name, too"
        elif name in derived:
            why = "that name is there twice"
        else:
            derived[name] = formula
            continue
        raise ExperimentError(f"--measure {name}: {why}; give it another, as in NAME = FORMULA")
    return derived


def _measure(text: str) -> tuple[str, Formula]:
    """``NAME = FORMULA``, or a place in the output alone."""
    named = re.fullmatch(r"\s*([A-Za-z_][A-Za-z_0-9]*)\s*=(?!=)(.*)", text, re.DOTALL)
    formula = Formula(named[2] if named else text)
    return named[1] if named else formula.text, formula
