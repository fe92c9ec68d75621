//! A write log that is not full: compacted because it was asked for, or because the device is left
//! alone.

use sluice_model::{Device, Op, Request, ServedBy};
use sluice_testkit::rig::device;
use sluice_units::{LINE_BYTES, Lpn, PAGE_BYTES, Ps};

const PROTOCOL: Ps = Ps::from_ns(40);
const LOG_INDEX: Ps = Ps::from_ns(72);
const DRAM: Ps = Ps::from_ns(46);
/// When an access reaches the log.
const AT_LOG: Ps = Ps(PROTOCOL.0 + LOG_INDEX.0);
const READ: Ps = Ps::from_us(3);
const PROGRAM: Ps = Ps::from_us(100);

/// SkyByte's times, eight dies, two log buffers of `lines` lines.
fn device_of(lines: u64) -> Device {
    let log = (lines * 2 * LINE_BYTES).to_string() + "B";
    device(&[
        ("device.protocol_latency", "40ns"),
        ("cache.policy", "lru"),
        ("cache.index_latency", "49ns"),
        ("cache.hit_latency", "46ns"),
        ("nand.read", "3us"),
        ("nand.program", "100us"),
        ("nand.channels", "4"),
        ("nand.dies", "2"),
        ("write_log.capacity", &log),
    ])
}

fn store(device: &mut Device, now: Ps, lpn: u64) {
    let addr = Lpn::of(lpn).addr(PAGE_BYTES);
    let op = Op::Write;
    let completion = device.access(now, Request { addr, op }, &mut ());
    assert_eq!(completion.served_by, ServedBy::WriteLog);
}

/// Left alone, the device compacts what is in the open buffer too. What it did is done then.
#[test]
fn settling_takes_the_compaction_of_all_that_is_logged() {
    for (pages, turns) in [(1, 1), (9, 2), (16, 2)] {
        let mut device = device_of(64);
        for lpn in 0..pages {
            store(&mut device, Ps::ZERO, lpn);
        }
        let now = Ps::from_us(1);
        let end = now + (READ + PROGRAM) * turns;
        assert_eq!(device.settle(now), end);
        let stats = device.stats();
        assert_eq!(stats.write_log.pages_flushed, pages);
        assert_eq!((stats.flash_reads, stats.host_programs), (pages, pages));
        assert_eq!(device.settle(end), end, "at rest already");
        let (addr, op) = (0, Op::Read);
        let missed = device.access(end, Request { addr, op }, &mut ());
        let miss = PROTOCOL + LOG_INDEX + READ + DRAM;
        assert_eq!(
            (missed.done_at, missed.served_by),
            (end + miss, ServedBy::Flash)
        );
    }
}

/// One full buffer is under way, and the other has two pages more.
#[test]
fn settling_goes_on_with_the_compaction_under_way() {
    let mut device = device_of(8);
    for lpn in 0..10 {
        store(&mut device, Ps::ZERO, lpn);
    }
    let end = AT_LOG + (READ + PROGRAM) * 2;
    assert_eq!(device.settle(Ps::from_us(50)), end);
    assert_eq!(device.stats().write_log.compactions, 2);
}

/// A log that is not full is compacted on command, while the device goes on.
#[test]
fn the_open_buffer_is_compacted_in_the_background_when_asked() {
    let mut device = device_of(64);
    for lpn in 0..9 {
        store(&mut device, Ps::ZERO, lpn);
    }
    let now = Ps::from_us(1);
    device.compact_log(now);
    let end = now + (READ + PROGRAM) * 2;
    device.advance(end - Ps(1));
    assert_eq!(device.stats().write_log.compactions, 0);
    store(&mut device, end - Ps(1), 20);
    device.advance(end);
    assert_eq!(device.stats().write_log.compactions, 1);
    assert_eq!(device.stats().write_log.pages_flushed, 9);
    device.compact_log(end);
    device.advance(end + (READ + PROGRAM) * 2);
    assert_eq!(device.stats().write_log.pages_flushed, 10);
}
