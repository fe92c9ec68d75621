"""An experiment: one figure or table of a paper, as its folder describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sluice.errors import ExperimentError
from sluice.reproduce import section
from sluice.reproduce.claims import Claim, Remark, read_claim, read_remark
from sluice.reproduce.figures import Figure, read_figure
from sluice.reproduce.formula import Formula
from sluice.reproduce.grid import Grid, number_of
from sluice.reproduce.inputs import digest
from sluice.reproduce.memory import path as path_of_memory
from sluice.reproduce.published import read_csv
from sluice.reproduce.section import Section

FILE = "experiment.toml"


@dataclass(frozen=True)
class Label:
    """One value of an axis: its name, its title, and what it changes in the command, or the command
    that takes the other's place."""

    name: str
    title: str
    set: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    values: dict[str, str] = field(default_factory=dict)
    """By the keys of its axis, where that has any."""


@dataclass(frozen=True)
class Metric:
    """Where a run's output has a quantity: at the first of some pointers that is there."""

    pointers: tuple[str, ...]
    factor: float = 1.0
    only: dict[str, list[str]] = field(default_factory=dict)

    def is_of(self, cell: Mapping[str, str]) -> bool:
        """Whether the run with these labels has it."""
        return all(cell[axis] in labels for axis, labels in self.only.items())


@dataclass(frozen=True)
class Axis:
    """One dimension of the runs."""

    name: str
    title: str
    labels: tuple[Label, ...]
    cut: tuple[str, ...] = ()
    """Labels that the quick variant leaves out."""
    keys: tuple[str, ...] = ()
    """Parameters to which each label gives a value, where they are several."""


@dataclass(frozen=True)
class Open:
    """A parameter that the paper leaves open, with the values to try."""

    name: str
    is_setting: bool
    values: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Sensitivity:
    """How one measure moves with each open parameter, on a part of the runs."""

    says: str
    measure: Formula
    unit: str
    axes: dict[str, list[str]]
    opens: tuple[Open, ...]


@dataclass(frozen=True)
class Given:
    """A number of the paper's set-up."""

    value: float
    unit: str
    place: str


@dataclass(frozen=True)
class Source:
    """Published numbers: where they stand, and what to know about them."""

    file: str
    place: str
    note: str
    grids: dict[str, Grid]


@dataclass(frozen=True)
class Experiment:
    """Everything that the folder says."""

    name: str
    folder: Path
    title: str
    paper: str
    place: str
    setup: str
    departs: str
    axes: tuple[Axis, ...]
    subcommand: tuple[str, ...]
    command: tuple[str, ...]
    skip: tuple[dict[str, str], ...]
    settings: dict[str, str]
    per: dict[tuple[str, str], dict[str, str]]
    live: bool
    """Whether the runs measure time, so that only one may run at a time."""
    quick: bool
    metrics: dict[str, Metric]
    derived: dict[str, Formula]
    given: dict[str, Given]
    published: tuple[Source, ...]
    claims: tuple[Claim, ...]
    sensitivity: Sensitivity | None
    figures: tuple[Figure, ...]
    consistency: tuple[Claim, ...] = ()
    """What compares ours with ours, or with a closed form of ours: no claim of the paper."""
    remarks: tuple[Remark, ...] = ()
    options_at: int | None = None
    """Where settings and ``--json`` go among the words of the command, if not behind them."""
    memory: int = 0
    """Bytes of the file of shared memory that the runs place on a device; 0 for none."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What says all this, by names from the folder on, each with the hash of its bytes."""

    def axis(self, name: str) -> Axis:
        """The axis of this name."""
        return next(axis for axis in self.axes if axis.name == name)

    def titles(self, axis: str) -> dict[str, str]:
        """The titles of an axis' labels; none for an axis that only published numbers have."""
        found = [one for one in self.axes if one.name == axis]
        return {label.name: label.title for one in found for label in one.labels}

    def known(self) -> dict[str, Grid]:
        """What formulas can use besides measurements: the set-up and the published numbers."""
        grids = {f"given.{name}": Grid.one(one.value) for name, one in self.given.items()}
        cut = {axis.name: axis.cut for axis in self.axes}
        for source in self.published:
            grids |= {f"published.{name}": _without(grid, cut)
                      for name, grid in source.grids.items()}
        return grids

    def reads_measured(self, formula: Formula) -> bool:
        """Whether its value depends on what runs measure."""
        return any(name in self.metrics
                   or (name in self.derived and self.reads_measured(self.derived[name]))
                   for name in formula.names)


