//! Data reached as a file, against closed forms.

use sluice_driver::{Advice, Door, FileTraffic, HostCosts, TrafficResult, files};
use sluice_model::{Device, DeviceConfig};
use sluice_units::{ClockEnd, Ps};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// An SSD whose reads take 50 us, with more dies than anybody asks for at once.
fn device(settings: &[(&str, &str)]) -> Device {
    let usual = [
        ("cache.hit_latency", "0ns"),
        ("nand.read", "50us"),
        ("nand.channels", "64"),
        ("nand.dies", "16"),
        ("ftl.precondition", "sequential"),
        ("device.capacity", "1GiB"),
        ("cache.capacity", "64MiB"),
        ("cache.policy", "lru"),
    ];
    let mut raw = DeviceConfig::builder();
    for (key, value) in usual.iter().chain(settings) {
        raw.set(key, value).expect("a value that it takes");
    }
    let config = DeviceConfig::new(&raw).expect("a device");
    Device::new(&config, 1).expect("a device")
}

const COSTS: HostCosts = HostCosts {
    request: Ps::from_us(5),
    minor_fault: Ps::from_ns(500),
    lookup: Ps::from_ns(300),
    switch: Ps::from_us(2),
    copy: Ps::from_ns(400),
    depth: 16,
    readahead: 0,
    advice: Advice::Normal,
};

const MMAP: FileTraffic = FileTraffic {
    door: Door::Mmap,
    threads: 1,
    size: 4 * MIB,
    io: 4 * KIB,
    random: false,
    write: false,
    cores: 1,
    passes: 1,
    host: COSTS,
    cache: 0,
    seed: 1,
};

fn run_on(settings: &[(&str, &str)], given: FileTraffic) -> TrafficResult {
    files(&mut device(settings), &given, || false)
        .unwrap()
        .expect("nobody stops it")
}

fn run(given: FileTraffic) -> TrafficResult {
    run_on(&[], given)
}

fn near(is: Ps, due_us: f64, within: f64, what: &str) {
    let is = is.0 as f64 / 1e6;
    assert!(
        (is / due_us - 1.0).abs() < within,
        "{what}: {is:.1} us, expected {due_us:.1}"
    );
}

const PAGES: f64 = 1024.0;

#[test]
fn a_fault_takes_its_software_the_read_and_the_load() {
    near(
        run(MMAP).time,
        PAGES * (5.0 + 50.0 + 0.4),
        1e-6,
        "one thread",
    );
}

/// Threads that wait leave their core to each other: eight take as long as one, until the core is
/// busy with faults and switches alone.
#[test]
fn threads_that_wait_for_blocks_share_a_core() {
    for (threads, each) in [(2, 57.4), (4, 57.4), (16, 16.0 * 7.0)] {
        let result = run(FileTraffic { threads, ..MMAP });
        near(
            result.time,
            PAGES * each,
            0.05,
            &format!("{threads} threads"),
        );
    }
}

/// With readahead a reader in order waits for the first fault. Later it is slowed by its loads and
/// by a fault for each 16 pages alone, where the windows are there in time.
#[test]
fn readahead_hides_the_reads() {
    let host = HostCosts {
        readahead: MIB,
        ..COSTS
    };
    let slow = HostCosts {
        minor_fault: Ps::from_us(20),
        ..host
    };
    near(
        run(FileTraffic { host: slow, ..MMAP }).time,
        5.0 + 50.0 + (PAGES / 16.0 - 1.0) * 20.0 + PAGES * 0.4,
        1e-6,
        "slow",
    );
    let result = run(FileTraffic { host, ..MMAP });
    // The second window is asked for when 64 pages of the first are left, and waited for; each
    // one after it when a whole window is left.
    let page = 0.4 + 0.5 / 16.0;
    near(
        result.time,
        5.0 + 50.0 + PAGES * page - 0.5 + (50.0 - 64.0 * page),
        1e-3,
        "fast",
    );
}

/// A program that advises random access has no page read that it does not ask for. Without advice a
/// window is read around the first fault.
#[test]
fn advice_says_what_is_read() {
    let reads = |advice| {
        let mut ssd = device(&[]);
        let host = HostCosts {
            readahead: 256 * KIB,
            advice,
            ..COSTS
        };
        let given = FileTraffic {
            size: 64 * MIB,
            // One load, of the first page.
            io: 64 * MIB,
            host,
            ..MMAP
        };
        files(&mut ssd, &given, || false)
            .unwrap()
            .expect("nobody stops it");
        ssd.stats().block_reads
    };
    assert_eq!(reads(Advice::Random), 1);
    assert_eq!(reads(Advice::Normal), 64);
}

/// Whether to stop is asked now and then, and not at each of 8,192 requests.
#[test]
fn a_run_can_be_stopped() {
    let asked = std::cell::Cell::new(0);
    let given = FileTraffic { passes: 8, ..MMAP };
    let run = |answer| {
        let stop = || {
            asked.set(asked.get() + 1);
            answer
        };
        files(&mut device(&[]), &given, stop).unwrap().is_some()
    };
    assert!(run(false));
    assert!((1..100).contains(&asked.get()), "{} times", asked.get());
    assert!(!run(true));
}

