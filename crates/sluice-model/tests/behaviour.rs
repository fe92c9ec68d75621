//! What the device does besides keeping time: prefetch, write-back, discard.

use sluice_model::{Op, Request, ServedBy};
use sluice_testkit::rig::{MISS, Recorder, device, read, write};
use sluice_units::{Lpn, PAGE_BYTES, Ps};

const NEXT_3: [(&str, &str); 2] = [("prefetch.policy", "nextn"), ("prefetch.degree", "3")];

/// A scan that is slower than the flash misses every fourth page and hits the rest.
#[test]
fn a_scan_misses_once_per_degree_and_one() {
    let mut device = device(&NEXT_3);
    let mut now = Ps::ZERO;
    for lpn in 0..100 {
        let completion = read(&mut device, now, lpn);
        let missed = lpn.is_multiple_of(4);
        let served_by = if missed {
            ServedBy::Flash
        } else {
            ServedBy::CacheHit
        };
        assert_eq!(
            (completion.served_by, completion.was_prefetched),
            (served_by, !missed)
        );
        now += MISS;
    }
    let stats = device.stats();
    assert_eq!((stats.misses, stats.hits), (25, 75));
    assert_eq!((stats.prefetch_issued, stats.prefetch_used), (75, 75));
    assert_eq!(stats.flash_reads, 100);
}

#[test]
fn only_the_first_access_to_a_prefetched_page_is_its_use() {
    let mut device = device(&NEXT_3);
    read(&mut device, Ps::ZERO, 0);
    let in_flight = read(&mut device, Ps(1), 1);
    assert_eq!(in_flight.served_by, ServedBy::MshrMerge);
    assert!(in_flight.was_prefetched);
    assert!(!read(&mut device, Ps(2), 1).was_prefetched);
    assert_eq!(device.stats().prefetch_used, 1);
}

#[test]
fn prefetching_ends_with_the_device() {
    let mut device = device(&NEXT_3);
    let last = device.pages() - 1;
    read(&mut device, Ps::ZERO, last - 1);
    assert!(device.is_cached(Lpn::of(last)));
    assert!(!device.is_cached(Lpn::of(last + 1)));
    assert_eq!(device.stats().prefetch_issued, 1);
}

/// Two entries: the miss takes one, the first prefetch the other, the rest are given up.
#[test]
fn a_prefetch_never_waits() {
    let mut full = device(&[&NEXT_3[..], &[("mshr.entries", "2")]].concat());
    assert_eq!(read(&mut full, Ps::ZERO, 0).done_at, MISS);
    assert_eq!(
        (full.stats().prefetch_issued, full.stats().prefetch_dropped),
        (1, 2)
    );

    // Two pages of cache: the second prefetch would have to push out a page in flight.
    let mut tiny = device(&[&NEXT_3[..], &[("cache.capacity", "8KiB")]].concat());
    read(&mut tiny, Ps::ZERO, 0);
    assert_eq!(
        (tiny.stats().prefetch_issued, tiny.stats().prefetch_dropped),
        (1, 2)
    );
    assert!(tiny.is_cached(Lpn(0)));
}

/// Without latencies the demanded page is ready at once; even LIFO must not lose it to a prefetch.
#[test]
fn a_prefetch_does_not_push_out_the_page_that_asked_for_it() {
    for policy in ["fifo", "lifo", "lru", "clock", "s3fifo", "random"] {
        let instant = [
            ("nand.read", "0"),
            ("cache.hit_latency", "0"),
            ("cache.capacity", "16KiB"),
        ];
        let policy = [("cache.policy", policy)];
        let mut device = device(&[&NEXT_3[..], &instant, &policy].concat());
        for round in 0..20 {
            let lpn = round * 10;
            read(&mut device, Ps(round), lpn);
            assert!(device.is_cached(Lpn::of(lpn)), "{policy:?}, round {round}");
        }
    }
}

