"""Each declared parameter changes what a simulation computes.

A setting that is accepted and does nothing answers a question that nobody asked. Here each
parameter is changed alone, in configurations drawn from its own seed, until a result differs in
more than the settings that it repeats. The few that only live runs use are refused with a reason.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import sluice

Settings = dict[str, str]
DRAWS = 40
# Of a result what is a hash of its settings as well, or one of them.
REPEATED = {"config", "hash", "in_flight"}

SMALL = {"device.capacity": "16MiB", "cache.capacity": "1MiB", "nand.channels": "2",
         "nand.dies": "2", "nand.pages_per_block": "16"}

# What a parameter needs beside it, by the beginning of its key; the longest one counts.
DEVICE_NEEDS: dict[str, Settings] = {
    "memory.": {"device": "cxl-dram"},
    "memory.row": {"device": "cxl-dram", "memory.banks": "4"},
    "dram.": {"dram.model": "ddr4-2400"},
    "dram.ranks": {"dram.model": "ddr4-2400", "dram.mapping": "RoBgBaCoRaCh"},
    "cache.clock": {"cache.policy": "clock"},
    "cache.s3fifo": {"cache.policy": "s3fifo"},
    "cache.twoq": {"cache.policy": "twoq"},
    "cache.slru": {"cache.policy": "slru"},
    "cache.lfru": {"cache.policy": "lfru"},
    "cache.lirs": {"cache.policy": "lirs"},
    "cache.lirs_variant": {"cache.policy": "lirs", "cache.lirs_hir": "10%"},
    "cache.wtinylfu": {"cache.policy": "wtinylfu"},
    "cache.dirty_eviction": {"nand.priority": "fifo", "nand.suspend": "none"},
    "cache.store_done": {"nand.priority": "fifo", "nand.suspend": "none", "cache.write": "through"},
    "prefetch.": {"prefetch.policy": "stream", "prefetch.degree": "4"},
    "prefetch.stride": {"prefetch.policy": "stride", "prefetch.degree": "4"},
    "prefetch.bo_": {"prefetch.policy": "best-offset", "prefetch.degree": "1"},
    "prefetch.bo_score_bad": {"prefetch.policy": "best-offset", "prefetch.degree": "1",
                              "prefetch.bo_round_max": "2"},
    "prefetch.map": {"prefetch.policy": "nextn", "prefetch.degree": "4"},
    "prefetch.sample": {"prefetch.policy": "nextn", "prefetch.degree": "4"},
    "prefetch.markov": {"prefetch.policy": "markov", "prefetch.degree": "4"},
    "write_log.": {"write_log.capacity": "256KiB"},
    "nand.priority": {"nand.suspend": "none"},
    "nand.multi_plane": {"nand.planes": "4"},
    "nand.cell": {"nand.read_msb": "70us", "nand.program_msb": "500us"},
    "nand.read_": {"nand.cell": "qlc"},
    "nand.program_": {"nand.cell": "qlc"},
    "nand.program_csb": {"nand.cell": "tlc"},
    "nand.bus": {"nand.transfer": "bus"},
    "nand.suspend_": {"nand.suspend": "both", "nand.priority": "read_first"},
    "nand.resume": {"nand.suspend": "both", "nand.priority": "read_first"},
    "nand.retr": {"nand.retry_erases": "1", "nand.retry_reads": "16"},
    "nand.endurance_spread": {"nand.endurance": "8"},
    "ftl.mapping_cache": {"ftl.mapping": "dftl"},
    "ftl.gc_window": {"ftl.gc_policy": "windowed-greedy"},
    "ftl.gc_choices": {"ftl.gc_policy": "d-choices"},
    "ftl.wear_spread": {"ftl.wear_levelling": "static"},
    "ftl.precondition_writes": {"ftl.precondition": "random"},
} | {
    f"prefetch.{key}": {"prefetch.throttle": "feedback", "prefetch.throttle_interval": "64",
                        "prefetch.policy": "nextn", "prefetch.degree": "4"}
    for key in ("throttle", "accuracy", "lateness", "pollution")
}

OF_A_HOST = {"device.hint", "device.hint_threshold", "write_log.demoted"}
HIDDEN_HITS = {"prefetch.map", "prefetch.sample"}
# A simulation refuses these: nobody pins, gives hints or names planes and streams there.
REFUSED = {"cache.pin_max", "prefetch.sequential", "ftl.placement", "ftl.stream_by"}
UNUSED = {
    "device.kind": "the other tables go with it, so that it never changes alone",
    "device.persistent": "the next run with the same --store finds what the device held",
    "device.program_energy": "`sluice ctl PID powercut --energy` divides by it",
}

# "device", "system", "kernel", "scale" and "fabric" choose what a parameter acts in.
HOST_NEEDS: dict[str, Settings] = {
    "host.dram_": {"host.dram": "ddr5-4800", "host.dram_channels": "1"},
    "host.dram_latency": {"host.dram": "fixed"},
    "host.dram_ranks": {"host.dram": "ddr5-4800", "host.dram_mapping": "RoBgBaCoRaCh"},
    "host.local": {"kernel": "viper"},
    "l3.long_delay": {"os.resume": "wait", "kernel": "srad", "scale": "64"},
    "link.model": {"system": "cxl-ssd-sim", "kernel": "stream", "scale": "64"},
    "host.start_": {"host.start": "others"},
    "host.start_size": {"host.start": "full"},
    "host.device_backlog": {"system": "skybyte-w", "kernel": "srad", "scale": "64",
                            "write_log.capacity": "512KiB"},
    "link.flits": {"system": "cxl-ssd-sim", "kernel": "stream", "scale": "64",
                   "link.model": "protocol"},
    "migration.counts": {"kernel": "srad", "scale": "64"},
    "migration.remote_latency": {"migration.remote_capacity": "64MiB", "migration.threshold": "1",
                                 "migration.capacity": "4MiB"},
    "migration.tpp": {"migration.policy": "tpp", "migration.tpp_period": "10us"},
    "migration.astriflash": {"system": "astriflash-cxl"},
    "os.mispredict_cost": {"os.switching": "on"},
}

CACHED = {"fabric": "esf-snoop", "requester.cache_lines": "64", "requester.footprint": "64KiB",
          "requester.reads": "50%"}
OF_SOCKETS = {"fabric": "sockets"}
HALF = {"fabric": "esf-duplex", "link.duplex": "half", "requester.reads": "50%"}
FABRIC_NEEDS: dict[str, Settings] = {
    "topology.spines": {"fabric": "esf", "topology.kind": "spine-leaf"},
    "topology.arity": {"fabric": "esf", "topology.kind": "tree"},
    "requester.cache_": CACHED,
    "endpoint.weight": {"fabric": "esf", "map.arithmetic": "weighted"},
    "endpoint.dram": {"fabric": "esf", "endpoint.type": "dram"},
    "endpoint.dram_queue": {"fabric": "esf", "endpoint.type": "dram",
                            "endpoint.dram_order": "fr-fcfs"},
    "coherence.block": {"fabric": "esf-invblk", "coherence.victim": "block"},
    "coherence.block_extends": {"fabric": "esf-invblk", "coherence.victim": "lru"},
    "link.turnaround": HALF,
    "link.burst": HALF | {"link.turnaround": "50ns"},
    "socket.": OF_SOCKETS,
    "routing.": {"topology.kind": "spine-leaf", "topology.spines": "4"},
}
# Of the presets no host has a second socket.
SOCKETS = """
topology = { kind = "star" }
requesters = [{ name = "near", count = 2 }, { name = "far", count = 2, socket = "near" }]
endpoints = [{ name = "memory", count = 2 }]
"""
# What needs more is refused.
LIMITS = {"host.memory", "switch.ports"}
# It names what the `links` of a file join.
OF_FILES = {"switch.count"}


def candidates(param: dict[str, Any]) -> list[str]:
    """Values of a parameter, from what it says that it expects."""
    if param["choices"]:
        return list(param["choices"])
    expected = param["expected"]
    word = re.match(r'"(\w+)"', expected)
    words = [word.group(1)] if word else []
    bounds = re.search(r"number from (\d+) to (\d+)", expected)
    top = re.search(r"up to (\d+)%", expected)
    if "a time from" in expected:
        return words + ["0ns", "50ns", "500ns", "3us", "20us", "70us", "2ms"]
    if "a bandwidth" in expected:
        return words + ["200MB/s", "1GB/s", "8GB/s"]
    if "number of blocks" in expected:
        return ["1", "2", "3", "5%", "20%"]
    if "percentage of device.capacity" in expected:
        return ["256KiB", "512KiB", "2MiB"]
    if top:
        steps = (1, 3, 10, 25, 50, 75, 100, 200, 400)
        return words + [f"{step}%" for step in steps if step <= int(top.group(1))]
    if bounds:
        steps = (0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 1024, 5000)
        least, most = int(bounds.group(1)), int(bounds.group(2))
        return words + [str(step) for step in steps if least <= step <= most]
    if "a size above 0" in expected:
        return words + ["4KiB", "16KiB", "64KiB", "256KiB", "1MiB", "64MiB"]
    return ["RoRaBaCoBgCh", "RoRaBgBaCoCh", "ChRaBgBaCoRo", "RoCoRaBgBaCh"]


def needs(table: dict[str, Settings], key: str) -> Settings:
    found = [begins for begins in table if key.startswith(begins)]
    return table[max(found, key=len)] if found else {}


def walk(of: np.random.Generator, pages: int) -> Any:
    """Some accesses in order, by a stride, at random, skewed, repeated, or to and fro."""
    length, start = int(of.integers(50, 600)), int(of.integers(0, pages))
    kinds: list[Callable[[], Any]] = [
        lambda: start + np.arange(length),
        lambda: start + np.arange(length) * int(of.integers(2, 40)),
        lambda: of.integers(0, pages, length),
        lambda: of.zipf(1.2, length) - 1,
        lambda: np.tile(of.integers(0, pages, 20), length // 20 + 1),
        lambda: start + np.cumsum(of.choice([1, 2, -1], length)),
    ]
    return kinds[int(of.integers(0, len(kinds)))]() % pages


def requests(seed: int, count: int = 5000, pages: int = 4096) -> tuple[Any, Any, Any]:
    """Addresses, which of them are stored to, and when, in nanoseconds."""
    of = np.random.default_rng(seed)
    page = np.concatenate([walk(of, pages) for _ in range(count // 50)])[:count]
    stores = of.random(count) < np.repeat(of.choice([0, 0.3, 0.9], count // 250 + 1), 250)[:count]
    gaps = of.exponential(of.choice([200, 2000, 20000]), count)
    return page * 4096 + of.integers(0, 64, count) * 64, stores, np.floor(np.cumsum(gaps))


STREAMS = [requests(seed) for seed in range(4)]


def on_a_device(settings: Settings, draw: int) -> str:
    page, stores, times = STREAMS[draw % len(STREAMS)]
    preset = settings.pop("device", "cxl-ssd")
    device = sluice.Device(preset, (SMALL if preset == "cxl-ssd" else {}) | settings)
    at: dict[str, Any] = {} if draw % 2 else {"at_ns": times}
    took = device.access(page, stores, **at)
    return outcome(device.stats) + str(took.sum())


def outcome(result: sluice.Result) -> str:
    return repr(figures({key: result[key] for key in result if key not in REPEATED}))


def figures(value: Any) -> Any:
    """What was computed: names and choices only repeat what was given."""
    if isinstance(value, dict):
        return [(key, figures(one)) for key, one in value.items() if key != "config"]
    if isinstance(value, list):
        return [figures(one) for one in value]
    return None if isinstance(value, str) else value


def acts(param: dict[str, Any], need: Settings, of: random.Random,
         run: Callable[[Settings, int], str], others: list[dict[str, Any]],
         draws: int = DRAWS) -> bool:
    """Whether some value of a parameter gives another outcome than what it had."""
    for draw in range(draws):
        beside = {other["key"]: of.choice(candidates(other)) for other in others
                  if other["key"] != param["key"] and of.random() < (0.03 if draw else 0)}
        outcomes = set()
        for value in (None, *of.sample(candidates(param), min(3, len(candidates(param))))):
            settings = beside | need | ({} if value is None else {param["key"]: value})
            try:
                outcomes.add(run(settings, draw))
            except sluice.Error:
                continue
        if len(outcomes) > 1:
            return True
    return False


def on_a_device_with_hidden_hits(settings: Settings, _: int) -> str:
    pattern = "chase:size=8MiB,stride=4096,passes=3"
    return outcome(sluice.simulate("cxl-ssd", SMALL | settings, pattern, hits="misses"))


def on_a_host(settings: Settings, draw: int) -> str:
    system = settings.pop("system", "skybyte-full")
    kernel = settings.pop("kernel", ("ycsb", "tpcc", "bfs-dense")[draw % 3])
    scale = int(settings.pop("scale", "512"))
    warmup, counted = (50_000, 300_000) if scale > 64 else (0, 6_000_000)
    return outcome(sluice.simulate_system(
        system, kernel, settings, scale=scale, warmup=warmup, instructions=counted))


def on_a_fabric(settings: Settings, draw: int) -> str:
    name = settings.pop("fabric", ("esf-snoop", "cxl2-pool", "esf", "esf-duplex")[draw % 4])
    with TemporaryDirectory() as folder:
        if name == "sockets":
            name = f"{folder}/sockets.toml"
            Path(name).write_text(SOCKETS)
        return outcome(sluice.simulate_fabric(name, settings, warmup=500, requests=4000))


def check(param: dict[str, Any], table: dict[str, Settings], run: Callable[[Settings, int], str],
          others: list[dict[str, Any]], draws: int = DRAWS) -> None:
    need = needs(table, param["key"])
    assert acts(param, need, random.Random(param["key"]), run, others, draws), param["key"]


def each(params: list[dict[str, Any]], but: set[str]) -> pytest.MarkDecorator:
    left = [param for param in params if param["key"] not in but]
    return pytest.mark.parametrize("param", left, ids=lambda param: param["key"])


@each(sluice.params(), REFUSED | set(UNUSED))
def test_a_parameter_of_a_device_acts(param: dict[str, Any]) -> None:
    key = param["key"]
    others = [other for other in sluice.params() if not other["key"].startswith("device.")]
    if key in HIDDEN_HITS:
        check(param, DEVICE_NEEDS, on_a_device_with_hidden_hits, [])
    elif key in OF_A_HOST:
        check(param, HOST_NEEDS, on_a_host, [])
    else:
        check(param, DEVICE_NEEDS, on_a_device, [] if key.startswith("memory.") else others)


@pytest.mark.parametrize("key", sorted(REFUSED))
def test_a_parameter_that_no_simulation_uses_is_refused(key: str) -> None:
    [param] = (one for one in sluice.params() if one["key"] == key)
    for value in candidates(param):
        if value != param["default"]:
            with pytest.raises(sluice.ImpossibleError, match=key):
                on_a_device({key: value}, 0)


@each(sluice.host_params(), LIMITS)
def test_a_parameter_of_a_host_acts(param: dict[str, Any]) -> None:
    check(param, HOST_NEEDS, on_a_host, sluice.host_params(), draws=6)


@each(sluice.fabric_params(), LIMITS | OF_FILES)
def test_a_parameter_of_a_fabric_acts(param: dict[str, Any]) -> None:
    check(param, FABRIC_NEEDS, on_a_fabric, sluice.fabric_params())


def test_what_needs_more_than_a_limit_is_refused() -> None:
    star = {"fabric": "esf", "topology.kind": "star"}
    on_a_fabric(star | {"switch.ports": "16"}, 0)
    with pytest.raises(sluice.ConfigError, match="has 15 ports"):
        on_a_fabric(star | {"switch.ports": "15"}, 0)
    on_a_host({"host.memory": "2GiB", "migration.capacity": "2GiB"}, 0)
    with pytest.raises(sluice.ConfigError, match=r"host\.memory"):
        on_a_host({"host.memory": "1GiB", "migration.capacity": "2GiB"}, 0)
