//! What a store does in each mode, and pages of other sizes.

use sluice_model::{Device, DeviceConfig, Effects, Op, Request, ServedBy};
use sluice_testkit::rig::{MISS, Recorder, device, read, write};
use sluice_units::{Lpn, PAGE_BYTES, Ps};

const HIT: Ps = Ps::from_ns(150);
const READ: Ps = Ps::from_us(40);
const PROGRAM: Ps = Ps::from_us(200);

const ONE_DIE: [(&str, &str); 2] = [("nand.channels", "1"), ("nand.dies", "1")];

/// A host that may have all pages programmed and its stores answered before they are indexed.
#[derive(Clone, Copy, Debug)]
struct Departs(bool);

impl Effects for Departs {
    fn unmap(&mut self, _lpn: Lpn) -> bool {
        false
    }

    fn programs_clean(&self) -> bool {
        self.0
    }

    fn indexes_behind(&self) -> bool {
        self.0
    }
}

/// CMM-H case study section 3: a store that misses is as slow as a load that misses.
#[test]
fn a_store_that_misses_waits_for_its_page() {
    let mut device = device(&[]);
    assert_eq!(write(&mut device, Ps::ZERO, 0).done_at, MISS);
    assert_eq!(device.stats().flash_reads, 1);
    assert_eq!(write(&mut device, Ps(1), 0).done_at, MISS);
}

#[test]
fn a_merged_store_leaves_its_line_and_goes_on() {
    let mut device = device(&[("cache.store_miss", "merge")]);
    let completion = write(&mut device, Ps::ZERO, 0);
    assert_eq!(
        (completion.done_at, completion.served_by),
        (HIT, ServedBy::Flash)
    );
    assert_eq!(write(&mut device, Ps(5), 0).done_at, HIT + Ps(5));
    // The page itself is not there before it was read.
    let early = read(&mut device, MISS - Ps(1), 0);
    assert_eq!(early.served_by, ServedBy::MshrMerge);
    assert_eq!(read(&mut device, MISS, 0).served_by, ServedBy::CacheHit);
    let stats = device.stats();
    assert_eq!((stats.flash_reads, stats.flash_programs), (1, 0));
    assert_eq!(stats.parts.flash_service, Ps::ZERO);
    assert_eq!(device.balance(), Ok(()));
}

#[test]
fn a_merged_store_waits_for_an_entry_only() {
    let pairs = [("cache.store_miss", "merge"), ("mshr.entries", "1")];
    let mut device = device(&pairs);
    assert_eq!(write(&mut device, Ps::ZERO, 0).done_at, HIT);
    assert_eq!(write(&mut device, Ps(9), 1).done_at, MISS + HIT);
    assert_eq!(read(&mut device, Ps(9), 1).done_at, MISS * 2);
}

#[test]
fn a_store_around_the_cache_reads_and_programs_and_stays_out() {
    let pairs = [&ONE_DIE[..], &[("cache.store_miss", "around")]].concat();
    let mut device = device(&pairs);
    assert_eq!(write(&mut device, Ps::ZERO, 0).done_at, MISS);
    assert!(!device.is_cached(Lpn(0)));
    // The program begins when the page is changed, and nobody waits for it but the next read.
    let now = MISS + Ps(1);
    assert_eq!(
        read(&mut device, now, 1).done_at,
        MISS + PROGRAM + READ + HIT
    );
    assert_eq!(
        write(&mut device, Ps::from_ms(1), 1).served_by,
        ServedBy::CacheHit
    );
    let stats = device.stats();
    assert_eq!((stats.write_arounds, stats.host_programs), (1, 1));
    assert_eq!((stats.misses, stats.fills), (2, 1));
    assert_eq!(device.balance(), Ok(()));
}

/// CXL-SSD-Sim section II-A: without a cache every line costs a page of flash.
#[test]
fn a_device_without_a_cache_reads_its_page_for_every_line() {
    let without = [
        ("cache.load_miss", "around"),
        ("cache.store_miss", "around"),
    ];
    let mut device = device(&[&ONE_DIE[..], &without].concat());
    let last = (0..3).map(|_| read(&mut device, Ps::ZERO, 0)).last();
    let last = last.expect("three reads");
    assert_eq!(
        (last.done_at, last.served_by),
        (READ * 3 + HIT, ServedBy::Flash)
    );
    let now = Ps::from_ms(1);
    assert_eq!(write(&mut device, now, 0).done_at, now + MISS);
    assert_eq!(
        read(&mut device, now + MISS, 0).done_at,
        now + MISS + PROGRAM + MISS
    );
    let stats = device.stats();
    assert_eq!((stats.read_arounds, stats.write_arounds), (4, 1));
    assert_eq!((stats.hits, stats.fills, stats.flash_reads), (0, 0, 5));
    assert_eq!(device.balance(), Ok(()));
}

