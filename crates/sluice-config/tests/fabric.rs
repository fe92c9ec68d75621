//! Are fabrics read as they are written, and mistakes found with their place?

use sluice_config::{describe_fabric, fabrics, load_system, parse_fabric};
use sluice_model::DeviceConfig;
use sluice_net::{FabricConfig, FabricSpec};

#[test]
fn every_fabric_that_comes_along_can_be() {
    for preset in fabrics() {
        let spec = describe_fabric(preset.name).unwrap().given;
        FabricConfig::new(&spec, 1).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
    }
}

#[test]
fn every_stated_value_has_a_source() {
    for preset in fabrics() {
        let described = describe_fabric(preset.name).unwrap();
        for (key, _) in described.given.raw.to_pairs() {
            let source = described.source_of(key);
            assert!(
                !source.starts_with("no source"),
                "{} of {}",
                key,
                preset.name
            );
        }
    }
}

const LIST: &str = r#"
topology = { kind = "list" }
[[requesters]]
name = "host"
count = 2
depth = 3
[[endpoints]]
name = "ssd"
count = 1
device = "cylon"
cache = { capacity = "64MiB" }
device_is_not_a_key = 1
"#;

fn with(from: &str, to: &str) -> String {
    let good = LIST.replace("device_is_not_a_key = 1\n", "logical_devices = 2\n");
    let rest = r#"
[[switches]]
name = "sw"
[[links]]
ends = ["host0", "sw:7"]
bandwidth = 16000
[[links]]
ends = ["host1", "sw"]
[[links]]
ends = ["ssd", "sw"]
[[ranges]]
name = "low"
base = 0
size = "1GiB"
targets = ["ssd.0"]
[[routes]]
at = "sw"
to = "ssd"
via = ["ssd"]
"#;
    format!("{good}{rest}").replace(from, to)
}

#[test]
fn a_list_is_what_it_says() {
    let spec = parse_fabric(&with("", ""), "list.toml").unwrap();
    let config = FabricConfig::new(&spec, 1).unwrap();
    assert_eq!(config.graph.names, ["host0", "host1", "ssd", "sw"]);
    assert_eq!(config.requesters[1].depth, 3);
    assert_eq!(config.graph.links[0].ports, [None, Some(7)]);
    assert_eq!(config.graph.links[1].ports, [None, Some(0)]);
    let bandwidths = config
        .graph
        .links
        .iter()
        .map(|link| link.settings.bandwidth);
    assert_eq!(
        bandwidths.collect::<Vec<_>>(),
        [Some(16_000), Some(64_000), Some(64_000)]
    );
    assert_eq!(config.reach(sluice_net::RequesterId(0)), 1 << 30);
    assert_eq!(config.endpoints[0].logical_devices, 2);
}

#[test]
fn mistakes_have_their_place() {
    let said = |text: &str| parse_fabric(text, "list.toml").unwrap_err().to_string();
    let message = said(LIST);
    assert!(
        message.starts_with(
            "list.toml:12:23: endpoint group `ssd`: unknown key `endpoint.device_is_not"
        ),
        "{message}"
    );
    let message = said(&with("depth = 3", "depth = 0"));
    assert_eq!(
        message,
        "list.toml:6:9: requester group `host`: bad value for `requester.depth`: \"0\"; expected a \
         whole number from 1 to 65536"
    );
    let message = said(&with("device = \"cylon\"", "device = \"cylin\""));
    assert!(
        message.starts_with("list.toml:10:10: unknown device `cylin` (did you mean cylon?): give"),
        "{message}"
    );
    let message = said(&with("[\"host0\", \"sw:7\"]", "[\"host0\"]"));
    assert!(message.ends_with("expected two names, such as ends = [\"host0\", \"sw0:3\"]"));
    let message = said(&with("at = \"sw\"\n", ""));
    assert!(
        message.ends_with("`at`: expected it to be there"),
        "{message}"
    );
    let message = said(&with("size = \"1GiB\"", "size = \"much\""));
    assert!(message.contains("`much`: expected a size"), "{message}");
    let message = describe_fabric("esff").unwrap_err().to_string();
    assert!(message.starts_with(
        "unknown fabric `esff` (did you mean esf?): give a path ending in .toml, or one of esf"
    ));
}

#[test]
fn a_file_starts_from_its_base() {
    let text = "base = \"esf-neighbours\"\n[routing]\npolicy = \"adaptive\"\n";
    let spec = parse_fabric(text, "mine.toml").unwrap();
    assert_eq!(spec.raw.get("routing.policy").as_deref(), Some("adaptive"));
    assert_eq!(spec.requesters.len(), 2);
}

#[test]
fn settings_reach_groups_by_their_names() {
    let mut spec = describe_fabric("esf-neighbours").unwrap().given;
    spec.set("neighbour.depth", "9").unwrap();
    spec.set("link.latency", "3ns").unwrap();
    let config = FabricConfig::new(&spec, 1).unwrap();
    assert_eq!(
        (config.requesters[0].depth, config.requesters[8].depth),
        (64, 9)
    );
    assert!(spec.set("neighbour.deep", "9").is_err() && spec.set("stranger.depth", "9").is_err());
}

