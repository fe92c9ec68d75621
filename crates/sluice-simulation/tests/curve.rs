//! Curves of a device, a host and a fabric, and data reached as a file, against closed forms.

use sluice_config::load_system;
use sluice_driver::{Advice, Door, FileTraffic, HostCosts, Start, Store, Traffic, Walk};
use sluice_model::{DeviceConfig, Op};
use sluice_net::FabricSpec;
use sluice_results::{CurveLoad, CurveResult};
use sluice_simulation::{CurvePlan, FabricCurvePlan, FilesPlan, SystemCurvePlan};
use sluice_units::Ps;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const LINE: f64 = 64.0;

const TRAFFIC: Traffic = Traffic {
    threads: 2,
    size: 64 * KIB,
    stride: 64,
    walk: Walk::InOrder,
    reads: 100,
    store: Store::Cached,
    depth: 1,
    pace: Ps::ZERO,
    cores: 0,
    slice: Ps::from_us(100),
    ahead: 0,
    chase: 64 * KIB,
    passes: 2,
    start: Start::Warm,
    seed: 1,
};

fn near(ours: f64, expected: f64, share: f64, what: &str) {
    let is_near = (ours / expected - 1.0).abs() < share;
    assert!(is_near, "{what}: {ours} of {expected}");
}

/// What holds of each load, whatever it is on.
fn adds_up(load: &CurveLoad, payload: f64) {
    let bytes = load.accesses as f64 * payload;
    near(load.bytes_per_s * load.time_s, bytes, 1e-9, "bytes");
    if let Some(latency) = &load.latency_ns {
        let all: u64 = latency.histogram.iter().map(|(_, count)| count).sum();
        assert_eq!((latency.summary.count, all), (load.accesses, load.accesses));
        let sum: f64 = (latency.histogram.iter())
            .map(|(ns, count)| (ns * count) as f64)
            .sum();
        near(sum, latency.summary.mean * all as f64, 0.01, "mean");
    }
}

/// The place with the most bandwidth for its latency.
fn knee(curve: &CurveResult) -> Option<u64> {
    let power = |load: &CurveLoad| load.bytes_per_s / load.chase_latency_ns.unwrap().p50;
    let best = curve.loads.iter().enumerate();
    let best = best.max_by(|a, b| power(a.1).total_cmp(&power(b.1)));
    best.map(|(place, _)| place as u64)
}

/// A device whose hits take 500 ns and whose misses take 50 µs more.
fn device() -> DeviceConfig {
    let mut raw = DeviceConfig::builder();
    for (key, value) in [
        ("cache.hit_latency", "500ns"),
        ("nand.read", "50us"),
        ("nand.channels", "16"),
        ("nand.dies", "16"),
        ("ftl.precondition", "sequential"),
        ("device.capacity", "1GiB"),
        ("cache.capacity", "4MiB"),
    ] {
        raw.set(key, value).expect("a value that it takes");
    }
    DeviceConfig::new(&raw).expect("a device")
}

fn curve(traffic: Traffic, paces: &[Ps]) -> CurveResult {
    let config = &device();
    let device = "a device";
    let plan = CurvePlan {
        device,
        config,
        traffic,
        paces,
    };
    plan.run(|| false).unwrap().expect("nobody stops it")
}

#[test]
fn a_device_s_loads_keep_the_pace_and_take_a_hit_each() {
    let hit_ns = device().hit_time(Op::Read).0 as f64 / 1e3;
    let curve = curve(TRAFFIC, &[Ps::from_us(4), Ps::from_us(1), Ps::ZERO]);
    let accesses = 2 * 2 * 1024;
    for (load, ns) in curve.loads.iter().zip([4_000.0, 1_000.0, hit_ns]) {
        adds_up(load, LINE);
        assert_eq!((load.accesses, load.misses), (accesses, Some(0)));
        let latency = load.latency_ns.as_ref().expect("accesses");
        assert_eq!(latency.summary.mean, hit_ns);
        near(load.bytes_per_s, 2.0 * LINE / (ns * 1e-9), 0.002, "rate");
        let hits = load.hit_latency_ns.expect("hits");
        assert_eq!((hits.count, hits.mean), (accesses, hit_ns));
        assert!(load.miss_latency_ns.is_none());
        assert_eq!(load.chase_latency_ns.expect("loads").mean, hit_ns);
    }
    let paces: Vec<f64> = curve.loads.iter().map(|load| load.pace_ns).collect();
    assert_eq!(paces, [4_000.0, 1_000.0, 0.0]);
    // The latency is the same at each, and the bandwidth is largest at the last.
    assert_eq!((curve.knee, knee(&curve)), (Some(2), Some(2)));
}

