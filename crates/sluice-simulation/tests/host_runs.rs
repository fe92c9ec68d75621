//! Runs of simulated hosts: of which group each is, when a run ends, and what its stretches have.

use sluice_config::{load_system, parse_fabric};
use sluice_driver::Visibility;
use sluice_host::{Instr, Program, RunLength, Step};
use sluice_model::DeviceConfig;
use sluice_net::Length;
use sluice_results::{FabricResult, SystemResult};
use sluice_simulation::{FabricPlan, FabricRunError, Plan, SystemPlan, SystemRun};
use sluice_skybyte_artifact::parse_kernel;
use sluice_units::{Bytes, Ps};

const SEED: u64 = 1;

fn try_run(text: &str, requests: u64) -> Result<FabricResult, FabricRunError> {
    let spec = parse_fabric(text, "hosts.toml").unwrap();
    let plan = FabricPlan {
        name: "hosts",
        spec: &spec,
        length: Length {
            warmup: 0,
            requests,
        },
        seed: SEED,
        replay: None,
        window: 0,
    };
    let result = plan.run(&mut |_| true)?;
    Ok(result.expect("nobody stops it"))
}

fn run(text: &str, requests: u64) -> FabricResult {
    try_run(text, requests).unwrap_or_else(|error| panic!("{error}"))
}

/// Two groups of one host each, the second's name the first's with a digit.
const NAMES: &str = r#"
    [topology]
    kind = "spine-leaf"
    [[requesters]]
    name = "host"
    count = 1
    system = "base-cssd"
    workload = "ycsb"
    scale = 512
    host = { start = "empty", rest = "no" }
    migration = { counts = "all" }
    [[requesters]]
    name = "host2"
    count = 1
    system = "base-cssd"
    workload = "chase:bytes=16MiB,rounds=2"
    scale = 256
    host = { start = "empty", rest = "no" }
    migration = { counts = "all" }
    [[endpoints]]
    name = "ssd"
    count = 1
    device = "skybyte-64th"
"#;

/// Two fabrics of different devices had the same settings in their results.
#[test]
fn a_result_names_the_device_of_each_group() {
    let of = |device: &str, capacity: &str| {
        let text = format!(
            r#"
            [[requesters]]
            name = "host"
            count = 1
            [[endpoints]]
            name = "plain"
            count = 1
            capacity = "64MiB"
            [[endpoints]]
            name = "ssd"
            count = 1
            device = "{device}"
            cache = {{ capacity = "{capacity}" }}
        "#
        );
        run(&text, 100).devices
    };
    for (device, capacity) in [("cylon", "1MiB"), ("cxl-ssd", "2MiB")] {
        let devices = of(device, capacity);
        let [only] = &devices[..] else {
            panic!("{devices:?}");
        };
        assert_eq!((&*only.group, &*only.device), ("ssd", device));
        assert_eq!(only.config["cache.capacity"], capacity);
    }
}

#[test]
fn a_host_is_of_its_group_whatever_that_is_called() {
    let result = run(NAMES, 1_000);
    let hosts = result.hosts.iter();
    let ran: Vec<_> = hosts
        .map(|it| (&*it.name, &*it.workload, it.scale))
        .collect();
    let chase = "chase:bytes=16MiB,rounds=2";
    assert_eq!(ran, [("host", "ycsb", 512), ("host2", chase, 256)]);
    let wrong = try_run(&NAMES.replace(chase, "no-such-kernel"), 1);
    let wrong = wrong.unwrap_err().to_string();
    assert!(
        wrong.contains("`host2`") && wrong.contains("no-such-kernel"),
        "{wrong}"
    );
}

/// A host whose memory is all its own asks for nothing, however long it runs.
#[test]
fn a_run_ends_when_no_host_that_asks_has_work_left() {
    let own = NAMES.replacen("counts = \"all\"", "counts = \"all\", policy = \"host\"", 1);
    let result = run(&own, 1_000_000);
    let [own, asks] = &result.hosts[..] else {
        panic!("two hosts");
    };
    assert_eq!(own.requests.total, own.requests.h_r + own.requests.h_w);
    assert!(asks.instructions > 1_000, "{}", asks.instructions);
    assert_eq!(asks.requests.total, result.figures.requests);
}

fn with_messages(warmup: u64, measured: u64) -> SystemResult {
    let mut system = load_system("base-cssd").unwrap();
    for (key, value) in [
        ("link.model", "protocol"),
        ("host.start", "empty"),
        ("host.rest", "no"),
        ("migration.counts", "all"),
    ] {
        system.set(key, value).unwrap();
    }
    let plan = SystemPlan {
        run: SystemRun {
            name: "base-cssd",
            system: &system,
            scale: 512,
            workload: "radix",
            length: RunLength {
                warmup,
                measured,
                sample_every: Ps::from_ns(100_000),
            },
            seed: SEED,
        },
        kernel: parse_kernel("radix", SEED).unwrap(),
        check: true,
    };
    plan.run(&mut |_| true).unwrap().unwrap()
}

