"""``sluice reproduce``: runs what a paper ran, draws it, and computes whether it came out."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sluice.arguments import Parser
from sluice.errors import ExperimentError
from sluice.reproduce import engines, program
from sluice.reproduce.engines import Program

if TYPE_CHECKING:
    from sluice.reproduce.spec import Experiment

FOLDER = "experiments"
OUT = "reproduce-out"


def main(arguments: Sequence[str] | None = None) -> int:
    """The ``sluice-reproduce`` command. Returns its exit status: 0 when everything ran, whatever
    the verdicts; 1 when a run failed; 2 for bad input; 130 after Ctrl-C."""
    # Names may stand on both sides of an option.
    options = _parser().parse_intermixed_args(arguments)
    out = options.out or Path(OUT, *(["quick"] if options.quick else []))
    return program.status("sluice reproduce", out, lambda: _reproduce(options, out))


def _reproduce(options: argparse.Namespace, out: Path) -> bool:
    """Whether all went well."""
    # Drawing takes a second to import: a mistyped name is refused before that.
    from sluice.reproduce import spec

    root = _root(options.experiments)
    there = spec.find(root)
    if not there:
        raise ExperimentError(f"no experiments in {root}; --experiments DIR names a folder with"
                              " PAPER/FIGURE/experiment.toml in it")
    names = _chosen(there, options.what, root)
    chosen = [spec.load(root, name, options.quick) for name in names]
    if options.list:
        _list(chosen)
        return True
    engine = engines.make(options)
    from sluice.reproduce.session import Session, listed

    session = Session(Program(program.find(options.sluice)), root, out, engine, options.fresh)
    failed = session.reproduce(chosen)
    if options.json:
        print(json.dumps(listed(session.documents, session.failures), sort_keys=True))
    else:
        room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print(session.table(room))
    return not failed


def _list(chosen: list[Experiment]) -> None:
    from sluice.reproduce import matrix, words

    rows = []
    for one in chosen:
        count = len(matrix.runs(one)) + sum(len(trial.runs) for trial in matrix.trials(one))
        rows.append([one.name, f"{count} runs", one.place, one.title])
    print("\n".join(words.columns(rows, [40, 12, 30, 80])))


def _root(given: Path | None) -> Path:
    """The folder of experiments: as given, or in the current folder, the checkout or the wheel."""
    checkout, wheel = (Path(__file__).parents[up] / FOLDER for up in (3, 1))
    places = [given] if given else [Path(FOLDER), checkout, wheel]
    for place in places:
        if place.is_dir():
            return place
    looked = " nor ".join(str(place) for place in places)
    raise ExperimentError(f"no folder of experiments at {looked}; --experiments DIR names one")


def _chosen(names: list[str], wanted: Sequence[str], root: Path) -> list[str]:
    """Those wanted, each once; all if none are named."""
    found: set[str] = set()
    for what in wanted:
        of = {name for name in names if name == what or name.startswith(f"{what.rstrip('/')}/")}
        if not of:
            paper = what.split("/")[0]
            of_paper = [name for name in names if name.startswith(f"{paper}/")]
            papers = sorted({name.split("/")[0] for name in names})
            known = f"{paper} has {', '.join(of_paper)}" if of_paper else \
                f"there are papers {', '.join(papers)}, and `sluice reproduce --list` lists all"
            near = program.near(what, of_paper or papers)
            raise ExperimentError(f"no experiment {what!r} in {root}{near}; {known}")
        found |= of
    return [name for name in names if name in found or not wanted]


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="sluice reproduce",
        description="Run published experiments, draw them beside what was published, and compute"
                    " whether they match.")
    parser.add_argument("what", metavar="PAPER[/FIGURE]", nargs="*",
                        help="papers, or figures of them (default: everything)")
    parser.add_argument("--quick", action="store_true",
                        help="shorter runs at a smaller scale, without sensitivities")
    parser.add_argument("--list", action="store_true", help="say what there is, and run nothing")
    engines.add_options(parser)
    parser.add_argument("--out", metavar="DIR", type=Path,
                        help=f"pages, results and finished runs (default: {OUT}, or {OUT}/quick)")
    parser.add_argument("--fresh", action="store_true", help="run again what is kept in DIR")
    parser.add_argument("--json", action="store_true", help="print the results as one JSON object")
    parser.add_argument("--sluice", metavar="FILE", type=Path, help="the program to run")
    parser.add_argument("--experiments", metavar="DIR", type=Path,
                        help="the experiments (default: ./experiments, or the"
                             " checkout's, or the wheel's)")
    return parser