/// By system call a reader in order waits for its first window, and for no other: 4 pages, 16, ..
#[test]
fn reads_by_system_call_are_ahead_too() {
    let host = HostCosts {
        readahead: MIB,
        ..COSTS
    };
    let given = FileTraffic {
        door: Door::Read,
        host,
        ..MMAP
    };
    // 5.4 us a page: the next window is read while the last one is copied.
    near(run(given).time, PAGES * 5.4 + 50.0, 0.05, "in order");
    let host = HostCosts {
        advice: Advice::Random,
        ..host
    };
    near(
        run(FileTraffic { host, ..given }).time,
        PAGES * 55.4,
        1e-6,
        "told that it is at random",
    );
    // A request of 1 MiB begins with a window of it, which is copied when it is there.
    let large = FileTraffic { io: MIB, ..given };
    let result = run(large);
    assert_eq!(result.latency.count(), 4);
    near(result.time, 4.0 * 5.0 + PAGES * 0.4 + 50.0, 0.2, "1 MiB");
}

#[test]
fn a_block_cache_reads_once_and_then_copies() {
    let given = FileTraffic {
        door: Door::BlockCache,
        cache: 8 * MIB,
        random: true,
        ..MMAP
    };
    let lookup = 5.0 + 0.3;
    near(
        run(given).time,
        PAGES * (lookup + 50.0 + 0.4),
        1e-6,
        "first",
    );
    let second = FileTraffic { passes: 2, ..given };
    near(run(second).time, PAGES * (lookup + 0.4), 1e-6, "second");
    // Too small, and in the same order again: under LRU nothing is found.
    let small = FileTraffic {
        cache: 3 * MIB,
        ..second
    };
    near(run(small).time, PAGES * (lookup + 50.4), 1e-6, "too small");
    // Large requests are read at once.
    let large = FileTraffic { io: MIB, ..given };
    near(
        run(large).time,
        4.0 * (5.0 + 256.0 * 0.7 + 50.0),
        0.01,
        "1 MiB",
    );
    // A write needs nothing of the SSD.
    let write = FileTraffic {
        write: true,
        ..given
    };
    near(run(write).time, PAGES * (lookup + 0.4), 1e-6, "writes");
}

#[test]
fn what_leaves_a_block_cache_written_is_written_back() {
    let given = FileTraffic {
        door: Door::BlockCache,
        cache: MIB,
        write: true,
        ..MMAP
    };
    let mut ssd = device(&[]);
    files(&mut ssd, &given, || false)
        .unwrap()
        .expect("nobody stops it");
    assert_eq!(ssd.stats().block_writes, (4 * MIB - MIB) / (4 * KIB));
}

/// As memory, a page is missed for each 4 KiB of a request, one after another.
#[test]
fn a_file_on_the_device_as_memory_misses_page_by_page() {
    let given = FileTraffic {
        door: Door::File,
        io: MIB,
        ..MMAP
    };
    let host = HostCosts { depth: 1, ..COSTS };
    let first = run_on(
        &[("cache.hit_latency", "100ns")],
        FileTraffic { host, ..given },
    );
    assert_eq!(first.misses.count(), 1024);
    near(
        first.time,
        4.0 * 5.0 + PAGES * (50.1 + 63.0 * 0.1),
        1e-6,
        "cold",
    );
    let again = FileTraffic {
        host,
        passes: 2,
        ..given
    };
    let second = run_on(&[("cache.hit_latency", "100ns")], again);
    near(second.time, 4.0 * 5.0 + PAGES * 64.0 * 0.1, 1e-6, "warm");
}

/// A core that copies waits for each page: more threads on it bring nothing.
#[test]
fn threads_that_load_do_not_share_a_core() {
    let given = FileTraffic {
        door: Door::File,
        ..MMAP
    };
    let one = run(given).time;
    let four = run(FileTraffic {
        threads: 4,
        ..given
    })
    .time;
    assert!(four.0 as f64 > 3.8 * one.0 as f64, "{four} and {one}");
}

#[test]
fn requests_past_all_caches_take_the_read() {
    let direct = FileTraffic {
        door: Door::Direct,
        ..MMAP
    };
    near(run(direct).time, PAGES * 55.0, 1e-6, "reads");
}

#[test]
fn it_ends_with_the_clock() {
    let software = |request| {
        let host = HostCosts {
            request,
            ..MMAP.host
        };
        let given = FileTraffic { host, ..MMAP };
        files(&mut device(&[]), &given, || false).map(|result| result.is_some())
    };
    assert_eq!(software(Ps(1 << 40)), Ok(true));
    assert_eq!(software(Ps(1 << 62)), Err(ClockEnd));
}
