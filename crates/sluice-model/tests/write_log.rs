//! The write log in its device: from where an access is served, when, and what reaches flash.

use proptest::prelude::*;
use sluice_model::{Device, DeviceConfig, Effects, Op, Request, ServedBy, Stats};
use sluice_testkit::rig::{access, read};
use sluice_units::{LINE_BYTES, Lpn, PAGE_BYTES, Ps, Rng};
use std::collections::BTreeMap;

const PROTOCOL: Ps = Ps::from_ns(40);
const LOG_INDEX: Ps = Ps::from_ns(72);
const CACHE_INDEX: Ps = Ps::from_ns(49);
const DRAM: Ps = Ps::from_ns(46);
/// A store, a load from the log, and what a miss takes besides its flash read.
const LOG_HIT: Ps = Ps(PROTOCOL.0 + LOG_INDEX.0 + DRAM.0);
const CACHE_HIT: Ps = Ps(PROTOCOL.0 + CACHE_INDEX.0 + DRAM.0);
/// When an access that asks the log reaches it.
const AT_LOG: Ps = Ps(PROTOCOL.0 + LOG_INDEX.0);
const READ: Ps = Ps::from_us(3);
const PROGRAM: Ps = Ps::from_us(100);

/// SkyByte's times, four channels of two dies, two log buffers of `lines` lines.
fn device_of(lines: u64, pairs: &[(&str, &str)]) -> Device {
    let log = (lines * 2 * LINE_BYTES).to_string() + "B";
    let base = [
        ("device.capacity", "16MiB"),
        ("device.protocol_latency", "40ns"),
        ("cache.capacity", "1MiB"),
        ("cache.policy", "lru"),
        ("cache.index_latency", "49ns"),
        ("cache.hit_latency", "46ns"),
        ("nand.read", "3us"),
        ("nand.program", "100us"),
        ("nand.erase", "1ms"),
        ("nand.channels", "4"),
        ("nand.dies", "2"),
        ("write_log.capacity", log.as_str()),
    ];
    let mut raw = DeviceConfig::builder();
    for (key, value) in base.iter().chain(pairs) {
        raw.set(key, value).unwrap();
    }
    Device::new(&DeviceConfig::new(&raw).unwrap(), 1).unwrap()
}

fn store(device: &mut Device, now: Ps, lpn: u64, line: u64) -> Ps {
    let addr = Lpn::of(lpn).addr(PAGE_BYTES) + line * LINE_BYTES;
    let completion = device.access(
        now,
        Request {
            addr,
            op: Op::Write,
        },
        &mut (),
    );
    assert_eq!(completion.served_by, ServedBy::WriteLog);
    completion.done_at
}

fn load(device: &mut Device, now: Ps, lpn: u64, line: u64) -> (Ps, ServedBy) {
    let addr = Lpn::of(lpn).addr(PAGE_BYTES) + line * LINE_BYTES;
    let completion = device.access(now, Request { addr, op: Op::Read }, &mut ());
    (completion.done_at, completion.served_by)
}

/// SkyByte section VI-D: 40 ns of link, 72 ns of log index or 49 ns of cache index, 46 ns of DRAM.
#[test]
fn a_store_costs_no_flash_and_a_load_finds_it() {
    let mut device = device_of(64, &[]);
    assert_eq!(store(&mut device, Ps::ZERO, 5, 3), LOG_HIT);
    assert_eq!(
        load(&mut device, Ps::ZERO, 5, 3),
        (LOG_HIT, ServedBy::WriteLog)
    );
    assert_eq!(device.stats().flash_reads, 0);
    // Another line of the page is not in the log: the whole page comes, with the logged line.
    let miss = (LOG_HIT + READ, ServedBy::Flash);
    assert_eq!(load(&mut device, Ps::ZERO, 5, 4), miss);
    // While it is on its way, the log still answers for its line, and nothing else does.
    assert_eq!(
        load(&mut device, Ps::ZERO, 5, 3),
        (LOG_HIT, ServedBy::WriteLog)
    );
    assert_eq!(load(&mut device, Ps::ZERO, 5, 4).1, ServedBy::MshrMerge);
    let later = Ps::from_us(10);
    assert_eq!(
        load(&mut device, later, 5, 3),
        (later + CACHE_HIT, ServedBy::CacheHit)
    );
    let stats = device.stats();
    assert_eq!((stats.write_log.appends, stats.write_log.hits), (1, 2));
    assert_eq!((stats.hits, stats.misses, stats.mshr_merges), (1, 1, 1));
    assert_eq!(stats.accesses(), 6);
}

