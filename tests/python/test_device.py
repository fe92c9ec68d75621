"""Is a device that is asked by arrays the simulator's, and does it refuse what is no access?"""

from __future__ import annotations

import copy
import gc
import pickle
import re
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import sluice

SMALL = {"device.capacity": "64MiB", "cache.capacity": "1MiB"}


def device(preset: str = "cylon", **settings: object) -> sluice.Device:
    return sluice.Device(preset, SMALL, **settings)


def test_it_is_the_simulators_device_to_the_last_bit() -> None:
    """A stream's accesses are known: three times over 2 MiB, loads or stores."""
    addresses = np.tile(np.arange(0, 2 << 20, 64, dtype=np.uint64), 3)
    for stores in (False, True):
        pattern = f"stream:size=2MiB,stride=64,passes=3,write={int(stores)}"
        one, told = device(), sluice.simulate("cylon", SMALL, pattern)
        took = one.access(addresses, writes=stores)
        assert {**one.stats, "workload": pattern} == told
        assert took.sum() == pytest.approx(told.sim_time_s * 1e9) == one.now_ns
    # In parts it is the same device.
    parts = device()
    whole = np.concatenate([parts.access(part, writes=True)
                            for part in np.array_split(addresses, 7)])
    assert (whole == took).all() and parts.stats.hash == one.stats.hash


def test_latencies_are_those_of_the_closed_form() -> None:
    # A NAND read and the way through the cache, 40 us + 150 ns; later a hit.
    pages = np.arange(256) * 4096
    one = device()
    assert set(one.access(pages)) == {40_150.0}
    assert set(one.access(pages + 64)) == {150.0}
    assert one.now_ns == 256 * (40_150 + 150)


def test_an_access_of_several_lines_asks_for_all_of_them_together() -> None:
    one = device(nand_channels=2)
    # From the last byte of a page over all of the next into a third one: 1 + 64 + 1 lines.
    took = one.access([4095], sizes=[4098])
    assert one.stats.accesses == 66 and one.stats.cache.misses == 3
    alone = device(nand_channels=2)
    each = alone.access([4095, 4096, 8192])
    assert each.max() <= took[0] < each.sum()


def test_accesses_at_their_own_times_are_under_way_together() -> None:
    pages = np.arange(4) * 4096
    after = device(nand_channels=1, nand_dies=1).access(pages)
    together = device(nand_channels=1, nand_dies=1)
    took = together.access(pages, at_ns=np.zeros(4))
    assert (np.diff(took) > 0).all(), "one die serves one after the other"
    assert took[0] == after[0] and together.now_ns == took.max()
    late = together.access([0], at_ns=[together.now_ns + 5.5])
    assert late[0] == 150.0
    with pytest.raises(sluice.BadValueError, match="times in nanoseconds that never go back"):
        together.access([0], at_ns=[1.0])


def test_settings_are_keywords_or_values_by_key() -> None:
    one = sluice.Device("cxl-ssd", {"cache.capacity": "1MiB"}, device_capacity="64MiB",
                        cache_policy="lru", nand_channels=4)
    config = one.stats.config
    assert config["cache.policy"] == "lru" and config["nand.channels"] == "4"
    assert config["cache.capacity"] == "1MiB"
    with pytest.raises(sluice.UnknownKeyError, match="near are cache_policy"):
        sluice.Device("cxl-ssd", cache_polcy="lru")
    with pytest.raises(sluice.BadValueError):
        sluice.Device("cxl-ssd", cache_policy="lrru")
    with pytest.raises(sluice.UnknownDeviceError):
        sluice.Device("cxl-sd")


def test_keywords_name_one_key_each() -> None:
    keys = [str(param["key"]) for param in sluice.params()]
    assert len({key.replace(".", "_") for key in keys}) == len(keys)


