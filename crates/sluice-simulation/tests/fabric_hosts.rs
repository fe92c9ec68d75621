//! Simulated hosts on fabrics, against the same hosts alone and against sums.

use serde_json::Value;
use sluice_config::{load_system, parse_fabric};
use sluice_host::RunLength;
use sluice_net::{FabricSpec, Length};
use sluice_replay::{Placement, Replay};
use sluice_results::{FabricResult, SystemResult, to_json};
use sluice_simulation::{FabricPlan, SystemPlan, SystemRun, TracePlan, check_hosts};
use sluice_skybyte_artifact::parse_kernel;
use sluice_trace::{Access, Header, Kind, Writer};
use sluice_units::Ps;
use std::path::Path;

const SEED: u64 = 1;

fn spec(text: &str) -> FabricSpec {
    parse_fabric(text, "hosts.toml").unwrap()
}

fn plan<'a>(spec: &'a FabricSpec, requests: u64) -> FabricPlan<'a> {
    FabricPlan {
        name: "hosts",
        spec,
        length: Length {
            warmup: 0,
            requests,
        },
        seed: SEED,
        replay: None,
        window: 0,
    }
}

fn run(text: &str, requests: u64) -> FabricResult {
    let spec = spec(text);
    let result = plan(&spec, requests).run(&mut |_| true).unwrap();
    result.expect("nobody stops it")
}

