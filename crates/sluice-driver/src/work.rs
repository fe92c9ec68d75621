//! What threads do that keep loads and stores under way.

use sluice_units::{LINE_BYTES, Ps};

/// How a thread stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Through its caches: the line is read, changed, and written when it leaves the cache.
    Cached,
    /// Past its caches: the line is written and not read.
    NonTemporal,
}

/// In which order a thread goes through its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// By address, one stride after another.
    InOrder,
    /// Each place drawn at random.
    Random,
}

/// What the device holds when measuring begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Nothing of the regions is cached.
    Cold,
    /// Each page of the regions was loaded once, one region after another.
    Warm,
}

/// What threads do.
#[derive(Clone, Copy, Debug)]
pub struct Traffic {
    /// Threads, each with a region of its own. 0: the one that follows pointers is alone.
    pub threads: u32,
    /// Bytes of a region: a multiple of the stride.
    pub size: u64,
    /// Bytes from one place to the next.
    pub stride: u64,
    /// Order of a thread's accesses.
    pub walk: Walk,
    /// Loads of 100 accesses; the others are stores.
    pub reads: u32,
    /// How a thread stores.
    pub store: Store,
    /// Accesses of a thread under way at once, at least 1.
    pub depth: u32,
    /// From the beginning of a thread's access to that of its next, at least.
    pub pace: Ps,
    /// Cores, of which each runs one of its threads at a time. 0: one for each thread.
    pub cores: u32,
    /// How long a thread has its core while others want it.
    pub slice: Ps,
    /// Beside each thread a helper runs so many bytes ahead and loads a line of each page. 0: none.
    pub ahead: u64,
    /// Bytes of the region in which one thread more follows pointers at random. 0: there is none.
    pub chase: u64,
    /// Times that each thread goes through its region.
    pub passes: u64,
    /// What is cached at the start.
    pub start: Start,
    /// Seed of everything that is drawn.
    pub seed: u64,
}

impl Traffic {
    /// Bytes of the device that are used.
    pub fn footprint(&self) -> u64 {
        u64::from(self.threads) * self.size + self.chase
    }

    /// Whether an access of a thread is a store, by how many were before it. Loads are dealt out:
    /// 100 accesses in a row have as many as [`Traffic::reads`] says, as evenly as can be.
    pub fn is_store(&self, number: u64) -> bool {
        let (before, reads) = (number % 100, u64::from(self.reads));
        (before + 1) * reads / 100 == before * reads / 100
    }

    /// Accesses of one thread; without threads those of the one that follows pointers.
    pub fn accesses(&self) -> u64 {
        match self.threads {
            0 => self.passes * (self.chase / LINE_BYTES),
            _ => self.passes * (self.size / self.stride),
        }
    }
}
