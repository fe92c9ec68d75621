"""Does the reference name every field that the program prints?"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import reference  # noqa: E402

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SLUICE = TARGET / "release" / "sluice"
SMALL = ["--set", "device.capacity=64MiB", "--set", "cache.capacity=1MiB"]
CHASE = "chase:size=2MiB,stride=4096,passes=2"
# Described once, for all distributions and all devices.
WHOLE = re.compile(r"latency_ns\.\w+$|config$|processes$|exit$")


def paths(value: Any, at: str = "") -> Iterator[str]:
    """The paths of all fields, as the reference writes them."""
    if not isinstance(value, dict) or WHOLE.search(at):
        yield at
    else:
        for name, inner in value.items():
            yield from paths(inner, f"{at}.{name}" if at else name)


def last_line(*words: str) -> Any:
    told = subprocess.run([SLUICE, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=True)
    return json.loads(told.stdout.splitlines()[-1])


@pytest.mark.parametrize("words", [
    ["sim", *SMALL, "--workload", CHASE, "--json"],
    ["run", *SMALL, "--sample-hits", "1ms", "--json", "--",
     SLUICE, "workload", "chase", "--size", "2MiB", "--stride", "4096"],
], ids=["sim", "run"])
def test_every_field_is_in_the_reference(words: list[str]) -> None:
    told = last_line(*map(str, words))
    text = (ROOT / "docs" / "reference" / "output" / f"{words[0]}.md").read_text()
    found = set(paths(told))
    assert len(found) > 20
    assert sorted(path for path in found if f"`{path}`" not in text) == []
    for process in told.get("processes", []):
        assert sorted(path for path in paths(process, "processes[]")
                      if f"`{path}`" not in text) == []


def test_the_object_of_the_folder_is_the_printed_one(tmp_path: Path) -> None:
    told = last_line("sim", *SMALL, "--workload", CHASE, "--json", "--out", str(tmp_path / "o"))
    assert json.loads((tmp_path / "o" / "stats.json").read_text()) == told


@pytest.mark.parametrize(("value", "default", "told"), [
    ("0ps", "0ns", ""), ("2us", "2000ns", ""), ("3us", "2us", "`3us`: `mine`"),
    ("4KiB", "4KiB", ""), ("fifo", "lru", "`fifo`: `mine`")])
def test_a_preset_with_the_default_in_another_unit_does_not_differ(
        value: str, default: str, told: str) -> None:
    """Sixteen presets were said to differ from a default of 0ns, by 0ps."""
    shown = {"mine": [{"key": "a.key", "value": value}]}
    assert reference.changes({"key": "a.key", "default": default}, shown) == told
