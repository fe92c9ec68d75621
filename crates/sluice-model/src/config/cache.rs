//! The DRAM cache: sizes, policy, misses in flight.

use super::deref_to_given;
use crate::cache::{EVICTIONS, EvictionEntry, SetIndex};
use crate::dram::DramLayout;
use sluice_params::{Amount, ConfigError, Kind, OrPath, RawConfig, choices, registry};
use sluice_units::{Bytes, Ps, Ratio};

sluice_params::params! {
    /// The DRAM cache.
    pub struct CacheParams {
        capacity: Amount<Bytes> {
            key: "cache.capacity",
            kind: Kind::SizeOrShare,
            default: "5%",
            meaning: "bytes of DRAM cache, rounded down to whole sets of pages",
            source: "Cylon section 5.1.1: 4.8 GB for 96 GB",
        }
        policy: OrPath<&'static EvictionEntry> {
            key: "cache.policy",
            kind: Kind::ChoiceOrPath(registry::<EvictionEntry>),
            default: "fifo",
            meaning: "which page leaves a full set; docs/extending.md says how to write one",
            source: "Cylon section 5.4: FIFO unless stated otherwise",
        }
        ways: Option<u64> {
            key: "cache.ways",
            kind: Kind::Or("full", &Kind::Count { min: 1, max: 1 << 20 }),
            default: "full",
            meaning: "pages in a set; cache.index chooses the set of a page",
            source: "assumed: Cylon's cache is looked up by LPN, any page in any slot",
        }
        index: SetIndex {
            key: "cache.index",
            default: "modulo",
            meaning: "which set a page belongs to",
            source: "assumed: the low bits of the LPN, as in caches of processors",
        }
        index_latency: Ps {
            key: "cache.index_latency",
            default: "0ns",
            meaning: "time to find out whether and where a page is in the cache",
            source: "Cylon section 4.8: part of its 150 ns; SkyByte section V has 49 ns",
        }
        hit_latency: Ps {
            key: "cache.hit_latency",
            default: "150ns",
            meaning: "time of the DRAM: of a hit, and of the way from a filled slot to the host",
            source: "Cylon section 4.8: remote-NUMA access, about 150 ns",
        }
        replacement: Ps {
            key: "cache.replacement",
            default: "0ns",
            meaning: "time for which the controller works on a page that leaves so that another \
                      can come in, one after another, before the read of the other begins",
            source: "assumed: none. CMM-H case study section 3 finds it large and gives no figure",
        }
        write: WritePolicy {
            key: "cache.write",
            default: "back",
            meaning: "when a written page is programmed",
            source: "Cylon section 2: the CMM-H's cache is write-back",
        }
        store_miss: StoreMiss {
            key: "cache.store_miss",
            default: "rmw",
            meaning: "what a store does whose page is not cached",
            source: "CMM-H case study section 3: a store that misses waits for the read of its \
                     page",
        }
        evicts_behind: bool {
            key: "cache.dirty_eviction",
            kind: Kind::Flag { off: "wait", on: "behind" },
            default: "behind",
            meaning: "when the read of a page begins that takes the place of a written one. \
                      behind: at once; wait: when the written page has been programmed, or with \
                      ftl.write_buffer the superpage that makes room for it",
            source: "assumed: behind. Cylon's Algorithm 1 resumes the vCPU after its fill, and \
                     evicts a written page by another request. Section 4.3.1 clears that page's \
                     entry after its write; neither says that a miss waits for it",
        }
        evicts_at_fill: bool {
            key: "cache.evict_at",
            kind: Kind::Flag { off: "miss", on: "fill" },
            default: "miss",
            meaning: "when the page is chosen that leaves for another. miss: when the other is \
                      asked for; fill: when its data is there, which only a simulation can do. \
                      Until then the page that will leave has hits, and the policy does not know \
                      the one on its way. A miss is answered before its fill, so that it cannot \
                      wait for a page to leave: fill takes neither dirty_eviction = wait nor a \
                      replacement",
            source: "assumed: miss, which live runs can do too. Cylon section 4.2 evicts when it \
                     inserts a page that it has read",
        }
        awaits_programs: bool {
            key: "cache.store_done",
            kind: Kind::Flag { off: "held", on: "programmed" },
            default: "held",
            meaning: "when a block write is done, and a store whose page is programmed at once \
                      (write = through, store_miss = around or whole): when the device holds its \
                      data, or when the program has ended",
            source: "MQSim (FAST 2018), whose requests to write end with their programs where no \
                     cache takes them",
        }
        loads_around: bool {
            key: "cache.load_miss",
            kind: Kind::Flag { off: "fill", on: "around" },
            default: "fill",
            meaning: "fill: the page of a load comes into the cache; around: its line goes to the \
                      host and no page stays, as in a device without a cache, with store_miss = \
                      around",
            source: "CMM-H case study section 3: a page that is read stays in the cache",
        }
        track_lines: bool {
            key: "cache.track_lines",
            kind: Kind::NO_YES,
            default: "no",
            meaning: "whether to count the 64-byte lines touched and written of each page that \
                      leaves",
            source: "SkyByte Figures 5 and 6 show what it counts",
        }
        inactive: Option<Ratio> {
            key: "cache.inactive",
            kind: Kind::Or("none", &Kind::Share { max_percent: 50 }),
            default: "none",
            meaning: "the share of a set for pages that the policy has let go and that stay \
                      unmapped until as many others were let go; the device sees an access to \
                      such a page, and the policy has it back; rounded down",
            source: "Turner and Levy, Segmented FIFO Page Replacement (SIGMETRICS 1981); assumed: \
                     none, as no paper has it",
        }
        pin_max: Ratio {
            key: "cache.pin_max",
            kind: Kind::Share { max_percent: 90 },
            default: "50%",
            meaning: "the share of a set that can be pinned, rounded down; one page stays free to \
                      go",
            source: "assumed: half of the cache stays a cache",
        }
    }
}

