//! The one constructor that turns raw values into a configuration that can be.

mod cache;
mod flash;
mod prefetch;
mod take;

pub use cache::{CacheSettings, PolicySettings};
pub use flash::{FtlSettings, NandSettings};
pub use prefetch::PrefetchSettings;

use super::error::ConfigError;
use super::raw::RawConfig;
use super::value::Value;
use sluice_units::{Bytes, PAGE_BYTES, Ps};
use std::ops::Deref;
use take::{impossible, time};

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
    /// Time on the CXL link, there and back.
    pub protocol_latency: Ps,
    /// A wait longer than this is announced as a long one.
    pub hint_threshold: Ps,
    /// The DRAM cache.
    pub cache: CacheSettings,
    /// Prefetching.
    pub prefetch: PrefetchSettings,
    /// The flash array.
    pub nand: NandSettings,
    /// The translation layer.
    pub ftl: FtlSettings,
}

impl Settings {
    /// Bytes that the host can address.
    pub fn capacity(&self) -> Bytes {
        Bytes(u64::from(self.pages) * PAGE_BYTES)
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
        let pages = pages(raw)?;
        let cache = CacheSettings::new(raw, pages)?;
        let (nand, ftl) = flash::flash(raw, pages)?;
        let settings = Settings {
            pages,
            protocol_latency: time(raw, "device.protocol_latency"),
            hint_threshold: time(raw, "device.hint_threshold"),
            cache,
            prefetch: PrefetchSettings::new(raw)?,
            nand,
            ftl,
        };
        Ok(DeviceConfig {
            raw: raw.clone(),
            settings,
        })
    }
}

fn pages(raw: &RawConfig) -> Result<u32, ConfigError> {
    let Value::Size(capacity) = raw.value("device.capacity") else {
        unreachable!("device.capacity is a size")
    };
    if !capacity.is_whole_pages() {
        let message = format!("not a multiple of the page size, {PAGE_BYTES} bytes");
        return Err(impossible(raw, &["device.capacity"], message));
    }
    u32::try_from(capacity.pages())
        .ok()
        .filter(|pages| u64::from(*pages) < PPN_MAX)
        .ok_or_else(|| {
            let message = format!("more than {PPN_MAX} pages; at most 15TiB is accepted");
            impossible(raw, &["device.capacity"], message)
        })
}
