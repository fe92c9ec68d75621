//! The DRAM cache: sizes, policy, misses in flight.

use super::take::{choice, count, impossible, named, share, time};
use crate::cache::{EVICTIONS, EvictionEntry};
use crate::config::error::ConfigError;
use crate::config::raw::RawConfig;
use crate::config::value::Value;
use crate::dram::DramLayout;
use sluice_units::{Bytes, Ps, Ratio};

/// The cache's checked values.
#[derive(Clone, Debug)]
pub struct CacheSettings {
    /// Pages in the DRAM cache.
    pub pages: u32,
    /// Pages in each of its sets. Divides `pages`.
    pub ways: u32,
    /// The eviction policy.
    pub eviction: &'static EvictionEntry,
    /// The shared object that decides in its place.
    pub plugin: Option<String>,
    /// What policies take besides.
    pub policy: PolicySettings,
    /// Time to look a page up.
    pub index_latency: Ps,
    /// Time of the DRAM, in a hit and in a miss.
    pub hit_latency: Ps,
    /// When a written page is programmed.
    pub write: WritePolicy,
    /// Whether pages that were not written are programmed too when they leave.
    pub programs_clean: bool,
    /// What a store to a page that is not cached does.
    pub store_miss: StoreMiss,
    /// Whether a load of a page that is not cached leaves the cache as it is.
    pub loads_around: bool,
    /// Whether touched and written lines are counted.
    pub track_lines: bool,
    /// Pages of a set that can be pinned. Less than `ways`.
    pub pins_per_set: u32,
    /// Fills in flight at once.
    pub mshr_entries: u32,
    /// Accesses waiting for fills at once, if that is bounded.
    pub mshr_requests: Option<u32>,
    page_bytes: u64,
}

/// When a written page is programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePolicy {
    /// When it leaves the cache.
    Back,
    /// At each store. Pages in the cache are clean.
    Through,
}

/// What a store to a page that is not cached does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreMiss {
    /// Waits for the page, then changes it in the cache.
    Rmw,
    /// Leaves its line with the MSHR entry; the page is read without anyone waiting.
    Merge,
    /// Reads, changes and programs the page without a place in the cache.
    Around,
}

/// The parameters of single eviction policies.
#[derive(Clone, Copy, Debug)]
pub struct PolicySettings {
    /// The share of S3-FIFO's small queue.
    pub s3fifo_small: Ratio,
    /// S3-FIFO's ghost entries, as a share of the set.
    pub s3fifo_ghost: Ratio,
    /// Accesses in the small queue that earn a place in S3-FIFO's main queue.
    pub s3fifo_promote: u8,
    /// Whose S3-FIFO.
    pub s3fifo_variant: Variant,
    /// Bits of CLOCK's counters.
    pub clock_bits: u8,
    /// The share of 2Q's queue for newcomers.
    pub twoq_in: Ratio,
    /// Pages that 2Q remembers, as a share of the set.
    pub twoq_out: Ratio,
    /// Whose 2Q.
    pub twoq_variant: TwoQVariant,
    /// SLRU's segments.
    pub slru_segments: u32,
    /// Whose SLRU.
    pub slru_variant: Variant,
    /// The share of LFRU's privileged part.
    pub lfru_privileged: Ratio,
    /// What LIRS does at a hit in its queue.
    pub lirs_variant: LirsVariant,
    /// The share of pages that are not LIR.
    pub lirs_hir: Ratio,
    /// The longest LIRS's stack gets, of a set.
    pub lirs_stack: Ratio,
    /// What W-TinyLFU counts.
    pub wtinylfu_variant: WTinyLfuVariant,
    /// The share of W-TinyLFU's window.
    pub wtinylfu_window: Ratio,
    /// Accesses for each page after which W-TinyLFU halves its counts.
    pub wtinylfu_sample: u32,
}

/// Whose form of a policy, where libCacheSim differs from the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// That of the paper which proposed it.
    Paper,
    /// libCacheSim's.
    Libcachesim,
}

impl Variant {
    pub(crate) const NAMES: [&str; 2] = ["paper", "libcachesim"];

    fn new(raw: &RawConfig, key: &'static str) -> Variant {
        match choice(raw, key) {
            "paper" => Variant::Paper,
            _ => Variant::Libcachesim,
        }
    }
}

/// Whose 2Q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TwoQVariant {
    /// Johnson and Shasha's.
    Paper,
    /// libCacheSim's.
    Libcachesim,
    /// That of CXL-SSD-Sim's artifact.
    CxlSsdSim,
}

impl TwoQVariant {
    pub(crate) const NAMES: [&str; 3] = ["paper", "libcachesim", "cxl-ssd-sim"];
}

/// Whose LIRS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LirsVariant {
    /// Jiang and Zhang's.
    Paper,
    /// libCacheSim's.
    Libcachesim,
}

impl LirsVariant {
    pub(crate) const NAMES: [&str; 2] = ["paper", "libcachesim"];
}

/// Whose W-TinyLFU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WTinyLfuVariant {
    /// Einziger, Friedman and Manes's.
    Paper,
    /// libCacheSim's.
    Libcachesim,
}

impl WTinyLfuVariant {
    pub(crate) const NAMES: [&str; 2] = ["paper", "libcachesim"];
}

