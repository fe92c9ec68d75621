"""Do the classes of results hold what the program prints, and fail where a name is wrong?"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sluice
from sluice import results
from sluice.results.policy_misses import PolicyMisses
from sluice.results.replay import Replay

ROOT = Path(__file__).parents[2]
SMALL = {"device.capacity": "64MiB", "cache.capacity": "1MiB"}
CHASE = "chase:size=2MiB,stride=4096,passes=2"


def test_a_simulation_has_its_fields() -> None:
    told = sluice.simulate("cylon", SMALL, CHASE)
    run = results.read(told)
    assert run.cache.misses == told["cache"]["misses"] > 0
    assert run.latency_ns.accesses.p99 == told["latency_ns"]["accesses"]["p99"]
    assert run.write_log is None and run.cache.sampled is None
    assert run.config["cache.capacity"] == "1MiB"


def test_a_system_has_its_fields() -> None:
    told = sluice.simulate_system("skybyte-full", "srad", {}, scale=512, warmup=0,
                                  instructions=20_000)
    system = results.read(told)
    assert system.levels.l1.hits == told["levels"]["l1"]["hits"] > 0
    assert system.program.threads == told["program"]["threads"]
    assert system.cache.hit_ratio == told["cache"]["hit_ratio"]
    assert [list(pair) for pair in system.latency_ns.histogram] == told["latency_ns"]["histogram"]


def test_a_fabric_has_its_fields() -> None:
    told = sluice.simulate_fabric("esf", warmup=200, requests=400)
    fabric = results.read(told)
    assert fabric.hops.parts_ns.switch == told["hops"]["parts_ns"]["switch"]
    assert fabric.links[0].ends == told["links"][0]["ends"]


def test_replays_have_their_fields() -> None:
    pages = np.arange(1_000, dtype=np.uint32)
    replayed = results.read_as(Replay, sluice.replay("cylon", SMALL, pages))
    assert replayed.accesses == 1_000
    alone = results.read_as(PolicyMisses, sluice.policy_misses("cylon", SMALL, pages))
    assert alone.misses == 1_000


def test_a_wrong_name_fails() -> None:
    told = sluice.simulate("cylon", SMALL, CHASE)
    with pytest.raises(AttributeError, match="mises"):
        _ = results.read(told).cache.mises
    with pytest.raises(sluice.ResultError, match="cache lacks misses"):
        results.read(_without(told, "cache", "misses"))
    with pytest.raises(sluice.ResultError, match="the result has no field extra"):
        results.read(told | {"extra": 1})
    with pytest.raises(sluice.ResultError, match="seed is \"one\", expected"):
        results.read(told | {"seed": "one"})
    with pytest.raises(sluice.ResultError, match="kind is 'sums', expected one of"):
        results.read(told | {"kind": "sums"})


def _without(told: dict, part: str, field: str) -> dict:
    rest = {name: value for name, value in told[part].items() if name != field}
    return told | {part: rest}


def test_the_classes_are_those_of_the_schemas() -> None:
    made = subprocess.run([sys.executable, ROOT / "scripts" / "results_reference.py", "--check"],
                          capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def test_schemas_are_json_schemas_of_objects_and_of_lists_of_them() -> None:
    found = sorted((ROOT / "docs" / "reference" / "schema").glob("*.json"))
    assert len(found) == 21
    for path in found:
        schema = json.loads(path.read_text(encoding="utf-8"))
        rows = schema["items"]["$ref"] if schema["type"] == "array" else None
        of = schema["$defs"][rows.removeprefix("#/$defs/")] if rows else schema
        assert of["type"] == "object" and not of["additionalProperties"], path.name