def _without(grid: Grid, cut: Mapping[str, tuple[str, ...]]) -> Grid:
    """Without the labels that are not run: what was published of them has nothing to stand
    beside."""
    for axis in grid.axes:
        kept = [label for label in grid.axes[axis] if label not in cut.get(axis, ())]
        grid = grid.pick(axis, kept)
    return grid


def find(root: Path) -> list[str]:
    """The names of all experiments below ``root``, in order: fig2 before fig10."""
    names = [str(path.parent.relative_to(root)) for path in root.glob(f"*/*/{FILE}")]
    return sorted(names, key=in_order)


def in_order(name: str) -> list[tuple[str, int]]:
    """Sorts names with numbers in them as a reader would."""
    parts = re.findall(r"([^0-9]*)([0-9]*)", name)
    return [(word, int(number or 0)) for word, number in parts]


def load(root: Path, name: str, quick: bool = False) -> Experiment:
    """Reads one experiment. Raises ``ExperimentError`` that names file and key."""
    path = root / name / FILE
    top = section.read(path)
    included = top.texts("include", [])
    common = [section.read(path.parent / one) for one in included]
    settings, per, axes_quick = _settings([*common, top], quick)
    shared = {below.text("name"): below for one in common for below in one.tables("shared_axes")}
    axes = tuple(_axis(one, axes_quick, shared) for one in top.tables("axes"))
    _no_strangers(top, axes_quick, axes)
    published = tuple(_source(one) for one in top.tables("published"))
    names = dict.fromkeys([FILE, *included, *(one.file for one in published)])
    subcommand, command, skip, live, memory = _runs(top, common)
    if memory:
        settings["memory"] = str(path_of_memory(name))
    experiment = Experiment(
        name=name, folder=path.parent, title=top.text("title"), paper=top.text("paper"),
        place=top.text("place"), setup=top.text("setup"), departs=top.text("departs", ""),
        axes=axes, subcommand=tuple(subcommand), command=tuple(command), skip=tuple(skip),
        settings=settings, per=per, live=live, memory=memory, quick=quick,
        metrics=_metrics(top.table("metrics"), axes),
        derived={key: _formula(top.table("derived"), key) for key in top.settings("derived")},
        given=_given([*common, top]),
        published=published, files={one: digest(str(path.parent / one)) for one in names},
        claims=tuple(read_claim(one) for one in top.tables("claims")),
        consistency=tuple(read_claim(one) for one in top.tables("consistency")),
        remarks=tuple(read_remark(one) for one in top.tables("remarks")),
        sensitivity=_one_sensitivity([*common, top]),
        figures=tuple(read_figure(one) for one in top.tables("figures")),
    )
    for one in [*common, top]:
        one.done()
    _check_names(experiment, path)
    return experiment


def _one_sensitivity(sections: list[Section]) -> Sensitivity | None:
    """The experiment's own, or that of a file that it includes."""
    found = [one for one in sections if one.has("sensitivity")]
    return _sensitivity(found[-1].table("sensitivity")) if found else None


def _settings(sections: list[Section], quick: bool) -> tuple[
        dict[str, str], dict[tuple[str, str], dict[str, str]], dict[str, list[str]]]:
    """Settings of the shared files and then the experiment's own; the later ones win."""
    settings: dict[str, str] = {}
    per: dict[tuple[str, str], dict[str, str]] = {}
    axes: dict[str, list[str]] = {}
    for one in sections:
        fast = one.table("quick")
        tables = [one] + ([fast] if quick else [])
        for table in tables:
            settings |= table.settings("settings")
            below = table.table("per")
            for axis in below.keys():
                for label in below.table(axis).keys():
                    changed = below.table(axis).settings(label)
                    per[axis, label] = per.get((axis, label), {}) | changed
        fast.settings("settings"), fast.raw("per", {})
        chosen = fast.table("axes")
        picked = {axis: chosen.texts(axis) for axis in chosen.keys()}
        axes |= picked if quick else {}
        fast.done()
    return settings, per, axes


