//! Devices of many kinds, drawn by a number.

use super::PAGES;
use crate::cache::EVICTIONS;
use crate::config::DeviceConfig;
use crate::victim::GC_VICTIMS;
use sluice_params::RawConfig;

/// Values for the flash array's parameters.
const FLASH: &[(&str, &[&str])] = &[
    ("nand.read", &["40us", "0ns"]),
    ("nand.transfer", &["0ns", "3us"]),
    ("nand.channels", &["1", "2"]),
    ("nand.dies", &["1", "3"]),
    ("nand.pages_per_block", &["4", "16"]),
    ("nand.planes", &["1", "2"]),
    ("nand.multi_plane", &["off", "same_page", "any"]),
    ("nand.bad_blocks", &["none", "10%"]),
    ("nand.cell", &["slc", "tlc"]),
    ("nand.read_msb", &["same", "90us"]),
    ("nand.cache_read", &["on", "off"]),
    ("nand.priority", &["fifo", "read_first"]),
    ("nand.write_queue", &["2", "64"]),
    ("nand.suspend", &["none", "program", "erase", "both"]),
    ("nand.suspend_reads", &["1", "4"]),
    ("nand.endurance", &["none", "40"]),
    ("nand.endurance_spread", &["none", "20%"]),
    ("nand.retry_reads", &["none", "20"]),
];

/// What is refused in most of these combinations would leave few.
fn avoid_refusals(raw: &mut RawConfig) {
    for (key, value, other, without) in [
        ("nand.priority", "fifo", "nand.suspend", "none"),
        ("nand.cell", "slc", "nand.read_msb", "same"),
        (
            "nand.priority",
            "read_first",
            "cache.dirty_eviction",
            "behind",
        ),
        ("cache.evict_at", "fill", "cache.dirty_eviction", "behind"),
        ("nand.priority", "read_first", "cache.store_done", "held"),
        ("cache.write", "back", "cache.store_done", "held"),
    ] {
        if raw.get(key).as_deref() == Some(value) {
            raw.set(other, without).expect("a value of the parameter");
        }
    }
}

/// A value for each of some parameters, by a number, without or with a write log.
pub fn config(seed: u64, log: Option<&str>) -> Option<DeviceConfig> {
    let mut rng = sluice_units::Rng::stream(seed, "config");
    let policies: Vec<&str> = EVICTIONS.iter().map(|entry| entry.info.name).collect();
    let victims: Vec<&str> = GC_VICTIMS.iter().map(|entry| entry.info.name).collect();
    let choices: &[(&str, &[&str])] = &[
        ("device.page", &["4KiB", "512B", "64KiB"]),
        ("device.protocol_latency", &["0ns", "40ns"]),
        ("cache.policy", &policies),
        ("cache.slru_variant", &["paper", "libcachesim"]),
        ("cache.wtinylfu_variant", &["paper", "libcachesim"]),
        ("cache.ways", &["1", "2", "4", "8", "full"]),
        ("cache.index_latency", &["0ns", "49ns"]),
        ("cache.write", &["back", "through"]),
        ("cache.store_miss", &["rmw", "merge", "around"]),
        ("cache.dirty_eviction", &["behind", "wait"]),
        ("cache.evict_at", &["miss", "fill"]),
        ("cache.store_done", &["held", "programmed"]),
        ("cache.load_miss", &["fill", "around"]),
        ("cache.track_lines", &["no", "yes"]),
        ("cache.pin_max", &["50%", "90%", "1%"]),
        ("cache.inactive", &["none", "25%", "50%"]),
        ("mshr.entries", &["1", "3", "256"]),
        ("mshr.requests", &["0", "1", "5"]),
        ("dram.model", &["fixed", "ddr4-2400"]),
        ("prefetch.policy", &["none", "nextn"]),
        ("prefetch.degree", &["1", "3"]),
        ("ftl.gc_threshold", &["1", "3"]),
        ("ftl.precondition", &["sequential", "random", "none"]),
        ("ftl.mapping", &["page", "dftl"]),
        ("ftl.mapping_cache", &["64KiB"]),
        ("ftl.gc_policy", &victims),
        ("ftl.gc_background", &["off", "4"]),
        ("ftl.gc_step", &["all", "1", "3"]),
        ("ftl.superblock", &["1", "all"]),
        ("ftl.write_buffer", &["none", "1", "3"]),
        ("ftl.streams", &["1", "2"]),
        ("ftl.wear_levelling", &["none", "static"]),
    ];
    let mut raw = DeviceConfig::builder();
    for (key, values) in choices.iter().chain(FLASH) {
        let value = values[rng.below(values.len() as u64) as usize];
        raw.set(key, value).expect("a value of the parameter");
    }
    avoid_refusals(&mut raw);
    let page: u64 = match raw.get("device.page").as_deref() {
        Some("512B") => 512,
        Some("64KiB") => 65_536,
        _ => 4_096,
    };
    let cache_pages = [8, 16, 48][rng.below(3) as usize];
    let size = |pages: u64| format!("{}B", pages * page);
    raw.set("device.capacity", &size(u64::from(PAGES)))
        .expect("a size");
    raw.set("cache.capacity", &size(cache_pages))
        .expect("a size");
    if let Some(log) = log {
        raw.set("write_log.capacity", log).expect("a size");
        raw.set("cache.write", "back").expect("a value");
        raw.set("cache.store_done", "held").expect("a value");
    }
    DeviceConfig::new(&raw).ok()
}