impl CacheSettings {
    /// Bytes of DRAM cache.
    pub fn capacity(&self) -> Bytes {
        Bytes(u64::from(self.pages) * self.page_bytes)
    }

    /// With DRAM that has banks, the latency is that of an idle one.
    pub(super) fn with_dram(mut self, dram: Option<&DramLayout>) -> CacheSettings {
        self.hit_latency = dram.map_or(self.hit_latency, DramLayout::idle_read);
        self
    }

    pub(super) fn new(
        raw: &RawConfig,
        device_pages: u32,
        page_bytes: u64,
    ) -> Result<CacheSettings, ConfigError> {
        let (eviction, plugin) = match raw.value("cache.policy") {
            // Never asked: something must stand there.
            Value::Path(path) => (&EVICTIONS[0], Some(path)),
            _ => (
                named(raw, "cache.policy", EVICTIONS, |entry| entry.info.name),
                None,
            ),
        };
        let (pages, ways) = sizes(raw, device_pages, page_bytes)?;
        Ok(CacheSettings {
            pages,
            ways,
            eviction,
            plugin,
            policy: PolicySettings {
                s3fifo_small: share(raw, "cache.s3fifo_small"),
                s3fifo_ghost: share(raw, "cache.s3fifo_ghost"),
                s3fifo_promote: count(raw, "cache.s3fifo_promote") as u8,
                s3fifo_variant: Variant::new(raw, "cache.s3fifo_variant"),
                clock_bits: count(raw, "cache.clock_bits") as u8,
                twoq_in: share(raw, "cache.twoq_in"),
                twoq_out: share(raw, "cache.twoq_out"),
                twoq_variant: match choice(raw, "cache.twoq_variant") {
                    "paper" => TwoQVariant::Paper,
                    "libcachesim" => TwoQVariant::Libcachesim,
                    _ => TwoQVariant::CxlSsdSim,
                },
                slru_segments: count(raw, "cache.slru_segments") as u32,
                slru_variant: Variant::new(raw, "cache.slru_variant"),
                lfru_privileged: share(raw, "cache.lfru_privileged"),
                lirs_variant: match choice(raw, "cache.lirs_variant") {
                    "paper" => LirsVariant::Paper,
                    _ => LirsVariant::Libcachesim,
                },
                lirs_hir: share(raw, "cache.lirs_hir"),
                lirs_stack: share(raw, "cache.lirs_stack"),
                wtinylfu_variant: match choice(raw, "cache.wtinylfu_variant") {
                    "paper" => WTinyLfuVariant::Paper,
                    _ => WTinyLfuVariant::Libcachesim,
                },
                wtinylfu_window: share(raw, "cache.wtinylfu_window"),
                wtinylfu_sample: count(raw, "cache.wtinylfu_sample") as u32,
            },
            index_latency: time(raw, "cache.index_latency"),
            hit_latency: time(raw, "cache.hit_latency"),
            write: match choice(raw, "cache.write") {
                "through" => WritePolicy::Through,
                _ => WritePolicy::Back,
            },
            programs_clean: choice(raw, "cache.write_back") == "all",
            loads_around: choice(raw, "cache.load_miss") == "around",
            store_miss: match choice(raw, "cache.store_miss") {
                "merge" => StoreMiss::Merge,
                "around" => StoreMiss::Around,
                _ => StoreMiss::Rmw,
            },
            track_lines: choice(raw, "cache.track_lines") == "yes",
            pins_per_set: share(raw, "cache.pin_max").floor_of(u64::from(ways)) as u32,
            mshr_entries: count(raw, "mshr.entries") as u32,
            mshr_requests: Some(count(raw, "mshr.requests") as u32).filter(|bound| *bound > 0),
            page_bytes,
        })
    }
}

/// The cache's pages and ways.
fn sizes(raw: &RawConfig, device_pages: u32, page_bytes: u64) -> Result<(u32, u32), ConfigError> {
    let ways = match raw.value("cache.ways") {
        Value::Count(ways) => Some(ways),
        _ => None,
    };
    let keys = ["cache.capacity", "cache.ways", "device.capacity"];
    let pages = match raw.value("cache.capacity") {
        Value::Share(share) => {
            let pages = share.floor_of(u64::from(device_pages));
            pages - pages % ways.unwrap_or(1)
        }
        Value::Size(size) if size.0.is_multiple_of(page_bytes) => size.0 / page_bytes,
        _ => {
            let message = format!("not a multiple of the page size, {page_bytes} bytes");
            return Err(impossible(raw, &["cache.capacity"], message));
        }
    };
    if pages > u64::from(device_pages) {
        let message = "the cache is larger than the device; give it the same size at most";
        return Err(impossible(
            raw,
            &["cache.capacity", "device.capacity"],
            message.to_owned(),
        ));
    }
    if pages == 0 {
        let message = "the cache has no page; give it one page for each way at least";
        return Err(impossible(raw, &keys, message.to_owned()));
    }
    let ways = ways.unwrap_or(pages);
    if !pages.is_multiple_of(ways) {
        let message = format!("{pages} pages are not a multiple of {ways} ways");
        return Err(impossible(raw, &["cache.capacity", "cache.ways"], message));
    }
    Ok((pages as u32, ways as u32))
}