/// The message, which must be one line.
fn refusal(text: &str) -> String {
    let spec = spec(text);
    let error = plan(&spec, 10).run(&mut |_| true).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

/// A host on a link to its device, which add nothing of their own.
fn direct(system: &str, device: &str, workload: &str) -> String {
    format!(
        r#"
        [topology]
        kind = "list"
        [link]
        bandwidth = 64000
        latency = "0ns"
        port_latency = "0ns"
        [packet]
        flits = "68b"
        [endpoint]
        controller = "0ns"
        [[requesters]]
        name = "host"
        count = 1
        system = "{system}"
        workload = "{workload}"
        [[endpoints]]
        name = "device"
        count = 1
        device = "{device}"
        [[links]]
        ends = ["host", "device"]
        "#
    )
}

/// The only host of a fabric did what the system alone did.
fn assert_same(fabric: &FabricResult, alone: &SystemResult, what: &str) {
    let host = &fabric.hosts[0];
    // The hash has the time of every access, in picoseconds.
    assert_eq!(host.hash, alone.hash, "{what}");
    assert_eq!(host.time_s, alone.figures.time_s, "{what}");
    assert_eq!(host.instructions, alone.figures.instructions, "{what}");
    assert_eq!(host.requests, alone.figures.requests, "{what}");
    assert_eq!(host.levels, alone.figures.levels, "{what}");
    assert_eq!(host.amat_ns, alone.figures.amat_ns, "{what}");
    let all = alone.figures.requests.total;
    assert_eq!(fabric.figures.requests, all, "{what}");
}

#[test]
fn a_host_on_a_direct_link_is_a_system_with_messages() {
    for (system, device) in [
        ("cxl-ssd-sim-cxl-dram", "cxl-dram-sim"),
        ("cxl-ssd-sim", "cxl-ssd-sim"),
    ] {
        for workload in ["chase:bytes=1MB,rounds=1", "stream:bytes=1MB,rounds=2"] {
            let mut alone = load_system(system).unwrap();
            alone.set("link.model", "protocol").unwrap();
            let alone = SystemPlan {
                run: SystemRun {
                    name: system,
                    system: &alone,
                    scale: 1,
                    workload,
                    length: RunLength {
                        warmup: 0,
                        measured: u64::MAX,
                        sample_every: Ps::ZERO,
                    },
                    seed: SEED,
                },
                kernel: parse_kernel(workload, SEED).unwrap(),
                check: true,
            };
            let alone = alone.run(&mut |_| true).unwrap().unwrap();
            let fabric = run(&direct(system, device, workload), u64::MAX);
            let host = &fabric.hosts[0];
            assert_same(&fabric, &alone, &format!("{system} {workload}"));
            assert!(host.requests.total > 10_000, "{}", host.requests.total);
        }
    }
}

/// Two hosts, each with memory of its own that is dealt out over four devices.
const POOL: &str = r#"
    [topology]
    kind = "spine-leaf"
    [map]
    granularity = "4KiB"
    [[requesters]]
    name = "host"
    count = 2
    system = "skybyte-c"
    workload = "ycsb"
    scale = 512
    [requesters.cpu]
    threads = 16
    [requesters.migration]
    counts = "all"
    [requesters.host]
    start = "empty"
    rest = "no"
    [[endpoints]]
    name = "ssd"
    count = 4
    device = "skybyte-64th"
"#;

#[test]
fn hosts_share_devices_and_a_run_is_repeatable() {
    let result = run(POOL, 60_000);
    let again: [Value; 2] = [to_json(&result), to_json(&run(POOL, 60_000))];
    assert_eq!(again[0].to_string(), again[1].to_string());
    let [first, second] = &result.hosts[..] else {
        panic!("two hosts");
    };
    assert!(second.base >= first.base + first.footprint_bytes);
    assert_ne!(first.seed, second.seed);
    let total = first.requests.total + second.requests.total;
    assert_eq!(total, result.figures.requests);
    for host in [first, second] {
        assert!(
            host.switches > 100 && host.long_delays > 100,
            "{}",
            host.switches
        );
        let shares = [
            host.bound.compute,
            host.bound.memory,
            host.bound.switching,
            host.bound.idle,
        ];
        let sum: f64 = shares.into_iter().flatten().sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }
    // Lines from each device to its leaf.
    let from_devices = result.figures.links.iter().filter_map(|link| {
        let end = link.ends.iter().position(|end| end.starts_with("ssd"))?;
        Some(link.bytes[end])
    });
    let bytes: Vec<u64> = from_devices.collect();
    let mean = bytes.iter().sum::<u64>() / 4;
    assert_eq!(bytes.len(), 4);
    for bytes in &bytes {
        assert!(bytes.abs_diff(mean) * 10 < mean, "{bytes} of {mean}");
    }
}

/// No request would ever end the run.
#[test]
fn hosts_whose_memory_is_all_their_own_are_refused() {
    let own = POOL.replace("counts = \"all\"", "counts = \"all\"\npolicy = \"host\"");
    let told = refusal(&own);
    assert!(
        told.contains("migration.policy = host: all memory is the hosts' own"),
        "{told}"
    );
}

#[test]
fn a_load_through_a_switch_takes_the_sum_of_its_parts() {
    let text = r#"
        [topology]
        kind = "star"
        [link]
        bandwidth = 1000
        latency = "3ns"
        port_latency = "5ns"
        [switch]
        latency = "11ns"
        [packet]
        flits = "68b"
        [[requesters]]
        name = "host"
        count = 1
        system = "cxl-ssd-sim"
        workload = "chase:bytes=1MB,rounds=1"
        [[endpoints]]
        name = "m"
        count = 1
        controller = "7ns"
        read = "50ns"
        "#;
    // Two links each way, whose ends both take their time; a request of 17 bytes, a line in 74.
    let expected = 2.0 * (17.0 + 74.0) + 4.0 * (3.0 + 2.0 * 5.0) + 2.0 * 11.0 + 7.0 + 50.0;
    // From another socket it goes over a link of 22 ns before, at 2 GB/s.
    let far = text.replace("name = \"host\"", "name = \"host\"\nsocket = \"home\"");
    let far = far
        + r#"
        [[requesters]]
        name = "home"
        count = 1
        pattern = "external"
        [socket]
        bandwidth = 2000
        "#;
    for (text, expected) in [
        (text, expected),
        (&far, expected + 2.0 * 22.0 + (17.0 + 74.0) / 2.0),
    ] {
        let result = run(text, u64::MAX);
        assert_eq!(result.figures.latency_min_ns, expected);
        // A stretch of the program does not wait for the last load of the one before.
        let mean = result.hosts[0].amat_ns.total.unwrap();
        assert!(
            (mean / expected - 1.0).abs() < 1e-3,
            "{mean} instead of {expected}"
        );
    }
}

/// Two hosts on the same memory: by one filter, whose entries are fewer than they would have.
const SHARED: &str = r#"
    [topology]
    kind = "spine-leaf"
    [coherence]
    filter = "shared"
    entries = 512
    [[requesters]]
    name = "host"
    count = 2
    system = "base-cssd"
    workload = "linear:bytes=256KB"
    host = { start = "empty", rest = "no" }
    migration = { counts = "all" }
    l3 = { capacity = "256KiB" }
    l2 = { capacity = "64KiB" }
    [[endpoints]]
    name = "m"
    count = 2
    capacity = "4MiB"
"#;

#[test]
fn hosts_on_coherent_memory_share_it_and_a_run_is_repeatable() {
    let result = run(SHARED, 30_000);
    let again: [Value; 2] = [to_json(&result), to_json(&run(SHARED, 30_000))];
    assert_eq!(again[0].to_string(), again[1].to_string());
    assert!(result.hosts.iter().all(|host| host.base == 0));
    let coherence = result.figures.coherence.as_ref().unwrap();
    assert!(coherence.filter_evictions > 0 && coherence.conflict_snoops > 0);
    // Lines that leave caches smaller than the filter, if the filter is to know.
    let larger = SHARED.replace("512", "65536").replace("256KB", "1MB");
    let clean_evictions = |text: &str| run(text, 60_000).figures.coherence.unwrap().clean_evictions;
    assert_eq!(clean_evictions(&larger), 0);
    let notified = larger.replace(
        "[[requesters]]",
        "[[requesters]]\ncache_clean = \"notified\"",
    );
    assert!(clean_evictions(&notified) > 0);
}

#[test]
fn what_hosts_cannot_be_is_refused() {
    let host = direct("SYSTEM", "cxl-ssd-sim", "WORKLOAD");
    let of =
        |system: &str, workload: &str| host.replace("SYSTEM", system).replace("WORKLOAD", workload);
    let (fits, system) = ("chase:bytes=1MB,rounds=1", "cxl-ssd-sim");
    let plain = of(system, fits);
    let small = plain.replace("device = \"cxl", "capacity = \"512KiB\" # device = \"cxl");
    let coherent = "\n[coherence]\nfilter = \"endpoint\"";
    let cases = [
        (
            plain.replace("name = \"host\"", "name = \"host\"\ndepth = 4"),
            "requester.depth = 4",
        ),
        (small, "uses 980KiB from 0x0 on, but it reaches 512KiB"),
        (of(system, "btree:bytes=10TB"), "uses 10TB from 0x0 on"),
        (of("skybyte-p", fits), "migration.policy = adaptive"),
        (of("base-cssd", fits), "host.start = full"),
        (of(system, "chose:bytes=1MB"), "requester group `host`: "),
        (
            plain.replace("68b", "256b") + coherent,
            "l3.capacity = none",
        ),
    ];
    for (text, part) in cases {
        let message = refusal(&text);
        assert!(message.contains(part), "{message} lacks {part}");
    }
    assert!(check_hosts(&spec(&plain)).is_ok());
    let early = check_hosts(&spec(&of("base-cssd", fits))).unwrap_err();
    assert!(early.to_string().contains("host.start = full"), "{early}");
}

#[test]
fn the_example_of_the_documentation_runs() {
    let page = include_str!("../../../docs/hosts.md");
    let example = page
        .split("```")
        .find_map(|part| part.strip_prefix("toml\n"));
    let small = example.unwrap().replace("scale = 64 ", "scale = 512 ");
    let result = run(&small, 5_000);
    assert_eq!((result.hosts.len(), result.figures.requests), (2, 5_000));
}

/// Writes a trace of so many CPUs with so many accesses each, over pages far apart that are more
/// than a fabric's memory reaches. Some accesses span lines.
fn write_trace(path: &Path, cpus: u32, accesses: u64) {
    let mut writer = Writer::create(path, &Header::new("a test")).unwrap();
    let mut state = 1_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 33
    };
    let mut instructions = vec![0; cpus as usize];
    for _ in 0..accesses {
        for cpu in 0..cpus {
            let count = &mut instructions[cpu as usize];
            *count += random() % 40;
            let access = Access {
                cpu,
                instructions: *count,
                address: 0x7f00_0000_0000 + (random() % 300) * (1 << 20) + random() % 4_000,
                size: [1, 8, 64, 100][random() as usize % 4],
                kind: [Kind::Load, Kind::Load, Kind::Store, Kind::Fetch][random() as usize % 4],
            };
            writer.push(&access).unwrap();
            *count += 1;
        }
    }
    writer.finish(&instructions).unwrap();
}

