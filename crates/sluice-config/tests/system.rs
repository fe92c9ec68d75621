//! Systems load, files build on them, one factor scales them, and every mistake says where it is.

use sluice_config::{
    CheckedSystem, IN_LINE_HOST, Preset, System, describe_system, load, load_in_line, load_system,
    parse_system, systems,
};
use sluice_host::{HostDram, Migration};
use sluice_model::Op;
use sluice_units::{Bytes, Ps};

const SEED: u64 = 1;

fn refusal(text: &str) -> String {
    let message = parse_system(text, "sys.toml").unwrap_err().to_string();
    assert!(!message.contains('\n'), "more than a line: {message}");
    message
}

fn bytes(system: &System, key: &str) -> u64 {
    system.get(key).unwrap().parse::<Bytes>().unwrap().0
}

/// Section VI-A: which mechanisms a design has, and how many threads.
#[test]
fn the_designs_are_those_of_the_paper() {
    let of = |name: &str| {
        let CheckedSystem { device, host, .. } = load_system(name).unwrap().check(SEED).unwrap();
        let migration = match host.migration {
            Migration::None => "none",
            Migration::AllHost => "host",
            Migration::Adaptive(_) => "adaptive",
            Migration::Tpp(_) => "tpp",
            Migration::AstriFlash(_) => "astriflash",
        };
        let log = device.write_log.is_some();
        (host.threads, host.coordinated, log, migration)
    };
    let table = [
        ("base-cssd", (8, false, false, "none")),
        ("skybyte-c", (24, true, false, "none")),
        ("skybyte-p", (8, false, false, "adaptive")),
        ("skybyte-w", (8, false, true, "none")),
        ("skybyte-cp", (24, true, false, "adaptive")),
        ("skybyte-wp", (8, false, true, "adaptive")),
        ("skybyte-full", (24, true, true, "adaptive")),
        ("dram-only", (8, false, false, "host")),
        ("skybyte-ct", (24, true, false, "tpp")),
        ("skybyte-wct", (24, true, true, "tpp")),
        ("astriflash-cxl", (24, true, false, "astriflash")),
    ];
    let names: Vec<&str> = designs().map(|system| system.name).collect();
    assert_eq!(names, table.map(|(name, _)| name));
    for (name, expected) in table {
        assert_eq!(of(name), expected, "{name}");
    }
}

/// SkyByte's artifact has 46 ns for host memory wherever pages move into it.
#[test]
fn host_memory_takes_one_time_but_where_all_is_in_it() {
    for design in designs() {
        let CheckedSystem { host, .. } = load_system(design.name).unwrap().check(SEED).unwrap();
        match host.dram {
            HostDram::Fixed(latency) => assert_eq!(latency, Ps::from_ns(46), "{}", design.name),
            HostDram::Banks(_) => assert_eq!(design.name, "dram-only"),
        }
    }
}

/// SkyByte's designs and those that it compares with.
fn designs() -> impl Iterator<Item = &'static Preset> {
    let others = |system: &&Preset| !system.name.starts_with("cxl-ssd-sim");
    systems().iter().filter(others)
}

/// CXL-SSD-Sim Table I, and one host for its five memories.
#[test]
fn the_memories_of_cxl_ssd_sim_share_one_host() {
    let base = load_system("cxl-ssd-sim").unwrap();
    let CheckedSystem { device, host, .. } = base.check(SEED).unwrap();
    let cpu = &host.cpu;
    assert_eq!((cpu.cores, cpu.window, cpu.store_buffer), (1, 512, 256));
    assert_eq!([cpu.l1, cpu.l2, cpu.l3].map(|l| l.lines / 16), [64, 512, 0]);
    let HostDram::Banks(banks) = host.dram else {
        panic!("DDR4 has banks")
    };
    let layout = banks.layout;
    assert_eq!((layout.standard.name, layout.channels), ("ddr4-2400", 1));
    assert_eq!(device.cache.pages, 4096);
    let hit = Ps::from_ns(100);
    assert_eq!(device.hit_time(Op::Read), hit);
    let hits = [
        ("-cxl-dram", hit, hit),
        ("-pmem", Ps::from_ns(170), Ps::from_ns(520)),
        ("-uncached", hit, hit),
        ("-dram", hit, hit),
    ];
    for (name, read, write) in hits {
        let system = load_system(&format!("cxl-ssd-sim{name}")).unwrap();
        let CheckedSystem { device, host, .. } = system.check(SEED).unwrap();
        assert_eq!(device.hit_time(Op::Read), read, "{name}");
        assert_eq!(device.hit_time(Op::Write), write, "{name}");
        assert_eq!(device.cache.loads_around, name == "-uncached");
        assert_eq!(host.migration == Migration::AllHost, name == "-dram");
        let pairs = base.host.to_pairs().into_iter().zip(system.host.to_pairs());
        for ((key, ours), (_, theirs)) in pairs.filter(|((key, _), _)| *key != "migration.policy") {
            assert_eq!(ours, theirs, "{key} of {name}");
        }
    }
}

