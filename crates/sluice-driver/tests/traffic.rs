//! Bandwidth and latency of threads, against closed forms.

use sluice_driver::{Start, Store, Traffic, TrafficResult, Walk, traffic};
use sluice_model::cache::{Candidates, Event, External, Set, Slot};
use sluice_model::{Device, DeviceConfig};
use sluice_units::{ClockEnd, Lpn, Ps};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Hits take 500 ns, misses 50.5 us.
const TIMES: [(&str, &str); 7] = [
    ("cache.hit_latency", "300ns"),
    ("cache.index_latency", "200ns"),
    ("cache.policy", "lru"),
    ("nand.read", "50us"),
    ("nand.channels", "16"),
    ("ftl.precondition", "sequential"),
    ("device.capacity", "128MiB"),
];
const HIT: f64 = 500e-9;
const MISS: f64 = 50.5e-6;

fn device(settings: &[(&str, &str)]) -> Device {
    let mut raw = DeviceConfig::builder();
    for (key, value) in TIMES.iter().chain(settings) {
        raw.set(key, value).expect("a value that it takes");
    }
    let config = DeviceConfig::new(&raw).expect("a device");
    Device::new(&config, 1).expect("a device")
}

const USUAL: Traffic = Traffic {
    threads: 1,
    size: MIB,
    stride: 64,
    walk: Walk::InOrder,
    reads: 100,
    store: Store::Cached,
    depth: 1,
    pace: Ps::ZERO,
    cores: 0,
    slice: Ps::from_us(3_000),
    ahead: 0,
    chase: 0,
    passes: 1,
    start: Start::Warm,
    seed: 1,
};

fn run(settings: &[(&str, &str)], given: Traffic) -> TrafficResult {
    traffic(&mut device(settings), &given, || false)
        .unwrap()
        .expect("nobody stops it")
}

/// Bytes a second of the threads.
fn bandwidth(result: &TrafficResult) -> f64 {
    result.accesses as f64 * 64.0 / (result.time.0 as f64 * 1e-12)
}

fn near(is: f64, due: f64, within: f64, what: &str) {
    assert!(
        (is / due - 1.0).abs() < within,
        "{what}: {is:.4e}, expected {due:.4e}"
    );
}

/// Little's law: what is under way is bandwidth times latency.
#[test]
fn bandwidth_is_what_is_under_way_by_the_latency() {
    for (threads, depth) in [(1, 1), (1, 29), (4, 8), (32, 2)] {
        let result = run(
            &[("cache.capacity", "64MiB")],
            Traffic {
                threads,
                depth,
                ..USUAL
            },
        );
        let due = f64::from(threads * depth) * 64.0 / HIT;
        near(
            bandwidth(&result),
            due,
            0.01,
            &format!("{threads} x {depth}"),
        );
        assert_eq!(result.misses.count(), 0);
    }
}

/// As much as the link takes, and no more.
#[test]
fn a_link_bounds_it() {
    let settings = [
        ("cache.capacity", "64MiB"),
        ("device.link_bandwidth", "2000"),
    ];
    let many = Traffic {
        threads: 8,
        depth: 16,
        ..USUAL
    };
    near(bandwidth(&run(&settings, many)), 2e9, 0.01, "loads");
    // A stored line goes back on the other way. It costs no load's time.
    let stores = Traffic { reads: 0, ..many };
    near(bandwidth(&run(&settings, stores)), 2e9, 0.01, "stores");
    let past = Traffic {
        store: Store::NonTemporal,
        ..stores
    };
    near(
        bandwidth(&run(&settings, past)),
        2e9,
        0.01,
        "non-temporal stores",
    );
}

/// The pace is kept where the device could do more.
#[test]
fn a_pace_is_kept() {
    let paced = Traffic {
        threads: 2,
        depth: 4,
        pace: Ps::from_ns(400),
        ..USUAL
    };
    let result = run(&[("cache.capacity", "64MiB")], paced);
    near(bandwidth(&result), 2.0 * 64.0 / 400e-9, 0.01, "paced");
}