/// As a host of kernels, whose text in a fabric file is replaced.
fn traced(text: &str, workload: &str, trace: &Path) -> String {
    let kernel = format!("workload = \"{workload}\"");
    assert!(text.contains(&kernel));
    text.replace(&kernel, &format!("trace = \"{}\"", trace.display()))
}

#[test]
fn a_trace_on_a_direct_link_is_that_of_a_system_with_messages() {
    let dir = tempfile::tempdir().unwrap();
    for (cpus, system, device) in [
        (1, "cxl-ssd-sim-cxl-dram", "cxl-dram-sim"),
        (3, "cxl-ssd-sim", "cxl-ssd-sim"),
    ] {
        let path = dir.path().join(format!("{cpus}.trace"));
        write_trace(&path, cpus, 4_000);
        let mut alone = load_system(system).unwrap();
        alone.set("link.model", "protocol").unwrap();
        let cores: u32 = alone.get("cpu.cores").unwrap().parse().unwrap();
        let threads = cores.max(cpus).to_string();
        alone.set("cpu.threads", &threads).unwrap();
        let on_system = SystemRun {
            name: system,
            system: &alone,
            scale: 1,
            workload: "a test",
            length: TracePlan::length(None, None),
            seed: SEED,
        };
        let replay = &Replay::open(&path, Placement::Touch).unwrap();
        let plan = TracePlan {
            run: on_system,
            replay,
        };
        let alone = plan.run(&mut |_| true);
        let alone = alone.unwrap().unwrap();
        let text = traced(&direct(system, device, "KERNEL"), "KERNEL", &path);
        let fabric = run(&text, u64::MAX);
        let host = &fabric.hosts[0];
        assert_same(&fabric, &alone, system);
        assert!(host.requests.total > 1_000, "{}", host.requests.total);
        assert_eq!(host.workload, format!("trace:{}", path.display()));
        // At most 600 pages, far apart in the trace, lie side by side on the device.
        assert_eq!(host.footprint_bytes, replay.footprint().0);
        assert!(
            host.footprint_bytes <= 600 * 4096,
            "{}",
            host.footprint_bytes
        );
    }
}