#[test]
fn a_store_written_through_leaves_its_page_clean() {
    let pairs = [
        &ONE_DIE[..],
        &[("cache.write", "through"), ("cache.capacity", "4KiB")],
    ]
    .concat();
    let mut device = device(&pairs);
    assert_eq!(write(&mut device, Ps::ZERO, 0).done_at, MISS);
    let later = Ps::from_ms(1);
    assert_eq!(write(&mut device, later, 0).done_at, later + HIT);
    assert_eq!(device.stats().write_throughs, 2);
    // The eviction is clean, so the read waits for nothing but the program of the hit.
    let now = later + Ps::from_us(100);
    let done_at = read(&mut device, now, 1).done_at;
    assert_eq!(done_at, later + HIT + PROGRAM + READ + HIT);
    let stats = device.stats();
    assert_eq!((stats.dirty_evictions, stats.host_programs), (0, 2));
    assert_eq!(device.balance(), Ok(()));
}

/// Whatever a store does at once, it ends with the program.
#[test]
fn a_store_waits_for_the_end_of_its_program() {
    let through = ("cache.write", "through");
    let around = ("cache.store_miss", "around");
    let whole = ("cache.store_miss", "whole");
    for (how, miss, then) in [
        (through, MISS + PROGRAM, HIT + PROGRAM),
        (around, MISS + PROGRAM, MISS + PROGRAM),
        (whole, HIT + PROGRAM, HIT + PROGRAM),
    ] {
        let mut device =
            device(&[&ONE_DIE[..], &[how, ("cache.store_done", "programmed")]].concat());
        assert_eq!(write(&mut device, Ps::ZERO, 0).done_at, miss, "{how:?}");
        let later = Ps::from_ms(1);
        assert_eq!(
            write(&mut device, later, 0).done_at,
            later + then,
            "{how:?}"
        );
        // The second waits for the first.
        let again = write(&mut device, later, 0).done_at;
        let before = if how == around { MISS } else { Ps::ZERO };
        assert_eq!(again, later + then + PROGRAM + before, "{how:?}");
        let stats = device.stats();
        assert_eq!(stats.host_programs, 3);
        assert_eq!(
            stats.flash_reads,
            if how == whole {
                0
            } else if how == through {
                1
            } else {
                3
            }
        );
        assert_eq!(device.balance(), Ok(()));
    }
}

#[test]
fn a_store_waits_for_no_program_that_nobody_begins_or_others_overtake() {
    let programmed = ("cache.store_done", "programmed");
    let through = ("cache.write", "through");
    let cases: [(&[(&str, &str)], &str); 3] = [
        (&[programmed], "no store is programmed at once"),
        (
            &[programmed, through, ("nand.priority", "read_first")],
            "nand.priority to fifo",
        ),
        (
            &[
                programmed,
                ("cache.store_miss", "around"),
                ("write_log.capacity", "64KiB"),
            ],
            "stores end in the write log",
        ),
    ];
    for (pairs, says) in cases {
        let mut raw = DeviceConfig::builder();
        for (key, value) in pairs {
            raw.set(key, value).unwrap();
        }
        let error = DeviceConfig::new(&raw).unwrap_err().to_string();
        assert!(
            error.contains(says) && error.contains("cache.store_done"),
            "{error}"
        );
    }
}