/// The cache's answer counts once it has the page: a picosecond before, the log answers.
#[test]
fn the_log_answers_until_the_page_is_there() {
    let ready_at = LOG_HIT + READ;
    let looked_up = PROTOCOL + CACHE_INDEX;
    for (now, by) in [
        (ready_at - looked_up - Ps(1), ServedBy::WriteLog),
        (ready_at - looked_up, ServedBy::CacheHit),
    ] {
        let mut device = device_of(64, &[]);
        store(&mut device, Ps::ZERO, 5, 3);
        assert_eq!(load(&mut device, Ps::ZERO, 5, 4).0, ready_at);
        assert_eq!(load(&mut device, now, 5, 3).1, by);
    }
}

/// `pages` pages of one line each, on eight dies: each die reads its pages, then programs as many.
#[test]
fn compaction_of_k_pages_takes_the_busiest_dies_reads_and_programs() {
    for (pages, turns) in [(1, 1), (8, 1), (9, 2), (16, 2), (64, 8)] {
        let mut device = device_of(pages, &[]);
        for lpn in 0..pages {
            store(&mut device, Ps::ZERO, lpn, 0);
        }
        let end = AT_LOG + (READ + PROGRAM) * turns;
        device.advance(end - Ps(1));
        assert_eq!(
            device.stats().write_log.compactions,
            0,
            "{pages} pages, a picosecond early"
        );
        device.advance(end);
        let stats = device.stats();
        assert_eq!(stats.write_log.compactions, 1, "{pages} pages");
        assert_eq!((stats.flash_reads, stats.host_programs), (pages, pages));
        assert_eq!(
            (stats.write_log.pages_flushed, stats.write_log.lines_flushed),
            (pages, pages)
        );
    }
}

/// With one coalescing buffer the pages go one after the other, however many dies there are.
#[test]
fn one_coalescing_buffer_is_one_page_at_a_time() {
    let mut device = device_of(5, &[("write_log.coalescing_buffers", "1")]);
    for lpn in 0..5 {
        store(&mut device, Ps::ZERO, lpn, 0);
    }
    let end = AT_LOG + (READ + PROGRAM) * 5;
    device.advance(end - Ps(1));
    assert_eq!(device.stats().write_log.compactions, 0);
    device.advance(end);
    assert_eq!(device.stats().write_log.compactions, 1);
}

/// Of two pages in the log, one cached and one whole, neither is read.
#[test]
fn a_cached_and_a_whole_page_are_flushed_without_a_read() {
    let mut device = device_of(65, &[]);
    read(&mut device, Ps::ZERO, 1);
    let now = Ps::from_us(50);
    for line in 0..64 {
        store(&mut device, now, 0, line);
    }
    store(&mut device, now, 1, 7);
    let end = now + AT_LOG + PROGRAM;
    device.advance(end - Ps(1));
    assert_eq!(device.stats().write_log.compactions, 0);
    device.advance(end);
    assert_eq!(device.stats().write_log.compactions, 1);
    assert_eq!(device.stats().flash_reads, 1, "the first load's");
    assert_eq!(device.stats().host_programs, 2);
    // The flush leaves the cached page where it is.
    assert_eq!(load(&mut device, end, 1, 0).1, ServedBy::CacheHit);
}

/// On one die: the load of another page waits for the program that compaction has under way.
#[test]
fn a_load_waits_behind_compaction() {
    let one_die = [("nand.channels", "1"), ("nand.dies", "1")];
    let mut device = device_of(1, &one_die);
    store(&mut device, Ps::ZERO, 0, 0);
    let read_at = AT_LOG + READ;
    // Asked for before the page has been read, the load goes before its program.
    for (now, done_at) in [
        (Ps::ZERO, read_at + READ + DRAM),
        (READ - Ps(1), read_at + READ + DRAM),
        (READ, read_at + PROGRAM + READ + DRAM),
        (READ + PROGRAM, read_at + PROGRAM + READ + DRAM),
        (
            READ + PROGRAM + Ps(1),
            read_at + PROGRAM + READ + DRAM + Ps(1),
        ),
    ] {
        let mut device = device_of(1, &one_die);
        store(&mut device, Ps::ZERO, 0, 0);
        let loaded = load(&mut device, now, 9, 0).0;
        assert_eq!(loaded, done_at, "at {now}");
    }
}

