//! A store whose line no cache has is a write to memory, as if that one store wrote the whole line.

use sluice_host::MissNumber;
use sluice_params::{Kind, RawConfig};

sluice_params::params! {
    /// What a store does that misses.
    pub(super) struct StoreMissParams {
        store_miss: bool {
            key: "l3.store_miss",
            kind: Kind::Flag { off: "fetch", on: "write" },
            default: "fetch",
            meaning: "what a store does whose line no cache has. fetch: memory is read, and \
                      written when the line leaves (fetch on write); write: the line is written to \
                      memory at once, and not read, with all that is stored of it until it leaves \
                      the L1, as if one store wrote all of it. Programs that send lines to memory \
                      themselves fetch in any case",
            source: "fetch on write is what processors do. In SkyByte's artifact such a store \
                     reaches the memory controller as a write, its line comes back as memory has \
                     it, and stores of the line that wait in the window meanwhile are part of it \
                     (src/dram_ctrl.cc, src/memory.cc); its counters have each line that is only \
                     stored written once",
        }
    }
}

/// Which of a core's misses write their lines, if stores that miss do.
#[derive(Clone, Debug)]
pub(super) struct StoreMiss {
    is_on: bool,
    /// By the number of the miss; those behind the end do not.
    writes: Vec<bool>,
}

impl StoreMiss {
    pub(super) fn new(raw: &RawConfig) -> StoreMiss {
        StoreMiss {
            is_on: StoreMissParams::new(raw).store_miss,
            writes: Vec::new(),
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    pub(super) fn misses(&mut self, miss: MissNumber, writes: bool) {
        let at = miss as usize;
        if self.is_on {
            self.writes.resize(self.writes.len().max(at + 1), false);
            self.writes[at] = writes;
        }
    }

    pub(super) fn writes(&self, miss: MissNumber) -> bool {
        self.writes.get(miss as usize) == Some(&true)
    }

    /// A store of a line that the L1 got by a write is part of that write.
    pub(super) fn joins_write(&self, last: impl FnOnce() -> Option<MissNumber>) -> bool {
        self.is_on && last().is_some_and(|miss| self.writes(miss))
    }

    /// What is stored after the line has left the L1 is written later.
    pub(super) fn leaves_l1(&mut self, last: impl FnOnce() -> Option<MissNumber>) {
        if self.is_on
            && let Some(miss) = last()
        {
            self.found_in_l3(miss);
        }
    }

    /// Memory need not be written for a line that the L3 has.
    pub(super) fn found_in_l3(&mut self, miss: MissNumber) -> bool {
        let writes = self.writes.get_mut(miss as usize);
        writes.is_some_and(std::mem::take)
    }
}