#[test]
fn a_cold_device_s_pages_miss_once_each() {
    let traffic = Traffic {
        start: Start::Cold,
        chase: 0,
        ..TRAFFIC
    };
    let curve = curve(traffic, &[Ps::ZERO]);
    let load = &curve.loads[0];
    adds_up(load, LINE);
    // Two regions of 16 pages.
    assert_eq!((load.accesses, load.misses), (4_096, Some(32)));
    let (hits, misses) = (load.hit_latency_ns.unwrap(), load.miss_latency_ns.unwrap());
    assert_eq!((hits.count, misses.count), (4_096 - 32, 32));
    assert!((50_000.0..60_000.0).contains(&misses.mean), "{misses:?}");
    assert_eq!((load.chase_latency_ns, curve.knee), (None, None));
}

#[test]
fn a_curve_that_is_stopped_is_none() {
    let config = &device();
    let plan = CurvePlan {
        device: "a device",
        config,
        traffic: Traffic {
            passes: 100,
            ..TRAFFIC
        },
        paces: &[Ps::ZERO],
    };
    assert!(plan.run(|| true).unwrap().is_none());
    assert!(
        fabric_curve(
            &[],
            Traffic {
                passes: 20,
                ..TRAFFIC
            },
            &[Ps::ZERO],
            true
        )
        .is_none()
    );
    let traffic = Traffic {
        threads: 1,
        size: MIB,
        ..TRAFFIC
    };
    assert!(host_curve(&[], traffic, &[Ps::ZERO], true).is_none());
}

/// A load that misses the L3 takes an issue slot (62.5 ps), 100 ns to know it, 30 ns of the link,
/// 20 ns of the device's index and 50 ns of its memory.
const LOAD_NS: f64 = 0.0625 + 100.0 + 30.0 + 20.0 + 50.0;

fn host_curve(
    set: &[(&str, &str)],
    traffic: Traffic,
    paces: &[Ps],
    stops: bool,
) -> Option<CurveResult> {
    let mut system = load_system("base-cssd").unwrap();
    let start = match traffic.start {
        Start::Warm => "full",
        Start::Cold => "empty",
    };
    for (key, value) in [
        ("host.start", start),
        ("cpu.threads", "8"),
        ("l3.capacity", "1MiB"),
        ("l3.latency", "100ns"),
        ("device.protocol_latency", "30ns"),
        ("cache.index_latency", "20ns"),
        ("cache.hit_latency", "50ns"),
        ("tlb.walk", "0ps"),
        ("cache.capacity", "64MiB"),
    ]
    .iter()
    .chain(set)
    {
        system.set(key, value).expect("a value that it takes");
    }
    let plan = SystemCurvePlan {
        name: "a host",
        system: &system,
        scale: 1,
        traffic,
        paces,
    };
    plan.run(|| stops).unwrap()
}

#[test]
fn a_host_s_dependent_load_takes_the_sum_of_its_parts() {
    let traffic = Traffic {
        threads: 0,
        chase: 8 * MIB,
        passes: 1,
        ..TRAFFIC
    };
    let curve = host_curve(&[], traffic, &[Ps::ZERO], false).expect("nobody stops it");
    let load = &curve.loads[0];
    let chase = load.chase_latency_ns.expect("loads");
    assert_eq!(chase.count, 8 * MIB / 64);
    near(chase.p50, LOAD_NS, 0.008, "a dependent load");
    // One of eight is in the caches, which give it in no more than the L3's 100 ns.
    let (least, most) = (LOAD_NS * 7.0 / 8.0, LOAD_NS - 100.0 / 8.0);
    assert!(
        (0.99 * least..1.01 * most).contains(&chase.mean),
        "{chase:?}"
    );
    near(load.time_s, chase.mean * 131_072.0 * 1e-9, 0.001, "time");
    assert_eq!((load.misses, curve.knee), (Some(0), None));
}

