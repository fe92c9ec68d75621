"""Run folders with known numbers, as ``sluice run --out DIR`` writes them."""

from __future__ import annotations

import dataclasses
import json
import random
import types
import typing
from pathlib import Path
from typing import Any

from sluice.results import KINDS, SCHEMAS

CONFIG = {
    "cache.capacity": "16MiB",
    "cache.policy": "fifo",
    "device.capacity": "1GiB",
    "nand.read": "40us",
}


def whole(of: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The object of a class with these fields, and the least that the class allows for others."""
    hints = typing.get_type_hints(of)
    needed = {one.name for one in dataclasses.fields(of) if one.default is dataclasses.MISSING}
    made = {name: _least(hints[name]) for name in needed if name not in given}
    for name, value in given.items():
        made[name] = _filled(hints.get(name), value)
    return made


def _filled(hint: Any, value: Any) -> Any:
    for kind in typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,):
        if dataclasses.is_dataclass(kind) and isinstance(value, dict):
            return whole(kind, value)
        if typing.get_origin(kind) is list and isinstance(value, list):
            return [_filled(typing.get_args(kind)[0], one) for one in value]
    return value


def _least(hint: Any) -> Any:
    if isinstance(hint, types.UnionType):
        kinds = typing.get_args(hint)
        return None if types.NoneType in kinds else _least(kinds[0])
    if dataclasses.is_dataclass(hint):
        return whole(hint, {})
    return (typing.get_origin(hint) or hint)()


def percentiles(samples: list[float]) -> dict[str, float]:
    """Nearest-rank percentiles, straight from the sorted samples."""
    ordered = sorted(samples)

    def at(share: float) -> int:
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))])

    return {"count": len(ordered), "mean": sum(ordered) / len(ordered), "p50": at(0.5),
            "p90": at(0.9), "p99": at(0.99), "p999": at(0.999), "max": round(ordered[-1])}


def buckets(samples: list[float]) -> dict[int, int]:
    """Counts by latency, rounded to 1 %."""
    counts: dict[int, int] = {}
    for sample in samples:
        step = max(1, int(sample / 100))
        value = int(sample // step * step)
        counts[value] = counts.get(value, 0) + 1
    return dict(sorted(counts.items()))


def program(folder: Path, workload: str = "chase", hits: float = 0.75, suffix: str = "",
            passes: int = 4, **more: Any) -> None:
    """A program's report about itself: ``hits`` of its accesses take 150 ns, the rest 40 µs."""
    rng = random.Random(f"{workload}{hits}")
    done, all_samples = [], []
    for number in range(1, passes + 1):
        share = hits if number > 1 else hits * 0.8
        samples = [rng.gauss(160, 25) if index < share * 4000 else rng.gauss(40900, 700)
                   for index in range(4000)]
        all_samples += samples
        done.append({"pass": number, "accesses": 4000, "wall_s": 0.1,
                     "latency_ns": percentiles(samples),
                     "histogram": list(buckets(samples).items())})
    document = {"schema": "sluice.workload/1", "workload": workload, "passes": done,
                "latency_ns": percentiles(all_samples),
                "histogram": list(buckets(all_samples).items()), **more}
    kind = next(kind for kind in typing.get_args(SCHEMAS["workload"])
                if kind.__name__ == f"Workload{workload.title()}")
    (folder / f"program{suffix}.json").write_text(json.dumps(whole(kind, document)))


def run(folder: Path, read_ns: float = 40_000, late: float = 0.004, soft: int = 500,
        **changes: Any) -> Path:
    """A live run of 20,000 traps. ``changes`` replace fields of stats.json."""
    folder.mkdir(parents=True)
    rng = random.Random(folder.name)
    traps = 20_000
    modelled, achieved = [], []
    for index in range(traps):
        asked = read_ns + 700 + (rng.expovariate(1 / 9000) if index % 12 == 0 else 0)
        modelled.append(asked)
        achieved.append(asked + rng.expovariate(1 / 150)
                        + (rng.expovariate(1 / 60_000) if rng.random() < late else 0))
    asked_counts, got_counts = buckets(modelled), buckets(achieved)
    values = sorted(asked_counts | got_counts)
    rows = [f"{value},{asked_counts.get(value, 0)},{got_counts.get(value, 0)}" for value in values]
    (folder / "latency.csv").write_text("\n".join(["latency_ns,modelled,achieved", *rows, ""]))
    misses = traps - soft
    stats = {
        "schema": "sluice.run/1", "kind": "run", "device": "cylon", "config": CONFIG, "seed": 7,
        "version": "0.1.0", "command": ["sluice", "workload", "chase", "--size", "64MiB"],
        "trap_mode": "event", "place": "heap", "hits_visible": "misses", "exit": {"code": 0},
        "traps": traps, "trap_kinds": {"miss": misses, "soft": soft, "spurious": 0},
        "cache": {"hits": soft, "hits_are": "soft traps only", "misses": misses,
                  "hit_ratio": soft / traps, "evictions": 15_404, "dirty_evictions": 321,
                  "prefetch_issued": 0, "prefetch_used": 0},
        "latency_ns": {"modelled": percentiles(modelled), "achieved": percentiles(achieved)},
        "late": {"count": int(late * traps), "ratio": late},
        "flash": {"reads": misses, "programs": 321, "erases": 0, "gc_moves": 0,
                  "write_amplification": 1.0},
        "wall_s": 4.0, "processes": [{"pid": 4711, "command": ["chase"], "traps": traps}],
        **changes,
    }
    (folder / "stats.json").write_text(json.dumps(whole(KINDS["run"], stats)))
    (folder / "config.toml").write_text("")
    timeline(folder, traps, misses, soft, late)
    return folder


def timeline(folder: Path, traps: int, misses: int, soft: int, late: float) -> None:
    """Forty samples; the counters end at the totals of the run."""
    lines = ["t_s,traps,misses,soft,evictions,late"]
    for index in range(41):
        part = index / 40 if index < 10 else (index + (index % 7) / 7) / (40 + 40 % 7 / 7)
        lines.append(f"{index / 10},{int(traps * part)},{int(misses * part)},"
                     f"{int(soft * part * part)},{int(misses * part)},{int(late * traps * part)}")
    (folder / "timeline.csv").write_text("\n".join([*lines, ""]))
