//! The one constructor that turns raw values into a configuration that can be.

use super::error::ConfigError;
use super::raw::RawConfig;
use super::value::Value;
use crate::cache::{EVICTIONS, EvictionEntry};
use crate::prefetch::{PREFETCHES, PrefetchEntry};
use sluice_units::{Bytes, PAGE_BYTES, Ps, Ratio};
use std::ops::Deref;

/// Spare blocks that a die has however small its share of over-provisioning is: one to write, one
/// to collect into, a few free. Without them a small device could not collect garbage.
const SPARE_BLOCKS_MIN: u64 = 8;

/// Free blocks that garbage collection keeps if its threshold is a share.
const GC_BLOCKS_MIN: u64 = 2;

/// Blocks that a die needs beyond its valid pages and the threshold: the open one of the host and
/// that of the collector.
const OPEN_BLOCKS: u64 = 2;

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
    /// A wait longer than this is announced as a long one.
    pub hint_threshold: Ps,
    /// Pages in the DRAM cache.
    pub cache_pages: u32,
    /// Pages in each of its sets. Divides `cache_pages`.
    pub cache_ways: u32,
    /// The eviction policy.
    pub eviction: &'static EvictionEntry,
    /// The share of S3-FIFO's small queue.
    pub s3fifo_small: Ratio,
    /// Time of a hit, also part of a miss.
    pub cache_hit_latency: Ps,
    /// The prefetcher.
    pub prefetch: &'static PrefetchEntry,
    /// Its degree.
    pub prefetch_degree: u32,
    /// Fills in flight at once.
    pub mshr_entries: u32,
    /// Time of a NAND page read.
    pub nand_read: Ps,
    /// Time of a NAND page program.
    pub nand_program: Ps,
    /// Time of a NAND block erase.
    pub nand_erase: Ps,
    /// Time of a page on its channel.
    pub nand_transfer: Ps,
    /// Channels.
    pub channels: u32,
    /// Dies on each channel.
    pub dies: u32,
    /// Pages in a block.
    pub pages_per_block: u32,
    /// Blocks on a die, over-provisioning included.
    pub blocks_per_die: u32,
    /// Free blocks of a die at or below which it collects garbage.
    pub gc_threshold_blocks: u32,
    /// Whether every page starts out written.
    pub preconditioned: bool,
}

impl Settings {
    /// Dies on all channels together.
    pub fn die_count(&self) -> u32 {
        self.channels * self.dies
    }

    /// Valid pages that a die can hold so that garbage collection always finds a stale one.
    pub fn valid_pages_per_die_max(&self) -> u32 {
        let reserved = self.gc_threshold_blocks + OPEN_BLOCKS as u32;
        (self.blocks_per_die - reserved) * self.pages_per_block
    }

    /// Bytes that the host can address.
    pub fn capacity(&self) -> Bytes {
        Bytes(u64::from(self.pages) * PAGE_BYTES)
    }

