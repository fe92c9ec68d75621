"""What somebody writes with the package: mypy checks it when linting, and it runs here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import pytest

import sluice

SMALL: dict[str, object] = {"device.capacity": "64MiB", "cache.capacity": "256KiB"}


class Fifo(sluice.Policy):
    def __init__(self, space: sluice.PolicySpace) -> None:
        super().__init__(space)
        self.slots: list[list[int]] = [[] for _ in range(space.sets)]

    def insert(self, set_: int, slot: int, lpn: int) -> None:
        self.slots[set_].append(slot)

    def victim(self, set_: int, evictable: sluice.Evictable) -> int | None:
        assert_type(evictable(self.slots[set_][0]), bool)
        return self.slots[set_].pop(0)

    def remove(self, set_: int, slot: int) -> None:
        self.slots[set_].remove(slot)


class Next(sluice.Prefetcher):
    def access(self, lpn: int, outcome: str, at_ns: float, degree: int) -> Iterable[int]:
        return (lpn + 1,)


def test_a_device_with_what_is_written_in_python() -> None:
    device = sluice.Device("cxl-ssd", SMALL, prefetch_degree=1, policy=Fifo, prefetcher=Next)
    took = device.access(range(0, 1 << 16, 4096), writes=True)
    assert_type(took, npt.NDArray[np.float64])
    assert took.shape == (16,)
    assert_type(device.stats, sluice.Result)
    assert_type(device.now_ns, float)


def test_results_and_errors() -> None:
    assert_type(sluice.simulate("cxl-ssd", SMALL, "zipf:size=1MiB,ops=100"), sluice.Result)
    assert_type(sluice.params(), list[dict[str, Any]])
    assert_type(sluice.optimum(np.arange(4), cache_pages=2), int)
    with pytest.raises(sluice.UnknownDeviceError) as caught:
        sluice.resolve("cylom")
    assert_type(caught.value.expected, str | None)


def test_a_module_is_there_before_one_of_its_functions_was_used() -> None:
    written = ("import sluice; print(sluice.trace.STORE, sluice.errors.Error is sluice.Error,"
               " hasattr(sluice, 'nothing'))")
    done = subprocess.run([sys.executable, "-c", written], capture_output=True, text=True,
                          check=False)
    assert (done.stdout, done.stderr) == ("1 True False\n", "")
    assert_type(sluice.trace.STORE, int)
    assert_type(sluice.errors.ExperimentError("x"), sluice.errors.ExperimentError)


def test_every_name_is_known() -> None:
    names = sluice.__all__
    assert_type(names, list[str])
    assert {"Device", "read_trace"} < set(names) and "trace" not in names


def test_the_native_module_is_what_its_types_say(tmp_path: Path) -> None:
    """Its package lies in the path once: an installed one may be another."""
    package = Path(sluice.__file__).parents[1]
    alone = tmp_path / "mypy.ini"
    alone.write_text("[mypy]\n")
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "--mypy-config-file", alone,
                           "sluice._core"], capture_output=True, text=True, check=False,
                          cwd=tmp_path, env=os.environ | {"MYPYPATH": str(package),
                                                          "PYTHONPATH": str(package)})
    assert done.returncode == 0, done.stdout