#[test]
fn each_page_size_finds_its_pages() {
    for shift in 9..=16u64 {
        let page = 1 << shift;
        let size = format!("{page}B");
        let cache = format!("{}B", 4 * page);
        let pairs = [
            ("device.page", size.as_str()),
            ("cache.capacity", cache.as_str()),
        ];
        let mut device = device(&pairs);
        assert_eq!(device.pages(), (16 << 20) / page);
        assert_eq!(device.config().cache.pages, 4);
        let mut at = |now: u64, addr| {
            let req = Request { addr, op: Op::Read };
            device.access(Ps::from_ms(now), req, &mut ()).served_by
        };
        assert_eq!(at(0, 3 * page), ServedBy::Flash);
        assert_eq!(
            at(1, 4 * page - 1),
            ServedBy::CacheHit,
            "the page's last byte"
        );
        assert_eq!(
            at(2, 4 * page),
            ServedBy::Flash,
            "the next page's first byte"
        );
        assert_eq!(at(3, 3 * page - 1), ServedBy::Flash);
        assert_eq!(device.balance(), Ok(()));
    }
}

#[test]
fn a_page_size_that_cannot_be_is_refused() {
    for page in ["256B", "128KiB", "3KiB", "4097B"] {
        let mut raw = DeviceConfig::builder();
        raw.set("device.page", page).unwrap();
        let message = DeviceConfig::new(&raw).unwrap_err().to_string();
        assert!(
            message.contains("device.page = ") && message.contains("512B to 64KiB"),
            "{message}"
        );
    }
    let mut raw = DeviceConfig::builder();
    raw.set("device.page", "512B").unwrap();
    raw.set("device.capacity", "4TiB").unwrap();
    let message = DeviceConfig::new(&raw).unwrap_err().to_string();
    assert!(message.contains("at most 1TiB is accepted"), "{message}");
}

/// Two pages: three lines touched, two of them written; and one line read.
#[test]
fn lines_of_the_pages_that_leave_are_counted() {
    let pairs = [("cache.track_lines", "yes"), ("cache.capacity", "8KiB")];
    let mut device = device(&pairs);
    let mut host = Recorder::default();
    let mut at = |ms: u64, addr, op| {
        device.access(Ps::from_ms(ms), Request { addr, op }, &mut host);
    };
    at(0, 0, Op::Read);
    at(1, 64, Op::Write);
    at(2, 127, Op::Write);
    at(3, 4_095, Op::Write);
    at(4, 4_096 + 640, Op::Read);
    for page in 10..12 {
        at(page, page * 4_096, Op::Read);
    }
    let lines = device.line_use().expect("they are tracked");
    let one =
        |counts: &[u64]| -> Vec<usize> { (0..counts.len()).filter(|n| counts[*n] == 1).collect() };
    assert_eq!(one(lines.touched_of_evicted()), [1, 3]);
    assert_eq!(one(lines.written_of_programmed()), [2]);
    assert_eq!(lines.touched_of_evicted().len(), 65);
    assert_eq!(lines.written_of_programmed().iter().sum::<u64>(), 1);
}

/// As in SkyByte's artifact, where a device without a log programs each page that makes room.
#[test]
fn a_page_that_was_not_written_is_programmed_too_if_the_host_says_so() {
    for (departs, programs) in [(Departs(false), 1), (Departs(true), 3)] {
        let pairs = [&ONE_DIE[..], &[("cache.capacity", "4KiB")]];
        let mut device = device(&pairs.concat());
        let access = |device: &mut Device, at: Ps, lpn: u32, op: Op| {
            let addr = Lpn(lpn).addr(PAGE_BYTES);
            let mut host = departs;
            device.access(at, Request { addr, op }, &mut host)
        };
        // Pages 0 to 2 make room, of which 1 was written; page 3 stays.
        for (lpn, at) in [(0, 0), (1, 10), (2, 20), (3, 30)].map(|(lpn, ms)| (lpn, Ps::from_ms(ms)))
        {
            access(&mut device, at, lpn, Op::Read);
            if lpn == 1 {
                access(&mut device, at + Ps::from_ms(1), lpn, Op::Write);
            }
        }
        let stats = device.stats();
        assert_eq!((stats.evictions, stats.dirty_evictions), (3, 1));
        assert_eq!(stats.clean_write_backs, programs - 1, "{departs:?}");
        assert_eq!(stats.flash_programs, programs, "{departs:?}");
        // Page 3 makes room, and a read on the same die waits for its program.
        let now = Ps::from_ms(40);
        let waits = PROGRAM * u64::from(departs.0);
        let found = access(&mut device, now, 4, Op::Read);
        assert_eq!(found.done_at, now + waits + MISS);
        assert_eq!(device.balance(), Ok(()));
    }
}
