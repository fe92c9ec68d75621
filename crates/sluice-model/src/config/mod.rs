//! Configuration: what a device's parameters are, and the one constructor that checks their values.
//!
//! A table of parameters and the checks of its values are one file. Checked settings have the
//! values that were `given`, as typed fields, and beside them what follows from these. They
//! dereference to the given values.

mod allocation;
mod cache;
mod flash;
mod ftl;
mod memory;
mod nand;
mod prefetch;
mod simulated;
mod write_log;

use crate::contents::Contents;
pub(crate) use allocation::Part;
pub use allocation::{ALLOCATIONS, Allocation, Rule};
use cache::StoreEnds;
pub use cache::{CacheParams, CacheSettings, MshrParams, StoreMiss, WritePolicy};
pub use ftl::{FtlParams, FtlSettings, Mapping, Precondition, Wear};
pub use memory::{MemorySettings, RowSettings};
pub use nand::{
    Cell, MultiPlane, NandParams, NandSettings, Priority, ReadFirst, Suspend, WearSettings,
};
pub use prefetch::{MapRule, PrefetchParams, PrefetchSettings, ThrottleRule};
use std::sync::Arc;
pub use write_log::{Demoted, WriteLogParams, WriteLogSettings};
pub(crate) use write_log::{LINES_PER_BUFFER_MAX, LINES_PER_PAGE_MAX};

use crate::cache::{EVICTION_PARAMS, Space};
use crate::dram::DramLayout;
use crate::prefetch::{PREFETCH_PARAMS, ThrottleParams};
use crate::request::Op;
use sluice_params::{ConfigError, Kind, Param, RawConfig, choices, count, in_order};
use sluice_units::{Bytes, LINE_BYTES, Lpn, Ps, Rng};
use std::ops::{Deref, RangeInclusive};

sluice_params::params! {
    /// The device as a whole.
    pub struct DeviceParams {
        kind: DeviceKind {
            key: "device.kind",
            default: "cxl-ssd",
            meaning: "what the device is",
            source: "Cylon section 3: the CXL-SSD that it emulates",
        }
        capacity: Bytes {
            key: "device.capacity",
            default: "96GiB",
            meaning: "bytes that the host can address",
            source: "Cylon section 5.1.1: 96 GB",
        }
        page: Bytes {
            key: "device.page",
            default: "4KiB",
            meaning: "bytes of a page: of the cache, the mapping and a NAND read; 512B to 64KiB, a \
                      power of two",
            source: "Cylon section 2: 4 KB in the CMM-H, which it emulates",
        }
        persistent: bool {
            key: "device.persistent",
            kind: Kind::NO_YES,
            default: "no",
            meaning: "live, with --place dax: what the device holds is in its --store for the next \
                      run",
            source: "assumed: no; the CMM-H's case study, section 2, has a mode for yes",
        }
        program_energy: u64 {
            key: "device.program_energy",
            kind: Kind::Count { min: 1, max: 1_000_000_000 },
            default: "50000",
            meaning: "nanojoules for the program of a page when the power is gone: an energy \
                      divided by it is how many pages `sluice ctl PID powercut` can keep",
            source: "assumed: 25 mA at 3.3 V for 600 us",
        }
        protocol_latency: Ps {
            key: "device.protocol_latency",
            default: "0ns",
            meaning: "time that an access spends on the CXL link, there and back",
            source: "Cylon section 4.8: part of its 150 ns; SkyByte Table II has 40 ns",
        }
        link_bandwidth: Option<u64> {
            key: "device.link_bandwidth",
            kind: Kind::Or("none", &Kind::Bandwidth { max: 64_000_000 }),
            default: "none",
            meaning: "bandwidth of the CXL link, each way: a load's line occupies it back, \
                      a store's there, and others wait; none: no bound. A system has \
                      link.bandwidth besides",
            source: "assumed: no bound; a data sheet of PCIe 5.0 x4 has 16000",
        }
        hint: HintRule {
            key: "device.hint",
            default: "exact",
            meaning: "what is held against the threshold",
            source: "assumed: the best hint there can be; SkyByte's Algorithm 1 is queue",
        }
        hint_threshold: Ps {
            key: "device.hint_threshold",
            default: "2us",
            meaning: "a wait longer than this is announced to the host as a long one",
            source: "SkyByte section III-A: 2 us",
        }
    }
}

