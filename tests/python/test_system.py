"""Simulated hosts, from Python."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import sluice

ROOT = Path(__file__).parents[2]
SLUICE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "sluice"
SHORT = {"scale": 128, "warmup": 100_000, "instructions": 500_000}


def test_systems_are_the_files_of_the_repository() -> None:
    systems = sluice.systems()
    assert {system["name"] for system in systems} == {
        path.stem for path in (ROOT / "presets" / "systems").glob("*.toml")
    }
    for system in systems:
        path = ROOT / "presets" / "systems" / f"{system['name']}.toml"
        assert system["toml"] == path.read_text(encoding="utf-8")


def test_a_system_resolves_with_overrides_and_scale() -> None:
    full = sluice.resolve_system("skybyte-full", {"cpu.threads": 32})
    assert full["cpu.threads"] == "32"
    assert full["write_log.capacity"] == "128MiB"
    keys = {param["key"] for param in sluice.params() + sluice.host_params()}
    assert set(full) == keys
    small = sluice.resolve_system("skybyte-full", scale=8)
    assert small["write_log.capacity"] == "16MiB"


def test_a_simulation_is_that_of_the_command() -> None:
    ours = sluice.simulate_system("skybyte-full", "srad", {"nand.read": "5us"}, **SHORT)
    told = subprocess.run(
        [SLUICE, "sim", "--system", "skybyte-full", "--workload", "srad", "--json",
         "--set", "nand.read=5us", "--scale", "128", "--warmup", "100k",
         "--instructions", "500k"],
        check=True, capture_output=True, text=True,
    )
    assert ours == json.loads(told.stdout)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two CPUs, each with a page of its own at every other access."""
    lines = [f"{cpu},{'lw'[at % 2]},{(at * 2 + cpu) % 97 * 4096 + at % 64 * 64},8"
             for at in range(4_000) for cpu in range(2)]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    subprocess.run([SLUICE, "trace", "convert", tmp_path / "a.csv", tmp_path / "a.trace",
                    "--columns", "cpu,op,address,size"], check=True, capture_output=True)
    return tmp_path / "a.trace"


def test_a_trace_runs_on_a_system_as_the_command_s(trace: Path) -> None:
    """Only a device ran one."""
    asked = {"warmup": 1_000, "instructions": 5_000}
    ours = sluice.simulate_system("skybyte-full", f"trace:{trace}", {"nand.read": "5us"}, **asked)
    told = subprocess.run(
        [SLUICE, "sim", "--system", "skybyte-full", "--trace", trace, "--json",
         "--set", "nand.read=5us", "--warmup", "1000", "--instructions", "5000"],
        check=True, capture_output=True, text=True,
    )
    assert ours == json.loads(told.stdout)
    assert (ours.program.threads, ours.scale) == (2, 1)


def test_what_a_trace_on_a_system_cannot_have(trace: Path) -> None:
    name = f"trace:{trace}"
    with pytest.raises(sluice.Error, match="cpu.threads: a trace has its own .* one 2"):
        sluice.simulate_system("base-cssd", name, {"cpu.threads": 16})
    with pytest.raises(sluice.Error, match="check: a trace computes nothing"):
        sluice.simulate_system("base-cssd", name, check=True)
    with pytest.raises(sluice.TraceError, match="none.trace"):
        sluice.simulate_system("base-cssd", f"trace:{trace.parent}/none.trace")


def test_errors_are_the_package_s_own() -> None:
    with pytest.raises(sluice.UnknownDeviceError) as raised:
        sluice.simulate_system("skybite", "srad")
    assert "skybyte-full" in (raised.value.expected or "")
    with pytest.raises(sluice.WorkloadError, match="not known; a simulated host runs one of"):
        sluice.simulate_system("base-cssd", "zipf")
    with pytest.raises(sluice.ImpossibleError, match="cpu.threads = 4, cpu.cores = 8"):
        sluice.simulate_system("base-cssd", "srad", {"cpu.threads": 4})
    with pytest.raises(sluice.ImpossibleError, match="system.scale = 0"):
        sluice.simulate_system("base-cssd", "srad", scale=0)
    with pytest.raises(sluice.InputError, match="bad overrides: 'ycsb'; expected a mapping"):
        sluice.simulate_system("base-cssd", "srad", "ycsb")  # type: ignore[arg-type]
    for timeline, said in [("soon", "a number with a unit"), ("1ps", "1us at least"),
                           ("0us", "1us at least")]:
        with pytest.raises(sluice.BadValueError, match=f"`timeline`.*{said}"):
            sluice.simulate_system("base-cssd", "srad", timeline=timeline, **SHORT)
    small = {"device.capacity": "4GiB", "ftl.gc_threshold": 2}
    with pytest.raises(sluice.WorkloadError, match="device.capacity is 32MiB"):
        sluice.simulate_system("base-cssd", "srad", small, scale=128)
