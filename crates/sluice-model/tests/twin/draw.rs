//! Devices that are drawn from the declared ranges of their parameters.

use sluice_model::{DeviceConfig, Kind, PARAMS, Param, RawConfig};
use sluice_units::{Bytes, Ps, Rng};

/// Pages of every device.
pub const PAGES: u32 = 192;

/// What the plain device does not have, and what a simulation has no use for.
const NOT_DRAWN: &[&str] = &[
    "device.kind",
    "device.capacity",
    "device.persistent",
    "device.program_energy",
    "memory.",
    "cache.evict_at",
    "cache.inactive",
    "prefetch.throttle",
    "nand.program_failure",
];

/// Fewer values than their kinds have, so that small devices are possible and the plain device
/// knows what they do.
const OWN_VALUES: &[(&str, &[&str])] = &[
    ("cache.policy", &["fifo", "lru", "clock"]),
    ("cache.ways", &["1", "2", "4", "8", "full"]),
    ("prefetch.policy", &["nextn", "nextn", "none"]),
    ("prefetch.degree", &["1", "2", "5", "16"]),
    ("mshr.entries", &["1", "2", "4", "1000"]),
    ("write_log.capacity", &["512B", "2KiB", "16KiB", "none"]),
    ("nand.channels", &["1", "2", "3"]),
    ("nand.chips", &["1", "2"]),
    ("nand.dies", &["1", "2", "3"]),
    ("nand.planes", &["1", "2", "4"]),
    ("nand.endurance", &["1000000"]),
    ("nand.pages_per_block", &["4", "8", "16", "33"]),
    ("ftl.write_buffer", &["1", "2", "none"]),
    ("ftl.mapping_cache", &["64KiB", "128KiB"]),
    ("ftl.overprovision", &["7%", "50%", "200%", "1000%"]),
];

/// Values of a kind: the ends of its range, and others around the value that it has.
fn values(param: &Param) -> Vec<String> {
    if let Some((_, own)) = OWN_VALUES.iter().find(|(key, _)| *key == param.key) {
        return own.iter().map(|value| (*value).to_owned()).collect();
    }
    of_kind(&param.kind, param.default)
}

fn of_kind(kind: &Kind, now: &str) -> Vec<String> {
    let number = |text: &str| text.parse::<u64>().unwrap_or(4);
    match kind {
        // Never none: pages on their way are there later than they were asked for.
        Kind::Time { .. } => {
            let now = now.parse().unwrap_or(Ps::from_ns(100));
            let times = [Ps(1), Ps::from_ns(7), Ps(now.0 / 2 + 1), now * 2];
            times.iter().map(Ps::to_string).collect()
        }
        Kind::Size | Kind::SizeOrShare => {
            let now = now.parse().unwrap_or(Bytes(1 << 12));
            let sizes = [Bytes(64), Bytes(now.0 / 2 + 1), Bytes(now.0 * 2)];
            sizes.iter().map(Bytes::to_string).collect()
        }
        Kind::Count { min, max } | Kind::Or(_, Kind::Count { min, max }) => {
            let now = number(now);
            let counts = [*min, min + 1, 3, now / 2, now * 2, *max];
            counts.iter().map(u64::to_string).collect()
        }
        Kind::Bandwidth { max } | Kind::Or(_, Kind::Bandwidth { max }) => {
            [1_000, 20_000, *max].iter().map(u64::to_string).collect()
        }
        Kind::BlocksOrShare => ["1", "2", "3", "10%"].map(str::to_owned).to_vec(),
        Kind::Share { max_percent } => {
            let shares = [1, max_percent / 3, max_percent / 2, *max_percent];
            let shares = shares.iter().map(|share| format!("{}%", share.max(&1)));
            shares.collect()
        }
        Kind::Order(names) => vec![names.iter().rev().copied().collect()],
        Kind::Or(_, kind) if kind.choices().is_empty() => of_kind(kind, now),
        _ => kind.choices().into_iter().map(str::to_owned).collect(),
    }
}

/// A device by a number: parameters get other values one after another, in a random order, each as
/// far as the device is possible with it.
pub fn drawn(seed: u64) -> DeviceConfig {
    let mut rng = Rng::stream(seed, "devices");
    let mut raw = DeviceConfig::builder();
    let page = ["512B", "4KiB", "16KiB"][rng.below(3) as usize];
    let bytes = page.parse::<Bytes>().expect("a size").0;
    let cache = [8, 12, 32, 50][rng.below(4) as usize];
    for (key, value) in [
        ("device.page", page.to_owned()),
        (
            "device.capacity",
            Bytes(bytes * u64::from(PAGES)).to_string(),
        ),
        ("cache.capacity", Bytes(bytes * cache).to_string()),
    ] {
        raw.set(key, &value).expect("a value");
    }
    let sizes = ["device.page", "cache.capacity"];
    let mut params: Vec<&Param> = PARAMS.iter().filter(|param| is_drawn(param)).collect();
    params.retain(|param| !sizes.contains(&param.key));
    for left in (1..params.len()).rev() {
        params.swap(left, rng.below(left as u64 + 1) as usize);
    }
    for param in params {
        let values = values(param);
        let value = &values[rng.below(values.len() as u64) as usize];
        let mut tried = raw.clone();
        if tried.set(param.key, value).is_ok() && is_small(&tried) {
            raw = tried;
        }
    }
    DeviceConfig::new(&raw).expect("it was possible with each value")
}

/// Whether the device is possible, and takes little time and memory.
fn is_small(raw: &RawConfig) -> bool {
    DeviceConfig::new(raw).is_ok_and(|config| config.pages == PAGES)
}

/// Parameters that have another value than their own in fewer than `least` of so many devices.
pub fn rarely_drawn(devices: u64, least: usize) -> Vec<(&'static str, usize)> {
    let all: Vec<DeviceConfig> = (0..devices).map(drawn).collect();
    let others = PARAMS.iter().filter(|param| is_drawn(param)).map(|param| {
        let is_other = |config: &&DeviceConfig| !config.raw().is_default(param);
        (param.key, all.iter().filter(is_other).count())
    });
    others.filter(|(_, count)| *count < least).collect()
}

fn is_drawn(param: &Param) -> bool {
    !NOT_DRAWN.iter().any(|key| param.key.starts_with(key))
}