/// Both buffers full: a store waits until the first is in flash, not a picosecond more.
#[test]
fn a_store_waits_for_a_free_buffer() {
    let end = AT_LOG + READ + PROGRAM;
    for (now, wait) in [
        (Ps::ZERO, end - AT_LOG),
        (end - AT_LOG - Ps(1), Ps(1)),
        (end, Ps::ZERO),
    ] {
        let mut device = device_of(4, &[]);
        for lpn in 0..8 {
            assert_eq!(store(&mut device, Ps::ZERO, lpn, 0), LOG_HIT);
        }
        assert_eq!(store(&mut device, now, 8, 0), now + LOG_HIT + wait);
        let log = device.stats().write_log;
        assert_eq!(
            (log.stalls, log.stall_ps),
            (u64::from(wait > Ps::ZERO), wait.0)
        );
        assert_eq!(device.stats().parts.stall, wait);
    }
}

/// A page's stores are one program, whatever their number; a discarded page's are none.
#[test]
fn a_discarded_page_never_reaches_flash() {
    let mut device = device_of(4, &[]);
    store(&mut device, Ps::ZERO, 0, 0);
    store(&mut device, Ps::ZERO, 1, 0);
    store(&mut device, Ps::ZERO, 1, 1);
    device.discard(Ps::ZERO, Lpn(1));
    store(&mut device, Ps::ZERO, 0, 9);
    device.advance(Ps::from_ms(1));
    let stats = device.stats();
    assert_eq!(
        (stats.write_log.compactions, stats.write_log.dropped),
        (1, 2)
    );
    assert_eq!((stats.host_programs, stats.write_log.lines_flushed), (1, 2));
    assert_eq!(
        load(&mut device, Ps::from_ms(1), 1, 1),
        (Ps::from_ms(1) + LOG_HIT, ServedBy::Flash)
    );
}

/// A host that reports a page as written as a whole has the newer contents: its lines are not
/// flushed over them.
#[test]
fn a_late_write_back_supersedes_the_log() {
    let mut device = device_of(2, &[]);
    store(&mut device, Ps::ZERO, 3, 0);
    device.write_back(Ps(1), Lpn(3));
    store(&mut device, Ps(2), 4, 0);
    device.advance(Ps::from_ms(1));
    let stats = device.stats();
    assert_eq!(
        (stats.late_write_backs, stats.write_log.pages_flushed),
        (1, 1)
    );
    assert_eq!((stats.host_programs, stats.write_log.dropped), (2, 1));
}

/// While a page is on its way into the cache, the log answers loads. What it has of the page is
/// older than what the host reports as written, so the report ends it.
#[test]
fn a_late_write_back_of_a_page_on_its_way_supersedes_the_log() {
    let mut device = device_of(64, &[]);
    store(&mut device, Ps::ZERO, 3, 0);
    assert_eq!(load(&mut device, Ps::ZERO, 3, 1).1, ServedBy::Flash);
    assert_eq!(load(&mut device, Ps::ZERO, 3, 0).1, ServedBy::WriteLog);
    device.write_back(Ps(1), Lpn(3));
    assert_eq!(load(&mut device, Ps(1), 3, 0).1, ServedBy::MshrMerge);
}

struct NeverUnmaps;

impl Effects for NeverUnmaps {
    fn unmap(&mut self, lpn: Lpn) -> bool {
        unreachable!("{lpn} was not cached")
    }
}

/// Stores alone never touch the cache.
#[test]
fn stores_bring_nothing_into_the_cache() {
    let mut device = device_of(256, &[("cache.capacity", "4KiB")]);
    for lpn in 0..1_000 {
        let req = Request {
            addr: Lpn::of(lpn).addr(PAGE_BYTES),
            op: Op::Write,
        };
        device.access(Ps::from_us(lpn), req, &mut NeverUnmaps);
        assert!(!device.is_cached(Lpn::of(lpn)));
    }
    assert_eq!(device.stats().evictions, 0);
}

