//! Flushes and block reads where pages are neither in the cache nor in flash, or flash refuses.

use sluice_model::{BlockOp, BlockRequest, Command, Device, Op, Refused, Request};
use sluice_testkit::rig::{Recorder, device, read, write};
use sluice_units::{LINE_BYTES, Lpn, PAGE_BYTES, Ps};

const HIT: Ps = Ps::from_ns(150);
const ONE_DIE: [(&str, &str); 2] = [("nand.channels", "1"), ("nand.dies", "1")];

fn now(ms: u64) -> Ps {
    Ps::from_ms(ms)
}

fn flush(device: &mut Device, ms: u64, lpn: u32) -> Result<bool, Refused> {
    let done = device.command(now(ms), Command::Flush(Lpn(lpn)), &mut ());
    assert_eq!(device.balance(), Ok(()));
    done.map(|done| done.changed)
}

/// A device of one die that has worn out, and when.
fn worn(extra: &[(&str, &str)]) -> (Device, u64) {
    let worn = [
        ("device.capacity", "256KiB"),
        ("cache.capacity", "64KiB"),
        ("nand.endurance", "2"),
        ("nand.pages_per_block", "4"),
    ];
    let mut device = device(&[&ONE_DIE[..], &worn, extra].concat());
    let mut ms = 0;
    while !device.is_read_only() {
        device.demote_to_flash(now(ms), Lpn::of(ms % 64));
        ms += 1;
        assert!(ms < 100_000, "it wears out");
    }
    (device, ms)
}

/// What a store writes through is dirty if flash refuses it: it was clean, and so not to be kept.
#[test]
fn what_worn_flash_refuses_to_write_through_is_dirty() {
    for ends in ["held", "programmed"] {
        let through = [("cache.write", "through"), ("cache.store_done", ends)];
        let (mut device, ms) = worn(&through);
        let refused = device.stats().writes_refused;
        write(&mut device, now(ms), 1);
        write(&mut device, now(ms + 1), 1);
        assert_eq!(device.stats().writes_refused, refused + 2, "{ends}");
        assert!(device.promote(now(ms + 2), Lpn(1)).dirty, "{ends}");
        assert_eq!(device.balance(), Ok(()));
    }
}

/// A page that cannot be programmed stays dirty, and mapped.
#[test]
fn a_read_only_device_refuses_to_flush_a_page() {
    let (mut device, mut ms) = worn(&[]);
    write(&mut device, now(ms), 1);
    let mut host = Recorder::default();
    let counts = |device: &Device| {
        let stats = device.stats();
        (stats.flushes, stats.writes_refused)
    };
    let before = counts(&device);
    for _ in 0..2 {
        ms += 1;
        let done = device.command(now(ms), Command::Flush(Lpn(1)), &mut host);
        assert_eq!(done, Err(Refused::ReadOnly));
    }
    assert!(host.unmapped.is_empty());
    assert_eq!(counts(&device), before);
    assert!(device.promote(now(ms + 1), Lpn(1)).dirty);
}

#[test]
fn a_flushed_page_does_not_stay_in_the_write_buffer() {
    let buffer = [
        ("cache.capacity", "4KiB"),
        ("ftl.write_buffer", "1"),
        ("ftl.superblock", "all"),
    ];
    let mut device = device(&buffer);
    write(&mut device, now(0), 1);
    assert_eq!(flush(&mut device, 1, 1), Ok(true));
    let counts = |device: &Device| (device.stats().flushes, device.stats().flash_programs);
    assert_eq!(counts(&device), (1, 1));
    assert_eq!(flush(&mut device, 2, 1), Ok(false));
    // It leaves for the write buffer, comes back from there, and is clean.
    write(&mut device, now(3), 1);
    read(&mut device, now(4), 2);
    read(&mut device, now(5), 1);
    assert_eq!(counts(&device), (1, 1));
    assert_eq!(flush(&mut device, 6, 1), Ok(true));
    assert_eq!(device.stats().flash_programs, 2);
    assert_eq!(flush(&mut device, 7, 1), Ok(false));
}

/// A range is looked up page by page, or the whole cache is: what lies outside stays written.
#[test]
fn a_flush_of_many_pages_programs_those_of_its_range_alone() {
    for (first, count) in [(0, 3), (2, 5), (4, 60), (0, 4096)] {
        let mut device = device(&[]);
        for lpn in 0..10 {
            write(&mut device, now(0), lpn * 3);
        }
        let request = BlockRequest::new(BlockOp::Flush, Lpn::of(first), count);
        let done = device.block(now(1), request, &mut ()).unwrap();
        let inside = (0..10).filter(|lpn| (first..first + count).contains(&(lpn * 3)));
        let inside = inside.count() as u64;
        assert_eq!(
            (done.cached, device.stats().flushes),
            (inside, inside),
            "{first} {count}"
        );
        let rest = BlockRequest::new(BlockOp::Flush, Lpn::of(0), 4096);
        device.block(now(2), rest, &mut ()).unwrap();
        assert_eq!(device.stats().flushes, 10);
    }
}

#[test]
fn a_block_read_of_a_page_that_the_log_has_whole_costs_no_flash() {
    let mut device = device(&[("write_log.capacity", "1MiB")]);
    let lines = PAGE_BYTES / LINE_BYTES;
    for (lpn, lines) in [(0, lines), (1, lines - 1)] {
        for line in 0..lines {
            let addr = Lpn::of(lpn).addr(PAGE_BYTES) + line * LINE_BYTES;
            let op = Op::Write;
            device.access(now(0), Request { addr, op }, &mut ());
        }
    }
    let mut block = |ms, lpn, count| {
        let request = BlockRequest::new(BlockOp::Read, Lpn::of(lpn), count);
        let reads = device.stats().flash_reads;
        let done_at = device.block(now(ms), request, &mut ()).unwrap().done_at;
        (done_at - now(ms), device.stats().flash_reads - reads)
    };
    assert_eq!(block(1, 0, 1), (HIT, 0));
    assert_eq!(block(2, 1, 1), (Ps::from_us(40) + HIT, 1));
    assert_eq!(block(3, 0, 2), (Ps::from_us(40) + HIT, 1));
}
