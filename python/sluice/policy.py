"""Eviction policies written in Python, for simulation.

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
docs/extending.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class PolicySpace:
    """The slots that a policy manages: set ``s`` has ``s * ways`` up to ``(s + 1) * ways``."""

    sets: int
    ways: int
    pages: int
    """Pages on the device: every LPN is below this."""
    seed: int
    """For whatever the policy draws, so that a run can be repeated."""


class Policy(ABC):
    """Decides which page leaves a full set, by its own state alone.

    For each set on its own, ``insert`` names a slot that the policy does not hold, ``hit`` and
    ``remove`` one that it does. ``miss`` comes before each ``insert``, and before the ``victim``
    calls that make room.
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
    def victim(self, set_: int, evictable: Callable[[int], bool]) -> int | None:
        """Chooses a held slot of the set that is ``evictable``, forgets it and returns it.

        ``None`` only if there is none. ``evictable`` is good until this returns.
        """

    @abstractmethod
    def remove(self, set_: int, slot: int) -> None:
        """The page in ``slot`` was discarded, taken out or pinned by the host."""
