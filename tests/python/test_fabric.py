"""Fabrics from Python: the same object as the command's, and its exceptions."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import sluice

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SLUICE = TARGET / "release" / "sluice"
SHORT: dict[str, Any] = {"warmup": 2_000, "requests": 4_000}


def test_the_object_is_the_commands() -> None:
    told = sluice.simulate_fabric("esf", {"link.bandwidth": 4000}, seed=3, **SHORT)
    printed = subprocess.run(
        [SLUICE, "fabric", "run", "esf", "--set", "link.bandwidth=4000", "--seed", "3",
         "--warmup", "2000", "--requests", "4000", "--json"],
        capture_output=True, text=True, check=True)
    assert told == json.loads(printed.stdout)


def test_the_fields_are_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "output" / "fabric.md").read_text(encoding="utf-8")
    told = sluice.simulate_fabric("esf", **SHORT)
    known = {"schema", "seed", "version", "kind", "config", "latency_ns", "warmup_requests"}
    for field in set(told) - known:
        assert f"`{field}" in text, field


def test_every_fabric_runs() -> None:
    for fabric in sluice.fabrics():
        told = sluice.simulate_fabric(fabric["name"], **SHORT)
        assert told["requests"] == 4_000, fabric["name"]


def test_errors_have_their_classes() -> None:
    with pytest.raises(sluice.UnknownDeviceError, match="unknown fabric `esff`"):
        sluice.simulate_fabric("esff")
    with pytest.raises(sluice.BadValueError) as bad:
        sluice.simulate_fabric("esf", {"routing.policy": "adaptve"})
    assert bad.value.key == "routing.policy"
    with pytest.raises(sluice.BadValueError, match="`requests`: 0; expected a whole number from 1"):
        sluice.simulate_fabric("esf", requests=0)
    with pytest.raises(sluice.ConfigError, match="raise switch.ports"):
        sluice.simulate_fabric("esf", {"switch.ports": 2})
    with pytest.raises(sluice.WorkloadError, match="deadlock after"):
        sluice.simulate_fabric("esf", {"topology.kind": "ring", "link.credits": 1,
                                       "topology.placement": "alternate"})
