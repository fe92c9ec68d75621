"""Which allocations and which threads the misses of a run belong to.

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationSite:
    """A place in the program that allocates device memory."""
    allocations: int
    """How often it allocated so many bytes as are looked at."""
    by: str
    """The calls in a line, from the one that called the allocator outwards to `main`."""
    bytes: int
    """Bytes that it allocated, all together."""
    calls: list[CallFrame]
    """The calls, the innermost first."""
    misses: int
    """Misses."""
    waited_ns: int
    """Time that threads waited for pages, all together, ns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFrame:
    """A call on the way to an allocation."""
    address: int
    """Where the call returns to: an address as in the module's file."""
    file: str | None
    """The source file, if the module has debug information."""
    function: str | None
    """The function, if the module has symbols."""
    line: int | None
    """The line in the file."""
    module: str
    """The program or library; empty for code that no file has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissProfile:
    """Which allocations and which threads the misses belong to, of all processes of the run."""
    from_bytes: int
    """Allocations of this many bytes or more are looked at."""
    lost_allocations: int
    """Allocations of sites for which there was no room: a process has 1,023."""
    other_pages: ProfiledMisses
    """Misses on pages of smaller allocations, and of sites that are not listed."""
    other_threads: ProfiledMisses
    """Misses of threads that are not listed."""
    sites: list[AllocationSite]
    """Sites by the time that the program waited for their pages, the longest first; 100 at
    most."""
    threads: list[ThreadMisses]
    """Threads by the time that they waited, the longest first; 100 at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledMisses:
    """Misses, and the time that the program waited for them."""
    misses: int
    """Misses."""
    waited_ns: int
    """Time that threads waited for pages, all together, ns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadMisses:
    """A thread that has missed."""
    misses: int
    """Misses."""
    name: str
    """Its name, as it was at one of its last misses."""
    pid: int
    """Its process."""
    thread: int
    """Its number in the system."""
    waited_ns: int
    """Time that threads waited for pages, all together, ns."""
