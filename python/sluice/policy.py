"""Eviction policies and prefetchers written in Python, for simulation.

Give a class to ``sluice.simulate`` or ``sluice.replay`` as ``policy``::

    class Lifo(sluice.Policy):
        def __init__(self, space):
            self.slots = [[] for _ in range(space.sets)]

        def insert(self, set_, slot, lpn):
            self.slots[set_].append(slot)

        def victim(self, set_, evictable):
            for slot in reversed(self.slots[set_]):
                if evictable(slot):
                    self.slots[set_].remove(slot)
                    return slot
            return None

        def remove(self, set_, slot):
            self.slots[set_].remove(slot)

It decides in the place of ``cache.policy``. A live run takes a shared object: see
docs/extending.md. A prefetcher is the same, as ``prefetcher`` and in the place of
``prefetch.policy``: see :class:`Prefetcher`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from sluice._core import PolicyEvent


class Evictable(Protocol):
    """What ``victim`` may ask about the slots of its set, while it is called.

    >>> import sluice
    >>> class CleanFirst(sluice.Policy):
    ...     def __init__(self, space):
    ...         self.slots = [[] for _ in range(space.sets)]
    ...     def insert(self, set_, slot, lpn):
    ...         self.slots[set_].append(slot)
    ...     def victim(self, set_, evictable):
    ...         may_leave = [slot for slot in self.slots[set_] if evictable(slot)]
    ...         if not may_leave:
    ...             return None
    ...         slot = min(may_leave, key=evictable.is_dirty)
    ...         self.slots[set_].remove(slot)
    ...         return slot
    ...     def remove(self, set_, slot):
    ...         self.slots[set_].remove(slot)
    >>> small = {"device.capacity": "64MiB", "cache.capacity": "256KiB", "cache.policy": "fifo"}
    >>> mixed = "zipf:size=1MiB,ops=5000,write=0.2"
    >>> own = sluice.simulate("cxl-ssd", small, mixed, policy=CleanFirst)
    >>> plain = sluice.simulate("cxl-ssd", small, mixed)
    >>> own.cache.dirty_evictions < plain.cache.dirty_evictions
    True
    """

    def __call__(self, slot: int) -> bool:
        """Whether the page in the slot may leave."""

    def is_dirty(self, slot: int) -> bool:
        """Whether the device knows that the page in the slot differs from flash, so that it is
        programmed when it leaves."""


@dataclass(frozen=True)
class PolicySpace:
    """The slots that a policy manages: set ``s`` has ``s * ways`` up to ``(s + 1) * ways``."""

    sets: int
    ways: int
    pages: int
    """Pages on the device: every LPN is below this."""
    seed: int
    """For whatever the policy draws, so that a run can be repeated."""
    event: PolicyEvent | None = field(default=None, compare=False, repr=False)
    """What happens while a method is called: ``now_ps``, ``thread`` (numbered from 0 in the order
    of their first accesses; ``None`` if it is not known), ``is_store``, ``is_dirty``, and
    ``trigger``, which is ``"demand"``, ``"prefetch"`` or ``"command"``."""


class Policy(ABC):
    """Decides which page leaves a full set, by its own state alone.

    For each set on its own, ``insert`` names a slot that the policy does not hold, ``hit`` and
    ``remove`` one that it does. ``miss`` comes before each ``insert``, and before the ``victim``
    calls that make room. A class that leaves ``miss`` or ``hit`` as they are here is not called for
    them, which is faster.

    >>> import sluice
    >>> class Fifo(sluice.Policy):
    ...     def __init__(self, space):
    ...         self.slots = [[] for _ in range(space.sets)]
    ...     def insert(self, set_, slot, lpn):
    ...         self.slots[set_].append(slot)
    ...     def victim(self, set_, evictable):
    ...         for slot in self.slots[set_]:
    ...             if evictable(slot):
    ...                 self.slots[set_].remove(slot)
    ...                 return slot
    ...     def remove(self, set_, slot):
    ...         self.slots[set_].remove(slot)
    >>> small = {"device.capacity": "64MiB", "cache.capacity": "256KiB"}
    >>> own = sluice.simulate("cxl-ssd", small, "zipf:size=1MiB,ops=5000", policy=Fifo)
    >>> built_in = small | {"cache.policy": "fifo"}
    >>> own.hash == sluice.simulate("cxl-ssd", built_in, "zipf:size=1MiB,ops=5000").hash
    True
    """

    def __init__(self, space: PolicySpace) -> None:
        self.space = space

    def miss(self, set_: int, lpn: int) -> None:  # noqa: B027
        """The page ``lpn``, which is in no slot, is about to be brought in."""

    @abstractmethod
    def insert(self, set_: int, slot: int, lpn: int) -> None:
        """The page ``lpn`` is now in ``slot``."""

    def hit(self, set_: int, slot: int) -> None:  # noqa: B027
        """The page in ``slot`` was accessed."""

    @abstractmethod
    def victim(self, set_: int, evictable: Evictable) -> int | None:
        """Chooses a held slot of the set that is ``evictable``, forgets it and returns it.

        ``None`` only if there is none. ``evictable.is_dirty(slot)`` says which would be programmed.
        ``evictable`` is good until this returns.
        """

    @abstractmethod
    def remove(self, set_: int, slot: int) -> None:
        """The page in ``slot`` was discarded, taken out or pinned by the host."""

    def tick(self, now_ps: int) -> int | None:
        """The device's time is ``now_ps``, picoseconds. Returns when to be called next: before the
        first event at that time or later, so at most once for each event. ``None`` for never again.

        The first call comes before the first event. Left as it is here, it is not called.
        """
        return None


@dataclass(frozen=True)
class PrefetchSpace:
    """What a prefetcher may do."""

    pages: int
    """Pages on the device: every LPN is below this."""
    degree: int
    """``prefetch.degree``: pages that one access may pick at most."""
    distance: int
    """``prefetch.distance``: how far ahead one that follows a stream may run, in its steps."""
    seed: int
    """For whatever the prefetcher draws, so that a run can be repeated."""


class Prefetcher(ABC):
    """Chooses pages to bring in before they are asked for, by its own state alone.

    ``prefetch.degree`` must be 1 at least. As live, only misses and first uses of prefetched pages
    are seen.

    >>> import sluice
    >>> class Next(sluice.Prefetcher):
    ...     def access(self, lpn, outcome, at_ns, degree):
    ...         return range(lpn + 1, lpn + 1 + degree)
    >>> device = {"device.capacity": "64MiB", "cache.capacity": "1MiB", "prefetch.degree": 4}
    >>> result = sluice.simulate("cxl-ssd", device, "stream:size=4MiB,stride=4096", prefetcher=Next)
    >>> result.cache.misses, result.cache.prefetch_issued           # of 1,024 pages
    (1, 1027)
    """

    def __init__(self, space: PrefetchSpace) -> None:
        self.space = space

    @abstractmethod
    def access(self, lpn: int, outcome: str, at_ns: float, degree: int) -> Iterable[int]:
        """The page ``lpn`` was accessed at ``at_ns`` nanoseconds; ``outcome`` is ``"miss"``,
        ``"first use"`` of a prefetched page, or ``"late use"`` of one still on its way.

        Returns the pages to bring in, most urgent first, ``degree`` at most: that is less than
        ``space.degree`` while the throttle holds back. Those that are cached, or beyond the device,
        are skipped.
        """

    def arrives(self, lpn: int, cause: int, at_ns: float) -> None:  # noqa: B027
        """The page ``lpn`` was sent for, because of an access to ``cause`` (itself, if it was
        missed), and will be there at ``at_ns`` nanoseconds."""


def named(told: dict[str, Any], policy: Callable[[PolicySpace], Policy] | None,
          prefetcher: Callable[[PrefetchSpace], Prefetcher] | None) -> dict[str, Any]:
    """A result whose settings name the classes that decided: rows of a table with several would
    all claim to be of the device's own policy."""
    for key, own in (("cache.policy", policy), ("prefetch.policy", prefetcher)):
        if own is not None:
            told["config"][key] = f"python:{getattr(own, '__name__', type(own).__name__)}"
    return told
