//! The one constructor that turns raw values into a configuration that can be.

mod cache;
mod flash;
mod ftl;
mod memory;
mod nand;
mod prefetch;
mod take;
mod write_log;

pub use cache::{
    CacheSettings, LirsVariant, PolicySettings, StoreMiss, TwoQVariant, Variant, WTinyLfuVariant,
    WritePolicy,
};
pub use flash::NandSettings;
pub use ftl::{FtlSettings, Precondition, Wear};
pub use memory::{MemorySettings, RowSettings};
pub use nand::{NandTiming, ReadFirst, WearSettings};
pub use prefetch::{PrefetchSettings, ThrottleSettings};
pub use write_log::WriteLogSettings;

use super::error::ConfigError;
use super::raw::RawConfig;
use super::value::Value;
use crate::dram::DramLayout;
use crate::request::Op;
use sluice_units::{Bytes, Lpn, Ps};
use std::ops::{Deref, RangeInclusive};
use take::{choice, impossible, time};

/// Physical pages, less the two words of the map that mean something else.
const PPN_MAX: u64 = u32::MAX as u64 - 2;

/// A configuration that was checked. Read its values through [`Settings`].
#[derive(Clone, Debug)]
pub struct DeviceConfig {
    raw: RawConfig,
    settings: Settings,
}

/// The values of a checked configuration, derived ones included.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Logical pages: `device.capacity` in pages.
    pub pages: u32,
    /// The binary logarithm of a page's bytes.
    pub page_shift: u32,
    /// Time on the CXL link, there and back.
    pub protocol_latency: Ps,
    /// A wait longer than this is announced as a long one.
    pub hint_threshold: Ps,
    /// A memory expander's times. With them, all that follows but `dram` describes nothing.
    pub memory: Option<MemorySettings>,
    /// DRAM with banks and rows, of the cache or the expander; without it, times are fixed.
    pub dram: Option<DramLayout>,
    /// What is held against it.
    pub hint: HintRule,
    /// The DRAM cache.
    pub cache: CacheSettings,
    /// Prefetching.
    pub prefetch: PrefetchSettings,
    /// The write log, if there is one.
    pub write_log: Option<WriteLogSettings>,
    /// The flash array.
    pub nand: NandSettings,
    /// The translation layer.
    pub ftl: FtlSettings,
}

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
        self.protocol_latency + device
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
        RawConfig::default()
            .check()
            .expect("the defaults are possible together")
    }
}

impl DeviceConfig {
    /// Raw values, at their defaults, to be set and checked.
    pub fn builder() -> RawConfig {
        RawConfig::default()
    }

    /// The raw values that this was made from.
    pub fn raw(&self) -> &RawConfig {
        &self.raw
    }

    pub(super) fn new(raw: &RawConfig) -> Result<DeviceConfig, ConfigError> {
        let page_bytes = page_bytes(raw)?;
        let pages = pages(raw, page_bytes)?;
        let dram = memory::dram(raw)?;
        let memory = memory::memory(raw, dram.as_ref())?;
        let cache = match memory {
            // A cache of one page: it stays empty.
            Some(_) => CacheSettings::new(&raw.with_cache_of(page_bytes), pages, page_bytes)?,
            None => CacheSettings::new(raw, pages, page_bytes)?,
        };
        let flash_pages = ftl::Pages {
            count: pages,
            bytes: page_bytes,
        };
        let (nand, ftl) = flash::flash(raw, &flash_pages)?;
        let settings = Settings {
            pages,
            page_shift: page_bytes.ilog2(),
            protocol_latency: time(raw, "device.protocol_latency"),
            hint_threshold: time(raw, "device.hint_threshold"),
            hint: hint(raw),
            memory,
            dram,
            cache: cache.with_dram(dram.as_ref()),
            prefetch: PrefetchSettings::new(raw, u64::from(pages) * page_bytes)?,
            write_log: WriteLogSettings::new(raw, page_bytes)?,
            nand,
            ftl,
        };
        Ok(DeviceConfig {
            raw: raw.clone(),
            settings,
        })
    }
}

/// What is held against `device.hint_threshold`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintRule {
    /// How long the access waits.
    Exact,
    /// SkyByte's Algorithm 1: what the queue of the page's channel lets expect.
    Queue,
}

fn hint(raw: &RawConfig) -> HintRule {
    match choice(raw, "device.hint") {
        "exact" => HintRule::Exact,
        _ => HintRule::Queue,
    }
}

/// The sizes of page that a device can have.
const PAGE_BYTES_ALLOWED: RangeInclusive<u64> = 512..=65_536;

fn page_bytes(raw: &RawConfig) -> Result<u64, ConfigError> {
    let bytes = size(raw, "device.page");
    if !bytes.is_power_of_two() || !PAGE_BYTES_ALLOWED.contains(&bytes) {
        let message = "a page has a power of two of bytes, from 512B to 64KiB".to_owned();
        return Err(impossible(raw, &["device.page"], message));
    }
    Ok(bytes)
}

fn pages(raw: &RawConfig, page_bytes: u64) -> Result<u32, ConfigError> {
    let capacity = size(raw, "device.capacity");
    if !capacity.is_multiple_of(page_bytes) {
        let message = format!("not a multiple of the page size, {page_bytes} bytes");
        return Err(impossible(raw, &["device.capacity"], message));
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
            impossible(raw, &["device.capacity"], message)
        })
}

fn size(raw: &RawConfig, key: &'static str) -> u64 {
    match raw.value(key) {
        Value::Size(Bytes(bytes)) => bytes,
        other => unreachable!("{key} is a size, not {other}"),
    }
}
