//! The device programs pages that were not written, answers stores before they are indexed, and has
//! room in its log for stores that would wait.

use sluice_params::Kind;

sluice_params::params! {
    /// What the device does otherwise.
    pub(super) struct OfDevice {
        programs_clean: bool {
            key: "host.device_write_back",
            kind: Kind::Flag { off: "dirty", on: "all" },
            default: "dirty",
            meaning: "dirty: of the pages that leave the device's cache, those that were written \
                      are programmed; all: the others too, as in a device that does not know which \
                      were",
            source: "SkyByte has a write-back cache. Its artifact has all in its designs without a \
                     log (doi:10.5281/zenodo.14660184, src/SkyByte-Sim/ftl.cc)",
        }
        backlog: u32 {
            key: "host.device_backlog",
            kind: Kind::Count { min: 0, max: 8 },
            default: "0",
            meaning: "buffers of the device's write log that may be full besides, in memory of \
                      their own; with some a store seldom waits for a compaction",
            source: "SkyByte section III-B has none. Its artifact's log is empty as soon as its \
                     compaction begins",
        }
        indexes_behind: bool {
            key: "host.device_store_index",
            kind: Kind::Flag { off: "wait", on: "behind" },
            default: "wait",
            meaning: "wait: a store is answered when the write log's index has its line; behind: \
                      when the log's memory has it, write_log.index_latency earlier",
            source: "SkyByte section III-B does not say. Its artifact enters it behind the answer \
                     (doi:10.5281/zenodo.14660184, src/SkyByte-Sim/ftl.cc)",
        }
    }
}