/// A cold page costs one miss; its other lines wait for the same, as far as they are under way.
#[test]
fn a_cold_sweep_misses_once_a_page() {
    let cold = Traffic {
        start: Start::Cold,
        ..USUAL
    };
    let result = run(&[("cache.capacity", "64MiB")], cold);
    let pages = (MIB / (4 * KIB)) as f64;
    assert_eq!(result.misses.count(), pages as u64);
    near(
        result.time.0 as f64 * 1e-12,
        pages * (MISS + 63.0 * HIT),
        1e-6,
        "one at a time",
    );
    let deep = run(
        &[("cache.capacity", "64MiB")],
        Traffic { depth: 16, ..cold },
    );
    // The last line of a page retires as the first of the next begins its wait.
    near(
        deep.time.0 as f64 * 1e-12,
        pages * (MISS + 3.5 * HIT),
        0.02,
        "sixteen at a time",
    );
}

/// A thread that waits for flash keeps its core, so that only more cores have more under way.
#[test]
fn threads_beyond_the_cores_add_nothing() {
    let of = |threads, cores| {
        let cold = Traffic {
            threads,
            cores,
            depth: 8,
            start: Start::Cold,
            ..USUAL
        };
        bandwidth(&run(
            &[("cache.capacity", "64MiB"), ("nand.dies", "64")],
            cold,
        ))
    };
    near(of(16, 4), of(4, 4), 0.02, "sixteen on four cores");
    near(of(16, 16), 4.0 * of(4, 4), 0.1, "sixteen on sixteen");
}

/// What is cached of pages that fall into sets of eight as if drawn: all of a set's pages miss in
/// turn, under LRU, once there are more than eight. With modulo none does.
#[test]
fn scattered_pages_miss_in_full_sets() {
    let settings = |index| {
        [
            ("cache.capacity", "48MiB"),
            ("cache.ways", "8"),
            ("cache.index", index),
        ]
    };
    for (mib, share) in [(16, 0.006), (24, 0.051), (32, 0.17), (40, 0.35)] {
        let sweep = Traffic {
            size: mib * MIB,
            passes: 2,
            ..USUAL
        };
        let result = run(&settings("hash"), sweep);
        let pages = 2.0 * (mib * MIB / (4 * KIB)) as f64;
        let is = result.misses.count() as f64 / pages;
        // Of 1,536 sets: the closed form is P(Poisson(8 W / C) >= 8).
        assert!(
            (is - share).abs() < 0.015,
            "{mib} MiB: {is:.4}, expected {share}"
        );
        assert_eq!(run(&settings("modulo"), sweep).misses.count(), 0);
    }
}

/// One page after another is replaced: the time of a replacement bounds the misses of all threads.
#[test]
fn replacements_go_one_after_another() {
    let settings = [
        ("cache.capacity", "4MiB"),
        ("cache.replacement", "10us"),
        ("nand.dies", "64"),
    ];
    let sweep = Traffic {
        threads: 16,
        depth: 8,
        passes: 2,
        ..USUAL
    };
    let result = run(&settings, sweep);
    let seconds = result.time.0 as f64 * 1e-12;
    near(
        result.misses.count() as f64 / seconds,
        1e5,
        0.02,
        "misses a second",
    );
    let free = run(&[settings[0], settings[2]], sweep);
    assert!(
        free.time.0 * 2 < result.time.0,
        "or the bound was another one"
    );
}

/// A helper that runs ahead takes a thread's misses upon itself.
#[test]
fn a_helper_takes_misses_away() {
    let cold = Traffic {
        depth: 4,
        start: Start::Cold,
        ..USUAL
    };
    let settings = [("cache.capacity", "64MiB")];
    let alone = run(&settings, cold);
    let helped = run(
        &settings,
        Traffic {
            ahead: 64 * KIB,
            ..cold
        },
    );
    // It waits for each page as its thread would: both together miss once a page.
    assert_eq!(alone.misses.count(), MIB / (4 * KIB));
    assert!(
        helped.misses.count() < alone.misses.count() / 2,
        "{}",
        helped.misses.count()
    );
    assert!(helped.time <= alone.time);
}