#[test]
fn a_host_s_threads_keep_the_pace_and_miss_cold_pages_once() {
    let traffic = Traffic {
        threads: 2,
        size: MIB,
        passes: 1,
        chase: 4 * MIB,
        start: Start::Cold,
        ..TRAFFIC
    };
    let paces = [Ps::from_us(2), Ps::ZERO];
    let curve = host_curve(&[], traffic, &paces, false).expect("nobody stops it");
    for load in &curve.loads {
        adds_up(load, LINE);
        assert_eq!(load.accesses, 2 * 16_384);
        // All of both regions, and what the dependent loads touched of a third one.
        let misses = load.misses.expect("a device");
        assert!((512..=512 + 1_024).contains(&misses), "{misses}");
    }
    // A thread computes for 2 us, and waits for its load if the window ends before it.
    let slow = 2.0 * LINE / 2.2e-6;
    near(curve.loads[0].bytes_per_s, slow, 0.15, "rate");
    assert!(curve.loads[1].bytes_per_s > 2.0 * slow);
    assert_eq!(curve.knee, knee(&curve));
    // Twice through half as much.
    let warm = Traffic {
        start: Start::Warm,
        chase: 0,
        size: MIB / 2,
        passes: 2,
        ..traffic
    };
    let curve = host_curve(&[], warm, &[Ps::from_us(2)], false).expect("nobody stops it");
    let load = &curve.loads[0];
    assert_eq!((load.misses, load.chase_latency_ns), (Some(0), None));
    assert_eq!((load.pace_ns, load.accesses), (2_000.0, 2 * 16_384));
    near(load.time_s, 16_384.0 * 2e-6, 0.1, "time");
}

/// Requesters and one memory on one link of 8 GB/s, whose packets have no headers.
fn fabric(set: &[(&str, &str)]) -> FabricSpec {
    let preset = sluice_config::describe_fabric("esf-validation");
    let mut spec = preset.expect("a preset").given;
    for (key, value) in [
        ("requester.count", "3"),
        ("requester.depth", "256"),
        ("endpoint.count", "1"),
        ("endpoint.type", "fixed"),
        ("endpoint.read", "50ns"),
        ("link.bandwidth", "8000"),
    ]
    .iter()
    .chain(set)
    {
        spec.set(key, value).expect("a value that it takes");
    }
    spec
}

fn fabric_curve(
    set: &[(&str, &str)],
    traffic: Traffic,
    paces: &[Ps],
    stops: bool,
) -> Option<CurveResult> {
    let plan = FabricCurvePlan {
        name: "a fabric",
        spec: &fabric(set),
        traffic,
        paces,
    };
    plan.run(|| stops).unwrap()
}

#[test]
fn a_fabric_s_requesters_keep_the_pace_up_to_the_link() {
    let paces = [Ps::from_us(1), Ps::ZERO];
    let curve = fabric_curve(&[], TRAFFIC, &paces, false).expect("nobody stops it");
    // The dependent load has its part of the link beside 512 requests.
    let of_link = 8e9 * 512.0 / 513.0;
    let paces: Vec<f64> = curve.loads.iter().map(|load| load.pace_ns).collect();
    assert_eq!(paces, [1_000.0, 0.0]);
    for (load, rate) in curve.loads.iter().zip([2.0 * LINE / 1e-6, of_link]) {
        adds_up(load, LINE);
        assert_eq!((load.accesses, load.misses), (4_096, None));
        near(load.bytes_per_s, rate, 0.02, "rate");
    }
    let chase = |load: usize| curve.loads[load].chase_latency_ns.unwrap().mean;
    assert!(chase(1) > 5.0 * chase(0), "it waits behind them");
    assert_eq!(curve.knee, knee(&curve));
    let alone = Traffic {
        threads: 0,
        ..TRAFFIC
    };
    let alone = fabric_curve(&[], alone, &[Ps::ZERO], false).expect("nobody stops it");
    let load = alone.loads[0].chase_latency_ns.expect("loads");
    assert_eq!((load.count, load.mean), (2 * 1_024, load.max));
    near(chase(0), load.mean, 0.05, "hardly anybody is in its way");
    // The one that follows pointers has no pace: it waits for its load, and asks for the next.
    let slow = &curve.loads[0];
    let waited = slow.chase_latency_ns.unwrap().count as f64 * chase(0);
    near(waited * 1e-9, slow.time_s, 0.03, "time");
}

