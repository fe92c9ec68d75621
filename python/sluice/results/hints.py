"""What hints of the program did.

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdHints:
    """`MADV_COLD`."""
    cooled: int
    """All that went cold: by a hint of the program, by the ring, or passed in order."""
    evicted: int
    """Evictions that took such a page, before any that the policy would have chosen."""
    pages: int
    """Cached pages that became the next to leave because the program said so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DontneedHints:
    """`MADV_DONTNEED` and `MADV_DONTNEED_LOCKED`."""
    pages: int
    """Pages whose contents went. They are also `memory.trims`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeHints:
    """`MADV_FREE`."""
    pages: int
    """Pages whose contents went. They are also `memory.trims`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What [hints](../hints.md) of the program did (`madvise`, `mlock` and their like), and what
    came of them and of those by the control ring. Pages, each time one was concerned."""
    cold: ColdHints
    """`MADV_COLD`."""
    dontneed: DontneedHints
    """`MADV_DONTNEED` and `MADV_DONTNEED_LOCKED`."""
    free: FreeHints
    """`MADV_FREE`."""
    ignored: IgnoredHints
    """Advice that means nothing here (`MADV_HUGEPAGE`, `MADV_NOHUGEPAGE`)."""
    mlock: MlockHints
    """`mlock`, `mlock2` and `mlockall`."""
    munlock: MunlockHints
    """`munlock`, `munlockall`, and locked memory that was unmapped."""
    normal: NormalHints
    """`MADV_NORMAL`."""
    pageout: PageoutHints
    """`MADV_PAGEOUT`."""
    random: RandomHints
    """`MADV_RANDOM`."""
    sequential: SequentialHints
    """`MADV_SEQUENTIAL`."""
    willneed: WillneedHints
    """`MADV_WILLNEED`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredHints:
    """Advice that means nothing here (`MADV_HUGEPAGE`, `MADV_NOHUGEPAGE`)."""
    calls: int
    """Calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MlockHints:
    """`mlock`, `mlock2` and `mlockall`."""
    pages: int
    """Pages that were pinned. They are also `commands.pinned`."""
    refused: int
    """Locked pages that came without being pinned, since as many of their set were as
    `cache.pin_max` allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MunlockHints:
    """`munlock`, `munlockall`, and locked memory that was unmapped."""
    pages: int
    """Pages that were locked no longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalHints:
    """`MADV_NORMAL`."""
    pages: int
    """Pages of which it was said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageoutHints:
    """`MADV_PAGEOUT`."""
    pages: int
    """Pages that left the cache. They are also `commands.evicted`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomHints:
    """`MADV_RANDOM`."""
    pages: int
    """Pages of which it was said."""
    quiet: int
    """Accesses that the prefetcher was not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialHints:
    """`MADV_SEQUENTIAL`."""
    pages: int
    """Pages of which it was said."""
    passed: int
    """Pages that accesses in order had passed, and that became the next to leave."""
    prefetched: int
    """Pages sent for ahead of accesses in order. They are also `cache.prefetch_issued`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WillneedHints:
    """`MADV_WILLNEED`."""
    pages: int
    """Pages that were sent for."""
