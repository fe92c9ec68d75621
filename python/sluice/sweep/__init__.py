"""``sluice sweep``: one command with every combination of some values, as a table and pictures."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sluice.arguments import Parser
from sluice.errors import ExperimentError
from sluice.reproduce import engines, program, section

if TYPE_CHECKING:
    from sluice.sweep.session import Told
    from sluice.sweep.shards import Shard

OUT = Path("sweep-out")


def main(arguments: Sequence[str] | None = None) -> int:
    """The ``sluice-sweep`` command. Returns its exit status: 0 when everything ran; 1 when a run
    failed; 2 for bad input; 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    return program.status("sluice sweep", options.out, lambda: _sweep(options))


def _sweep(options: argparse.Namespace) -> bool:
    """Whether all went well."""
    from sluice.sweep import file, pareto, shards

    if options.merge:
        return _merge(options)
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    values = None
    if options.file:
        file.read(options.file, command)
        values = section.read(options.file).values()
    wanted = shards.Wanted(tuple(options.over), tuple(options.measure), tuple(command),
                           options.mean, values, pareto.asked(options))
    _fits(wanted.plan().command)
    program.check_out(options.out)
    engine = engines.make(options)
    # Drawing takes a second to import: a mistyped argument is refused before that.
    from sluice.reproduce.runner import Runner
    from sluice.sweep.session import Session

    sluice = engines.Program(program.find(options.sluice))
    runner = Runner(sluice, options.out / program.RUNS, engine, options.fresh)
    session = Session(runner, options.out, wanted, options.force)
    if options.shard:
        print(session.shard(options.shard))
        return not runner.failures
    return _tell(session.sweep(), options)


def _fits(command: Sequence[str]) -> None:
    """Raises ``ExperimentError`` for a command whose runs could not come out."""
    if command[0] == "sluice":
        raise ExperimentError("-- sluice: the command begins behind the program's name; leave"
                              f" `sluice` out: -- {' '.join(command[1:3])} ..")
    ours = command[:command.index("--")] if "--" in command else command
    for index, word in enumerate(ours):
        if word == "--out" or word.startswith("--out="):
            named = word.partition("=")[2] or "".join(ours[index + 1:index + 2])
            if "{" not in named:
                raise ExperimentError(f"-- .. --out {named}: all runs would write there; leave it"
                                      " out, or put a {KEY} into it")


def _merge(options: argparse.Namespace) -> bool:
    """What shards have run, as one sweep. Nothing runs."""
    from sluice.reproduce.engines.local import Local
    from sluice.reproduce.runner import Runner
    from sluice.sweep import shards

    asked = {"--over": options.over, "--file": options.file, "--measure": options.measure,
             "--mean": options.mean, "--pareto": options.pareto, "--shard": options.shard,
             "--": options.command}
    for flag, value in asked.items():
        if value:
            raise ExperimentError(f"{flag}: not with --merge, whose shards say what they ran")
    parts = shards.together(options.merge)
    from sluice.sweep.session import Session

    ran = engines.Known(parts[0].version, parts[0].program)
    runner = Runner(ran, options.out / program.RUNS, Local(1))
    return _tell(Session(runner, options.out, parts[0].wanted, options.force).merge(parts), options)


def _tell(told: Told, options: argparse.Namespace) -> bool:
    failures = told.document["failures"]
    if failures:
        print(f"sluice sweep: {len(failures)} of {told.total} runs failed; the first,"
              f" `{' '.join(failures[0]['arguments'])}`: {failures[0]['problem']}",
              file=sys.stderr)
    if options.json:
        print(json.dumps(told.document, sort_keys=True))
    else:
        print(f"{told.text}\n\npage: {options.out / 'index.html'}; numbers:"
              f" {options.out / 'results.csv'}, {options.out / 'results.parquet'}")
        for one in told.document["samples"]:
            print(f"{one['name']}: {one['count']} points, {one['method']}, seed {one['seed']}")
    return not failures


def _shard(text: str) -> Shard:
    from sluice.sweep import shards

    return shards.parse(text)


def _parser() -> argparse.ArgumentParser:
    from sluice.sweep import pareto

    parser = Parser(
        prog="sluice sweep",
        description="Run one command with every combination of some values.",
        epilog="Example: sluice sweep --over cache.policy=lru,fifo,s3fifo --over"
               " cache.capacity=64MiB,256MiB --measure cache.hit_ratio --measure"
               " latency_ns.accesses.mean -- sim --workload zipf. A key with a dot becomes --set"
               " KEY=VALUE, another one --KEY VALUE, or takes the place of {KEY} in the"
               " command; {{KEY}} there is {KEY} itself.")
    parser.add_argument("--over", metavar="KEY=V,V", action="append", default=[],
                        help="a setting or an option, and its values, such as 1,2,4 or 1..10;"
                             " several make combinations")
    parser.add_argument("--file", metavar="FILE", type=Path,
                        help="a sweep in TOML: [grid], [[points]], and a [sample] at random or as"
                             " a Latin hypercube (docs/sweeps.md)")
    parser.add_argument("--mean", metavar="KEY",
                        help="the runs over this key, such as seed, repeat one another: print"
                             " each measure's mean with its 95%% interval, standard deviation and"
                             " number")
    parser.add_argument("--measure", metavar="NAME", action="append", default=[],
                        help="a number of the command's --json output, by its keys with dots (in a"
                             " list loads[0].time_s), or NAME=FORMULA with such numbers, such as"
                             " \"gain = at(time_s, policy='fifo') / time_s\"; axes go by the last"
                             " part of their key (default: some that the output has)")
    pareto.add_options(parser)
    engines.add_options(parser)
    parser.add_argument("--shard", metavar="I/N", type=_shard,
                        help="run part I of N only; --merge puts the parts together")
    parser.add_argument("--merge", metavar="DIR", type=Path, nargs="+",
                        help="print the results of the shards in these folders; runs nothing")
    parser.add_argument("--out", metavar="DIR", type=Path, default=OUT,
                        help=f"page, numbers and finished runs (default: {OUT})")
    parser.add_argument("--fresh", action="store_true", help="run again what is kept in DIR")
    parser.add_argument("--force", action="store_true",
                        help="replace the sweep of another command that DIR has")
    parser.add_argument("--json", action="store_true", help="print the results as one JSON object")
    parser.add_argument("--sluice", metavar="FILE", type=Path, help="the program to run")
    parser.add_argument("command", metavar="-- COMMAND", nargs=argparse.REMAINDER,
                        help="what to run, such as `sim --workload zipf`, without --json")
    return parser
