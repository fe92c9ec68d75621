"""What each number is, and what nobody can see: the notes at the end of the page."""

NOTES: dict[str, tuple[str, str]] = {
    "traps": (
        "Traps",
        "An access to a page that was not mapped. A miss: the page was on flash. A soft trap: the"
        " page was in the cache already, fetched ahead, fetched for another thread, or unmapped on"
        " purpose to learn whether it is still used. Spurious: another thread had mapped the page"
        " meanwhile. Accesses to mapped pages run at full speed, and nobody counts them.",
    ),
    "latency": (
        "Modelled and achieved latency",
        "Of misses only. Modelled: from the access until the device model says the data is there,"
        " queueing in the flash included. Achieved: from the access until the thread could go on."
        " The emulation's own work lies inside the modelled time; it adds to the achieved time"
        " only where it does not fit. What the kernel needs before and after the runtime sees the"
        " access cannot be timed one by one: it is measured at the start and added. The program's"
        " own measurement owes nothing to that.",
    ),
    "late": (
        "Late",
        "Misses that ended more than 1 µs after the moment the model asked for. A run whose late"
        " share is above 5 % shows this host's limits rather than the device: use a slower"
        " device, fewer threads, or simulation.",
    ),
    "delay": (
        "Wait for a CPU",
        "In event mode a thread whose page is there may have no CPU to go on. Sluice asks the"
        " kernel at some of the misses how long that took. The latencies of this page end before"
        " it. A program's own clock has it.",
    ),
    "hits": (
        "Hits, as the device knows them",
        "Live, a hit on a mapped page is an ordinary load or store: no trap, no count. The device"
        " learns only of the hits among the traps, so its hit ratio is below the true one, and its"
        " eviction policy decides without the rest. In simulation with all hits visible the ratio"
        " is exact. The program's own timing shows the true one.",
    ),
    "sampled": (
        "Hit ratio by sampling",
        "Cached pages are taken away at random, a few at a time; a touch within the window shows"
        " that the page is in use. The cached pages in use, against the misses in as long a time,"
        " give the hit ratio: of the distinct pages used within a window, the share that was in"
        " the cache. Repeated accesses to one page count once.",
    ),
    "requests": (
        "Requests without a miss",
        "One minus misses divided by requests, over the whole run. It is a lower bound: one"
        " request may meet several misses, and misses outside of requests (start, loading,"
        " background work) count against it.",
    ),
    "program": (
        "The program's own measurement",
        "Taken from the program's report about itself, with its own clock. Under 1 µs counts as a"
        " hit. It sees what no device can: every hit, and every cost of the host.",
    ),
    "flash": (
        "Flash",
        "Reads and programs of NAND pages, those of garbage collection included. Only pages that"
        " were written since they came in (dirty) cost a program when they leave. Write"
        " amplification: programs divided by the programs that the host caused; 1 without garbage"
        " collection.",
    ),
    "histograms": (
        "Histograms",
        "Latencies are counted in buckets less than 1 % wide; percentiles in the tables were taken"
        " at full length of the run, with nothing left out at start or end.",
    ),
}
