"""Steps that a mode does not promise, each with the reason, and the settings that rounds draw from.

A step that stands here is left out natively as well, so that both logs stay comparable. Nothing
else is left out: what docs/limits.md does not have is a defect.
"""

from __future__ import annotations

from typing import NamedTuple


class Limit(NamedTuple):
    """A step of a program that is left out."""

    step: str
    traps: tuple[str, ...]
    places: tuple[str, ...]
    reason: str


SIGNAL = ("signal",)
HEAP = ("heap", "stored")

LIMITS = [
    Limit("futex", SIGNAL, HEAP, "signal mode: the kernel does not wait on a page that is missing"),
    Limit("locks", SIGNAL, HEAP, "signal mode: locks that wait are futexes on missing pages"),
    Limit("populate", SIGNAL, HEAP, "signal mode: the kernel's own accesses to missing pages fail"),
    Limit("process-vm", SIGNAL, HEAP,
          "signal mode: the kernel's own accesses to missing pages fail"),
    Limit("as-nobody", ("event", "signal"), ("stored",),
          "a store in files is read by the device alone, which such a child cannot have"),
    Limit("other-calls", SIGNAL, HEAP,
          "signal mode: only the functions that docs/limits.md names are tried again"),
    Limit("heap-stack", SIGNAL, HEAP,
          "signal mode: a thread's stack must not lie on the device"),
]

# Limits of rounds with a profile.
PROFILED = [
    Limit("small-context", ("event", "signal"), ("all",),
          "a profile walks the program's stack, which takes some KiB of it"),
]

POLICIES = ["lru", "fifo", "clock", "s3fifo", "sieve", "slru", "lfu", "random", "arc", "lirs",
            "wtinylfu", "twoq", "lfru", "mru", "lifo"]
# Under these what comes first stays, and all that comes later shares one page of the cache. Most
# accesses miss, so that a step takes many times as long, and rounds have fewer steps.
SLOW_POLICIES = {"mru": 4, "lifo": 4}
# Beside hogs they have a part of the CPUs in so many. 75 steps of a program under MRU took 387 s.
HOGS = 3

CACHES = ["4MiB", "2MiB", "8MiB"]
READS = ["5us", "10us"]
# A round's seed chooses. Half of all rounds prefetch; few pages are left for a trap.
PREFETCHERS = ["none", "nextn", "none", "stream", "none", "stride"]
DEVICE = {"device.capacity": "128MiB", "nand.program": "1us", "nand.erase": "5us"}


def without(trap: str, place: str, seed: int) -> list[str]:
    """Names of the steps that are left out in this mode and place, by a round of this seed."""
    left_out = [limit.step for limit in LIMITS if trap in limit.traps and place in limit.places]
    return left_out + [limit.step for limit in PROFILED if is_profiled(seed)]


def is_profiled(seed: int) -> bool:
    """Whether the run of a round with this seed has a profile."""
    return seed % 3 == 0


def steps(policy: str, outside: str, steps: int) -> int:
    """Steps of a round under this policy and beside these, where others have `steps`."""
    return max(1, steps // SLOW_POLICIES.get(policy, 1) // _hogs(policy, outside))


def _hogs(policy: str, outside: str) -> int:
    """How many times as long a slow policy takes beside what keeps the CPUs busy."""
    return HOGS if policy in SLOW_POLICIES and "hogs" in outside else 1


def patience(policy: str, outside: str, seconds: float) -> float:
    """Seconds without a step after which a round hangs, where others have `seconds`."""
    return seconds * _hogs(policy, outside)


def prefetcher(seed: int) -> dict[str, str]:
    """Settings of the prefetcher of a round with this seed."""
    policy = PREFETCHERS[seed % len(PREFETCHERS)]
    return {} if policy == "none" else {
        "prefetch.policy": policy, "prefetch.degree": "8", "prefetch.sample": "16",
    }


def inactive(seed: int) -> dict[str, str]:
    """Whether the cache of a round with this seed has inactive pages."""
    return {} if seed // len(PREFETCHERS) % 3 else {"cache.inactive": "30%"}


def migration(seed: int, place: str) -> dict[str, str]:
    """Settings of a round with this seed by which pages move to host memory: two of seven."""
    if place not in HEAP or seed % 7 > 1:
        return {}
    policy, capacity = [("adaptive", "512KiB"), ("tpp", "2MiB")][seed % 7]
    return {
        "host.migration.policy": policy, "host.migration.capacity": capacity,
        "host.migration.threshold": "2",
    }


def explain() -> str:
    """The table, for people."""
    def line(limit: Limit) -> str:
        traps, places = "/".join(limit.traps), "/".join(limit.places)
        return f"{limit.step:12} {traps:13} {places:11} {limit.reason}"

    return "\n".join(map(line, [*LIMITS, *PROFILED]))
