//! The write log on DRAM with banks: stores and loads of the log use them like the cache does.

use sluice_model::dram::Dram;
use sluice_model::{Device, DeviceConfig, Op, Request, ServedBy};
use sluice_units::{LINE_BYTES, Lpn, PAGE_BYTES, Ps};

const CACHE: u64 = 64 << 10;
/// Protocol and index of an access that asks the log, and of one that asks the cache alone.
const AT_LOG: Ps = Ps::from_ns(40 + 72);
const AT_CACHE: Ps = Ps::from_ns(40 + 49);

/// Without bank groups and with long bursts, so that lines are more in each other's way.
const SLOW: (&str, &str) = ("dram.model", "lpddr4-3200");

/// A small SkyByte with two buffers of 64 lines, and an equal module beside it.
fn device(pairs: &[(&str, &str)]) -> (Device, Dram) {
    let base = [
        ("device.capacity", "16MiB"),
        ("device.protocol_latency", "40ns"),
        ("cache.capacity", "64KiB"),
        ("cache.index_latency", "49ns"),
        ("write_log.capacity", "8KiB"),
        ("write_log.index_latency", "72ns"),
        ("dram.model", "ddr4-2400"),
    ];
    let mut raw = DeviceConfig::builder();
    for (key, value) in base.iter().chain(pairs) {
        raw.set(key, value).unwrap();
    }
    let device = Device::new(&DeviceConfig::new(&raw).unwrap(), 1).unwrap();
    let dram = Dram::new(&device.config().dram.unwrap());
    (device, dram)
}

/// How long an access takes after the indices, and from where it was served.
fn access(device: &mut Device, now: Ps, addr: u64, op: Op) -> (Ps, ServedBy) {
    let completion = device.access(now, Request { addr, op }, &mut ());
    let front = match completion.served_by {
        ServedBy::CacheHit => AT_CACHE,
        _ => AT_LOG,
    };
    (completion.done_at - now - front, completion.served_by)
}

/// Misses that wait for an MSHR entry have their pages moved far in the future: a hit of today
/// waited for that.
#[test]
fn hits_do_not_wait_for_the_moves_of_misses_that_wait() {
    let (mut device, _) = device(&[("write_log.capacity", "none"), ("mshr.entries", "1")]);
    let (page, now) = (Lpn::of(0).addr(PAGE_BYTES), Ps::from_us(1_000));
    access(&mut device, Ps::ZERO, page, Op::Read);
    for lpn in 100..110 {
        access(&mut device, now, Lpn::of(lpn).addr(PAGE_BYTES), Op::Read);
    }
    let at = now + Ps::from_us(1);
    let (time, served_by) = access(&mut device, at, page, Op::Read);
    assert_eq!(served_by, ServedBy::CacheHit);
    assert!(time < Ps::from_ns(200), "{time:?}");
}

/// The log lies above the cache, a line after the other.
fn logged(place: u64) -> u64 {
    CACHE + place * LINE_BYTES
}

#[test]
fn stores_and_loads_of_the_log_take_the_time_of_their_banks() {
    let (mut device, mut dram) = device(&[]);
    // All at one moment, each of another page: appended one after the other.
    let now = Ps::from_us(5);
    let mut times = Vec::new();
    for place in 0..20 {
        let addr = Lpn::of(place * 3).addr(PAGE_BYTES) + 128;
        let (time, served_by) = access(&mut device, now, addr, Op::Write);
        let expected = dram.access(now + AT_LOG, logged(place), Op::Write).done_at;
        assert_eq!(now + AT_LOG + time, expected, "store {place}");
        assert_eq!(served_by, ServedBy::WriteLog);
        times.push(time);
    }
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    let later = now + Ps::from_ns(300);
    for place in [7, 2, 19] {
        let addr = Lpn::of(place * 3).addr(PAGE_BYTES) + 128;
        let (time, served_by) = access(&mut device, later, addr, Op::Read);
        let expected = dram.access(later + AT_LOG, logged(place), Op::Read).done_at;
        assert_eq!(later + AT_LOG + time, expected, "load {place}");
        assert_eq!(served_by, ServedBy::WriteLog);
    }
    device.balance().unwrap();
}

/// A store to a cached page writes there as well, so that a hit at the same moment comes later.
#[test]
fn a_store_is_in_the_way_of_a_hit() {
    let hit = |stored: Option<u64>| {
        let (mut device, _) = device(&[SLOW]);
        access(&mut device, Ps::ZERO, 0, Op::Read);
        access(&mut device, Ps::ZERO, 4_096, Op::Read);
        let now = Ps::from_us(90);
        if let Some(addr) = stored {
            access(&mut device, now, addr, Op::Write);
        }
        // At the cache when the store is at the log.
        let (time, by) = access(&mut device, now + AT_LOG - AT_CACHE, 0, Op::Read);
        assert_eq!(by, ServedBy::CacheHit);
        time
    };
    let alone = hit(None);
    let beside = hit(Some(9 * 4_096));
    let behind = hit(Some(64));
    assert!(
        alone < beside && beside < behind,
        "{alone} {beside} {behind}"
    );
}

/// Compaction reads the lines that it merges: a load of that time waits for them, on whatever
/// bank they are, and one of a microsecond later does not.
#[test]
fn compaction_reads_its_lines_from_the_banks() {
    let read = Ps::from_us(40);
    let load_after = |wait: Ps| {
        let (mut device, _) = device(&[("nand.read", "40us"), SLOW]);
        let base = Ps::from_us(100);
        access(&mut device, Ps::ZERO, 77 * 4_096, Op::Read);
        // A buffer full of lines of one page; compaction begins with the read of it.
        for line in 0..63 {
            access(&mut device, base, 9 * 4_096 + line * LINE_BYTES, Op::Write);
        }
        access(&mut device, base, 10 * 4_096, Op::Write);
        let now = base + AT_LOG + read + wait - AT_CACHE;
        access(&mut device, now, 77 * 4_096, Op::Read).0
    };
    let before = load_after(Ps::ZERO);
    let after = load_after(Ps::from_us(2));
    assert!(before > after + Ps::from_ns(300), "{before} {after}");
}

/// A store that waits for the log does not hold up the hits of the meantime.
#[test]
fn hits_go_on_while_a_store_waits() {
    let (mut device, _) = device(&[]);
    access(&mut device, Ps::ZERO, 0, Op::Read);
    let now = Ps::from_us(90);
    for page in 0..128 {
        access(&mut device, now, (100 + page) * 4_096, Op::Write);
    }
    let (waited, _) = access(&mut device, now, 900 * 4_096, Op::Write);
    assert!(waited > Ps::from_us(100), "{waited}");
    let (time, by) = access(&mut device, now + Ps::from_us(20), 0, Op::Read);
    assert_eq!(by, ServedBy::CacheHit);
    assert!(time < Ps::from_ns(300), "{time}");
    device.balance().unwrap();
}
