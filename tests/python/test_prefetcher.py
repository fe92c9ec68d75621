"""Is a prefetcher in Python asked as the built-in ones are, and held to its contract?"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

import sluice

SMALL = {"device.capacity": "64MiB", "cache.capacity": "1MiB", "prefetch.degree": 4}
WALK = "chase:size=8MiB,stride=1024,passes=2,random=0"


class NextN(sluice.Prefetcher):
    """`prefetch.policy=nextn`."""

    def access(self, lpn: int, outcome: str, at_ns: float, degree: int) -> Iterable[int]:
        return range(lpn + 1, lpn + 1 + degree) if outcome == "miss" else []


@pytest.mark.parametrize("hits", ["all", "misses"])
@pytest.mark.parametrize("throttle", ["none", "feedback"])
def test_the_same_prefetcher_is_the_same_run(hits: str, throttle: str) -> None:
    device = SMALL | {"prefetch.throttle": throttle}
    for pattern in (WALK, "zipf:size=8MiB,ops=20000"):
        own = sluice.simulate("cxl-ssd", device, pattern, hits, prefetcher=NextN)
        twin = sluice.simulate("cxl-ssd", device | {"prefetch.policy": "nextn"}, pattern, hits)
        assert own.hash == twin.hash and own.cache == twin.cache
        assert own.cache.prefetch_issued > 0


def test_it_is_told_what_the_built_in_ones_are() -> None:
    seen, arrived = [], []

    class Watches(sluice.Prefetcher):
        def __init__(self, space: sluice.PrefetchSpace) -> None:
            assert (space.pages, space.degree, space.distance) == (16_384, 4, 16)

        def access(self, lpn: int, outcome: str, at_ns: float, degree: int) -> Iterable[int]:
            seen.append((lpn, outcome, at_ns, degree))
            return [lpn + 1] if outcome == "miss" else []

        def arrives(self, lpn: int, cause: int, at_ns: float) -> None:
            arrived.append((lpn, cause, at_ns))

    one = sluice.Device("cylon", SMALL, prefetcher=Watches)
    one.access(np.array([0, 64, 4096, 4096, 12288]), at_ns=[0.0, 1e6, 2e6, 3e6, 4e6])
    assert [(lpn, outcome, degree) for lpn, outcome, _, degree in seen] == [
        (0, "miss", 4), (1, "first use", 4), (3, "miss", 4)]
    assert [(lpn, cause) for lpn, cause, _ in arrived] == [(0, 0), (1, 0), (3, 3), (4, 3)]
    times = [at for *_, at, _ in seen]
    assert times == sorted(times) and 2e6 <= times[1] < 3e6
    assert 40_000 <= arrived[0][2] < 41_000
    soon = sluice.Device("cylon", SMALL, prefetcher=Watches)
    soon.access([0, 4096], at_ns=[0.0, 10.0])
    assert seen[-1][1] == "late use"


def test_a_prefetcher_and_a_policy_go_together() -> None:
    class Lifo(sluice.Policy):
        def __init__(self, space: sluice.PolicySpace) -> None:
            self.slots: list[list[int]] = [[] for _ in range(space.sets)]

        def insert(self, set_: int, slot: int, lpn: int) -> None:
            self.slots[set_].append(slot)

        def victim(self, set_: int, evictable: object) -> int | None:
            for slot in reversed(self.slots[set_]):
                if evictable(slot):
                    self.slots[set_].remove(slot)
                    return slot
            return None

        def remove(self, set_: int, slot: int) -> None:
            self.slots[set_].remove(slot)

    own = sluice.simulate("cylon", SMALL, WALK, policy=Lifo, prefetcher=NextN)
    twin = sluice.simulate("cylon", SMALL | {"cache.policy": "lifo", "prefetch.policy": "nextn"},
                           WALK)
    assert own.hash == twin.hash
    pages = np.arange(4_000, dtype=np.uint32)
    assert sluice.replay("cylon", SMALL, pages, prefetcher=NextN).misses < 4_000


def test_its_contract_is_kept() -> None:
    class Greedy(sluice.Prefetcher):
        def access(self, lpn: int, outcome: str, at_ns: float, degree: int) -> Iterable[int]:
            return range(lpn + 1, lpn + 2 + degree)

    with pytest.raises(sluice.PolicyError, match="page 0 picked more than 4 pages") as greedy:
        sluice.simulate("cylon", SMALL, WALK, prefetcher=Greedy)
    assert greedy.value.key == "prefetcher"
    with pytest.raises(sluice.BadValueError, match="how many pages the prefetcher may pick") as off:
        sluice.simulate("cylon", SMALL | {"prefetch.degree": 0}, WALK, prefetcher=NextN)
    assert off.value.key == "prefetch.degree"


@pytest.mark.parametrize("answer", [None, ["next"], [1.0]])
def test_what_are_no_pages_is_refused(answer: object) -> None:
    class Wrong(sluice.Prefetcher):
        def access(self, lpn: int, outcome: str, at_ns: float, degree: int) -> Iterable[int]:
            return answer

    with pytest.raises(sluice.PolicyError, match="access of page 0 answered .*expected page num"):
        sluice.simulate("cylon", SMALL, WALK, prefetcher=Wrong)


def test_what_it_raises_is_raised() -> None:
    class Fails(sluice.Prefetcher):
        def access(self, lpn: int, outcome: str, at_ns: float, degree: int) -> Iterable[int]:
            yield lpn + 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sluice.simulate("cylon", SMALL, WALK, prefetcher=Fails)


def test_pages_beyond_the_device_are_skipped() -> None:
    class Beyond(sluice.Prefetcher):
        def access(self, lpn: int, outcome: str, at_ns: float, degree: int) -> Iterable[int]:
            return [2**40, self.space.pages, -1, 2**70]

    told = sluice.simulate("cylon", SMALL, WALK, prefetcher=Beyond)
    assert told.cache.prefetch_issued == 0