choices! {
    /// What a device is.
    pub enum DeviceKind {
        CxlSsd = "cxl-ssd": "DRAM cache in front of flash",
        Memory = "memory": "an expander with memory alone, which takes the tables device, memory \
                              and dram",
    }
}

choices! {
    /// What is held against `device.hint_threshold`.
    pub enum HintRule {
        Exact = "exact": "the wait as it will be",
        Queue = "queue": "for an access that waits for flash, the time of all operations queued on \
                         its page's channel and of its own read, and at once if collection \
                         has the die",
    }
}

/// The tables, in the order in which they are shown.
const TABLES: &[&[Param]] = &[
    DeviceParams::PARAMS,
    memory::MemoryParams::PARAMS,
    memory::DramParams::PARAMS,
    CacheParams::PARAMS,
    EVICTION_PARAMS,
    MshrParams::PARAMS,
    PrefetchParams::PARAMS,
    PREFETCH_PARAMS,
    ThrottleParams::PARAMS,
    WriteLogParams::PARAMS,
    NandParams::PARAMS,
    ReadFirst::PARAMS,
    WearSettings::PARAMS,
    FtlParams::PARAMS,
];

/// Every parameter of a device, grouped by table, in a fixed order. The defaults are those of
/// `cylon`.
pub static PARAMS: &[Param] = &{
    const ALL: [Param; count(TABLES)] = in_order(TABLES);
    ALL
};

/// Physical pages, less the two words of the map that mean something else.
const PPN_MAX: u64 = u32::MAX as u64 - 2;

/// Makes checked settings dereference to what was given.
macro_rules! deref_to_given {
    ($settings:ty, $params:ty) => {
        impl std::ops::Deref for $settings {
            type Target = $params;

            fn deref(&self) -> &$params {
                &self.given
            }
        }
    };
}

use deref_to_given;

/// A configuration that was checked. Read its values through [`Settings`].
#[derive(Clone, Debug)]
pub struct DeviceConfig {
    raw: RawConfig,
    settings: Settings,
}

/// The values of a checked configuration, derived ones included.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The device as a whole, as it was given.
    pub given: DeviceParams,
    /// Logical pages: `device.capacity` in pages.
    pub pages: u32,
    /// The binary logarithm of a page's bytes.
    pub page_shift: u32,
    /// A memory expander's times. With them, all that follows but `dram` describes nothing.
    pub memory: Option<MemorySettings>,
    /// DRAM with banks and rows, of the cache or the expander; without it, times are fixed.
    pub dram: Option<DramLayout>,
    /// The DRAM cache.
    pub cache: CacheSettings,
    /// Misses in flight.
    pub mshr: MshrParams,
    /// Prefetching.
    pub prefetch: PrefetchSettings,
    /// The write log, if there is one.
    pub write_log: Option<WriteLogSettings>,
    /// The flash array.
    pub nand: NandSettings,
    /// The translation layer.
    pub ftl: FtlSettings,
}

deref_to_given!(Settings, DeviceParams);

impl Settings {
    /// Bytes that the host can address.
    pub fn capacity(&self) -> Bytes {
        Bytes(u64::from(self.pages) << self.page_shift)
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        1 << self.page_shift
    }

    /// The page that holds the byte at `addr`.
    pub fn lpn_of(&self, addr: u64) -> Lpn {
        Lpn::of(addr >> self.page_shift)
    }

    /// How long a hit takes, or an access to a memory expander, when nothing else goes on.
    pub fn hit_time(&self, op: Op) -> Ps {
        let device = match (&self.memory, op) {
            (Some(memory), Op::Read) => memory.read,
            (Some(memory), Op::Write) => memory.write,
            (None, _) => self.cache.index_latency + self.cache.hit_latency,
        };
        self.protocol_latency + self.line_time().unwrap_or_default() + device
    }

    /// How long a line occupies the link, if that is bounded.
    pub fn line_time(&self) -> Option<Ps> {
        let line_ps = |mb_per_s: u64| (LINE_BYTES * 1_000_000).div_ceil(mb_per_s);
        self.link_bandwidth.map(|bandwidth| Ps(line_ps(bandwidth)))
    }
}

impl Deref for DeviceConfig {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.settings
    }
}

impl Default for DeviceConfig {
    /// The `cylon` preset.
    fn default() -> DeviceConfig {
        let defaults = DeviceConfig::builder();
        DeviceConfig::new(&defaults).expect("the defaults are possible together")
    }
}

impl DeviceConfig {
    /// Raw values, at their defaults, to be set and checked.
    pub fn builder() -> RawConfig {
        RawConfig::of(PARAMS).shown_by("sluice device show")
    }