@pytest.mark.parametrize(("given", "said"), [
    ({"addresses": [64 << 20]}, "addresses below 64MiB, device.capacity"),
    ({"addresses": [(64 << 20) - 64], "sizes": [65]}, "and 65 bytes from there"),
    ({"addresses": [2**64 - 1], "sizes": 2}, "addresses below"),
    ({"addresses": [-64]}, "bad addresses: -64; expected 0 or more"),
    ({"addresses": [0.5]}, "an array of float64; expected whole numbers"),
    ({"addresses": [[0, 64]]}, r"shape \(1, 2\); expected one dimension"),
    ({"addresses": 0}, r"shape \(\); expected one dimension"),
    ({"addresses": [0, 64], "writes": [True]}, "bad writes: 1 values; expected 2"),
    ({"addresses": [0], "writes": [2]}, "bad writes: expected true and false"),
    ({"addresses": [0, 64], "writes": pandas.Series([True, None], dtype="boolean")},
     "bad writes: expected true and false"),
    ({"addresses": [0], "writes": np.zeros(1, [("a", "i4")])}, "bad writes: expected true"),
    ({"addresses": [0], "writes": [1 + 0j]}, "bad writes: expected true"),
    ({"addresses": [0], "writes": np.ones(1, "m8[ns]")}, "bad writes: expected true"),
    ({"addresses": [0], "sizes": [0]}, "1 byte or more"),
    ({"addresses": [0, 64], "at_ns": [5.0, 4.0]}, "never go back, from 5 on"),
    ({"addresses": [0], "at_ns": [float("nan")]}, "never go back"),
    ({"addresses": [0, 0], "at_ns": 1.0}, "one dimension"),
    ({"addresses": [[0], [0, 64]]}, "inhomogeneous shape.*; expected one dimension, and every"),
    ({"addresses": [0], "writes": [[0], []]}, "expected one dimension, and every value"),
    ({"addresses": np.ma.masked_array([0, 64], [False, True])}, "some are masked; expected"),
])
def test_what_is_no_access_is_refused_before_anything_is_asked(given: dict, said: str) -> None:
    one = device()
    with pytest.raises(sluice.BadValueError, match=said) as refused:
        one.access(**given)
    assert refused.value.key in given and "\n" not in str(refused.value)
    assert one.stats.accesses == 0 and one.now_ns == 0


def test_the_last_byte_is_on_the_device() -> None:
    assert len(device().access([(64 << 20) - 64, (64 << 20) - 1], sizes=[64, 1])) == 2
    assert device().access([]).shape == (0,)


@pytest.mark.parametrize("kind", ["f8", "c16", "M8[s]", "U4", [("a", "i4")]])
def test_an_array_without_numbers_may_be_of_any_kind(kind: Any) -> None:
    """Of complex ones NumPy warned that something was lost, which is an error here."""
    empty, one = np.zeros(0, kind), device()
    assert one.access(empty, writes=empty, sizes=empty, at_ns=empty).shape == (0,)
    assert one.block("read", empty, empty, at_ns=empty).shape == (0,)
    assert sluice.replay("cxl-ssd", None, empty).accesses == 0


def test_a_time_that_cannot_be_is_named_in_few_digits() -> None:
    with pytest.raises(sluice.BadValueError, match='"1e300"; expected times') as refused:
        device().access([0], at_ns=[1e300])
    assert refused.value.value == "1e300"


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_device_has_no_second_name(again: Callable[[object], object]) -> None:
    one = device()
    with pytest.raises(TypeError, match="neither copied nor pickled; make another one"):
        again(one)
    assert one.access([0]).shape == (1,)


@pytest.mark.parametrize(("key", "name", "takes"), [
    ("policy", "lru", "cache.policy"), ("prefetcher", "nextn", "prefetch.policy")])
def test_the_name_of_a_policy_is_no_class(key: str, name: str, takes: str) -> None:
    with pytest.raises(sluice.BadValueError, match=f"bad value for `{key}`: .*'{name}'.*{takes}"):
        device(**{key: name})


class Fifo(sluice.Policy):
    def __init__(self, space: sluice.PolicySpace) -> None:
        self.slots: list[list[int]] = [[] for _ in range(space.sets)]

    def insert(self, set_: int, slot: int, lpn: int) -> None:
        self.slots[set_].append(slot)

    def victim(self, set_: int, evictable: object) -> int | None:
        return self.slots[set_].pop(0)

    def remove(self, set_: int, slot: int) -> None:
        self.slots[set_].remove(slot)


