//! CXL-SSDs with write logs behind a two-level fabric, shared by eight coherent hosts.

use sluice_config::describe_fabric;
use sluice_fabric::net::{Fabric, FabricConfig, Length, Part};

fn pool(set: &[(&str, &str)], warmup: u64, requests: u64) -> Fabric {
    let mut spec = describe_fabric("skybyte-pool").unwrap().spec;
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
        assert!(parts[part].0 > 0, "{}", part.name());
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
