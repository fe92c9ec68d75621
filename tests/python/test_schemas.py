"""Is every object that a command prints with --json of its published schema?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "reference" / "schema"
SLUICE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "sluice"
SMALL = ["--set", "device.capacity=64MiB", "--set", "cache.capacity=4MiB"]
PATTERN = [*SMALL, "--workload", "zipf:size=16MiB,ops=2000"]
COMMANDS = {
    "sim": ["sim", "--json", *PATTERN],
    "system": ["sim", "--json", "--system", "skybyte-full", "--workload", "srad", "--scale", "64",
               "--warmup", "0", "--instructions", "100k"],
    "fabric": ["fabric", "run", "esf", "--requests", "4000", "--warmup", "0", "--json"],
    "run": ["run", "--json", *SMALL, "--", "sort", "--version"],
    "size": ["size", "--json", "--trace", "x.trace", *SMALL],
    "trace-convert": ["trace", "convert", "--columns", "address,size", "x.csv",
                      "x.trace", "--json"],
    "trace-info": ["trace", "info", "--reuse", "x.trace", "--json"],
}


def schema(name: str) -> dict[str, Any]:
    own = {"sweep": "sweep", "recipe": "recipes"}
    folder = ROOT / "python" / "sluice" / own[name] / "result.schema.json" if name in own else (
        PUBLISHED / f"{name}.json")
    return json.loads(folder.read_text(encoding="utf-8"))


def last(command: list[Any], folder: Path) -> Any:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, env=os.environ | {"SLUICE": str(SLUICE)})
    assert done.stdout, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def check(name: str, value: Any) -> None:
    of = schema(name)
    jsonschema.Draft202012Validator.check_schema(of)
    jsonschema.Draft202012Validator(of).validate(value)
    # One field less or more must not pass.
    for wrong in ({key: one for key, one in value.items() if key != "schema"},
                  {**value, "schmea": value["schema"]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(of).validate(wrong)


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_prints_is_of_its_schema(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("".join(f"{page % 7 * 4096},4096\n" for page in range(99)))
    if name != "trace-convert":
        last([SLUICE, *COMMANDS["trace-convert"]], tmp_path)
    check(name, last([SLUICE, *COMMANDS[name]], tmp_path))


def test_what_a_sweep_prints_is_of_its_schema(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(
        'measures = ["cache.hit_ratio"]\n[grid]\nseed = "1..3"\n[sample]\nmethod = "random"\n'
        'count = 2\nseed = 1\n[sample.over]\ncache.policy = ["lru", "fifo"]\n')
    sweep = [sys.executable, "-m", "sluice.sweep", "--json", "--file", "sweep.toml"]
    command = ["--", "sim", *PATTERN]
    check("sweep", last([*sweep, "--out", "a", *command], tmp_path))
    check("sweep", last([*sweep, "--out", "b", "--mean", "seed", *command], tmp_path))
    failing = [*sweep[:-2], "--out", "c", "--over", "cache.policy=lru,polcy", *command]
    told = last(failing, tmp_path)
    assert len(told["failures"]) == 1
    check("sweep", told)


def test_what_a_recipe_prints_is_of_its_schema(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "sluice.recipes", "run", "--small", "--json", "ocp"]
    check("recipe", last(run, tmp_path))