def _runs(top: Section, common: list[Section]
          ) -> tuple[list[str], list[str], list[dict[str, str]], bool, int]:
    """The subcommand and its arguments, the shared ones if the experiment has none of its own, what
    is not run, whether the runs are live, and the bytes of their file on the device."""
    live, memory = False, 0
    subcommand = ["sim"]
    command: list[str] = []
    skip = []
    for one in [*common, top]:
        runs = one.table("runs")
        subcommand = runs.texts("subcommand", subcommand)
        command = runs.texts("command", command) + runs.texts("more", [])
        live |= runs.flag("live")
        memory = _bytes(runs, "memory") if runs.has("memory") else memory
        skip += [below.settings("where") for below in runs.tables("skip")]
        runs.done()
    return subcommand, command, skip, live, memory


def _bytes(one: Section, key: str) -> int:
    size = number_of(one.text(key))
    if not size >= 1:
        raise one.error(key, f"a size such as 20MiB was needed, not {one.text(key)!r}")
    return int(size)


def _axis(one: Section, quick: Mapping[str, list[str]], shared: Mapping[str, Section]) -> Axis:
    """An axis with values of its own, or a shared one or some of its labels (`only`)."""
    name = one.text("name")
    source = one
    if not one.has("values") and name in shared:
        source = shared[name]
    labels = [_label(source, index, value)
              for index, value in enumerate(source.raw("values", []), start=1)]
    if not labels:
        raise one.error("values", "at least one value is needed")
    names = [label.name for label in labels]
    for wanted in one.texts("only", []):
        if wanted not in names:
            raise one.error("only", f"no {wanted!r}; there are {', '.join(names)}")
    if one.has("only"):
        labels = [labels[names.index(wanted)] for wanted in one.texts("only")]
        names = one.texts("only")
    for label in quick.get(name, []):
        if label not in names:
            raise one.error("values", f"quick.axes.{name} names {label!r}, which is not here")
    chosen = [label for label in labels if label.name in quick.get(name, names)]
    cut = tuple(label for label in names if label not in quick.get(name, names))
    axis = Axis(name, one.text("title", source.text("title", name)), tuple(chosen), cut)
    one.done()
    source.done()
    return axis


def _label(one: Section, index: int, value: Any) -> Label:
    if not isinstance(value, dict):
        return Label(str(value), str(value))
    below = Section(one.path, f"{one.full('values')}[{index}]", value)
    label = below.text("name")
    made = Label(label, below.text("title", label), below.settings("set"),
                 below.settings("settings"), tuple(below.texts("command", [])))
    below.done()
    return made


def _no_strangers(top: Section, quick: Mapping[str, list[str]], axes: tuple[Axis, ...]) -> None:
    """Settings for a label, and the labels of the quick variant, are of axes that exist."""
    names = [axis.name for axis in axes]
    for where in ("quick.axes", "per", "quick.per"):
        table = top
        for part in where.split("."):
            table = table.table(part)
        for name in table.keys():
            if name not in names:
                raise top.error(f"{where}.{name}", f"no such axis; there are {', '.join(names)}")
            if not where.endswith("per"):
                continue
            known = [one.name for axis in axes if axis.name == name for one in axis.labels]
            for label in table.table(name).keys():
                if label not in known and not quick:
                    raise top.error(f"{where}.{name}.{label}",
                                    f"no such label; there are {', '.join(known)}")


def _metrics(table: Section, axes: tuple[Axis, ...]) -> dict[str, Metric]:
    """A metric is a JSON pointer, a list of them, or a table with either, a factor, and the labels
    that have it."""
    found = {}
    for name in table.keys():
        if isinstance(table.raw(name, ""), dict):
            below = table.table(name)
            only = below.table("only")
            picked = {axis: only.texts(axis) for axis in only.keys()}
            factor = below.number("factor") if below.has("factor") else 1.0
            found[name] = Metric(_pointers(below, "pointer"), factor, picked)
            _known_labels(only, picked, axes)
            below.done()
        else:
            found[name] = Metric(_pointers(table, name))
    return found