/// What the designs' devices have from the paper's artifact, where it and Table II differ or
/// Table II says nothing.
const ARTIFACT: [&str; 8] = [
    "cache.ways",
    "write_log.capacity",
    "prefetch.policy",
    "nand.chips",
    "nand.dies",
    "nand.priority",
    "nand.write_queue",
    "ftl.gc_threshold",
];

/// What their host has from it.
const HOST_ARTIFACT: [(&str, &str); 8] = [
    ("cpu.scheduler", "24"),
    ("l1.latency", "750ps"),
    ("l2.latency", "2750ps"),
    ("l3.latency", "132ns"),
    ("host.rest", "before"),
    ("host.dram", "fixed"),
    ("host.start", "full"),
    ("migration.counts", "cache"),
];

/// They differ from Base-CSSD in what makes them, and in nothing else.
#[test]
fn the_designs_share_one_host() {
    let base = load_system("base-cssd").unwrap();
    let mut host = System::default().host;
    for (key, value) in HOST_ARTIFACT {
        host.set(key, value).unwrap();
    }
    assert!(base.host == host, "the defaults are its values otherwise");
    let mine = [
        "cpu.threads",
        "host.dram",
        "os.switching",
        "os.switch_cost",
        "migration.policy",
    ];
    for preset in designs() {
        let system = load_system(preset.name).unwrap();
        let log = system.check(SEED).unwrap().device.write_log.is_some();
        let device = if log { "skybyte" } else { "skybyte-base" };
        let device = sluice_config::load(device).unwrap();
        let pairs = device.to_pairs().into_iter().zip(system.device.to_pairs());
        for ((key, table), (_, ours)) in pairs.filter(|((key, _), _)| !ARTIFACT.contains(key)) {
            assert_eq!(table, ours, "{key} of {}", preset.name);
        }
        let pairs = base.host.to_pairs().into_iter().zip(system.host.to_pairs());
        for ((key, ours), (_, theirs)) in pairs.filter(|((key, _), _)| !mine.contains(key)) {
            assert_eq!(ours, theirs, "{key} of {}", preset.name);
        }
    }
}

#[test]
fn every_value_has_a_source() {
    for preset in systems() {
        let described = describe_system(preset.name).unwrap();
        for param in System::params() {
            let source = described.source_of(param.key);
            let is_one =
                ["source: ", "assumed: ", "default: "].map(|kind| source.starts_with(kind));
            assert!(
                is_one.contains(&true),
                "{} of {}: {source}",
                param.key,
                preset.name
            );
        }
    }
    let full = describe_system("skybyte-full").unwrap();
    assert!(full.source_of("cpu.threads").contains("24 threads"));
    assert!(full.source_of("write_log.capacity").contains("Table II"));
    assert!(
        full.source_of("l1.mshrs")
            .starts_with("source: SkyByte Table II")
    );
}

#[test]
fn a_file_builds_on_a_system_and_a_device() {
    let text =
        "base = \"skybyte-full\"\ndevice = \"slc\"\n[cpu]\nthreads = 32\n[cache]\nways = 16\n";
    let system = parse_system(text, "sys.toml").unwrap();
    let mut device = sluice_config::load("slc").unwrap();
    device.set("cache.ways", "16").unwrap();
    let mut host = load_system("skybyte-full").unwrap().host;
    host.set("cpu.threads", "32").unwrap();
    assert_eq!(system, System { device, host });
    // A table is the device's own; without a base, everything has its default.
    let text = "[device]\ncapacity = \"1GiB\"\n";
    let system = parse_system(text, "sys.toml").unwrap();
    let mut expected = System::default();
    expected.set("device.capacity", "1GiB").unwrap();
    assert_eq!(system, expected);
}

