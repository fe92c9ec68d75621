"""A simulated fabric (`sluice fabric run`). Requests, times and bytes are those since
    `warmup_requests` had come back.

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluice.results.parts import (
    Amat,
    Bound,
    Levels,
    Requests,
    SummaryOfDouble,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """The resource that is busy for the largest share of the time."""
    kind: str
    """A `link` at a device, the port of a `switch`, a `controller`, or a `snoop filter` (requests
    wait for a tracker, or all entries are busy). Of a CXL-SSD the `cache` (the mean number of
    accesses that wait for an MSHR or a way, at most 1), a `channel` or a `die`. Of an endpoint of
    DRAM its `dram` (an access waits for its channel). A `requester` if all these are idle for a
    tenth of the time or more."""
    name: str
    """The name of the node, with its number if its group has several. `m0.3` is logical device 3
    of `m0`, of a `controller`. A direction of a link is `m0 to s1`."""
    utility: float | None
    """Busy share of the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coherence:
    """What coherence cost."""
    agent_wait_mean_ns: float | None
    """Mean time from the controller to memory or back, ns: the filter, waiting for turns, snoops,
    entries. `null` without requests."""
    cache_evictions: int
    """Lines that left the requesters' caches for others."""
    cache_hits: int
    """Accesses that the requesters' caches had."""
    cache_misses: int
    """Accesses that the requesters' caches did not have."""
    clean_evictions: int
    """Clean lines given up with notice."""
    conflict_snoops: int
    """Snoops because of other holders."""
    conflicts: int
    """Conflict handshakes."""
    delayed_requests: int
    """Requests for which that took longer than the look-up."""
    eviction_snoops: int
    """Snoops for room in the filter. A block is one for each owner."""
    filter_evictions: int
    """Entries that had to leave the snoop filter."""
    filter_hits: int
    """Of the requests to the agents, those whose line had an entry in the snoop filter."""
    filter_requests: int
    """Requests to the agents."""
    invalidated_lines: int
    """Lines that snoops took away."""
    upgrades: int
    """Stores to shared copies."""
    waits_for_entry: int
    """Requests that found the snoop filter full."""
    write_backs: int
    """Dirty lines sent back for whatever reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricDevice:
    """What the endpoints of a group are, if they are devices."""
    config: dict[str, str]
    """Every parameter of the device, by key, as text."""
    device: str
    """Name or file of the device."""
    group: str
    """The group's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricHost:
    """A simulated host at a requester. Counts and times are those since `warmup_requests` had
    come back."""
    amat_ns: Amat
    """Mean time of an access that left the processor and was not replayed later, ns."""
    base: int
    """Where that begins among the requester's addresses."""
    bound: Bound
    """Where the cores' time went."""
    config: dict[str, str]
    """Every parameter of the host, by key, as text, at the sizes that were simulated."""
    footprint_bytes: int
    """Bytes of the program's memory."""
    hash: str
    """Of the host's whole run: two runs with the same input have the same."""
    instructions: int
    """Instructions retired."""
    ipc: float | None
    """Instructions in a cycle of one core."""
    levels: Levels
    """Caches of all cores together."""
    loads: int
    """Loads retired."""
    long_delays: int
    """Reads answered with a long-delay message."""
    name: str
    """The requester's name."""
    requests: Requests
    """Accesses that left the processor."""
    scale: int
    """What the host's capacities were divided by, and the memory of a kernel."""
    seed: int
    """Seed of the kernel; with a trace, of the host."""
    stores: int
    """Stores retired."""
    switches: int
    """Context switches."""
    system: str
    """Name or file of the system whose host it is."""
    time_s: float
    """Simulated time from its last event before counting began to its last one, or to the end of
    its last thread, s."""
    workload: str
    """The kernel that it runs, or `trace:` and the file that it replays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricPartsOfArrayOfNullableDouble:
    """Something for each part of a request's way."""
    cache: list[float | None]
    """In the requester's cache."""
    controller: list[float | None]
    """In the endpoint's controller."""
    held: list[float | None]
    """Waiting at the requester for another of its requests: for the same line, for a place in its
    cache, for a completion after the data; or for its cache, busy with snoops."""
    link_queue: list[float | None]
    """Waiting for a link at a device."""
    memory: list[float | None]
    """In memory."""
    port: list[float | None]
    """In ports."""
    propagation: list[float | None]
    """On wires."""
    requester: list[float | None]
    """In the requester."""
    serialisation: list[float | None]
    """Being sent, bit by bit."""
    snoop: list[float | None]
    """Waiting for snoops."""
    switch: list[float | None]
    """In switches."""
    switch_queue: list[float | None]
    """Waiting for a link in a switch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricPartsOfNullableDouble:
    """Something for each part of a request's way."""
    cache: float | None
    """In the requester's cache."""
    controller: float | None
    """In the endpoint's controller."""
    held: float | None
    """Waiting at the requester for another of its requests: for the same line, for a place in its
    cache, for a completion after the data; or for its cache, busy with snoops."""
    link_queue: float | None
    """Waiting for a link at a device."""
    memory: float | None
    """In memory."""
    port: float | None
    """In ports."""
    propagation: float | None
    """On wires."""
    requester: float | None
    """In the requester."""
    serialisation: float | None
    """Being sent, bit by bit."""
    snoop: float | None
    """Waiting for snoops."""
    switch: float | None
    """In switches."""
    switch_queue: float | None
    """Waiting for a link in a switch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricResult:
    """A simulated fabric (`sluice fabric run`). Requests, times and bytes are those since
    `warmup_requests` had come back."""
    bandwidth_mb_s: float | None
    """Data of the requests, in 10^6 bytes a second."""
    bottleneck: Bottleneck
    """The resource that is busy for the largest share of the time."""
    busiest_link: LinkUse | None
    """The link with the highest `utility`. `null` without links."""
    coherence: Coherence | None
    """What coherence cost. `null` without `coherence.filter`."""
    config: dict[str, str]
    """Every parameter of the fabric, by key, as text."""
    devices: list[FabricDevice] | None = None
    """The devices of its groups of endpoints. Only of a fabric that has some."""
    events: int
    """Events handled."""
    fabric: str
    """Name or file of the fabric, as named on the command line."""
    hash: str
    """A hash of every completion: two runs with the same input have the same one."""
    hops: Hops
    """Requests by the number of switches on their way."""
    hosts: list[FabricHost] | None = None
    """Its simulated hosts. Only of a fabric that has some."""
    in_flight: int
    """Requests under way at the end."""
    kind: str
    """Which kind of result this is."""
    latency_mean_ns: float
    """The mean latency, ns."""
    latency_min_ns: float
    """The least latency, ns."""
    latency_ns: SummaryOfDouble
    """Latencies of the requests, ns."""
    latency_parts_ns: FabricPartsOfNullableDouble
    """Where the mean latency went, ns."""
    links: list[LinkUse]
    """What each link carried; of more than 64, the busiest."""
    memory_refused: int
    """Answers of a memory from outside that could not be."""
    mix_degree: float | None
    """The smaller of the shares of reads and writes (ESF section V-E)."""
    nodes: Nodes
    """How many there are of what."""
    reads: int
    """Reads that came back."""
    requesters: list[RequesterUse]
    """What each requester got."""
    requests: int
    """Requests that came back. Where memory is coherent a message may end several at once: then
    they can be a few more than were asked for."""
    schema: str
    """Version of the fields."""
    seed: int
    """Seed of every random stream."""
    time_s: float
    """Simulated time, s."""
    vcs: list[VcsUse]
    """Virtual switches."""
    version: str
    """Version of Sluice."""
    warmup_requests: int
    """Requests that came back before counting began, as asked for."""
    windows: Windows | None
    """Stretches of the run. `null` without `--window`."""
    workload: Recorded | None
    """What the requesters replay. `null` if they have patterns of their own."""
    writes: int
    """Writes that came back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HopGroup:
    """Requests with the same number of switches on their way."""
    hops: int
    """How many switches."""
    latency_ns: float
    """Their mean latency, ns."""
    switch_queue_ns: float
    """Part of the latency: waiting for a link in a switch, ns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hops:
    """Requests by the number of switches on the way to the endpoint: lists from 0 on, to 16 at
    least."""
    fewest: HopGroup | None
    """The requests with the fewest switches. `null` without requests."""
    latency_ns: list[float | None]
    """Their mean latency, ns. `null` where there was none."""
    most: HopGroup | None
    """The requests with the most switches. `null` without requests."""
    parts_ns: FabricPartsOfArrayOfNullableDouble
    """Where that went, ns. `null` where there was none."""
    requests: list[int]
    """How many requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkUse:
    """What a link carried. Pairs are of its two directions."""
    busy: list[float | None]
    """Busy share of the time, by packets of each direction."""
    bytes: list[int]
    """Bytes, of each direction."""
    efficiency: float | None
    """Data's share of the bytes."""
    ends: list[str]
    """The nodes that it joins."""
    ports: list[int | None]
    """Ports of the switches at its ends; `null` at a node that is no switch."""
    utility: float | None
    """Busy share of the time; averaged over the directions if each has wires of its own (ESF
    section V-D)."""
    wait_max_ns: list[float]
    """The longest wait for the link, of each direction, ns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """How many nodes and links a fabric has."""
    endpoints: int
    """Memory endpoints."""
    links: int
    """Links."""
    requesters: int
    """Requesters."""
    switches: int
    """Switches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What requesters replay."""
    accesses: int
    """Accesses recorded."""
    cpus: int
    """CPUs or threads that were recorded."""
    footprint_bytes: int
    """Memory that is accessed, bytes."""
    instruction_ns: float
    """Time of an instruction between accesses, ns."""
    instructions: int
    """Instructions between the accesses."""
    mix_degree: float | None
    """The smaller of the shares of reads and writes."""
    name: str
    """The kernel or the trace's file."""
    spread: str
    """How the accesses go to the requesters: `each`, `dealt` or `cpus`."""
    writes: int
    """Of the accesses, writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequesterUse:
    """What a requester got."""
    bandwidth_mb_s: float | None
    """Their data, in 10^6 bytes a second."""
    latency_mean_ns: float | None
    """Their mean latency, ns. `null` without requests."""
    name: str
    """Its name."""
    requests: int
    """Requests that came back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VcsUse:
    """A virtual switch and its host."""
    bandwidth_mb_s: float | None
    """Data of these requests, in 10^6 bytes a second."""
    host: str
    """Its host."""
    host_latency_mean_ns: float | None
    """Mean latency of all the host's requests, ns. `null` without requests."""
    name: str
    """Its name."""
    port: int | None
    """Its upstream port."""
    requests: int
    """Accesses that the memories of its devices served. Where memory is coherent: lines read and
    written back."""
    switch: str
    """The switch that it is part of."""
    utility: float | None
    """Busy share of the upstream link."""
    vppbs: list[VppbUse]
    """What it is bound to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VppbUse:
    """What a virtual PCI-to-PCI bridge (vPPB) is bound to, and served."""
    bandwidth_mb_s: float | None
    """Their data, in 10^6 bytes a second."""
    device: str
    """The device that it is bound to."""
    port: int
    """The port of the switch."""
    requests: int
    """Accesses served."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Stretches of a run, of so many requests each."""
    mix_degree_and_mb_s: list[tuple[float | None, float | None]]
    """Of each stretch that is full, the first from the beginning of the counting: the smaller of
    the shares of reads and writes, and 10^6 bytes a second."""
    requests: int
    """Requests of a stretch."""
