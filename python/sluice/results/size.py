"""How large a cache a program needs (`sluice size`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """A point of the curve of LRU."""
    cache_bytes: int
    """The cache, bytes."""
    hit_ratio: float
    """Its hit ratio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyPoint:
    """A policy in a cache of one size."""
    hit_ratio: float | None
    """Hits ÷ accesses, both without first accesses."""
    misses: int
    """Misses but for first accesses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeAnswer:
    """The smallest cache with the hit ratio that was asked for."""
    asked: bool
    """Whether the policy was asked for, or else is the device's own. LRU is there always."""
    cache_bytes: int | None
    """The cache, bytes. `null` if no cache has that hit ratio."""
    policy: str
    """The eviction policy."""
    twice_adds: float | None
    """What twice that cache adds to the hit ratio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeKnee:
    """The size farthest from the straight line between the ends of the curve (Satopaa and others,
    Finding a "Kneedle" in a haystack, 2011)."""
    cache_bytes: int
    """The cache, bytes."""
    hit_ratio: float
    """Its hit ratio under LRU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizePoint:
    """A cache of one size."""
    cache_bytes: int
    """The cache, bytes."""
    policies: dict[str, PolicyPoint]
    """By policy, what it would do."""
    run_time_s: float | None
    """How long the program would run on the device with this cache and the device's own policy,
    s. `null` where that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeProfile:
    """The run that recorded the accesses."""
    sampled_share: float
    """The share of pages that were watched."""
    threads: int
    """The most threads that the program was seen to have, ten times a second: one that ends
    sooner may not be among them. With more than one, misses overlap, and the run time is not
    known."""
    traps: int
    """Traps that were recorded."""
    traps_lost: int
    """Of the traps, those that the record had no room for: the run's end is missing."""
    wall_s: float
    """Wall time, s."""
    without_traps_s: float | None
    """Wall time without the traps, s: what the program computes by itself. Not less than its
    thread's time in user mode, nor more than all its processor time: it does not wait for others.
    `null` with several threads, whose traps overlap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeResult:
    """How large a cache a program needs (`sluice size`). Hit ratios are of the accesses that a
    cache could hit: first accesses to a page are counted apart."""
    accesses: int
    """Accesses counted. Of a sample, an estimate."""
    accesses_are: str
    """What counts as an access."""
    answers: list[SizeAnswer]
    """What it takes, for each policy."""
    config: dict[str, str]
    """Every parameter of the device as resolved, by key, as text. Its `cache.capacity` is not one
    of `sizes`."""
    curve: list[CurvePoint]
    """Hit ratios of LRU, from the smallest cache to one that holds all, at most so many points as
    a picture can show."""
    device: str
    """The device's preset or file, as named on the command line."""
    first_accesses: int
    """Of the accesses, first ones to a page. They miss in a cache of any size."""
    footprint_bytes: int
    """All pages that were accessed, bytes."""
    knee: SizeKnee | None
    """Where more cache begins to buy less, under LRU. `null` where there is no such place."""
    method: str
    """Where the accesses come from."""
    profile: SizeProfile | None
    """The run that recorded the accesses. `null` of a trace."""
    schema: str
    """Version of the fields."""
    seed: int
    """Seed of every random stream."""
    sizes: list[SizePoint]
    """Caches of some sizes."""
    smallest_bytes: int
    """Nothing is known of caches smaller than this, bytes."""
    target_hit_ratio: float
    """The hit ratio that was asked for."""
    version: str
    """Version of Sluice."""
    workload: str
    """The program and its arguments, or `trace:` and the file."""