sluice_params::params! {
    /// Misses in flight.
    pub struct MshrParams {
        entries: u32 {
            key: "mshr.entries",
            kind: Kind::Count { min: 1, max: 65_536 },
            default: "256",
            meaning: "pages that can be on their way into the cache at once",
            source: "assumed: four for each die",
        }
        requests: u32 {
            key: "mshr.requests",
            kind: Kind::Count { min: 0, max: 65_536 },
            default: "0",
            meaning: "accesses that can wait for pages on their way at once; 0: no bound",
            source: "assumed: no bound but the MSHR entries",
        }
    }
}

choices! {
    /// When a written page is programmed.
    pub enum WritePolicy {
        Back = "back": "when it leaves the cache",
        Through = "through": "at each store",
    }
}

choices! {
    /// What a store does whose page is not cached.
    pub enum StoreMiss {
        Rmw = "rmw": "it waits until its page is read",
        Merge = "merge": "the page is read, but the line is kept and nobody waits",
        Around = "around": "the page is read, changed and programmed outside the cache",
        Whole = "whole": "it brings its whole page, which is programmed outside the cache and \
                          never read",
    }
}

/// The cache's checked values.
#[derive(Clone, Debug)]
pub struct CacheSettings {
    /// The parameters as they were given.
    pub given: CacheParams,
    /// Pages in the DRAM cache.
    pub pages: u32,
    /// Pages in each of its sets. Divides `pages`.
    pub ways: u32,
    /// The eviction policy; any, if a shared object decides in its place.
    pub(crate) eviction: &'static EvictionEntry,
    /// The shared object that decides in its place.
    pub plugin: Option<String>,
    /// Time of the DRAM, in a hit and in a miss: of an idle one, if it has banks.
    pub hit_latency: Ps,
    /// Pages of a set that can be pinned. Less than `ways`.
    pub pins_per_set: u32,
    /// Pages of a set that can be inactive. At most half of `ways`.
    pub inactive_per_set: u32,
    page_bytes: u64,
}

/// What decides whether the end of a program is known when it is asked for.
pub(super) struct StoreEnds {
    pub has_log: bool,
    pub reads_first: bool,
}

impl MshrParams {
    /// Accesses waiting for fills at once, if that is bounded.
    pub fn bound(&self) -> Option<u32> {
        Some(self.requests).filter(|bound| *bound > 0)
    }
}

deref_to_given!(CacheSettings, CacheParams);

