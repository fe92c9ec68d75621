//! Parameters: cores, caches, address translation.

use crate::miss::STORES_MAX;
use crate::window::SLOTS;
use sluice_params::{Kind, choices};
use sluice_units::{Bytes, Ps};

const TABLE_2: &str = "SkyByte Table II";

const LATENCY: &str = "assumed, Table II has none; in cycles of 4 GHz: 4, 14 and 40 for L1, L2 \
                       and L3, about what processors of its kind have";

const fn entries(max: u64) -> Kind {
    Kind::Count { min: 1, max }
}

/// Zero is a value, to be refused by the constructor with what it would mean.
const MSHRS: Kind = Kind::Count {
    min: 0,
    max: 65_536,
};

choices! {
    /// What an L2 is sure to have.
    pub(crate) enum Inclusion {
        L1 = "l1": "what its L1 has, so that a line that leaves the L2 leaves both",
        None = "none": "nothing, and the L1 keeps its line",
    }
}

const WAYS: Kind = entries(1_024);

sluice_params::params! {
    /// Cores.
    pub(crate) struct CpuParams {
        cores: u32 {
            key: "cpu.cores",
            kind: entries(256),
            default: "8",
            meaning: "cores",
            source: TABLE_2,
        }
        threads: u32 {
            key: "cpu.threads",
            kind: entries(4_096),
            default: "8",
            meaning: "threads of the program, one for each core at least",
            source: "SkyByte section VI-A: 8 without coordinated context switches, 24 with",
        }
        cycle: Ps {
            key: "cpu.cycle",
            default: "250ps",
            meaning: "time of a cycle",
            source: "SkyByte Table II: 4.0 GHz",
        }
        width: u32 {
            key: "cpu.width",
            kind: entries(64),
            default: "4",
            meaning: "instructions issued, and retired, in a cycle",
            source: "assumed: not stated; as Intel's cores had up to 2019",
        }
        window: u32 {
            key: "cpu.window",
            kind: entries(SLOTS),
            default: "256",
            meaning: "entries of the reorder window of each core",
            source: TABLE_2,
        }
        scheduler: u32 {
            key: "cpu.scheduler",
            kind: entries(65_536),
            default: "97",
            meaning: "instructions that find room behind one that waits for its data: all are \
                      taken to need it, and to hold a place in the scheduler until it comes",
            source: "assumed: not stated; as Intel's Skylake has",
        }
        store_buffer: u32 {
            key: "cpu.store_buffer",
            kind: Kind::Count { min: 0, max: STORES_MAX },
            default: "56",
            meaning: "stores of a core that have retired and are not yet in its cache; 0: none \
                      retires before its line is there",
            source: "assumed: not stated; as Intel's Skylake has. SkyByte's artifact has none \
                     (def/core.param.def: use_wb; src/retire.cc)",
        }
    }
}

sluice_params::params! {
    /// The L1 of each core.
    pub(crate) struct L1Params {
        capacity: Bytes {
            key: "l1.capacity",
            default: "32KiB",
            meaning: "bytes of each core's L1 data cache",
            source: TABLE_2,
        }
        ways: u32 {
            key: "l1.ways",
            kind: WAYS,
            default: "8",
            meaning: "lines of a set of the L1",
            source: TABLE_2,
        }
        latency: Ps {
            key: "l1.latency",
            default: "1ns",
            meaning: "from an access to its data in the L1",
            source: LATENCY,
        }
        mshrs: u32 {
            key: "l1.mshrs",
            kind: MSHRS,
            default: "8",
            meaning: "misses of an L1 under way at once",
            source: TABLE_2,
        }
    }
}

sluice_params::params! {
    /// The L2 of each core.
    pub(crate) struct L2Params {
        capacity: Bytes {
            key: "l2.capacity",
            default: "512KiB",
            meaning: "bytes of each core's L2",
            source: TABLE_2,
        }
        ways: u32 {
            key: "l2.ways",
            kind: WAYS,
            default: "32",
            meaning: "lines of a set of the L2",
            source: TABLE_2,
        }
        latency: Ps {
            key: "l2.latency",
            default: "3500ps",
            meaning: "from an access to its data in the L2, L1 included",
            source: LATENCY,
        }
        mshrs: u32 {
            key: "l2.mshrs",
            kind: MSHRS,
            default: "128",
            meaning: "misses of an L2 under way at once",
            source: TABLE_2,
        }
        inclusion: Inclusion {
            key: "l2.inclusion",
            default: "l1",
            meaning: "what an L2 is sure to have. It does not see what the L1 finds itself: beside \
                      a long stream l1 costs a line that is always used its place, ever again",
            source: "l1: as before there was a choice. Intel's L2 have none, and SkyByte's \
                     artifact (src/memory.cc: process_fill_queue)",
        }
    }
}

sluice_params::params! {
    /// The cache that all cores share.
    pub(crate) struct L3Params {
        capacity: Option<Bytes> {
            key: "l3.capacity",
            kind: Kind::Or("none", &Kind::Size),
            default: "16MiB",
            meaning: "bytes of the L3 that all cores share; none: there is none, and what misses \
                      the L2 goes to memory",
            source: TABLE_2,
        }
        ways: u32 {
            key: "l3.ways",
            kind: WAYS,
            default: "16",
            meaning: "lines of a set of the L3",
            source: TABLE_2,
        }
        latency: Ps {
            key: "l3.latency",
            default: "10ns",
            meaning: "from an access to its data in the L3, L1 and L2 included",
            source: LATENCY,
        }
        mshrs: u32 {
            key: "l3.mshrs",
            kind: MSHRS,
            default: "1024",
            meaning: "misses of the L3, or of all L2 without one, under way at once",
            source: TABLE_2,
        }
    }
}

sluice_params::params! {
    /// The address translation of each core.
    pub(crate) struct TlbParams {
        entries: u32 {
            key: "tlb.entries",
            kind: entries(1 << 20),
            default: "1536",
            meaning: "pages that each core's TLB holds, its two levels taken as one",
            source: "assumed: not stated; the second level of Intel's Skylake",
        }
        ways: u32 {
            key: "tlb.ways",
            kind: WAYS,
            default: "12",
            meaning: "pages of a set of the TLB",
            source: "assumed: as tlb.entries",
        }
        walk: Ps {
            key: "tlb.walk",
            default: "20ns",
            meaning: "time that a miss of the TLB adds to its access",
            source: "assumed: the last level of the page table, found in a cache more often than \
                     not; SkyByte section VI-A keeps page tables in host memory",
        }
        shootdown: Ps {
            key: "tlb.shootdown",
            default: "100ns",
            meaning: "time that every core loses when a page has moved",
            source: "assumed: refilling an entry; SkyByte section V has shootdowns, not their \
                     cost, and its artifact gives them none",
        }
    }
}