#[test]
fn a_device_file_is_looked_for_beside_the_system() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("mine.toml", "base = \"skybyte\"\n[nand]\nread = \"9us\"\n");
    write("sys.toml", "base = \"base-cssd\"\ndevice = \"mine.toml\"\n");
    let path = folder.path().join("sys.toml");
    let system = load_system(path.to_str().unwrap()).unwrap();
    assert_eq!(system.get("nand.read").unwrap(), "9us");
    assert_eq!(system.get("write_log.capacity").unwrap(), "64MiB");
}

#[test]
fn a_mistake_is_reported_where_it_is() {
    let names: Vec<&str> = systems().iter().map(|system| system.name).collect();
    let names = names.join(", ");
    assert_eq!(
        load_system("skybite").unwrap_err().to_string(),
        format!(
            "unknown system `skybite` (did you mean skybyte-c?): give a path ending in .toml, or \
             one of {names}"
        )
    );
    assert!(
        load_system("none.toml")
            .unwrap_err()
            .to_string()
            .starts_with("cannot read system file `none.toml`: ")
    );
    assert_eq!(
        refusal("base = \"skybite\"\n"),
        format!("sys.toml:1:8: unknown base `skybite`: give one of {names}")
    );
    let message = refusal("device = \"skybyt\"\n");
    assert!(
        message.starts_with("sys.toml:1:10: unknown device `skybyt` (did you mean skybyte?): give")
    );
    assert!(refusal("device = 3\n").starts_with("sys.toml:1:10: unknown device `3`"));
    let message = refusal("[cpu]\n  core = 4\n");
    let said = "sys.toml:2:3: unknown key `cpu.core`: did you mean `cpu.cores`? valid keys are ";
    assert!(message.starts_with(said), "{message}");
    let message = refusal("[nand]\nraed = \"1us\"\n");
    assert!(message.contains("did you mean `nand.read`?"), "{message}");
    let message = refusal("[gpu]\ncores = 1\n");
    let said = "sys.toml:2:1: unknown key `gpu.cores`: did you mean `cpu.cores`? `sluice system ";
    assert!(message.starts_with(said), "{message}");
    assert_eq!(
        refusal("[os]\nscheduler = \"csf\"\n"),
        "sys.toml:2:13: bad value for `os.scheduler`: \"csf\" (did you mean cfs?); \
         expected one of rr, random, cfs"
    );
}

/// Ratios to a program of which the memory is divided too.
#[test]
fn one_factor_divides_what_must_keep_its_ratio() {
    let full = load_system("skybyte-full").unwrap();
    let eighth = full.scaled(8).unwrap();
    let divided = [
        "device.capacity",
        "cache.capacity",
        "write_log.capacity",
        "migration.capacity",
        "host.memory",
        "l2.capacity",
        "l3.capacity",
    ];
    for key in divided {
        assert_eq!(bytes(&full, key), 8 * bytes(&eighth, key), "{key}");
    }
    for param in System::params() {
        let changes = divided.contains(&param.key) || param.key == "ftl.gc_threshold";
        let same = full.get(param.key) == eighth.get(param.key);
        assert_eq!(same, !changes, "{}", param.key);
    }
    assert_eq!(full.scaled(1).unwrap(), full);
    let remote = {
        let mut remote = full.clone();
        remote.set("migration.remote_capacity", "1GiB").unwrap();
        remote.set("host.start_size", "2GiB").unwrap();
        remote.scaled(8).unwrap()
    };
    assert_eq!(bytes(&remote, "migration.remote_capacity"), 128 << 20);
    assert_eq!(bytes(&remote, "host.start_size"), 256 << 20);
}

#[test]
fn scaling_has_floors() {
    let system = load_system("base-cssd").unwrap().scaled(64).unwrap();
    let sizes = ["l1.capacity", "l2.capacity", "l3.capacity"].map(|key| bytes(&system, key) >> 10);
    assert_eq!(sizes, [32, 64, 512], "KiB: two L1 and eight L2");
    let mut small = load_system("base-cssd").unwrap();
    small.set("l2.capacity", "16KiB").unwrap();
    let small = small.scaled(8).unwrap();
    assert_eq!(bytes(&small, "l2.capacity"), 16 << 10, "it does not grow");
    assert_eq!(bytes(&small, "l3.capacity"), 2 << 20);
}