impl CacheSettings {
    /// Refuses stores that wait for programs where none does, or where no end is known.
    pub(super) fn check_stores(
        &self,
        raw: &RawConfig,
        settings: StoreEnds,
    ) -> Result<(), ConfigError> {
        let around = matches!(self.store_miss, StoreMiss::Around | StoreMiss::Whole);
        let at_once = around || self.write == WritePolicy::Through;
        let (keys, message): (&[&'static str], _) = match settings {
            _ if !self.awaits_programs => return Ok(()),
            StoreEnds { has_log: true, .. } => (
                &["cache.store_done", "write_log.capacity"],
                "stores end in the write log: set cache.store_done to held, or have no log",
            ),
            StoreEnds {
                reads_first: true, ..
            } => (
                &["cache.store_done", "nand.priority"],
                "reads that go first put off the end of a program: set nand.priority to fifo",
            ),
            _ if !at_once => (
                &["cache.store_done", "cache.write", "cache.store_miss"],
                "no store is programmed at once: set cache.write to through, or cache.store_miss \
                 to around or whole",
            ),
            _ => return Ok(()),
        };
        Err(raw.impossible(keys, message))
    }

    /// Refuses evictions that wait for programs whose end is not known, and those at fills that a
    /// miss would wait for.
    pub(super) fn check_evictions(
        &self,
        raw: &RawConfig,
        reads_first: bool,
    ) -> Result<(), ConfigError> {
        if self.evicts_at_fill {
            self.check_fills(raw)?;
        }
        if self.evicts_behind || !reads_first {
            return Ok(());
        }
        let message = "reads that go first put off the end of a program: set nand.priority to \
                       fifo, or cache.dirty_eviction to behind";
        Err(raw.impossible(&["cache.dirty_eviction", "nand.priority"], message))
    }

    /// A miss is answered when it comes. Which page will leave for it, and whether it has been
    /// written by then, depends on the accesses in between.
    fn check_fills(&self, raw: &RawConfig) -> Result<(), ConfigError> {
        let (key, message) = match (self.evicts_behind, self.replacement) {
            (true, Ps::ZERO) => return Ok(()),
            (false, _) => (
                "cache.dirty_eviction",
                "a miss is answered before it is known whether a written page leaves for it: set \
                 cache.evict_at to miss, or cache.dirty_eviction to behind",
            ),
            (true, _) => (
                "cache.replacement",
                "a read begins before it is known whether a page leaves for it: set \
                 cache.evict_at to miss, or cache.replacement to 0ns",
            ),
        };
        Err(raw.impossible(&["cache.evict_at", key], message))
    }

    /// The eviction policy, unless it is a shared object.
    pub fn built_in(&self) -> Option<&'static EvictionEntry> {
        self.plugin.is_none().then_some(self.eviction)
    }

    /// Bytes of DRAM cache.
    pub fn capacity(&self) -> Bytes {
        Bytes(u64::from(self.pages) * self.page_bytes)
    }

    pub(super) fn new(
        raw: &RawConfig,
        device_pages: u32,
        page_bytes: u64,
        dram: Option<&DramLayout>,
    ) -> Result<CacheSettings, ConfigError> {
        let given = CacheParams::new(raw);
        let (pages, ways) = sizes(raw, &given, device_pages, page_bytes)?;
        let (eviction, plugin) = match &given.policy {
            OrPath::Choice(entry) => (*entry, None),
            OrPath::Path(path) => (&EVICTIONS[0], Some(path.clone())),
        };
        Ok(CacheSettings {
            pages,
            ways,
            eviction,
            plugin,
            hit_latency: dram.map_or(given.hit_latency, DramLayout::idle_read),
            inactive_per_set: given
                .inactive
                .map_or(0, |share| share.floor_of(u64::from(ways)) as u32),
            pins_per_set: given.pin_max.floor_of(u64::from(ways)) as u32,
            page_bytes,
            given,
        })
    }
}

/// The cache's pages and ways.
fn sizes(
    raw: &RawConfig,
    given: &CacheParams,
    device_pages: u32,
    page_bytes: u64,
) -> Result<(u32, u32), ConfigError> {
    let keys = ["cache.capacity", "cache.ways", "device.capacity"];
    let pages = match given.capacity {
        Amount::Share(share) => share.floor_of(u64::from(device_pages)),
        Amount::Absolute(size) => size.0 / page_bytes,
    };
    let ways = given.ways.unwrap_or(1);
    if pages > 0 && pages < ways {
        let message = format!(
            "the cache has {pages} pages of {}, too few for one set; give it a page for each way \
             at least",
            Bytes(page_bytes)
        );
        return Err(raw.impossible(&keys, message));
    }
    let pages = pages - pages % ways;
    if pages > u64::from(device_pages) {
        let message = "the cache is larger than the device; give it the same size at most";
        return Err(raw.impossible(&["cache.capacity", "device.capacity"], message));
    }
    if pages == 0 {
        let message = format!(
            "the cache has not one page of {}; give it a page for each way at least",
            Bytes(page_bytes)
        );
        return Err(raw.impossible(&keys, message));
    }
    let ways = given.ways.unwrap_or(pages);
    Ok((pages as u32, ways as u32))
}
