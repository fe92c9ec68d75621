//! Parameters: which pages are in host memory, and how they get there.

use crate::config::{MigrationPolicy, Sampling};
use sluice_params::{Kind, choices};
use sluice_units::{Bytes, Ps, Ratio};

choices! {
    /// Bytes that move together.
    pub(crate) enum PageSize {
        Small = "4KiB": "a page",
        Huge = "2MiB": "a huge page",
    }
}

const PAGES: Kind = Kind::Count {
    min: 1,
    max: 1 << 24,
};

sluice_params::params! {
    /// Pages in host memory.
    pub(crate) struct MigrationParams {
        policy: MigrationPolicy {
            key: "migration.policy",
            default: "none",
            meaning: "where pages are, and how they move",
            source: "SkyByte section VI-A: none in Base-CSSD; sections III-C and VI-H have the \
                     others",
        }
        capacity: Bytes {
            key: "migration.capacity",
            default: "2GiB",
            meaning: "bytes of host memory for the device's pages",
            source: "SkyByte Table II: 2 GB",
        }
        threshold: u32 {
            key: "migration.threshold",
            kind: Kind::Count { min: 1, max: u16::MAX as u64 },
            default: "7",
            meaning: "adaptive: accesses of a page in the device's DRAM that make it hot",
            source: "SkyByte's artifact; the paper does not state it",
        }
        decay: Ps {
            key: "migration.decay",
            default: "10ms",
            meaning: "adaptive: counts are halved once in this time; 0: never",
            source: "assumed: not stated",
        }
        buffer: u32 {
            key: "migration.buffer",
            kind: Kind::Count { min: 1, max: 65_536 },
            default: "64",
            meaning: "adaptive: entries of the promotion look-aside buffer, pages under way at \
                      once",
            source: "SkyByte section III-C",
        }
        interrupt: Ps {
            key: "migration.interrupt",
            default: "2us",
            meaning: "adaptive: from the device's interrupt to the first line of the copy",
            source: "assumed: not stated; as a context switch",
        }
        line: Ps {
            key: "migration.line",
            default: "8ns",
            meaning: "adaptive, tpp: from one line of a copy to the next",
            source: "assumed: not stated; half of the link's bandwidth",
        }
        page: PageSize {
            key: "migration.page",
            default: "4KiB",
            meaning: "adaptive: bytes that move together",
            source: "SkyByte section IV: 4 KB, and huge pages as an option",
        }
        spare: Option<Ratio> {
            key: "migration.spare",
            kind: Kind::Or("none", &Kind::Share { max_percent: 50 }),
            default: "1%",
            meaning: "adaptive, tpp: share of migration.capacity that reclaim keeps free",
            source: "assumed: about Linux's watermarks",
        }
        ways: Option<u32> {
            key: "migration.ways",
            kind: Kind::Or("all", &Kind::Count { min: 1, max: 1 << 20 }),
            default: "all",
            meaning: "adaptive, tpp: pages of host memory that share a set, found by hardware, \
                      without a change of translations; a page that comes in takes the place of \
                      the one of its set used longest ago, at once. all: a page can be anywhere, \
                      and those that leave are chosen as Linux does, by an active and an inactive \
                      list",
            source: "SkyByte section IV: page tables; section III-C: Linux's lists. AstriFlash-CXL \
                     in its artifact is SkyByte-CP with sets of 8 \
                     (configs/baselines/assd-CA.config, src/SkyByte-Sim/ftl.cc)",
        }
        sets: Option<u32> {
            key: "migration.sets",
            kind: Kind::Or("none", &Kind::Count { min: 1, max: 1 << 20 }),
            default: "none",
            meaning: "adaptive, tpp: sets of host memory, of as many pages as that makes; \
                      otherwise as migration.ways",
            source: "as migration.ways. All designs of SkyByte's artifact that promote pages have \
                     8 sets but AstriFlash-CXL (src/SkyByte-Sim/ftl.cc: host_way)",
        }
        remote_capacity: Option<Bytes> {
            key: "migration.remote_capacity",
            kind: Kind::Or("none", &Kind::Size),
            default: "none",
            meaning: "adaptive: bytes of the other NUMA node, used when the home node is full",
            source: "SkyByte section IV has it as an option",
        }
        remote_latency: Ps {
            key: "migration.remote_latency",
            default: "44ns",
            meaning: "what an access to the other NUMA node adds",
            source: "Cylon Figure 2: 139.3 ns against 95; SkyByte section IV: less than 100 ns",
        }
        tpp_sampling: Sampling {
            key: "migration.tpp_sampling",
            default: "faults",
            meaning: "tpp: how sampling finds a hot page",
            source: "faults: Linux's tiering, as NUMA balancing has it. accesses: TPP in SkyByte's \
                     artifact (src/SkyByte-Sim/ftl.cc), with 2^16 pages in 100 ms of its warm-up",
        }
        tpp_period: Ps {
            key: "migration.tpp_period",
            default: "1ms",
            meaning: "tpp: so often some pages are marked, to fault at their next access or to be \
                      sampled",
            source: "assumed: a thousandth of Linux's, as runs are of milliseconds",
        }
        tpp_batch: u32 {
            key: "migration.tpp_batch",
            kind: PAGES,
            default: "2048",
            meaning: "tpp: how many",
            source: "assumed: as migration.tpp_period",
        }
        tpp_fault: Ps {
            key: "migration.tpp_fault",
            default: "1us",
            meaning: "tpp: time that such a fault costs its thread",
            source: "assumed: a minor fault",
        }
        tpp_window: Ps {
            key: "migration.tpp_window",
            default: "1s",
            meaning: "tpp: a page that faults again within this time is promoted",
            source: "assumed: Linux's threshold for hot pages",
        }
        astriflash_ways: u32 {
            key: "migration.astriflash_ways",
            kind: Kind::Count { min: 1, max: 1 << 20 },
            default: "8",
            meaning: "astriflash: pages of a set",
            source: "SkyByte's artifact: 8; the paper has sets, not their size",
        }
        astriflash_lookup: Ps {
            key: "migration.astriflash_lookup",
            default: "20ns",
            meaning: "astriflash: time to find a page in host memory",
            source: "assumed: its tags are in host DRAM, in a row that is open",
        }
    }
}
