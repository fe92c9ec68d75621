"""What is measured: a command for each value of what grows."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
LINE = 64
# What each CPU of a trace has, and each core of a host does.
RECORDS_A_CPU = 2_000
INSTRUCTIONS_A_CORE = 500_000
# Pages that the records of traces are drawn from.
PAGES = 20_000

Words = list[str]
# With fewer pages than requests under way, each search for a victim passes over all of them. With
# SMALL callgrind counts 4,000 instructions a record between 16 and 64 CPUs, and 6,000 between 64
# and 256. Between 256 and 512 CPUs, more than there are pages, it counts 5,800.
ROOMY = "--set device.capacity=256MiB --set cache.capacity=16MiB"
SMALL = "--set device.capacity=256MiB --set cache.capacity=1MiB"


@dataclass(frozen=True)
class Tools:
    """The command, and a folder for inputs and results."""

    sluice: Path
    folder: Path


@dataclass(frozen=True)
class Series:
    """One thing that grows, and what is done with it."""

    name: str
    # What is counted, and the values.
    of: str
    values: tuple[int, ...]
    # As it is printed, with {N} for the value, and in full.
    shown: str
    command: Callable[[Tools, int], Words]
    # What the work is in proportion to, if that is not the value.
    work: Callable[[int], float] = float
    work_is: str = ""
    # Makes what the command reads.
    prepare: Callable[[Tools, int], None] | None = None

    def words(self, tools: Tools, value: int) -> Words:
        """The command for a value."""
        return self.command(tools, value)


def decades(first: int) -> tuple[int, ...]:
    """Three decades: 1, 2, 5, 10 times the first, up to 1,000 times."""
    times = [step * 10**decade for decade in range(3) for step in (1, 2, 5)]
    return tuple(first * number for number in [*times, 1000])


def powers(first: int, last: int, by: int = 2) -> tuple[int, ...]:
    """Each so many times the one before."""
    values = [first]
    while values[-1] * by <= last:
        values.append(values[-1] * by)
    return tuple(values)


def series() -> list[Series]:
    """Everything that is measured."""
    return [*_accesses(), *_records(), *_cpus(), *_nodes(), *_lines(), *_cores(), _capacity(),
            *_processes(), _points()]


def _plain(name: str, of: str, values: tuple[int, ...], command: str, **more: object) -> Series:
    """A command of Sluice in which {N} is the value."""

    def words(tools: Tools, value: int) -> Words:
        return [str(tools.sluice), *command.replace("{N}", str(value)).split()]

    return Series(name, of, values, f"sluice {command}", words, **more)  # type: ignore[arg-type]


def _accesses() -> list[Series]:
    uniform = "--workload uniform:size=64MiB,ops={N}"
    host = "sim --system base-cssd --scale 64 --warmup 0 --workload ycsb --instructions {N}"
    return [
        _plain("accesses that hit", "accesses", decades(50_000), f"sim {uniform}"),
        _plain("accesses that miss", "accesses", decades(5_000),
               f"sim {SMALL} {uniform}"),
        _plain("accesses with Belady's bound", "accesses", decades(5_000),
               f"sim {SMALL} --bound {uniform}"),
        _plain("instructions of a host", "instructions", decades(50_000), host),
        _plain("instructions with a timeline", "instructions", decades(50_000),
               f"{host} --timeline 10us --json"),
    ]


def _records() -> list[Series]:
    values = decades(5_000)
    rows = {
        "records simulated": f"sim {SMALL} --trace DIR/records-{{N}}.trace",
        "records looked into": "trace info --reuse DIR/records-{N}.trace",
        "records sized": "size --trace DIR/records-{N}.trace",
        "records converted":
            "trace convert --force --columns time_ns,op,address,size,cpu DIR/records-{N}.csv"
            " DIR/to.trace",
    }
    return [_of_trace(name, "records", values, command, _one_cpu) for name, command in rows.items()]


def _cpus() -> list[Series]:
    values = powers(1, 1024)
    return [_of_trace("CPUs of a trace", f"CPUs of {RECORDS_A_CPU} records", values,
                      f"sim {ROOMY} --trace DIR/cpus-{{N}}.trace", _many_cpus),
            _of_trace("CPUs of a trace on a host", f"CPUs of {RECORDS_A_CPU} records", values,
                      "sim --system base-cssd --trace DIR/cpus-{N}.trace", _many_cpus)]


def _of_trace(name: str, of: str, values: tuple[int, ...], command: str,
              prepare: Callable[[Tools, int], None]) -> Series:
    def words(tools: Tools, value: int) -> Words:
        here = command.replace("{N}", str(value)).replace("DIR", str(tools.folder))
        return [str(tools.sluice), *here.split()]

    return Series(name, of, values, f"sluice {command}".replace("DIR/", ""), words, prepare=prepare)


def _one_cpu(tools: Tools, records: int) -> None:
    _trace(tools, f"records-{records}", records, 1)


def _many_cpus(tools: Tools, cpus: int) -> None:
    _trace(tools, f"cpus-{cpus}", cpus * RECORDS_A_CPU, cpus)


def _trace(tools: Tools, name: str, records: int, cpus: int) -> None:
    """Loads of lines at random, dealt out over the CPUs in turn."""
    text, trace = tools.folder / f"{name}.csv", tools.folder / f"{name}.trace"
    if trace.exists():
        return
    draw = random.Random(1)
    with text.open("w") as file:
        for first in range(0, records, 100_000):
            numbers = range(first, min(first + 100_000, records))
            pages = draw.choices(range(PAGES), k=len(numbers))
            file.writelines(f"{number * 100},R,{page * 4096},64,{number % cpus}\n"
                            for number, page in zip(numbers, pages, strict=True))
    columns = ["--columns", "time_ns,op,address,size,cpu"]
    subprocess.run([tools.sluice, "trace", "convert", *columns, text, trace], check=True,
                   capture_output=True)


def _nodes() -> list[Series]:
    """Half of the nodes are requesters; two are on each switch, and each switch is joined to each.
    The work is to write down the links and, for each switch, where each node is."""

    def command(tools: Tools, nodes: int) -> Words:
        return [str(tools.sluice), *fully_connected(nodes // 2)]

    def work(nodes: int) -> float:
        switches = nodes // 2
        return switches * (switches - 1) / 2 + nodes + switches * nodes

    shown = " ".join(["sluice", *fully_connected(0)]).replace("count=0", "count={N/2}")
    return [Series("nodes, fully connected", "nodes", powers(4, 4096), shown, command, work,
                   "links and entries of routing tables")]


def fully_connected(each: int) -> Words:
    """A fabric of so many requesters and as many endpoints, and one request."""
    sets = {"topology.kind": "fully-connected", "requester.count": each, "endpoint.count": each,
            "switch.ports": 4096, "endpoint.capacity": "64MiB"}
    return ["fabric", "run", "esf", *_sets(sets), "--warmup", "0", "--requests", "1"]


def _sets(values: dict[str, object]) -> Words:
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def _lines() -> list[Series]:
    def in_order(size: str) -> Words:
        return ["sim", "--set", "device.capacity=8GiB", "--workload",
                f"stream:size={size},stride=64,passes=1"]

    def coherent(lines: int) -> Words:
        """Local caches and filters hold a fifth of the footprint, as in ESF's experiments."""
        sets = {"topology.kind": "star", "coherence.filter": "shared", "requester.count": 2,
                "requester.depth": 64, "coherence.entries": lines // 5,
                "requester.cache_lines": lines // 5, "requester.footprint": lines * LINE}
        return ["fabric", "run", "esf", *_sets(sets), "--warmup", "0", "--requests", str(lines)]

    shown = " ".join(["sluice", *coherent(0)])
    shown = shown.replace(f"footprint={0}", "footprint={N*64}").replace("=0 ", "={N/5} ")
    return [
        Series("lines read in order", "lines", powers(4_096, 16 * MIB, 4),
               " ".join(["sluice", *in_order("{N*64}")]),
               lambda tools, lines: [str(tools.sluice), *in_order(str(lines * LINE))]),
        Series("lines kept coherent", "lines", decades(5_000),
               shown.replace("requests 0", "requests {N}"),
               lambda tools, lines: [str(tools.sluice), *coherent(lines)]),
    ]


def _cores() -> list[Series]:
    def words(cores: int) -> Words:
        return ["sim", "--system", "base-cssd", "--scale", "64", "--warmup", "0", "--workload",
                "ycsb", *_sets({"cpu.cores": cores, "cpu.threads": cores}), "--instructions",
                str(cores * INSTRUCTIONS_A_CORE)]

    shown = " ".join(["sluice", *words(1)]).replace("=1", "={N}")
    return [Series("cores of a host", f"cores of {INSTRUCTIONS_A_CORE} instructions",
                   powers(1, 256), shown.replace(str(INSTRUCTIONS_A_CORE), "{N*500000}"),
                   lambda tools, cores: [str(tools.sluice), *words(cores)])]


def _capacity() -> Series:
    return _plain("capacity of a device", "GiB", powers(1, 8192, 4),
                  "sim --set device.capacity={N}GiB --workload uniform:size=64MiB,ops=1000000")


def _processes() -> list[Series]:
    after = 'i=0; while [ $i -lt {N} ]; do /bin/true; i=$((i+1)); done'
    beside = 'i=0; while [ $i -lt {N} ]; do sleep 1 & i=$((i+1)); done; wait'

    def of(script: str) -> Callable[[Tools, int], Words]:
        def words(tools: Tools, value: int) -> Words:
            out = tools.folder / "session"
            return [str(tools.sluice), "run", "--force", "--out", str(out), "--", "sh", "-c",
                    script.replace("{N}", str(value))]
        return words

    shown = "sluice run --out session -- sh -c '{}'"
    return [Series("processes, one after another", "processes", powers(4, 4096),
                   shown.replace("{}", after), of(after)),
            Series("processes, side by side", "processes", powers(1, 512),
                   shown.replace("{}", beside), of(beside))]


def _points() -> Series:
    sim = "sim --workload uniform:size=1MiB,ops=1000"

    def words(tools: Tools, points: int) -> Words:
        return [sys.executable, "-m", "sluice.sweep", "--sluice", str(tools.sluice), "--fresh",
                "--over", f"seed=1..{points}", "--out", str(tools.folder / "sweep"), "--",
                *sim.split()]

    return Series("points of a sweep", "points", powers(4, 4096, 2),
                  f"sluice sweep --over seed=1..{{N}} -- {sim}", words)