/// What it asked for while the others still loaded their pages waited behind these.
#[test]
fn a_fabric_s_dependent_loads_count_from_the_end_of_the_warm_up() {
    let traffic = Traffic {
        size: 4 * MIB,
        stride: 4 * KIB,
        chase: 4 * KIB,
        ..TRAFFIC
    };
    let curve = fabric_curve(&[], traffic, &[Ps::from_us(1)], false).expect("nobody stops it");
    let chase = curve.loads[0].chase_latency_ns.expect("loads");
    // It meets a request of each of the two others at most.
    assert!(chase.max < chase.p50 + 3.0 * LINE / 8.0, "{chase:?}");
    assert_eq!(curve.loads[0].accesses, 2 * 2 * 1_024);
}

/// Half of what is asked for are writes, as far as draws go, and none with 100 % of reads.
#[test]
fn pages_of_a_fabric_s_devices_miss_once_and_only_cold() {
    let curve = |start, chase| {
        let preset = sluice_config::describe_fabric("skybyte-pool-64th");
        let mut spec = preset.expect("a preset").given;
        spec.set("ssd.prefetch.policy", "none").expect("a policy");
        let traffic = Traffic {
            threads: 3,
            size: 256 * KIB,
            chase,
            start,
            reads: 50,
            walk: Walk::Random,
            passes: 4,
            ..TRAFFIC
        };
        let plan = FabricCurvePlan {
            name: "a pool",
            spec: &spec,
            traffic,
            paces: &[Ps::from_ns(500)],
        };
        plan.run(|| false).unwrap().expect("nobody stops it")
    };
    let cold = curve(Start::Cold, 0);
    adds_up(&cold.loads[0], LINE);
    // Three regions of 64 pages; 16,384 draws of each leave out none.
    assert_eq!(cold.loads[0].misses, Some(192));
    let warm = curve(Start::Warm, 256 * KIB);
    assert_eq!(warm.loads[0].misses, Some(0));
    assert_eq!(warm.loads[0].accesses, 3 * 4 * 4_096);
    assert!(warm.loads[0].latency_ns.as_ref().unwrap().summary.max < 50_000.0);
}

/// A thread that reads a file page by page waits for each.
#[test]
fn a_file_s_bytes_are_those_of_its_requests() {
    let config = &device();
    let files = FileTraffic {
        door: Door::Mmap,
        threads: 1,
        size: 2 * MIB,
        io: 4 * KIB,
        random: false,
        write: false,
        cores: 1,
        passes: 1,
        host: HostCosts {
            request: Ps::from_us(5),
            minor_fault: Ps::from_ns(501),
            lookup: Ps::from_ns(302),
            switch: Ps::from_us(2),
            copy: Ps::from_ns(403),
            depth: 16,
            readahead: 0,
            advice: Advice::Normal,
        },
        cache: 8 * MIB,
        seed: 1,
    };
    let plan = FilesPlan {
        device: "a device",
        config,
        files,
    };
    let told = plan.run(|| false).unwrap().expect("nobody stops it");
    let pages = 2 * MIB / (4 * KIB);
    assert_eq!((told.block_reads, told.block_writes), (pages, 0));
    assert_eq!(told.requests, told.latency_ns.summary.count);
    near(
        told.bytes_per_s * told.time_s,
        2.0 * MIB as f64,
        1e-9,
        "bytes",
    );
    // Each page waits for the flash and the kernel, one after the other.
    let least = pages as f64 * (50e-6 + 5e-6);
    assert!(
        (least..1.3 * least).contains(&told.time_s),
        "{}",
        told.time_s
    );
    let costs = &told.files;
    assert_eq!((costs.request_ns, costs.minor_fault_ns), (5_000.0, 501.0));
    assert_eq!((costs.lookup_ns, costs.copy_ns), (302.0, 403.0));
    assert_eq!(
        (costs.switch_ns, costs.host_cache_bytes),
        (2_000.0, 8 * MIB)
    );
}
