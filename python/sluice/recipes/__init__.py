"""``sluice recipe``: what people run on such memory, with caches of several sizes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from sluice.arguments import Parser
from sluice.errors import ExperimentError
from sluice.reproduce import program

OUT = Path("recipe-out")
FOLDER = Path(__file__).parent


def main(arguments: Sequence[str] | None = None) -> int:
    """The ``sluice-recipe`` command. Returns its exit status: 0 when every answer was right; 1 when
    a run failed or an answer was wrong; 2 for bad input; 130 after Ctrl-C."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = _parser()
    if words and (FOLDER / words[0] / "recipe.toml").is_file():
        parser.error(f"{words[0]} is a recipe; `sluice recipe run {words[0]}` runs it")
    options = parser.parse_args(words)
    ended: list[str] = []
    # `list` writes nothing.
    out = getattr(options, "out", OUT)
    return program.status("sluice recipe", out, lambda: _recipe(options, ended),
                          lambda: _kept(ended, out))


def _kept(ended: list[str], out: Path) -> str:
    """What Ctrl-C leaves: a recipe writes when all its runs are done."""
    results = f"the results of {', '.join(ended)} are in {out}" if ended else "no recipe had ended"
    return f"{results}; the same command begins from the start"


def _recipe(options: argparse.Namespace, ended: list[str]) -> bool:
    from sluice.recipes import needs
    from sluice.recipes.recipe import find, load

    names = find(options.recipes)
    if options.what == "list":
        for name in names:
            one = load(options.recipes, name)
            print(f"{name:10} {one.title}; {needs.told(one)}")
        return True
    wrong = [name for name in options.names if name not in names]
    if wrong or not options.names:
        near = program.near(wrong[0], names) if wrong else ""
        asked = f"no recipe {wrong[0]!r}{near}" if wrong else "no recipe was named"
        raise ExperimentError(f"{asked}; there are {', '.join(names)}")
    sluice = program.find(options.sluice)
    program.check_out(options.out)
    good = True
    for name in options.names:
        one = load(options.recipes, name)
        needs.install(one)
        # Drawing takes a second to import: a missing package is reported before that.
        from sluice.recipes.session import run

        found = run(one, sluice, "small" if options.small else "default", options.out / name)
        ended.append(name)
        good &= not found.problems
        for problem in found.problems:
            print(f"sluice recipe: {name}: {problem}", file=sys.stderr)
        if options.json:
            print(json.dumps(found.document, sort_keys=True))
        else:
            print(f"{name}: {found.answer}\n{options.out / name / 'index.html'}")
    return good


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="sluice recipe",
        description="Run a workload of today live on devices with caches of several sizes, check"
                    " its answers against a run without a device, and report.",
        epilog="Example: sluice recipe run moe. Data are generated from a seed. A recipe lists the"
               " packages that it needs before it installs them.")
    commands = parser.add_subparsers(dest="what", required=True, metavar="list|run")
    listed = commands.add_parser("list", help="say what there is, and what each needs")
    runs = commands.add_parser("run", help="run some, one after the other")
    runs.add_argument("names", metavar="NAME", nargs="*", help="recipes of `sluice recipe list`")
    runs.add_argument("--small", action="store_true", help="a size that takes some seconds")
    runs.add_argument("--out", metavar="DIR", type=Path, default=OUT,
                      help=f"pages and results, a folder for each recipe (default: {OUT})")
    runs.add_argument("--json", action="store_true", help="print the results, an object a line")
    runs.add_argument("--sluice", metavar="FILE", type=Path, help="the program to run")
    for one in (listed, runs):
        one.add_argument("--recipes", metavar="DIR", type=Path, default=FOLDER,
                         help="folders of recipes (default: those that come with Sluice)")
    return parser