    /// The slots and parameters that the device gives its eviction policy.
    pub fn space(&self, seed: u64) -> Space {
        Space {
            sets: self.cache.pages / self.cache.ways,
            ways: self.cache.ways,
            pages: self.pages,
            index: self.cache.index,
            given: self.raw.clone(),
            rng: Rng::stream(seed, "cache.eviction"),
        }
    }

    /// The device with so many more buffers of its write log, of the size that they have.
    pub fn with_more_buffers(mut self, more: u32) -> DeviceConfig {
        if let Some(log) = &mut self.settings.write_log {
            log.buffers += more;
        }
        self
    }

    /// The device with a random precondition that was made before, for the same seed.
    pub fn with_contents(mut self, contents: Arc<dyn Contents>) -> DeviceConfig {
        self.settings.ftl.contents = Some(contents);
        self
    }

    /// Whether making it takes long: it is overwritten at random beforehand.
    pub fn has_contents_to_make(&self) -> bool {
        self.memory.is_none() && self.ftl.precondition == Precondition::Random
    }

    /// The raw values that this was made from.
    pub fn raw(&self) -> &RawConfig {
        &self.raw
    }

    /// Checks a device's values against each other. Nothing else validates.
    ///
    /// # Errors
    /// [`ConfigError::Impossible`].
    pub fn new(raw: &RawConfig) -> Result<DeviceConfig, ConfigError> {
        let given = DeviceParams::new(raw);
        simulated::check_energy(raw, given.persistent)?;
        let page_bytes = page_bytes(raw, given.page)?;
        let pages = pages(raw, given.capacity, page_bytes)?;
        let dram = memory::dram(raw)?;
        let memory = memory::memory(raw, given.kind, dram.as_ref())?;
        let cache = match memory {
            // A cache of one page: it stays empty.
            Some(_) => {
                let mut raw = raw.clone();
                raw.set("cache.capacity", &Bytes(page_bytes).to_string())?;
                CacheSettings::new(&raw, pages, page_bytes, dram.as_ref())?
            }
            None => CacheSettings::new(raw, pages, page_bytes, dram.as_ref())?,
        };
        let flash_pages = ftl::Pages {
            count: pages,
            bytes: page_bytes,
        };
        let (nand, ftl) = flash::flash(raw, &flash_pages)?;
        let settings = Settings {
            pages,
            page_shift: page_bytes.ilog2(),
            memory,
            dram,
            mshr: MshrParams::new(raw),
            prefetch: PrefetchSettings::new(raw, u64::from(pages) * page_bytes)?,
            write_log: WriteLogSettings::new(raw, page_bytes, cache.write)?,
            cache,
            nand,
            ftl,
            given,
        };
        let ends = StoreEnds {
            has_log: settings.write_log.is_some(),
            reads_first: settings.nand.read_first.is_some(),
        };
        settings.cache.check_evictions(raw, ends.reads_first)?;
        settings.cache.check_stores(raw, ends)?;
        Ok(DeviceConfig {
            raw: raw.clone(),
            settings,
        })
    }
}

/// The sizes of page that a device can have.
const PAGE_BYTES_ALLOWED: RangeInclusive<u64> = 512..=65_536;

fn page_bytes(raw: &RawConfig, Bytes(bytes): Bytes) -> Result<u64, ConfigError> {
    if !bytes.is_power_of_two() || !PAGE_BYTES_ALLOWED.contains(&bytes) {
        let message = "a page has a power of two of bytes, from 512B to 64KiB";
        return Err(raw.impossible(&["device.page"], message));
    }
    Ok(bytes)
}

fn pages(raw: &RawConfig, Bytes(capacity): Bytes, page_bytes: u64) -> Result<u32, ConfigError> {
    if capacity < page_bytes {
        let message = format!("less than a page, {page_bytes} bytes");
        return Err(raw.impossible(&["device.capacity"], message));
    }
    u32::try_from(capacity / page_bytes)
        .ok()
        .filter(|pages| u64::from(*pages) < PPN_MAX)
        .ok_or_else(|| {
            let gib = (PPN_MAX * page_bytes) >> 30;
            let most = match gib >> 10 {
                0 => format!("{gib}GiB"),
                tib => format!("{tib}TiB"),
            };
            let message = format!("more than {PPN_MAX} pages; at most {most} is accepted");
            raw.impossible(&["device.capacity"], message)
        })
}