/// What the warm-up programmed is in no stretch.
#[test]
fn stretches_of_a_link_of_messages_have_the_programs_of_their_time() {
    let result = with_messages(4_000_000, 2_000_000);
    let all = result.flash.counts.programs;
    let stretches = result.timeline.iter().map(|it| it.programs);
    let sum: u64 = stretches.sum();
    assert!(sum <= all && sum * 2 > all && all > 10, "{sum} of {all}");
}

/// A host's device left these out of its hit ratio, a device alone did not.
#[test]
fn an_access_to_a_page_on_its_way_is_a_hit_with_a_host_and_without() {
    let behind_host = with_messages(0, 2_000_000);
    let mut raw = DeviceConfig::builder();
    // The page after the one asked for comes behind it, on the same die.
    for (key, value) in [
        ("prefetch.policy", "nextn"),
        ("prefetch.degree", "1"),
        ("nand.channels", "1"),
        ("nand.dies", "1"),
    ] {
        raw.set(key, value).unwrap();
    }
    let config = DeviceConfig::new(&raw).unwrap();
    let pattern = "stream:size=1MiB,stride=4096";
    let alone = Plan {
        device: "",
        config: &config,
        workload: pattern,
        visibility: Visibility::All,
        seed: SEED,
        bound: false,
        histogram: false,
        warmup: 0,
    };
    let streams = sluice_streams::parse_spec(pattern, SEED).unwrap().streams();
    let alone = alone.run(streams, || false).unwrap().unwrap();
    for (cache, served) in [
        (&behind_host.figures.cache, &behind_host.figures.served),
        (&alone.cache, &alone.served),
    ] {
        assert!(served.merge > 0, "{served:?}");
        let hits = served.cache + served.merge + served.write_log;
        assert_eq!((cache.hits, cache.misses), (hits, served.flash));
    }
}

/// A thread that sleeps for 53 days at a time.
struct Sleeper(u32);

impl Program for Sleeper {
    fn footprint(&self) -> Bytes {
        Bytes(1 << 20)
    }

    fn threads(&self) -> u32 {
        1
    }

    fn fill(&mut self, _thread: u32, _out: &mut Vec<Instr>) -> Step {
        match self.0.checked_sub(1) {
            None => Step::End,
            Some(left) => {
                self.0 = left;
                Step::Sleep(Ps(1 << 62))
            }
        }
    }
}

/// With messages such a run gave the figures of its beginning, as if it had come to its end.
#[test]
fn a_host_at_the_end_of_the_clock_has_no_result() {
    for (model, sleeps) in [
        ("constant", 1),
        ("constant", 4),
        ("protocol", 1),
        ("protocol", 4),
    ] {
        let mut system = load_system("base-cssd").unwrap();
        for (key, value) in [
            ("link.model", model),
            ("cpu.cores", "1"),
            ("cpu.threads", "1"),
            ("host.start", "empty"),
            ("host.rest", "no"),
            ("migration.counts", "all"),
        ] {
            system.set(key, value).unwrap();
        }
        let length = RunLength {
            warmup: 0,
            measured: 1_000,
            sample_every: Ps::ZERO,
        };
        let ready = SystemRun {
            name: "base-cssd",
            system: &system,
            scale: 512,
            workload: "sleeper",
            length,
            seed: SEED,
        }
        .prepare()
        .unwrap();
        let ended = ready.run(&mut Sleeper(sleeps), length, &mut |_| true);
        assert_eq!(ended.is_err(), sleeps > 2, "{model}, {sleeps}");
    }
}

/// A program in the caches asks for nothing any more, and the run never ended.
#[test]
fn hosts_that_ask_for_nothing_any_more_end_the_run() {
    let text = r#"
        [[requesters]]
        name = "host"
        count = 1
        system = "base-cssd"
        workload = "stream:bytes=16KiB"
        scale = 64
        host = { start = "empty", rest = "no" }
        migration = { counts = "all" }
        cpu = { cores = 1, threads = 1 }
        [[endpoints]]
        name = "ssd"
        count = 1
        device = "skybyte-64th"
    "#;
    let message = try_run(text, 100_000).unwrap_err().to_string();
    assert!(
        message.starts_with("no request comes any more: "),
        "{message}"
    );
    assert!(message.contains("have retired 50"), "{message}");
}