/// What accesses to eight lines of each page of 64 MiB do to the flash behind 4 MiB of DRAM:
/// a footprint 16 times the DRAM, as SkyByte's workloads have (Tables I and II). Loads are skewed
/// over all pages, stores over `written` of them.
fn sparse(pairs: &[(&str, &str)], store_percent: u64, written: u64) -> Stats {
    let mut raw = DeviceConfig::builder();
    let base = [
        ("device.capacity", "64MiB"),
        ("cache.policy", "lru"),
        ("nand.read", "3us"),
        ("nand.program", "100us"),
    ];
    for (key, value) in base.iter().chain(pairs) {
        raw.set(key, value).unwrap();
    }
    let mut device = Device::new(&DeviceConfig::new(&raw).unwrap(), 1).unwrap();
    let mut rng = Rng::stream(7, "sparse stores");
    let (pages, mut now) = (device.pages(), Ps::ZERO);
    for _ in 0..100_000 {
        let stores = rng.below(100) < store_percent;
        let (op, among) = if stores {
            (Op::Write, written)
        } else {
            (Op::Read, pages)
        };
        // Skewed: the least of three draws, and neighbours in rank far apart on the device.
        let rank = (0..3).map(|_| rng.below(among)).min().unwrap();
        let addr = Lpn::of(rank * 1_237 % pages).addr(PAGE_BYTES) + rng.below(8) * 8 * LINE_BYTES;
        now = device.access(now, Request { addr, op }, &mut ()).done_at;
    }
    *device.stats()
}

/// SkyByte Figure 18: of the same DRAM, an eighth given to the log programs flash less often, at
/// each of the store ratios of Table I, if stores come back to their pages. The published ratios
/// of Base-CSSD to SkyByte-W go from 1.3 (tpcc) to 261 (bc); which one depends on the trace.
#[test]
fn the_log_lowers_flash_traffic_at_equal_dram() {
    let base = [("cache.capacity", "4MiB")];
    let log = [
        ("cache.capacity", "3584KiB"),
        ("write_log.capacity", "512KiB"),
    ];
    for store_percent in [5, 11, 25, 36] {
        let [base, logged] = [&base[..], &log].map(|pairs| sparse(pairs, store_percent, 2_048));
        assert_eq!(base.accesses(), logged.accesses());
        let (before, after) = (base.host_programs, logged.host_programs);
        println!("{store_percent} % stores: {before} programs without, {after} with a log");
        assert!(
            after * 13 < before * 10,
            "{store_percent} %: {before}, {after}"
        );
        assert!(logged.latency < base.latency);
        let log = logged.write_log;
        assert!(log.lines_flushed > log.pages_flushed, "{log:?}");
    }
    // Without locality there is nothing to coalesce, and the log does little.
    let [base, logged] = [&base[..], &log].map(|pairs| sparse(pairs, 36, 16_384));
    let (before, after) = (base.host_programs, logged.host_programs);
    println!("no locality: {before} programs without, {after} with a log");
    assert!(after * 13 > before * 10, "{before}, {after}");
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Load(u64, u64),
    Store(u64, u64),
    Discard(u64),
    WriteBack(u64),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let page = || (0..12u64, 0..12u64).prop_map(|(a, b)| a * b);
    prop_oneof![
        6 => (page(), 0..64u64).prop_map(|(page, line)| Step::Load(page, line)),
        12 => (page(), 0..64u64).prop_map(|(page, line)| Step::Store(page, line)),
        1 => page().prop_map(Step::Discard),
        1 => page().prop_map(Step::WriteBack),
        4 => (0..200_000u64).prop_map(Step::Wait),
    ]
}