def _pointers(one: Section, key: str) -> tuple[str, ...]:
    is_list = isinstance(one.raw(key, None), list)
    pointers = one.texts(key) if is_list else [one.text(key)]
    if not pointers or not all(pointer.startswith("/") for pointer in pointers):
        raise one.error(key, "a JSON pointer such as /cache/misses was needed")
    return tuple(pointers)


def _known_labels(only: Section, picked: Mapping[str, list[str]], axes: tuple[Axis, ...]) -> None:
    for name, labels in picked.items():
        known = [label.name for axis in axes if axis.name == name for label in axis.labels]
        for label in labels:
            if label not in known:
                raise only.error(name, f"no {label!r}; there are {', '.join(known) or 'none'}")


def _formula(table: Section, key: str) -> Formula:
    try:
        return Formula(table.text(key))
    except ExperimentError as error:
        raise table.error(key, str(error)) from None


def _given(sections: list[Section]) -> dict[str, Given]:
    found = {}
    for one in sections:
        table = one.table("given")
        for name in table.keys():
            below = table.table(name)
            found[name] = Given(below.number("value"), below.text("unit", ""),
                                below.text("place"))
            below.done()
    return found


def _source(one: Section) -> Source:
    axes = one.texts("axes")
    path = one.path.parent / one.text("file")
    source = Source(one.text("file"), one.text("place"), one.text("note", ""),
                    read_csv(path, axes))
    one.done()
    return source


def _sensitivity(table: Section) -> Sensitivity:
    opens = []
    for one in table.tables("open"):
        is_setting = one.has("setting")
        opens.append(Open(one.text("setting" if is_setting else "key"), is_setting,
                          tuple(one.texts("values")), one.text("why")))
        one.done()
    picks = table.table("axes")
    found = Sensitivity(table.text("says"), _formula(table, "measure"), table.text("unit", ""),
                        {axis: picks.texts(axis) for axis in picks.keys()}, tuple(opens))
    table.done()
    return found


def _check_names(experiment: Experiment, path: Path) -> None:
    """Every formula uses what is there; a derived quantity only what stands before it."""
    names = {*experiment.metrics, *experiment.known()}
    for name, formula in experiment.derived.items():
        _check(path, f"derived.{name}", formula, names)
        names.add(name)
    said: list[Claim | Remark] = [*experiment.claims, *experiment.consistency, *experiment.remarks]
    for one in said:
        for key, formula in one.formulas().items():
            _check(path, f"{one.section}.{key}", formula, names)
    for axis in experiment.axes:
        if axis.name in experiment.metrics:
            raise ExperimentError(f"{path}: metrics.{axis.name}: an axis has that name, too, and"
                                  " the files of runs a column for each; give it another",
                                  key=f"metrics.{axis.name}")
    _check_sides(experiment, path)
    for figure in experiment.figures:
        for key, formula in figure.formulas().items():
            _check(path, f"{figure.section}.{key}", formula, names)
    if experiment.sensitivity:
        _check(path, "sensitivity.measure", experiment.sensitivity.measure, names)
    if experiment.metrics and not experiment.command:
        raise ExperimentError(f"{path}: runs.command: is missing", key="runs.command")


def _check(path: Path, key: str, formula: Formula, names: set[str]) -> None:
    for name in sorted(formula.names - names):
        raise ExperimentError(f"{path}: {key}: no quantity {name!r}; there are"
                              f" {', '.join(sorted(names))}", key=key)


def _check_sides(experiment: Experiment, path: Path) -> None:
    """What is published and what is measured do not change places."""
    def refuse(key: str, problem: str) -> None:
        raise ExperimentError(f"{path}: {key}: {problem}", key=key)

    reads = experiment.reads_measured
    for claim in experiment.claims:
        if claim.published and reads(claim.published):
            refuse(f"{claim.section}.published", "reads what is measured; what compares ours with"
                                                 " ours is [[consistency]]")
        if claim.holds and not reads(claim.holds):
            refuse(f"{claim.section}.holds", "reads nothing that is measured; what published"
                                             " numbers say of each other is [[remarks]]")
        if claim.ours and not reads(claim.ours):
            refuse(f"{claim.section}.ours", "reads nothing that is measured")
    for remark in experiment.remarks:
        for key, formula in remark.formulas().items():
            if reads(formula):
                refuse(f"{remark.section}.{key}", "reads what is measured; that is a claim of the"
                                                  " kind contradiction")