def test_a_policy_in_python_decides() -> None:
    addresses = np.random.default_rng(3).integers(0, 4 << 20, 20_000, dtype=np.uint64)
    own, built_in = device(policy=Fifo), device(cache_policy="fifo")
    assert (own.access(addresses) == built_in.access(addresses)).all()
    assert own.stats.cache == built_in.stats.cache


def test_a_device_whose_policy_failed_goes_on_no_more() -> None:
    class Fails(Fifo):
        def victim(self, set_: int, evictable: object) -> int | None:
            raise ZeroDivisionError

    one = device(policy=Fails)
    with pytest.raises(ZeroDivisionError):
        one.access(np.arange(1000) * 4096)
    for again in (lambda: one.access([0]), lambda: one.block("read", [0])):
        with pytest.raises(sluice.PolicyError, match="has failed before; make another device"):
            again()


@pytest.mark.parametrize("op", ["write", "trim"])
def test_what_a_policy_raises_at_the_block_door_is_raised(op: str) -> None:
    class Fails(Fifo):
        def remove(self, set_: int, slot: int) -> None:
            raise ZeroDivisionError

    one = device(policy=Fails)
    one.access([0])
    with pytest.raises(ZeroDivisionError):
        one.block(op, [0])
    with pytest.raises(sluice.PolicyError, match="has failed before; make another device"):
        one.block("flush", [0])


@pytest.mark.parametrize("key", ["policy", "prefetcher"])
def test_a_device_that_its_own_class_holds_is_collected(key: str) -> None:
    """Each such pair stayed until the end of the process, with the device's memory."""
    class Own(sluice.Policy, sluice.Prefetcher):  # type: ignore[misc]
        def __init__(self, space: object) -> None:
            made.append(self)

        def insert(self, set_: int, slot: int, lpn: int) -> None: ...
        def remove(self, set_: int, slot: int) -> None: ...
        def victim(self, set_: int, evictable: object) -> None: ...
        def access(self, *told: object) -> list[int]:
            # While it is asked its device must not be taken for one that nobody holds.
            gc.collect()
            return []

    made: list[Any] = []
    one = device(prefetch_degree=1, **{key: Own})
    own = made.pop()
    own.device = one
    gone = [weakref.ref(one), weakref.ref(own)]
    one.access([0, 4096])
    del own
    gc.collect()
    assert all(one() for one in gone) and len(one.access([8192])) == 1
    del one
    gc.collect()
    assert not any(one() for one in gone)


def test_its_own_policy_cannot_ask_it() -> None:
    class Asks(Fifo):
        def insert(self, set_: int, slot: int, lpn: int) -> None:
            one.access([0])

    one = device(policy=Asks)
    with pytest.raises(sluice.BusyError, match="by another thread, or by its own policy"):
        one.access([0])


INTERRUPTED = f"""
import _thread, threading, numpy, sluice
device = sluice.Device("cylon", {SMALL})
pages = numpy.zeros(40_000_000, dtype=numpy.uint64)
threading.Timer(0.3, _thread.interrupt_main).start()
try:
    device.access(pages)
except KeyboardInterrupt:
    print("interrupted", device.stats.accesses < len(pages))
"""


def test_others_run_meanwhile_and_ctrl_c_ends_it() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True,
                          timeout=120, check=True)
    assert done.stdout == "interrupted True\n"


# What C calls at the end says so, and waits. The thread finds meanwhile that Python is gone.
LEFT = f"""
import ctypes, threading, numpy, sluice
c = ctypes.CDLL(None)
c.strdup.restype = ctypes.c_void_p
for call, given in [(c.getchar, None), (c.perror, ctypes.c_void_p(c.strdup(b"gone")))]:
    c.__cxa_atexit(ctypes.cast(call, ctypes.c_void_p), given, None)
device, pages = sluice.Device("cylon", {SMALL}), numpy.zeros(40_000_000, dtype=numpy.uint64)
threading.Thread(target=device.access, args=(pages,), daemon=True).start()
while not device._lock.locked():
    pass
"""