#[test]
fn a_prefetched_page_that_leaves_unused_is_counted() {
    let mut device = device(&[&NEXT_3[..], &[("cache.capacity", "16KiB")]].concat());
    read(&mut device, Ps::ZERO, 0);
    read(&mut device, Ps::from_ms(1), 1);
    read(&mut device, Ps::from_ms(2), 100);
    let stats = device.stats();
    assert_eq!(
        (
            stats.prefetch_issued,
            stats.prefetch_used,
            stats.prefetch_unused
        ),
        (6, 1, 2)
    );
}

/// Both the device's own view and the host's answer make a page dirty, and only once.
#[test]
fn only_written_pages_are_programmed() {
    let mut device = device(&[("cache.capacity", "16KiB")]);
    let mut host = Recorder {
        written: vec![2, 3],
        ..Recorder::default()
    };
    for (lpn, op) in [(0, Op::Read), (1, Op::Write), (2, Op::Read), (3, Op::Write)] {
        device.access(
            Ps::from_ms(lpn),
            Request {
                addr: Lpn::of(lpn).addr(PAGE_BYTES),
                op,
            },
            &mut host,
        );
    }
    for lpn in 10..14 {
        let req = Request {
            addr: Lpn::of(lpn).addr(PAGE_BYTES),
            op: Op::Read,
        };
        device.access(Ps::from_ms(lpn), req, &mut host);
    }
    assert_eq!(host.unmapped, [0, 1, 2, 3]);
    let stats = device.stats();
    assert_eq!(
        (stats.evictions, stats.dirty_evictions, stats.host_programs),
        (4, 3, 3)
    );
}

#[test]
fn a_late_report_of_a_write_is_a_program_or_a_dirty_mark() {
    let mut device = device(&[("cache.capacity", "4KiB")]);
    device.write_back(Ps::ZERO, Lpn(7));
    assert_eq!(
        (
            device.stats().late_write_backs,
            device.stats().host_programs
        ),
        (1, 1)
    );
    read(&mut device, Ps::from_ms(1), 8);
    device.write_back(Ps::from_ms(2), Lpn(8));
    assert_eq!(
        (
            device.stats().late_write_backs,
            device.stats().host_programs
        ),
        (1, 1)
    );
    read(&mut device, Ps::from_ms(3), 9);
    assert_eq!(
        (device.stats().dirty_evictions, device.stats().host_programs),
        (1, 2)
    );
}

#[test]
fn a_discarded_page_is_neither_written_back_nor_read() {
    let mut device = device(&[]);
    write(&mut device, Ps::ZERO, 5);
    device.discard(Ps::from_ms(1), Lpn(5));
    assert!(!device.is_cached(Lpn(5)));
    let now = Ps::from_ms(2);
    assert_eq!(read(&mut device, now, 5).done_at, now + Ps::from_ns(150));
    let stats = device.stats();
    assert_eq!(
        (stats.trims, stats.host_programs, stats.evictions),
        (1, 0, 0)
    );
    device.discard(now, Lpn(6));
    assert_eq!(
        device.stats().trims,
        2,
        "a page that is not cached loses its place in flash"
    );
}

/// The slot of a page discarded in flight can be used before that flash read would have ended.
#[test]
fn a_discarded_slot_is_used_again() {
    let mut device = device(&[("cache.capacity", "8KiB")]);
    read(&mut device, Ps::ZERO, 0);
    read(&mut device, Ps::ZERO, 1);
    device.discard(Ps(1), Lpn(0));
    assert_eq!(read(&mut device, Ps(2), 2).done_at, MISS + Ps(2));
    assert_eq!(
        (device.stats().evictions, device.stats().mshr_stalls),
        (0, 0)
    );
    assert!(device.is_cached(Lpn(1)) && device.is_cached(Lpn(2)));
}

#[test]
#[should_panic(expected = "address 0x1000000 is not on the device")]
fn an_address_beyond_the_device_is_a_bug_of_the_caller() {
    let mut device = device(&[]);
    read(&mut device, Ps::ZERO, 4096);
}