/// What an access may be served by follows from what was stored: a line that was stored is in the
/// log or its page has been programmed since; one that never was is not in the log.
fn serves_what_was_stored(lines: u64, buffers: &str, coalescing: &str, steps: &[Step]) {
    let mut device = device_of(
        lines,
        &[
            ("cache.capacity", "32KiB"),
            ("write_log.buffers", buffers),
            ("write_log.coalescing_buffers", coalescing),
        ],
    );
    let mut now = Ps::ZERO;
    let mut stored: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        let before = *device.stats();
        match *step {
            Step::Store(page, line) => {
                let done_at = store(&mut device, now, page, line);
                let stall = device.stats().parts.stall - before.parts.stall;
                assert_eq!(done_at, now + LOG_HIT + stall);
                stored.insert((page, line), device.stats().write_log.appends);
                let loaded = load(&mut device, now, page, line);
                let cached = loaded.1 == ServedBy::CacheHit;
                assert!(cached || loaded.1 == ServedBy::WriteLog || stall > Ps::ZERO);
            }
            Step::Load(page, line) => {
                let (done_at, by) = load(&mut device, now, page, line);
                assert!(done_at >= now + CACHE_HIT);
                let known = stored.contains_key(&(page, line));
                assert!(by != ServedBy::WriteLog || known, "{step:?} at {at}");
            }
            Step::Discard(page) => {
                device.discard(now, Lpn::of(page));
                stored.retain(|place, _| place.0 != page);
            }
            Step::WriteBack(page) => {
                device.write_back(now, Lpn::of(page));
                stored.retain(|place, _| place.0 != page);
            }
            Step::Wait(ns) => now += Ps::from_ns(ns),
        }
        let log = device.stats().write_log;
        assert_eq!(
            device.balance(),
            Ok(()),
            "{step:?} at {at}\n{}",
            device.dump()
        );
        assert!(log.lines_flushed + log.superseded + log.dropped <= log.appends);
        assert!(log.lines_flushed >= log.pages_flushed);
        // What is not flushed, dropped or superseded fits the buffers.
        let held = log.appends - log.lines_flushed - log.superseded - log.dropped;
        assert!(held <= lines * 2, "{log:?}");
    }
}

proptest! {
    #[test]
    fn every_access_is_served_by_what_was_stored(
        lines in 1..40u64,
        buffers in 1..3u64,
        coalescing in 1..9u64,
        steps in prop::collection::vec(step(), 1..200),
    ) {
        // A multiple of the number of buffers, so that the log divides among them.
        let (buffers, coalescing) = (buffers.to_string(), coalescing.to_string());
        serves_what_was_stored(lines, &buffers, &coalescing, &steps);
    }
}

/// A store to a page that was prefetched is its first use.
#[test]
fn a_store_uses_a_prefetched_page() {
    let mut device = device_of(
        64,
        &[("prefetch.policy", "nextn"), ("prefetch.degree", "1")],
    );
    read(&mut device, Ps::ZERO, 0);
    let later = Ps::from_ms(1);
    assert!(access(&mut device, later, 1, Op::Write).was_prefetched);
    assert!(!access(&mut device, later, 1, Op::Write).was_prefetched);
    assert_eq!(device.stats().prefetch_used, 1);
}

/// More buffers have the size of the others: no store waits before all of them are full.
#[test]
fn more_buffers_are_as_large_as_the_others() {
    let lines = 64;
    let done = |device: &mut Device, stores: u64| -> Vec<Ps> {
        let stores = 0..stores;
        stores
            .map(|i| store(device, Ps::from_us(i), i % 48, i / 48))
            .collect()
    };
    for more in [1, 6] {
        let whole = ((2 + more) * lines * LINE_BYTES).to_string() + "B";
        let plain = [
            ("write_log.capacity", whole.as_str()),
            ("write_log.buffers", &(2 + more).to_string()),
        ];
        let mut plain = device_of(lines, &plain);
        let config = device_of(lines, &[]).config().clone();
        let config = config.with_more_buffers(more as u32);
        let mut device = Device::new(&config, 1).expect("a device");
        let room = (2 + more) * lines;
        assert_eq!(done(&mut device, room), done(&mut plain, room));
        assert_eq!(device.stats().write_log.stalls, 0);
        let next = Ps::from_us(room);
        let waited = store(&mut device, next, 47, 63);
        assert!(waited > next + LOG_HIT, "all buffers are full");
        assert_eq!(waited, store(&mut plain, next, 47, 63));
        assert_eq!(device.stats().write_log, plain.stats().write_log);
    }
}
