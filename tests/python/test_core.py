"""Does Python see the same device as the rest of Sluice?"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import sluice
from sluice import errors
from sluice.report import write_report
from sluice.reproduce import program

PRESETS = Path(__file__).parents[2] / "presets" / "devices"


def test_presets_are_the_files_of_the_repository() -> None:
    found = {preset["name"]: preset for preset in sluice.presets()}
    assert set(found) == {path.stem for path in PRESETS.glob("*.toml")}
    assert found["cylon"]["toml"] == (PRESETS / "cylon.toml").read_text()
    assert all(preset["meaning"] for preset in found.values())


def test_a_preset_resolves_to_what_its_file_says() -> None:
    resolved = sluice.resolve("cylon")
    assert list(resolved) == [param["key"] for param in sluice.params()]
    for table, values in tomllib.loads((PRESETS / "cylon.toml").read_text()).items():
        for name, value in values.items():
            given = sluice.resolve("cylon", {f"{table}.{name}": str(value)})
            assert resolved[f"{table}.{name}"] == given[f"{table}.{name}"]


def test_overrides_replace_single_values() -> None:
    before = sluice.resolve("cylon")
    after = sluice.resolve("cylon", {"nand.read": "5us", "nand.channels": 4})
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {"nand.read", "nand.channels"}
    assert after["nand.read"] == "5us" and after["nand.channels"] == "4"


def test_a_file_is_a_device(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('base = "cylon"\n[nand]\nread = "7us"\n')
    assert sluice.resolve(str(path))["nand.read"] == "7us"


def test_every_parameter_accepts_its_default_and_its_choices() -> None:
    for param in sluice.params():
        for value in [param["default"], *param["choices"]]:
            try:
                sluice.resolve("cylon", {param["key"]: value})
            except sluice.ImpossibleError:
                # A valid value that needs another one beside it, such as a prefetch degree.
                pass
        assert param["meaning"] and param["source"] and param["expected"]


def test_policies_are_the_choices_of_their_parameters() -> None:
    choices = {param["key"]: param["choices"] for param in sluice.params()}
    for kind, key in (("eviction", "cache.policy"), ("prefetch", "prefetch.policy")):
        names = [policy["name"] for policy in sluice.policies() if policy["kind"] == kind]
        assert names == choices[key]
    assert {"fifo", "lifo", "lru", "clock", "s3fifo"} <= set(choices["cache.policy"])


def test_errors_say_kind_key_value_and_what_would_do() -> None:
    with pytest.raises(sluice.UnknownKeyError) as unknown:
        sluice.resolve("cylon", {"cache.polcy": "lru"})
    assert unknown.value.key == "cache.polcy"
    assert "cache.policy" in unknown.value.expected
    with pytest.raises(sluice.BadValueError) as bad:
        sluice.resolve("cylon", {"cache.policy": "lrru"})
    assert (bad.value.key, bad.value.value) == ("cache.policy", "lrru")
    assert "fifo" in bad.value.expected and "lrru" in str(bad.value)
    with pytest.raises(sluice.ImpossibleError) as impossible:
        sluice.resolve("cylon", {"device.capacity": "16MiB", "cache.capacity": "32MiB"})
    assert "cache.capacity" in impossible.value.key
    with pytest.raises(sluice.UnknownDeviceError) as device:
        sluice.resolve("cylom")
    assert device.value.value == "cylom" and "cylon" in device.value.expected
    for error in (unknown, bad, impossible, device):
        assert isinstance(error.value, sluice.ConfigError)
        assert "\n" not in str(error.value)


def test_an_error_in_a_file_says_where(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[nand]\nread = "7parsec"\n')
    with pytest.raises(sluice.BadValueError, match=r"mine\.toml:2:"):
        sluice.resolve(str(path))
    path.write_text("[nand\n")
    with pytest.raises(sluice.ConfigError, match=r"mine\.toml:1:"):
        sluice.resolve(str(path))


def test_a_key_that_is_no_text_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        sluice.resolve("cylon", {1: "lru"})  # type: ignore[dict-item]


# Working set 1.667 times the cache, which is what Cylon's Table 3 was measured with.
SMALL = {"device.capacity": "64MiB", "cache.capacity": "12MiB"}
CHASE = "chase:size=20MiB,stride=4096,passes=1"


def steady_hit_ratio(policy: str, stride: int, hits: str) -> float:
    """The hit ratio of the passes after the first: the difference of a long and a short run."""
    counted = []
    for passes in (2, 12):
        one = sluice.simulate("cylon", SMALL | {"cache.policy": policy},
                              f"chase:size=20MiB,stride={stride},passes={passes}", hits)
        counted.append((one["accesses"], one["cache"]["misses"]))
    (accesses, misses), (all_accesses, all_misses) = counted
    return 1 - (all_misses - misses) / (all_accesses - accesses)


@pytest.mark.parametrize("hits", ["all", "misses"])
@pytest.mark.parametrize(("policy", "stride", "published"), [
    ("fifo", 4096, 0.0), ("fifo", 1024, 0.75), ("fifo", 512, 0.875), ("clock", 4096, 0.0),
    ("lifo", 4096, 0.60), ("lifo", 1024, 0.90), ("lifo", 512, 0.95),
])
def test_simulation_gives_the_hit_ratios_of_cylon_table_3(
        policy: str, stride: int, published: float, hits: str) -> None:
    assert steady_hit_ratio(policy, stride, hits) == pytest.approx(published, abs=0.005)


def test_a_simulation_tells_what_a_run_folder_tells() -> None:
    pages = 20 * 256
    told = sluice.simulate("cylon", SMALL, CHASE, hits="misses", seed=3)
    assert (told["schema"], told["kind"], told["seed"]) == ("sluice.run/1", "sim", 3)
    assert told["config"] == sluice.resolve("cylon", SMALL)
    # The build pass and one more, a miss on every page of each: FIFO keeps nothing of use.
    assert told["accesses"] == told["traps"] == told["cache"]["misses"] == 2 * pages
    assert told["flash"]["reads"] == 2 * pages
    assert told["latency_ns"]["modelled"]["count"] == 2 * pages
    # A NAND read and the way through the cache, 40 us + 150 ns; the histogram's buckets start up
    # to 1/128 below what they hold.
    modelled = told["latency_ns"]["modelled"]
    assert 40_150 * (1 - 1 / 128) <= modelled["p50"] <= 40_150 <= modelled["mean"]


def test_a_simulation_repeats_itself() -> None:
    spec = "uniform:size=20MiB,ops=20000,seed=5"
    one, same, other = (sluice.simulate("cylon", SMALL, spec + more) for more in ("", "", "1"))
    assert one == same
    assert one["hash"] != other["hash"]


def test_bad_workloads_are_refused_before_anything_runs() -> None:
    with pytest.raises(sluice.WorkloadError, match="chase"):
        sluice.simulate("cylon", SMALL, "chaise:size=1MiB")
    with pytest.raises(sluice.WorkloadError) as key:
        sluice.simulate("cylon", SMALL, "chase:sise=1MiB")
    assert key.value.key == "sise" and "size" in key.value.expected
    with pytest.raises(sluice.WorkloadError) as value:
        sluice.simulate("cylon", SMALL, "chase:size=many")
    assert (value.value.key, value.value.value) == ("size", "many")
    with pytest.raises(sluice.WorkloadError, match="device.capacity") as size:
        sluice.simulate("cylon", SMALL, "chase:size=1GiB")
    assert size.value.key == "size"
    with pytest.raises(sluice.BadValueError) as hits:
        sluice.simulate("cylon", SMALL, CHASE, hits="some")
    assert (hits.value.key, hits.value.expected) == ("hits", "one of all, misses")


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "1"])
def test_a_seed_that_is_none_is_told(seed: Any) -> None:
    for call in (lambda: sluice.simulate("cylon", SMALL, CHASE, seed=seed),
                 lambda: sluice.simulate_system("base-cssd", "srad", seed=seed),
                 lambda: sluice.simulate_fabric("esf", seed=seed),
                 lambda: sluice.replay("cylon", SMALL, [1], seed),
                 lambda: sluice.policy_misses("cylon", SMALL, [1], seed),
                 lambda: sluice.Device("cylon", SMALL, seed=seed),
                 lambda: sluice.run(["true"], seed=seed)):
        with pytest.raises(sluice.BadValueError) as told:
            call()
        assert (told.value.key, told.value.value) == ("seed", str(seed))
    assert sluice.simulate("cylon", SMALL, CHASE, seed=2**64 - 1).seed == 2**64 - 1


def test_a_warm_up_of_all_accesses_leaves_nothing_to_tell() -> None:
    spec = "uniform:size=1MiB,ops=100"
    assert sluice.simulate("cylon", SMALL, spec, warmup=99).accesses == 1
    for warmup in (100, 101):
        with pytest.raises(sluice.WorkloadError, match="more accesses") as told:
            sluice.simulate("cylon", SMALL, spec, warmup=warmup)
        assert (told.value.key, told.value.value) == ("warmup", str(warmup))


INTERRUPTED = f"""
import _thread, threading, sluice
threading.Timer(0.3, _thread.interrupt_main).start()
try:
    sluice.simulate("cylon", {SMALL}, "uniform:size=20MiB,ops=100000000000")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_others_run_meanwhile_and_ctrl_c_ends_it() -> None:
    """A thread that interrupts hours of simulation must get its turn, and be heard."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True,
                          timeout=30, check=True)
    assert done.stdout == "interrupted\n"


HEARD = f"""
import numpy as np, signal, sluice
pages = np.random.default_rng(1).integers(0, 5_000, 20_000_000).astype(np.uint32)
for count in (lambda: sluice.optimum(pages, 4_000),
              lambda: sluice.optimum(pages * np.uint32(800_000), 4_000),
              lambda: sluice.policy_misses("cylon", {SMALL}, pages)):
    heard = []
    signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    count()
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(len(heard) > 2)
"""


def test_signals_are_heard_while_misses_are_counted() -> None:
    """They were heard once, at the end: Ctrl-C waited for it."""
    done = subprocess.run([sys.executable, "-c", HEARD], capture_output=True, text=True,
                          timeout=120, check=True)
    assert done.stdout == "True\n" * 3


@pytest.mark.parametrize("name", [b"a\xff.trace", "a\udcff.trace", Path("a\udcff.trace")],
                         ids=["bytes", "text", "path"])
def test_the_name_of_a_trace_need_not_be_text(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str | bytes | Path) -> None:
    monkeypatch.chdir(tmp_path)
    convert = [program.find(None), "trace", "convert", "--from", "lackey", "-", b"a\xff.trace"]
    subprocess.run(convert, input=b" L 1000,8\n S 2000,4\n", check=True, capture_output=True)
    assert len(sluice.read_trace(name)) == 2
    result = sluice.simulate("cylon", SMALL, f"trace:{os.fsdecode(name)}")
    assert (result.accesses, result.workload) == (2, "trace:a\N{REPLACEMENT CHARACTER}.trace")


def test_a_device_is_a_name_or_any_path_with_a_name_that_a_result_can_have(tmp_path: Path) -> None:
    place = tmp_path / "my.toml"
    place.write_text(next(one["toml"] for one in sluice.presets() if one["name"] == "cylon"))
    for given in (place, str(place), os.fsencode(place)):
        assert sluice.Device(given, SMALL).preset == str(place)
        assert sluice.simulate(given, SMALL, "chase:size=1MiB").device == str(place)
        assert sluice.resolve(given) == sluice.resolve("cylon")
    with pytest.raises(sluice.UnknownDeviceError, match="udcff.toml' is no UTF-8.*rename") as told:
        sluice.resolve(b"a\xff.toml")
    assert told.value.value == "a\udcff.toml"
    for none in (3, None):
        with pytest.raises(TypeError, match="str, bytes or os.PathLike"):
            sluice.simulate(none)


def test_hits_out_of_sight_are_told_apart() -> None:
    """At four accesses to a page, three find it mapped, and a live device does not see them."""
    spec = "chase:size=20MiB,stride=1024,passes=1"
    live = sluice.simulate("cylon", SMALL, spec, hits="misses")
    assert live["mapped_hits"] * 4 == live["accesses"] * 3
    assert (live["cache"]["hits"], live["cache"]["hit_ratio"]) == (0, 0.0)
    seen = sluice.simulate("cylon", SMALL, spec, hits="all")
    assert (seen["mapped_hits"], seen["cache"]["hit_ratio"]) == (0, 0.75)
    assert seen["traps"] == live["traps"]


def test_a_simulation_makes_a_report(tmp_path: Path) -> None:
    (tmp_path / "stats.json").write_text(json.dumps(sluice.simulate("cylon", SMALL, CHASE)))
    write_report([tmp_path], tmp_path / "report.html")
    assert "1 simulated run" in (tmp_path / "report.html").read_text()


def test_every_error_goes_through_a_pool_of_processes() -> None:
    classes = [one for one in vars(errors).values()
               if isinstance(one, type) and issubclass(one, errors.Error)]
    for one in classes:
        if issubclass(one, errors.InputError):
            error = one("no", key="a", value="b", expected="c")
        elif one is errors.RunError:
            error = one("no", status=3, result=sluice.Result({"cache": {"misses": 1}}))
        else:
            error = one("no")
        error.add_note("of a run")
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), again.args, vars(again)) == (one, ("no",), vars(error))
    assert len(classes) > 15


def test_overrides_are_any_mapping_and_truth_values_are_yes_and_no() -> None:
    given = MappingProxyType(SMALL | {"device.persistent": True})
    assert sluice.resolve("cylon", given)["device.persistent"] == "yes"
    assert sluice.resolve("cylon", {"device.persistent": np.False_})["device.persistent"] == "no"
    # Python writes them 1e-05.
    for small in (0.00001, np.float64(0.00001), np.float32(0.00001)):
        assert sluice.resolve("cylon", {"cache.twoq_in": small})["cache.twoq_in"] == "0.001%"
    given = MappingProxyType(SMALL)
    told = sluice.simulate("cylon", given, CHASE)
    assert told.config["cache.capacity"] == "12MiB"
    assert sluice.replay("cylon", given, [1]).misses == 1
    assert sluice.policy_misses("cylon", given, [1]).misses == 1
    cores = MappingProxyType({"cpu.cores": 2})
    assert sluice.resolve_system("base-cssd", cores)["cpu.cores"] == "2"
    for call in (lambda wrong: sluice.simulate_system("base-cssd", "srad", wrong),
                 lambda wrong: sluice.simulate_fabric("esf", wrong)):
        with pytest.raises(sluice.UnknownKeyError):
            call(MappingProxyType({"no.key": 1}))
