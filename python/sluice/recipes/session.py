"""The runs of a recipe: one without a device, then one for each cache and policy."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from sluice.errors import ExperimentError
from sluice.processes import end
from sluice.quantity import short
from sluice.recipes import page
from sluice.recipes.recipe import Recipe, filled
from sluice.reproduce.runner import put

SCHEMA = "sluice.recipe/1"
WORKLOAD = "sluice.workload/1"
SHARES = (10, 25, 50, 100)
"""Sizes of the cache, as per cent of the footprint."""
POLICIES = ("fifo", "s3fifo")
NEAR = 2.0
"""The answer is the smallest cache with which the program takes at most so many times as long."""
DISTURBED = 0.9
"""No device makes a program so much faster: the runs without one were disturbed, and all ratios are
too low."""
DEVICE_PER_FOOTPRINT = 8
LIMIT_S = 170
GRACE_S = 10
PLAIN_RUNS = 3
# One thread computes the same sums in the same order as without a device.
THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Found:
    """What came out: as an object, the answer to the question, and what went wrong."""

    document: dict[str, Any]
    answer: str
    problems: list[str]


def run(one: Recipe, sluice: Path, size: str, out: Path) -> Found:
    """Runs everything and writes page and numbers. Raises ``ExperimentError`` if the program fails
    without a device."""
    command = [filled(one, word, sluice, one.size[size]) for word in one.program]
    plain = _plain(one, command)
    footprint = int(one.footprint_mib[size])
    rows, problems = [], []
    whole = size == "default"
    for share in SHARES if whole else SHARES[1::2]:
        for policy in POLICIES if whole else POLICIES[:1]:
            cache = footprint * 256 * share // 100 * 4
            live = [str(sluice), "run", "--json", *(f"--place={what}" for what in one.place),
                    "--set", f"device.capacity={footprint * DEVICE_PER_FOOTPRINT}MiB", "--set",
                    f"cache.capacity={cache}KiB", "--set", f"cache.policy={policy}", "--", *command]
            told = _told(live)
            row: dict[str, Any] = {"cache_mib": cache / 1024, "policy": policy, "command": live}
            row |= _row(told, plain)
            rows.append(row)
            if row["problem"]:
                problems.append(f"cache of {cache} KiB, {policy}: {row['problem']}")
    document = {"schema": SCHEMA, "recipe": one.name, "title": one.title,
                "question": one.question, "size": one.size[size], "footprint_mib": footprint,
                "plain_s": seconds(plain[0]), "plain_told": plain[0].get("told", {}),
                "draw": list(one.draw), "near": NEAR, "rows": rows}
    answer = _answer(document)
    document["answer"] = answer
    put(out / "result.json", (json.dumps(document, indent=1) + "\n").encode())
    put(out / "index.html", page.render(document).encode())
    return Found(document, answer, problems)


def _plain(one: Recipe, command: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fastest of some runs without a device: what disturbs them makes them slower only."""
    ended = []
    for _ in range(PLAIN_RUNS):
        told = _told(command)
        if isinstance(told, str):
            raise ExperimentError(
                f"{one.name}: `{' '.join(command)}` failed without a device: {told}")
        ended.append(told)
    return min(ended, key=lambda told: seconds(told[0]))


def _told(command: list[str]) -> tuple[dict[str, Any], dict[str, Any]] | str:
    """What program and device said, in their last lines; or what was wrong."""
    live = "--json" in command[:4]
    with ExitStack() as files:
        # No pipes: a server that the program leaves behind would hold them open.
        told = [files.enter_context(TemporaryFile("w+", errors="replace")) for _ in range(2)]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=told[0], stderr=told[1],
                              env=os.environ | THREADS, start_new_session=True) as child:
            try:
                child.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                return f"it took longer than {LIMIT_S} s"
            finally:
                _end(child)
        output, errors = (_text(file) for file in told)
    if child.returncode != 0:
        # What the program says itself; what Sluice says of the run follows it.
        lines = errors.strip().splitlines()
        own = [line for line in lines if not line.startswith("sluice:")]
        return (own or lines or [f"status {child.returncode}"])[-1]
    lines = [line for line in output.splitlines() if line.strip()]
    try:
        program, device = json.loads(lines[-2 if live else -1]), json.loads(lines[-1])
    except (ValueError, IndexError):
        return "its last line is no JSON object"
    return _lack(program) or (program, device)


def _lack(program: Any) -> str:
    """What a program should have said otherwise in its last line; empty if nothing."""
    if not isinstance(program, dict):
        return "its last line is no JSON object"
    numbers = {name: program[name] for name in ("seconds", "wall_s") if name in program}
    if not numbers:
        return "its last line has no seconds"
    if "answer" not in program and program.get("schema") != WORKLOAD:
        return "its last line has no answer"
    told = program.get("told", {})
    if not isinstance(told, dict):
        return f"its told is {told!r}; an object with numbers was needed"
    for name, value in (numbers | told).items():
        is_number = type(value) in (int, float) and math.isfinite(value)
        if not is_number or (name in numbers and value <= 0):
            above = " above 0" if name in numbers else ""
            return f"its {name} is {value!r}; a number{above} was needed"
    return ""


def _text(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends what still runs, with all that it has started: the next run is measured alone."""
    if child.poll() is None:
        end(child, GRACE_S)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _row(told: Any, plain: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    if isinstance(told, str):
        return {"problem": told, "slowdown": None, "seconds": None, "misses": None, "told": {}}
    program, device = told
    wrong = answer_of(program) != answer_of(plain[0])
    return {"problem": "its answer is another one than without a device" if wrong else "",
            "seconds": seconds(program), "slowdown": seconds(program) / seconds(plain[0]),
            "misses": sum(one["misses"] for one in device["processes"])
            + (device["other_processes"] or {"misses": 0})["misses"],
            "told": program.get("told", {})}


def seconds(program: dict[str, Any]) -> float:
    """How long the part took that counts."""
    return float(program.get("seconds") or program["wall_s"])


def answer_of(program: dict[str, Any]) -> Any:
    """What must be the same on every device. Our own workloads check themselves, and say so."""
    if program.get("schema") == WORKLOAD:
        searches = program.get("bfs", {}).get("searches", [])
        return [program["mismatches"], program.get("pagerank", {}).get("checksum"),
                [(one["reached"], one["depth"], one["edges"]) for one in searches]]
    return program["answer"]


def _answer(document: dict[str, Any]) -> str:
    good = [row for row in document["rows"] if not row["problem"]]
    near = [row for row in good if row["slowdown"] <= NEAR]
    if not good:
        return f"No run ended well, so nothing is known: {document['rows'][0]['problem']}"
    if not near:
        least = min(row["slowdown"] for row in good)
        return ("With no cache of these it took at most twice as long as without a device; the"
                f" least was {short(least)} times as long.")
    best = min(near, key=lambda row: (row["cache_mib"], row["slowdown"]))
    told = (f"{short(best['cache_mib'])} MiB of cache with {best['policy']} are the least of these"
            " with which it takes at most twice as long as without a device:"
            f" {best['slowdown']:.3g} times. The footprint is {document['footprint_mib']} MiB.")
    if (least := min(row["slowdown"] for row in good)) < DISTURBED:
        told += (f" The least, {least:.3g} times, shows how much times vary here; run it again on"
                 " an idle machine.")
    return told