    /// Bytes of DRAM cache.
    pub fn cache_capacity(&self) -> Bytes {
        Bytes(u64::from(self.cache_pages) * PAGE_BYTES)
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
        let (cache_pages, cache_ways) = cache(raw, pages)?;
        let flash = flash(raw, pages)?;
        let degree = prefetch_degree(raw)?;
        let settings = Settings {
            pages,
            hint_threshold: time(raw, "device.hint_threshold"),
            cache_pages,
            cache_ways,
            eviction: named(raw, "cache.policy", EVICTIONS, |entry| entry.info.name),
            s3fifo_small: share(raw, "cache.s3fifo_small"),
            cache_hit_latency: time(raw, "cache.hit_latency"),
            prefetch: named(raw, "prefetch.policy", PREFETCHES, |entry| entry.info.name),
            prefetch_degree: degree,
            mshr_entries: count(raw, "mshr.entries") as u32,
            nand_read: time(raw, "nand.read"),
            nand_program: time(raw, "nand.program"),
            nand_erase: time(raw, "nand.erase"),
            nand_transfer: time(raw, "nand.transfer"),
            channels: count(raw, "nand.channels") as u32,
            dies: count(raw, "nand.dies") as u32,
            pages_per_block: count(raw, "nand.pages_per_block") as u32,
            blocks_per_die: flash.blocks_per_die,
            gc_threshold_blocks: flash.gc_threshold,
            preconditioned: choice(raw, "ftl.precondition") == "sequential",
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

/// The cache's pages and ways.
fn cache(raw: &RawConfig, device_pages: u32) -> Result<(u32, u32), ConfigError> {
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
        Value::Size(size) if size.is_whole_pages() => size.pages(),
        _ => {
            let message = format!("not a multiple of the page size, {PAGE_BYTES} bytes");
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

struct Flash {
    blocks_per_die: u32,
    gc_threshold: u32,
}

fn flash(raw: &RawConfig, device_pages: u32) -> Result<Flash, ConfigError> {
    let dies = count(raw, "nand.channels") * count(raw, "nand.dies");
    let pages_per_block = count(raw, "nand.pages_per_block");
    let home = u64::from(device_pages)
        .div_ceil(dies)
        .div_ceil(pages_per_block);
    let spare = share(raw, "ftl.overprovision")
        .ceil_of(home)
        .max(SPARE_BLOCKS_MIN);
    let gc_threshold = match raw.value("ftl.gc_threshold") {
        Value::Share(share) => share.ceil_of(home).max(GC_BLOCKS_MIN),
        Value::Count(blocks) => blocks,
        _ => unreachable!("ftl.gc_threshold is a count or a share"),
    };
    if gc_threshold + OPEN_BLOCKS > spare {
        let most = spare - OPEN_BLOCKS;
        let message = format!(
            "a die has {spare} spare blocks, of which garbage collection needs {OPEN_BLOCKS} to \
             write to: over-provision more, or set a threshold of at most {most} blocks"
        );
        return Err(impossible(
            raw,
            &["ftl.overprovision", "ftl.gc_threshold"],
            message,
        ));
    }
    let ppns = u128::from(dies) * u128::from(home + spare) * u128::from(pages_per_block);
    if ppns > u128::from(PPN_MAX) {
        let keys = [
            "device.capacity",
            "ftl.overprovision",
            "nand.channels",
            "nand.dies",
            "nand.pages_per_block",
        ];
        let message = format!("{ppns} physical pages; at most {PPN_MAX} are accepted");
        return Err(impossible(raw, &keys, message));
    }
    Ok(Flash {
        blocks_per_die: (home + spare) as u32,
        gc_threshold: gc_threshold as u32,
    })
}

fn prefetch_degree(raw: &RawConfig) -> Result<u32, ConfigError> {
    let degree = count(raw, "prefetch.degree");
    if degree == 0 && choice(raw, "prefetch.policy") != "none" {
        let message = "a prefetcher of degree 0 does nothing; give it a degree of 1 at least, \
                       or set prefetch.policy = none";
        let keys = ["prefetch.policy", "prefetch.degree"];
        return Err(impossible(raw, &keys, message.to_owned()));
    }
    Ok(degree as u32)
}

fn impossible(raw: &RawConfig, keys: &[&'static str], message: String) -> ConfigError {
    let settings = keys
        .iter()
        .map(|key| (*key, raw.value(key).to_string()))
        .collect();
    ConfigError::Impossible { settings, message }
}

fn time(raw: &RawConfig, key: &'static str) -> Ps {
    match raw.value(key) {
        Value::Time(time) => time,
        other => unreachable!("{key} is a time, not {other}"),
    }
}

fn count(raw: &RawConfig, key: &'static str) -> u64 {
    match raw.value(key) {
        Value::Count(count) => count,
        other => unreachable!("{key} is a count, not {other}"),
    }
}

fn share(raw: &RawConfig, key: &'static str) -> Ratio {
    match raw.value(key) {
        Value::Share(share) => share,
        other => unreachable!("{key} is a share, not {other}"),
    }
}

fn choice(raw: &RawConfig, key: &'static str) -> &'static str {
    match raw.value(key) {
        Value::Choice(name) => name,
        other => unreachable!("{key} is a choice, not {other}"),
    }
}

/// The registry's entry that a choice names.
fn named<T>(
    raw: &RawConfig,
    key: &'static str,
    registry: &'static [T],
    name: fn(&T) -> &'static str,
) -> &'static T {
    let wanted = choice(raw, key);
    let entry = registry.iter().find(|entry| name(entry) == wanted);
    entry.expect("a choice comes from its registry")
}
