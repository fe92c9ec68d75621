"""Is every object that a command prints with --json of its published schema?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import sluice
from sluice.results import SCHEMAS, read_as

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
    "curve": ["curve", "--json", *SMALL, "--size", "64KiB"],
    "files": ["files", "--json", *SMALL, "--size", "1MiB", "--through", "mmap"],
    "run": ["run", "--json", *SMALL, "--", "sort", "--version"],
    "size": ["size", "--json", "--trace", "x.trace", *SMALL],
    "trace-convert": ["trace", "convert", "--columns", "address,size", "x.csv",
                      "x.trace", "--json"],
    "doctor": ["doctor", "--json"],
    "devices": ["device", "list", "--json"],
    "presets": ["system", "list", "--json"],
    "parameters": ["device", "show", "--json"],
    "policies": ["policy", "list", "--json"],
    "fabric-choices": ["fabric", "choices", "--json"],
    "trace-info": ["trace", "info", "--reuse", "x.trace", "--json"],
}


WORKLOADS = [
    "chase --size 64KiB --passes 2", "chase --size 64KiB --bare",
    "chase --size 64KiB --write --random",
    "graph --scale 8 --sources 2 --iterations 2", "graph --scale 8 --sources 0 --iterations 0",
    "kv --records 200 --ops 300 --mix F --sweep", "pattern --size 1MiB --seconds 0 --threads 2",
    "traffic --size 64KiB --chase 64KiB --threads 2",
    "hints scan --size 64KiB --index 16KiB",
]


def schema(name: str) -> dict[str, Any]:
    own = {"sweep": "python/sluice/sweep", "recipe": "python/sluice/recipes",
           "workload": "crates/sluice-workload", "ctl": "crates/sluice-ctl"}
    path = ROOT / own[name] / "result.schema.json" if name in own else PUBLISHED / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def last(command: list[Any], folder: Path) -> Any:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, env=os.environ | {"SLUICE": str(SLUICE)})
    assert done.stdout, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def check(name: str, value: Any) -> None:
    of = schema(name)
    jsonschema.Draft202012Validator.check_schema(of)
    jsonschema.Draft202012Validator(of).validate(value)
    # One field less or more must not pass: so none can have another name.
    row = value[0] if isinstance(value, list) else value
    for field in row:
        rest = {key: one for key, one in row.items() if key != field}
        for wrong in (rest, {**row, f"{field}_": row[field]}):
            wrong = [wrong] if isinstance(value, list) else wrong
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


@pytest.mark.parametrize("command", WORKLOADS)
def test_what_a_workload_prints_is_of_its_schema(command: str, tmp_path: Path) -> None:
    told = last([SLUICE, "workload", *command.split(), "--json"], tmp_path)
    check("workload", told)
    assert read_as(SCHEMAS["workload"], told).workload == command.split()[0]


def test_what_a_workload_says_of_a_server_is_of_its_schema(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    command = ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", tmp_path]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            until(path.exists)
            check("workload", last(
                [SLUICE, "workload", "redis", "--socket", path, "--records", "200", "--ops", "300",
                 "--mix", "A", "--bgsave-at", "0.5", "--json"], tmp_path))
        finally:
            server.terminate()


def test_what_commands_for_a_running_device_print_is_of_their_schemas(tmp_path: Path) -> None:
    program = "import sys; x = bytearray(8 << 20); print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen([SLUICE, "run", *SMALL, "--", sys.executable, "-c", program],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        ctl = [SLUICE, "ctl", str(child.pid)]
        for words in (["prefetch", "0..64KiB", "1MiB+4KiB"], ["pin", "0..16KiB"], ["unpin", "all"],
                      ["evict", "0..64KiB"], ["flush", "all"], ["cold", "0..64KiB"],
                      ["sequential", "0..1MiB"], ["random", "all"], ["normal", "all"],
                      ["policy", "lru"], ["policy", "lru"], ["set", "nand.read=20us"],
                      ["stats"], ["stats", "--as-is"], ["map"]):
            told = last([*ctl, *words, "--json"], tmp_path)
            check("ctl", told)
            assert told["command"] == {"policy": "set"}.get(words[0], words[0])
        # What is refused says why, in the same form.
        refused = last([*ctl, "pin", "all", "--json"], tmp_path)
        assert refused["ranges"][0]["reason"]
        check("ctl", refused)
        check("top", last([SLUICE, "top", str(child.pid), "--json", "--interval", "10ms"],
                          tmp_path))
        child.stdin.close()
        assert child.wait(60) == 0


def test_what_a_folder_says_of_its_command_is_of_its_schema(tmp_path: Path) -> None:
    last([SLUICE, *COMMANDS["sim"], "--out", "out"], tmp_path)
    check("command", json.loads((tmp_path / "out" / "command.json").read_text()))


def test_what_python_alone_tells_is_of_its_schema() -> None:
    device = {"device.capacity": "64MiB", "cache.capacity": "4MiB"}
    for name, told in (("replay", sluice.replay("cylon", device, range(100))),
                       ("policy-misses", sluice.policy_misses("cylon", device, range(100))),
                       ("sim", sluice.Device("cylon", device).stats)):
        of = schema(name)
        jsonschema.Draft202012Validator(of).validate(told)
        for field in told:
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.Draft202012Validator(of).validate(
                    {(f"{key}_" if key == field else key): one for key, one in told.items()})


def test_every_schema_is_held_to_an_output() -> None:
    """Those of recordings and counters are by the Rust tests, which have QEMU and the ring."""
    here = {*COMMANDS, "top", "replay", "policy-misses", "command"}
    assert {path.stem for path in PUBLISHED.glob("*.json")} == here | {"trace-record", "counters"}


def until(holds: Any) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
