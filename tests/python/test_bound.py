"""Belady's optimum, and the whole numbers that simulations take."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import sluice

SMALL = {"device.capacity": "16MiB", "cache.capacity": "4KiB", "cache.policy": "lru",
         "ftl.gc_threshold": "10%"}
DRAWS = "zipf:size=64KiB,ops=4000,write=0.8,theta=2"


def test_no_policy_has_fewer_misses_than_the_bound() -> None:
    for policy in ["lru", "fifo", "lifo"]:
        cache = sluice.simulate("cylon", {**SMALL, "cache.policy": policy}, DRAWS,
                                bound=True).cache
        assert cache.misses >= cache.optimum_misses > 0, policy


@pytest.mark.parametrize(("device", "overrides", "warmup", "why"), [
    ("skybyte-64th", {}, 0, "write_log.capacity"),
    ("cylon", SMALL | {"cache.evict_at": "fill"}, 0, "cache.evict_at"),
    ("cylon", SMALL | {"cache.store_miss": "around"}, 0, "cache.store_miss"),
    ("cylon", SMALL | {"cache.store_miss": "whole"}, 0, "cache.store_miss"),
    ("cylon", SMALL | {"cache.load_miss": "around"}, 0, "cache.load_miss"),
    ("dram-local", {}, 0, "device.kind"),
    ("cylon", SMALL, 16, "those before the counting"),
])
def test_a_bound_is_refused_where_it_is_none(device: str, overrides: dict[str, str], warmup: int,
                                             why: str) -> None:
    with pytest.raises(sluice.ImpossibleError, match=why) as raised:
        sluice.simulate(device, overrides, DRAWS, bound=True, warmup=warmup)
    assert raised.value.key == "bound"
    assert sluice.simulate(device, overrides, DRAWS, warmup=warmup).cache.optimum_misses is None


# Less memory than an entry for each page number, or for each set, would take.
FAR = """
import resource, sluice
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
pages = [2**32 - 1, 0, 2**32 - 1, 7, 0]
print(sluice.optimum(pages, 4), sluice.optimum(pages, 1), sluice.optimum(pages, 2**32 - 1, 1))
"""


def test_a_bound_takes_memory_for_what_occurs_alone() -> None:
    # With one page held 7 must displace; modulo 2^32 - 1 the largest page shares its set with 0.
    done = subprocess.run([sys.executable, "-c", FAR], capture_output=True, text=True,
                          timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("3 5 5\n", 0), done.stderr


PAGES = np.arange(4, dtype=np.uint32)


@pytest.mark.parametrize(("key", "call"), [
    ("warmup", lambda n: sluice.simulate("cylon", SMALL, DRAWS, warmup=n)),
    ("warmup", lambda n: sluice.simulate_system("skybyte-full", "srad", warmup=n)),
    ("instructions", lambda n: sluice.simulate_system("skybyte-full", "srad", instructions=n)),
    ("scale", lambda n: sluice.simulate_system("skybyte-full", "srad", scale=n)),
    ("scale", lambda n: sluice.resolve_system("skybyte-full", scale=n)),
    ("warmup", lambda n: sluice.simulate_fabric("esf", warmup=n)),
    ("requests", lambda n: sluice.simulate_fabric("esf", requests=n)),
    ("cache_pages", lambda n: sluice.optimum(PAGES, n)),
    ("ways", lambda n: sluice.optimum(PAGES, 4, n)),
])
def test_a_number_that_is_too_small_or_too_large_is_named(
        key: str, call: Callable[[object], object]) -> None:
    for number in [-1, 2**64, 1.5]:
        with pytest.raises(sluice.BadValueError, match=f"bad value for `{key}`") as raised:
            call(number)
        assert (raised.value.key, raised.value.value) == (key, str(number))


def test_a_warm_up_that_takes_a_whole_program_is_refused() -> None:
    with pytest.raises(sluice.WorkloadError, match=r"`warmup`: 10000000000; expected more instr"):
        sluice.simulate_system("base-cssd", "stream:rounds=1", scale=256, warmup=10**10,
                               instructions=5)