/// `--set ssd.cache.capacity=..` answered that there is no key `endpoint.cache.capacity`.
#[test]
fn settings_reach_the_devices_of_groups() {
    let text = "[[endpoints]]\nname = \"ssd\"\ncount = 1\ndevice = \"cylon\"\n";
    let mut spec = parse_fabric(text, "mine.toml").unwrap();
    spec.set("ssd.cache.capacity", "16M").unwrap();
    let device = &spec.endpoints[0].device.as_ref().unwrap().config;
    assert_eq!(device.cache.pages, 4096);
    for (key, value, said) in [
        (
            "ssd.cache.capacty",
            "16M",
            "unknown key `ssd.cache.capacty`: did you mean",
        ),
        ("ssd.depht", "1", "unknown key `ssd.depht`"),
        (
            "ssd.cache.capacity",
            "much",
            "bad value for `cache.capacity`: \"much\"",
        ),
        ("ssd.cache.capacity", "1TiB", "larger than the device"),
    ] {
        let error = spec.set(key, value).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let device = &spec.endpoints[0].device.as_ref().unwrap().config;
    assert_eq!(device.cache.pages, 4096, "what is refused changes nothing");
}

/// `capacity` beside `device` was ignored: a preset's devices were 64 times as large as it says.
#[test]
fn the_capacity_beside_a_device_is_the_devices() {
    let capacities = |spec: &FabricSpec| {
        let config = FabricConfig::new(spec, 1).unwrap_or_else(|error| panic!("{error}"));
        let endpoints = config.endpoints.iter().map(|endpoint| endpoint.capacity);
        endpoints.collect::<Vec<_>>()
    };
    let text =
        "[[endpoints]]\nname = \"ssd\"\ncount = 1\ndevice = \"cylon\"\ncapacity = \"2GiB\"\n";
    let mut spec = parse_fabric(text, "mine.toml").unwrap();
    assert_eq!(capacities(&spec), [2 << 30]);
    spec.set("ssd.capacity", "4GiB").unwrap();
    assert_eq!(capacities(&spec), [4 << 30]);
    let said = spec.set("ssd.capacity", "much").unwrap_err().to_string();
    assert!(said.contains("\"much\""), "{said}");
    let said = parse_fabric(&text.replace("2GiB", "much"), "mine.toml").unwrap_err();
    assert!(said.to_string().starts_with("mine.toml:5:12: "), "{said}");

    let hosts = describe_fabric("skybyte-hosts-64th").unwrap().given;
    let base = load_system("base-cssd").unwrap().scaled(64).unwrap();
    let device = DeviceConfig::simulated(&base.device).unwrap();
    assert_eq!(capacities(&hosts), [device.capacity().0; 4]);
    let of_hosts = &hosts.endpoints[0].device.as_ref().unwrap().config;
    assert_eq!(of_hosts.raw().to_pairs(), device.raw().to_pairs());
}

/// Beside `device`, these said nothing.
#[test]
fn what_an_endpoint_does_not_use_is_refused() {
    let said = |group: &str| {
        let text = format!("[[endpoints]]\nname = \"m\"\ncount = 1\n{group}\n");
        let spec = parse_fabric(&text, "mine.toml").unwrap();
        match FabricConfig::new(&spec, 1) {
            Ok(_) => panic!("{group} was taken"),
            Err(error) => error.to_string(),
        }
    };
    for (group, message) in [
        (
            "device = \"cylon\"\nread = \"70ns\"",
            "endpoint group `m`: impossible configuration: endpoint.read = 70ns: a device has \
             parameters of its own; give them in tables, such as memory = { read = \"95ns\" }",
        ),
        ("device = \"cylon\"\nwrite = \"70ns\"", "endpoint.write"),
        (
            "device = \"cylon\"\ndram = \"ddr4-2400\"",
            "endpoint.dram =",
        ),
        (
            "device = \"cylon\"\ndram_channels = 4",
            "endpoint.dram_channels = 4",
        ),
        (
            "type = \"dram\"\nread = \"70ns\"",
            "endpoint.read = 70ns: DRAM has times",
        ),
        (
            "dram_queue = 4",
            "endpoint.dram_queue = 4: a fixed endpoint has no DRAM",
        ),
        (
            "type = \"external\"\nwrite = \"9ns\"",
            "endpoint.write = 9ns: a library has",
        ),
    ] {
        let said = said(group);
        assert!(said.contains(message), "{said}");
    }
}

/// By the file and by a setting, of a fabric's device.
#[test]
fn what_only_a_live_run_honours_is_refused() {
    let why = "prefetch.sequential = 8: a simulation has no hints; ";
    let text = with("cache = {", "prefetch = { sequential = 8 }\ncache = {");
    let told = parse_fabric(&text, "list.toml").unwrap_err().to_string();
    assert!(
        told.starts_with("list.toml:") && told.contains(why),
        "{told}"
    );
    let why = "device.persistent = yes: a simulation holds no contents; ";
    let mut spec = describe_fabric("cxl2-pool").unwrap().given;
    let group = spec.endpoints.iter().find(|group| group.device.is_some());
    let key = format!("{}.device.persistent", group.expect("a device").name);
    let told = spec.set(&key, "yes").unwrap_err().to_string();
    assert!(told.contains(why), "{told}");
}