/// The load beside them waits for the link with them.
#[test]
fn a_dependent_load_is_slower_beside_others() {
    let settings = [
        ("cache.capacity", "64MiB"),
        ("device.link_bandwidth", "2000"),
    ];
    let alone = run(
        &settings,
        Traffic {
            threads: 0,
            chase: MIB,
            ..USUAL
        },
    );
    assert_eq!(alone.chase.count(), MIB / 64);
    near(
        alone.chase.mean().0 as f64 * 1e-12,
        HIT + 32e-9,
        1e-3,
        "alone",
    );
    let beside = Traffic {
        threads: 8,
        depth: 16,
        chase: MIB,
        ..USUAL
    };
    let beside = run(&settings, beside);
    // 129 lines share the link, of 32 ns each.
    near(
        beside.chase.mean().0 as f64 * 1e-12,
        129.0 * 32e-9,
        0.05,
        "beside eight",
    );
}

#[test]
fn the_same_seed_gives_the_same() {
    let drawn = Traffic {
        threads: 3,
        walk: Walk::Random,
        reads: 70,
        depth: 4,
        ..USUAL
    };
    let hash = |seed| {
        let given = Traffic { seed, ..drawn };
        run(&[("cache.capacity", "1MiB")], given).hash
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}

#[test]
fn it_can_be_stopped() {
    let long = Traffic {
        passes: 100,
        ..USUAL
    };
    let stopped = traffic(&mut device(&[("cache.capacity", "64MiB")]), &long, || true);
    assert!(stopped.unwrap().is_none());
}

/// The threads that asked, by page, as a policy learns it.
type Asked = Arc<Mutex<BTreeSet<(u32, Option<u32>)>>>;

/// Lets the last page leave that came, and notes which thread asked for what.
struct Notes {
    asked: Asked,
    last: Slot,
    pages: BTreeMap<Slot, u32>,
}

impl External for Notes {
    fn miss(&mut self, event: &Event, _: Set, lpn: Lpn) {
        self.asked.lock().unwrap().insert((lpn.0, event.thread));
    }

    fn insert(&mut self, _: &Event, _: Set, slot: Slot, lpn: Lpn) {
        self.last = slot;
        self.pages.insert(slot, lpn.0);
    }

    fn hit(&mut self, event: &Event, _: Set, slot: Slot) -> u32 {
        let asked = (self.pages[&slot], event.thread);
        self.asked.lock().unwrap().insert(asked);
        0
    }

    fn victim(&mut self, _: &Event, _: Set, _: &mut dyn Candidates) -> Option<Slot> {
        Some(self.last)
    }

    fn remove(&mut self, _: &Event, _: Set, _: Slot) {}
}

/// A policy learns the thread of a thread's accesses, and that what runs beside them has none.
#[test]
fn what_runs_beside_the_threads_is_no_threads() {
    let asked = Asked::default();
    let notes = Notes {
        asked: asked.clone(),
        last: Slot(0),
        pages: BTreeMap::new(),
    };
    let mut raw = DeviceConfig::builder();
    for (key, value) in TIMES.iter().chain(&[("prefetch.policy", "none")]) {
        raw.set(key, value).unwrap();
    }
    let config = DeviceConfig::new(&raw).unwrap();
    let mut device = Device::with_policy(&config, 1, Box::new(notes)).unwrap();
    let given = Traffic {
        threads: 2,
        size: 64 * KIB,
        reads: 50,
        chase: 64 * KIB,
        start: Start::Cold,
        ..USUAL
    };
    traffic(&mut device, &given, || false).unwrap().unwrap();
    let asked = asked.lock().unwrap();
    let of = |pages: std::ops::Range<u32>| {
        let asked = asked.iter().filter(|(page, _)| pages.contains(page));
        asked.map(|(_, thread)| *thread).collect::<BTreeSet<_>>()
    };
    // A thread's lines are also written back, later and by nobody.
    assert_eq!(of(0..16), BTreeSet::from([None, Some(0)]));
    assert_eq!(of(16..32), BTreeSet::from([None, Some(1)]));
    assert_eq!(of(32..48), BTreeSet::from([None]));
}

#[test]
fn it_ends_with_the_clock() {
    let paced = |pace| {
        let given = Traffic { pace, ..USUAL };
        traffic(&mut device(&[]), &given, || false).map(|result| result.is_some())
    };
    let pace = Ps::LAST.0 / (USUAL.accesses() - 1);
    assert_eq!(paced(Ps(pace - 1_000_000_000)), Ok(true));
    assert_eq!(paced(Ps(pace + 1_000_000_000)), Err(ClockEnd));
}