/// Twenty threads of each host, among which its scheduler switches.
#[test]
fn hosts_with_the_same_trace_have_memory_of_their_own_and_a_run_is_repeatable() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("prog.trace");
    write_trace(&path, 20, 2_000);
    let pool = POOL.replace("[requesters.cpu]\n    threads = 16", "");
    let pool = traced(&pool, "ycsb", &path);
    let result = run(&pool, u64::MAX);
    let again: [Value; 2] = [to_json(&result), to_json(&run(&pool, u64::MAX))];
    assert_eq!(again[0].to_string(), again[1].to_string());
    let [first, second] = &result.hosts[..] else {
        panic!("two hosts");
    };
    assert!(second.base >= first.base + first.footprint_bytes);
    // Both execute all of the trace, whatever the other does meanwhile.
    assert_eq!(first.instructions, second.instructions);
    assert_eq!((first.loads, first.stores), (second.loads, second.stores));
    assert_eq!(first.config["cpu.threads"], "20");
    assert!(first.switches > 0 && first.requests.total > 1_000);
}

#[test]
fn traces_that_hosts_cannot_replay_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("text"), "no trace\n".repeat(100)).unwrap();
    write_trace(&path("empty"), 2, 0);
    write_trace(&path("wide"), 4_097, 20);
    write_trace(&path("whole"), 2, 2_000);
    let mut bytes = std::fs::read(path("whole")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(path("damaged"), bytes).unwrap();
    let host = direct("cxl-ssd-sim", "cxl-ssd-sim", "KERNEL");
    let of = |name: &str| traced(&host, "KERNEL", &path(name));
    let small = of("whole").replace("device = \"cxl", "capacity = \"512KiB\" # device = \"cxl");
    for (text, part) in [
        (of("missing"), "missing: No such file or directory"),
        (of("text"), "text: not a Sluice trace"),
        (of("empty"), "empty: it has no loads and no stores"),
        (of("wide"), "bad value for `cpu.threads`: \"4097\""),
        (of("damaged"), "damaged: damaged trace"),
        (
            small,
            "but it reaches 512KiB; give more endpoints or larger ones",
        ),
    ] {
        let message = refusal(&text);
        assert!(message.contains(part), "{message} lacks {part}");
        if part.starts_with("but it reaches") {
            assert!(message.starts_with("`host`: trace:"), "{message}");
            assert!(message.ends_with("or larger ones"), "{message}");
            continue;
        }
        assert!(message.starts_with("requester group `host`: "), "{message}");
        assert_eq!(check_hosts(&spec(&text)).unwrap_err().to_string(), message);
    }
    // A trace that is over before counting begins.
    let spec = spec(&of("whole"));
    let mut plan = plan(&spec, 10);
    plan.length.warmup = 1 << 40;
    let error = plan.run(&mut |_| true).unwrap_err().to_string();
    assert!(error.contains("give a smaller --warmup"), "{error}");
}
