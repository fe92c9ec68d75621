"""What a program of `sluice workload` measured of itself.

Made by `make docs` from crates/sluice-workload/result.schema.json; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadChase:
    """Chases pointers through memory, once a place."""
    schema: str
    workload: str
    params: WorkloadChaseParameters
    """The parameters as resolved."""
    passes: list[WorkloadPass]
    """Passes: how many were asked for, or each in order."""
    latency_ns: WorkloadSummary | None
    """Latencies of single accesses, ns. `null` or absent if they were not timed."""
    histogram: list[tuple[int, int]]
    """Pairs of a bucket's middle, ns, and its count."""
    wall_s: float
    """Wall time, s."""
    build_s: float
    """Time that it took to build the chain, s."""
    checksum: str
    """Hash of what was visited or computed, in order."""
    mismatches: int
    """How many of the values that were checked were wrong."""
    timer: WorkloadTimer
    """What the accesses were timed by."""
    pass_ns: WorkloadPassTimes
    """Wall time of an access, ns, over the passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadChaseParameters:
    """Parameters of `sluice workload chase`, as resolved."""
    size_bytes: int
    """Bytes of memory, or of each thread's region."""
    stride_bytes: int
    """Bytes from one place to the next."""
    order: str
    """`sequential` or `random`."""
    threads: int
    passes: int
    """Passes: how many were asked for, or each in order."""
    write: bool
    """Whether each node's word is counted up."""
    seed: int
    batch: bool
    """Whether whole passes were timed only."""
    bare: bool
    """Whether whole passes of nothing but loads were timed, sixteen in a row."""
    revisit: bool
    """Whether not the accesses were timed but one after each."""
    small_pages: bool
    """Whether transparent huge pages were refused."""
    file: str | None
    """The file that was mapped. `null`: anonymous memory."""
    numa_node: int | None
    """The NUMA node that the memory is bound to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadGraph:
    """Searches and ranks a Kronecker graph."""
    schema: str
    workload: str
    params: WorkloadGraphParameters
    """The parameters as resolved."""
    passes: list[WorkloadPass]
    """Passes: how many were asked for, or each in order."""
    latency_ns: WorkloadSummary | None
    """Latencies of single accesses, ns. `null` or absent if they were not timed."""
    histogram: list[tuple[int, int]]
    """Pairs of a bucket's middle, ns, and its count."""
    wall_s: float
    """Wall time, s."""
    vertices: int
    edges: int
    """Edges: those that Graph500 counts."""
    memory_bytes: int
    """Bytes of all arrays."""
    validated: bool
    """Whether the answers were checked."""
    mismatches: int
    """How many of the values that were checked were wrong."""
    bfs: WorkloadSearches | None
    """The searches. `null` without any."""
    pagerank: WorkloadPagerank | None
    """What the ranks came to. `null` without iterations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadGraphParameters:
    """Parameters of `sluice workload graph`, as resolved."""
    scale: int
    """Two to this power are the vertices."""
    edges_per_vertex: int
    """Edges drawn for each vertex, on average."""
    threads: int
    seed: int
    sources: int
    """Searches, each from another vertex."""
    iterations: int
    skip_validation: bool
    """Whether the answers were left unchecked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadHints:
    """Reads memory as four programs do, told or not told."""
    schema: str
    workload: str
    params: WorkloadHintsParameters
    """The parameters as resolved."""
    passes: list[WorkloadPass]
    """Passes: how many were asked for, or each in order."""
    latency_ns: WorkloadSummary | None
    """Latencies of single accesses, ns. `null` or absent if they were not timed."""
    histogram: list[tuple[int, int]]
    """Pairs of a bucket's middle, ns, and its count."""
    wall_s: float
    """Wall time, s."""
    mismatches: int
    """How many of the values that were checked were wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadHintsParameters:
    """Parameters of `sluice workload hints`, as resolved."""
    case: str
    """What was read."""
    told: bool
    """Whether the program says what it knows of its accesses."""
    size_bytes: int
    """Bytes of memory, or of each thread's region."""
    index_bytes: int
    """Bytes of the index."""
    rows: int
    """Rows that a join looks up."""
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKv:
    """Serves a table of keys and values, as YCSB asks."""
    schema: str
    workload: str
    params: WorkloadKvParameters
    """The parameters as resolved."""
    passes: list[WorkloadPass]
    """Passes: how many were asked for, or each in order."""
    latency_ns: WorkloadSummary | None
    """Latencies of single accesses, ns. `null` or absent if they were not timed."""
    histogram: list[tuple[int, int]]
    """Pairs of a bucket's middle, ns, and its count."""
    wall_s: float
    """Wall time, s."""
    requests: int
    errors: int
    mismatches: int
    """How many of the values that were checked were wrong."""
    values_checked: int
    """Values that were checked."""
    records_at_end: int
    """Records at the end."""
    ops: list[WorkloadOp]
    """Operations: how many were asked for, or the latencies of each kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKvParameters:
    """Parameters of `sluice workload kv`, as resolved."""
    mix: str
    """YCSB's core workload."""
    distribution: str
    """Which keys are popular."""
    records: int
    """Records at the start."""
    ops: int
    """Operations: how many were asked for, or the latencies of each kind."""
    value_bytes: int
    """Bytes of a value."""
    threads: int
    seed: int
    sweep: bool
    """Whether every record is read back at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadMixed:
    """Threads that compute beside threads that load."""
    schema: str
    workload: str
    params: WorkloadMixedParameters
    """The parameters as resolved."""
    passes: list[WorkloadPass]
    """Passes: how many were asked for, or each in order."""
    latency_ns: WorkloadSummary | None
    """Latencies of single accesses, ns. `null` or absent if they were not timed."""
    histogram: list[tuple[int, int]]
    """Pairs of a bucket's middle, ns, and its count."""
    wall_s: float
    """Wall time, s."""
    mismatches: int
    """How many of the values that were checked were wrong."""
    cpu_share: list[float]
    """How much of a CPU each computing thread had, 0 to 1."""
    steps: int
    """Steps of all computations."""
    cpu_of_process: float
    """CPU time of all computing threads, as a share of the process's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadMixedParameters:
    """Parameters of `sluice workload mixed`, as resolved."""
    computing: int
    """Threads that compute."""
    loading: int
    """Threads that load."""
    size_bytes: int
    """Bytes of memory, or of each thread's region."""
    seconds: int
    """How long, s."""
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOp:
    """Latencies of one kind of operation."""
    op: str
    """The operation."""
    latency_ns: WorkloadSummary
    """Latencies of single accesses, ns. `null` or absent if they were not timed."""
    histogram: list[tuple[int, int]]
    """Pairs of a bucket's middle, ns, and its count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPagerank:
    """PageRank."""
    iterations: int
    edges_per_s: float
    """Edges that an iteration took in a second."""
    sum: float
    """Sum of the ranks."""
    change: float
    """What the last iteration changed, in all."""
    error: float | None
    """Largest relative difference from the same iteration along the edges as they were drawn.
    `null` if it was not checked."""
    checksum: str
    """Hash of what was visited or computed, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPass:
    """One pass or phase, from 1."""
    pass_: int
    phase: str | None = None
    """The phase, where phases differ."""
    accesses: int
    """Accesses or requests."""
    wall_s: float
    """Wall time, s."""
    ns_per_access: float
    """Wall time of an access, ns, over all threads at once."""
    latency_ns: WorkloadSummary | None = None
    """Latencies of single accesses, ns. `null` or absent if they were not timed."""
    below_1us: float | None = None
    """Share of accesses below one microsecond, 0 to 1."""
    histogram: list[tuple[int, int]]
    """Pairs of a bucket's middle, ns, and its count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPassTimes:
    """Wall time of a pass by access, ns."""
    min: float
    median: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPattern:
    """Writes patterns over memory and reads them back."""
    schema: str
    workload: str
    params: WorkloadPatternParameters
    """The parameters as resolved."""
    passes: list[WorkloadPass]
    """Passes: how many were asked for, or each in order."""
    latency_ns: WorkloadSummary | None
    """Latencies of single accesses, ns. `null` or absent if they were not timed."""
    histogram: list[tuple[int, int]]
    """Pairs of a bucket's middle, ns, and its count."""
    wall_s: float
    """Wall time, s."""
    words_checked: int
    """Words that were read back."""
    words_written: int
    """Words that were stored."""
    mismatches: int
    """How many of the values that were checked were wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPatternParameters:
    """Parameters of `sluice workload pattern`, as resolved."""
    size_bytes: int
    """Bytes of memory, or of each thread's region."""
    threads: int
    seconds: int
    """How long, s."""
    seed: int
    file: str | None
    """The file that was mapped. `null`: anonymous memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRedis:
    """Drives a Redis server, as YCSB does."""
    schema: str
    workload: str
    params: WorkloadRedisParameters
    """The parameters as resolved."""
    passes: list[WorkloadPass]
    """Passes: how many were asked for, or each in order."""
    latency_ns: WorkloadSummary | None
    """Latencies of single accesses, ns. `null` or absent if they were not timed."""
    histogram: list[tuple[int, int]]
    """Pairs of a bucket's middle, ns, and its count."""
    wall_s: float
    """Wall time, s."""
    requests: int
    errors: int
    mismatches: int
    """How many of the values that were checked were wrong."""
    values_checked: int
    """Values that were checked."""
    bgsave: WorkloadSnapshot | None
    """The snapshot. `null` without one."""
    ops: list[WorkloadOp]
    """Operations: how many were asked for, or the latencies of each kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRedisParameters:
    """Parameters of `sluice workload redis`, as resolved."""
    server: str
    """The server's address."""
    mix: str
    """YCSB's core workload."""
    distribution: str
    """Which keys are popular."""
    records: int
    """Records at the start."""
    ops: int
    """Operations: how many were asked for, or the latencies of each kind."""
    value_bytes: int
    """Bytes of a value."""
    connections: int
    """Connections, each with a thread."""
    phase: str
    """The phase, where phases differ."""
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSearch:
    """A WorkloadSearch."""
    source: int
    """Where it began, or what the clock is."""
    reached: int
    """Vertices that it reached, the source too."""
    depth: int
    """Most edges from the source to a vertex."""
    edges: int
    """Edges: those that Graph500 counts."""
    wall_s: float
    """Wall time, s."""
    teps: float
    """Edges in a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSearches:
    """Breadth-first searches, edges a second."""
    teps_min: float
    """Fewest edges in a second."""
    teps_median: float
    """Median of the edges in a second."""
    teps_max: float
    """Most edges in a second."""
    teps_harmonic_mean: float
    """Harmonic mean of the edges in a second."""
    searches: list[WorkloadSearch]
    """The searches in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSnapshot:
    """A snapshot while requests went on."""
    at_request: int
    """Requests sent before it began."""
    requests_meanwhile: int
    """Requests sent while it ran."""
    seconds: float
    """How long, s."""
    status: str
    """What the server says of it: `ok`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSummary:
    """Figures of a distribution, ns."""
    count: int
    mean: float
    p50: int
    p90: int
    p99: int
    p999: int
    max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadTimer:
    """How single accesses are timed."""
    source: str
    """Where it began, or what the clock is."""
    overhead_ns: float
    """What reading the clock takes, ns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadTraffic:
    """Loads and stores in regions at a pace, beside dependent loads."""
    schema: str
    workload: str
    params: WorkloadTrafficParameters
    """The parameters as resolved."""
    passes: list[WorkloadPass]
    """Passes: how many were asked for, or each in order."""
    latency_ns: WorkloadSummary | None
    """Latencies of single accesses, ns. `null` or absent if they were not timed."""
    histogram: list[tuple[int, int]]
    """Pairs of a bucket's middle, ns, and its count."""
    wall_s: float
    """Wall time, s."""
    bytes_per_s: float
    """Bytes that the threads loaded and stored in a second: 64 for each access."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadTrafficParameters:
    """Parameters of `sluice workload traffic`, as resolved."""
    threads: int
    size_bytes: int
    """Bytes of memory, or of each thread's region."""
    stride_bytes: int
    """Bytes from one place to the next."""
    random: bool
    """Whether each place is drawn."""
    reads_percent: int
    """Loads of 100 accesses."""
    store: str
    """How a thread stores."""
    pace_ns: int
    """From the beginning of an access of a thread to that of its next, at least, ns."""
    cores: int
    """CPUs that the threads share; 0: wherever the system puts them."""
    chase_bytes: int
    """Bytes in which dependent loads are made; 0: there are none."""
    passes: int
    """Passes: how many were asked for, or each in order."""
    cold: bool
    """Whether the pages were left untouched before."""
    seed: int
    numa_node: int | None
    """The NUMA node that the memory is bound to."""


WorkloadResult = (
    WorkloadChase
    | WorkloadGraph
    | WorkloadKv
    | WorkloadRedis
    | WorkloadPattern
    | WorkloadTraffic
    | WorkloadHints
    | WorkloadMixed
)
"""What a program of `sluice workload` measured of itself."""