def test_the_end_of_the_interpreter_ends_it_without_a_word() -> None:
    with subprocess.Popen([sys.executable, "-c", LEFT], stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE) as child:
        assert child.stderr.readline().startswith(b"gone: ")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and any(
                stat.read_text().rpartition(")")[2].split()[0] == "R"
                for stat in Path(f"/proc/{child.pid}/task").glob("*/stat")):
            time.sleep(0.01)
        assert child.communicate(timeout=60) == (None, b"") and child.returncode == 0


@pytest.mark.parametrize(("key", "value"), [
    ("device.persistent", "yes"), ("device.program_energy", 7), ("cache.pin_max", "10%"),
    ("prefetch.sequential", 8)])
def test_what_only_a_live_run_honours_is_refused(key: str, value: object) -> None:
    """By every door; `resolve` shows the settings of live runs too."""
    pages, only_live = np.zeros(1, dtype=np.uint32), {key: value}
    doors = [lambda: sluice.Device("cylon", only_live),
             lambda: sluice.simulate("cylon", only_live, "zipf"),
             lambda: sluice.replay("cylon", only_live, pages),
             lambda: sluice.policy_misses("cylon", only_live, pages),
             lambda: sluice.simulate_system("base-cssd", "srad", only_live),
             lambda: sluice.simulate_fabric("cxl2-pool", {f"ssd.{key}": value})]
    for door in doors:
        with pytest.raises(sluice.ImpossibleError, match=rf"{key} = {value}: a simulation "):
            door()
    both = {"device.persistent": "yes", key: value}
    assert sluice.resolve("cylon", both)[key] == str(value)


def test_the_block_door_is_of_the_same_device() -> None:
    one = device()
    flash = one.block("read", [7, 9])
    missed, hit = one.access([7 * 4096, 7 * 4096])
    assert list(flash) == [missed, missed]
    assert one.block("read", [7])[0] == hit
    assert one.block("write", [7])[0] == hit
    assert one.access([7 * 4096])[0] >= missed
    before = one.now_ns
    together = one.block("read", [20, 21], at_ns=[before, before])
    assert list(together) == [missed, missed]
    assert one.now_ns == before + missed
    assert len(one.block("trim", [0, 8], counts=[8, 4])) == 2


def test_a_flush_waits_for_the_programs_of_what_was_written() -> None:
    one = device()
    quick = one.block("flush", [0], counts=[64])
    one.access([0, 4096], writes=[True, False])
    slow = one.block("flush", [0], counts=[64])
    again = one.block("flush", [0], counts=[64])
    assert slow[0] > quick[0] == again[0]
    counted = one.stats["block"]
    assert (counted["flushes"], counted["pages_flushed"], counted["requests"]) == (3, 1, 3)


@pytest.mark.parametrize(("op", "pages", "counts", "says"), [
    ("erase", [0], 1, 'bad value for `op`: "erase"; expected read, write, trim or flush'),
    ("read", [16384], 1, 'bad value for `pages`: "16384"; expected pages below 16384'),
    ("read", [0, 16383], 2, '"16383 and 2 pages from there"; expected pages below 16384'),
    ("read", [1], 0, 'bad value for `counts`: "0"; expected 1 page or more'),
    ("read", [[1]], 1, "bad pages: an array of shape (1, 1); expected one dimension"),
    ("read", [1, 2], [1], "bad counts: 1 values; expected 2"),
])
def test_no_request_of_the_block_door_is_guessed(op: str, pages: Any, counts: Any, says: str
                                                 ) -> None:
    one = device()
    with pytest.raises(sluice.BadValueError, match=re.escape(says)):
        one.block(op, pages, counts)
    assert one.now_ns == 0


def test_a_memory_expander_has_no_block_door() -> None:
    one = sluice.Device("cxl-dram", device_capacity="64MiB")
    with pytest.raises(sluice.WorkloadError, match="no cache and no flash"):
        one.block("read", [0])