/// What a thread needs all the time stays in its L2 beside the part of the memory that is divided,
/// as far as it fits the L2 at full size; nothing else changes.
#[test]
fn an_l2_keeps_room_for_what_no_scale_divides() {
    let full = load_system("base-cssd").unwrap();
    let l2 = |scale, thread_bytes| {
        let system = full.scaled_with(scale, thread_bytes).unwrap();
        let mut plain = full.scaled(scale).unwrap();
        let room = bytes(&system, "l2.capacity");
        plain.set("l2.capacity", &Bytes(room).to_string()).unwrap();
        assert_eq!(system, plain);
        room >> 10
    };
    assert_eq!(
        [0, 1, 64 << 10, (64 << 10) + 1].map(|hot| l2(16, hot)),
        [64, 128, 128, 256]
    );
    assert_eq!(
        [250 << 10, 500 << 10, 1 << 30].map(|hot| l2(16, hot)),
        [512, 512, 512]
    );
    assert_eq!(l2(1, 1 << 30), 512);
}

/// A plane that collects at 1664 of its 2048 spare blocks has 384 to write before it: a small one
/// has as small a part of them, but two at least, which the collector writes to.
#[test]
fn collection_begins_after_as_small_a_share_of_the_flash() {
    let full = load_system("skybyte-full").unwrap();
    for scale in [1, 2, 4, 8, 16, 32, 64] {
        let CheckedSystem { device, .. } = full.scaled(scale).unwrap().check(SEED).unwrap();
        let nand = &device.nand;
        let home = device
            .pages
            .div_ceil(nand.plane_count() * nand.pages_per_block);
        let spare = nand.blocks_per_plane - home;
        let above = spare - device.ftl.gc_threshold_blocks;
        let share = 384u32.div_ceil(scale);
        assert!(
            above == share.max(2),
            "{above} blocks at {scale}, share {share}"
        );
    }
}

#[test]
fn what_does_not_divide_is_refused() {
    let full = load_system("skybyte-full").unwrap();
    let message = full.scaled(5).unwrap_err().to_string();
    assert_eq!(
        message,
        "impossible configuration: device.capacity = 96GiB, system.scale = 5: does not divide \
         into whole pages of 4KiB; give a scale that is a smaller power of two"
    );
    let message = full.scaled(0).unwrap_err().to_string();
    assert!(
        message.contains("system.scale = 0: nothing divides by it"),
        "{message}"
    );
    let message = full.scaled(1 << 15).unwrap_err().to_string();
    assert!(
        message.contains("cache.capacity = 448MiB, system.scale = 32768"),
        "{message}"
    );
}

#[test]
fn the_host_has_pages_of_4_kib() {
    let mut system = load_system("base-cssd").unwrap();
    system.set("device.page", "16KiB").unwrap();
    system.set("ftl.gc_threshold", "2").unwrap();
    let message = system.check(SEED).unwrap_err().to_string();
    assert!(message.contains("device.page = 16KiB: a simulated host has pages of 4KiB"));
}

#[test]
fn departures_of_the_artifact_have_no_messages() {
    let mut system = load_system("skybyte-c").unwrap();
    system.set("link.model", "protocol").unwrap();
    let message = system.check(SEED).unwrap_err().to_string();
    for part in ["link.model", "host.rest", "give each its default"] {
        assert!(message.contains(part), "{message} lacks {part}");
    }
    system.set("host.rest", "no").unwrap();
    system.set("migration.counts", "all").unwrap();
    assert!(system.check(SEED).unwrap().host.link.messages.is_some());
}

/// It begins from nothing: one core, room for threads, and memory that is empty and at rest.
#[test]
fn what_runs_elsewhere_begins_on_an_empty_system() {
    let changed = |named: &str, device: Option<&str>| {
        let mut system = load_system(named).unwrap();
        if let Some(device) = device {
            system.device = load(device).unwrap();
        }
        for (key, value) in [
            ("cpu.cores", "1"),
            ("cpu.threads", "64"),
            ("host.start", "empty"),
            ("host.rest", "no"),
        ] {
            system.set(key, value).unwrap();
        }
        system
    };
    for device in [None, Some("cylon")] {
        assert_eq!(
            load_in_line(None, device).unwrap(),
            changed(IN_LINE_HOST, device)
        );
        let system = load_in_line(Some("skybyte-full"), device).unwrap();
        assert_eq!(system, changed("skybyte-full", device));
    }
    let message = load_in_line(None, Some("no-such")).unwrap_err().to_string();
    assert!(message.starts_with("unknown device `no-such`"), "{message}");
}
