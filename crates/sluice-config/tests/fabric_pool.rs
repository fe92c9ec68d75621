//! CXL-SSDs with write logs behind a two-level fabric, shared by eight coherent hosts.

use sluice_config::describe_fabric;
use sluice_model::DeviceConfig;
use sluice_net::{Fabric, FabricConfig, Length, Part};

fn pool(set: &[(&str, &str)], warmup: u64, requests: u64) -> Fabric {
    let mut spec = describe_fabric("skybyte-pool-64th").unwrap().given;
    for (key, value) in set {
        spec.set(key, value)
            .unwrap_or_else(|error| panic!("{error}"));
    }
    let mut config = FabricConfig::new(&spec, 1).unwrap_or_else(|error| panic!("{error}"));
    config.is_checked = true;
    let mut fabric = Fabric::new(&config).unwrap();
    let length = Length { warmup, requests };
    fabric
        .run(length, &mut |_| true)
        .unwrap_or_else(|error| panic!("{error}"));
    fabric.balance().unwrap_or_else(|error| panic!("{error}"));
    fabric
}

/// Every access is checked by the monitor, every request comes back, and time has its reasons.
#[test]
fn eight_hosts_share_four_ssds_and_nothing_is_lost() {
    // Long enough for the devices' caches to be full.
    let fabric = pool(&[], 300_000, 100_000);
    let stats = fabric.stats();
    assert_eq!(stats.completed(), 100_000);
    assert!(fabric.in_flight() <= 8 * 16);
    let hosts = fabric.requester_stats().filter(|host| host.completed > 0);
    assert_eq!(hosts.count(), 8);
    let coherence = fabric.coherence_stats().unwrap();
    assert!(coherence.agents.conflict_snoops > 0 && coherence.agents.eviction_snoops > 0);
    let parts = stats.parts();
    for part in [Part::Switch, Part::Snoop, Part::Memory] {
        assert!(parts[part] > 0, "{}", part.name());
    }
    let bottleneck = fabric.bottleneck();
    println!("{bottleneck:?} of {:?}", stats.time());
    assert!(["cache", "channel", "die"].contains(&bottleneck.kind));
}

/// What bounds it moves when that is widened.
#[test]
fn the_bottleneck_is_what_is_scarce() {
    let kind = |set: &[(&str, &str)]| pool(set, 20_000, 40_000).bottleneck().kind;
    // All of the footprint in caches of devices, a trickle of a link.
    let small = [("requester.footprint", "2MiB"), ("link.bandwidth", "200")];
    assert!(["link", "switch"].contains(&kind(&small)));
    let few = [
        ("requester.footprint", "2MiB"),
        ("coherence.entries", "16"),
        ("coherence.trackers", "4"),
    ];
    assert_eq!(kind(&few), "snoop filter");
}

type Settings = &'static [(&'static str, &'static str)];

/// What there is little of, in the fabric and in its devices.
const SCARCE: [(&str, Settings, Settings); 6] = [
    (
        "link",
        &[("ssd.link.bandwidth", "200"), ("requester.reads", "100%")],
        &[],
    ),
    (
        "switch",
        &[("ssd.link.bandwidth", "200"), ("requester.reads", "none")],
        &[],
    ),
    (
        "snoop filter",
        &[
            ("coherence.filter", "endpoint"),
            ("requester.cache_lines", "4096"),
            ("coherence.entries", "16"),
            ("coherence.trackers", "4"),
        ],
        &[],
    ),
    (
        "cache",
        &[("requester.footprint", "64MiB")],
        &[("mshr.entries", "1")],
    ),
    (
        "channel",
        &[
            ("requester.footprint", "64MiB"),
            ("requester.reads", "100%"),
        ],
        &[
            ("nand.chips", "8"),
            ("nand.transfer", "20us"),
            ("nand.read", "1us"),
        ],
    ),
    (
        "die",
        &[
            ("requester.footprint", "64MiB"),
            ("requester.reads", "100%"),
        ],
        &[("nand.read", "100us")],
    ),
];

/// Each of six resources in turn is the one that bounds the run.
#[test]
fn every_kind_of_bottleneck_is_named() {
    let small = [
        ("requester.footprint", "2MiB"),
        ("coherence.filter", "none"),
        ("requester.cache_lines", "none"),
    ];
    // Flash that does few things at once, behind a cache that waits for many.
    let flash = [
        ("mshr.entries", "1024"),
        ("nand.channels", "1"),
        ("cache.capacity", "1MiB"),
    ];
    for (kind, set, changed) in SCARCE {
        let mut spec = describe_fabric("skybyte-pool-64th").unwrap().given;
        for (key, value) in small.iter().chain(set) {
            spec.set(key, value).unwrap();
        }
        let mut device = sluice_config::load("skybyte-64th").unwrap();
        let flash = flash.iter().filter(|_| !changed.is_empty());
        for (key, value) in flash.chain(changed) {
            device.set(key, value).unwrap();
        }
        let group = spec.endpoints[0].device.as_mut().unwrap();
        group.config = DeviceConfig::new(&device).unwrap();
        let mut fabric = Fabric::new(&FabricConfig::new(&spec, 1).unwrap()).unwrap();
        let length = Length {
            warmup: 5_000,
            requests: 10_000,
        };
        fabric.run(length, &mut |_| true).unwrap();
        fabric.balance().unwrap();
        let found = fabric.bottleneck();
        assert_eq!(found.kind, kind, "{found:?} of {:?}", fabric.stats().time());
    }
}
