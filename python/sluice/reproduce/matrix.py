"""The runs of an experiment: every combination of its axes, as argument lists of ``sluice``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from sluice.errors import ExperimentError
from sluice.reproduce.grid import Cell
from sluice.reproduce.spec import Experiment, Label, Open

_BRACES = re.compile(r"\{\{([a-z_0-9]+)\}\}|\{([a-z_0-9]+)\}")
"""A name in two pairs of braces, which stands for itself in one, or in one, to be filled."""


@dataclass(frozen=True)
class Run:
    """One run: its labels along the axes, what ``sluice`` is called with, and the words that stand
    for names in braces."""

    cell: Cell
    arguments: tuple[str, ...]
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """The runs for one value of an open parameter."""

    open: Open
    value: str
    runs: tuple[Run, ...]


def runs(experiment: Experiment, picks: Mapping[str, Sequence[str]] | None = None,
         change: tuple[Open, str] | None = None) -> tuple[Run, ...]:
    """All combinations, or those with the picked labels; ``change`` sets an open parameter."""
    if not experiment.command:
        return ()
    labels = [_picked(experiment, axis.name, (picks or {}).get(axis.name))
              for axis in experiment.axes]
    names = [axis.name for axis in experiment.axes]
    made = []
    for combination in product(*labels):
        at = dict(zip(names, combination, strict=True))
        cell = {axis: label.name for axis, label in at.items()}
        if not any(skip.items() <= cell.items() for skip in experiment.skip):
            settings = _settings(experiment, at)
            arguments = _arguments(experiment, at, settings, change)
            made.append(Run(tuple(cell.values()), arguments, settings))
    return tuple(made)


def trials(experiment: Experiment) -> tuple[Trial, ...]:
    """The runs that show the sensitivity to open parameters; none in the quick variant."""
    if not experiment.sensitivity or experiment.quick:
        return ()
    return tuple(Trial(one, value, runs(experiment, experiment.sensitivity.axes, (one, value)))
                 for one in experiment.sensitivity.opens for value in one.values)


def _picked(experiment: Experiment, axis: str, names: Sequence[str] | None) -> list[Label]:
    labels = experiment.axis(axis).labels
    if names is None:
        return list(labels)
    known = [label.name for label in labels]
    for name in names:
        if name not in known:
            raise ExperimentError(f"{experiment.folder}: sensitivity.axes.{axis}: no {name!r};"
                                  f" there are {', '.join(known)}")
    return [label for label in labels if label.name in names]


def _settings(experiment: Experiment, at: Mapping[str, Label]) -> dict[str, str]:
    settings = dict(experiment.settings)
    for axis, label in at.items():
        settings |= experiment.per.get((axis, label.name), {}) | label.settings
        settings[axis] = label.name
    return settings


def _arguments(experiment: Experiment, at: Mapping[str, Label], words: Mapping[str, str],
               change: tuple[Open, str] | None) -> tuple[str, ...]:
    settings = dict(words)
    own = [label.command for label in at.values() if label.command]
    wanted = own[0] if own else (*experiment.subcommand, *experiment.command)
    changed: dict[str, str] = {}
    for label in at.values():
        changed |= label.set
    if change and change[0].is_setting:
        settings[change[0].name] = change[1]
    elif change:
        changed[change[0].name] = change[1]
    filled = (_fill(experiment, part, settings) for part in wanted)
    command = [part for part in filled if part]
    options = []
    for key, value in changed.items():
        options += ["--set", f"{key}={_fill(experiment, value, settings)}"]
    put = len(command) if experiment.options_at is None else experiment.options_at
    return (*command[:put], *options, "--json", *command[put:])


def names_to_fill(words: Sequence[str]) -> list[str]:
    """The names in braces."""
    return [match[2] for word in words for match in _BRACES.finditer(word) if match[2]]


def _fill(experiment: Experiment, text: str, settings: Mapping[str, str]) -> str:
    """Replaces ``{name}`` by a setting or by the label on an axis; ``{{name}}`` becomes
    ``{name}``."""
    def value(match: re.Match[str]) -> str:
        if match[1]:
            return f"{{{match[1]}}}"
        if match[2] not in settings:
            raise ExperimentError(
                f"{experiment.folder}: runs.command: no setting {match[2]!r} for {text!r}; there"
                f" are {', '.join(sorted(settings))}")
        return settings[match[2]]
    return _BRACES.sub(value, text)
