//! The write buffer: pages that leave the cache are programmed by superpages.

use sluice_model::{Device, DeviceConfig, Op, Request};
use sluice_units::{Lpn, PAGE_BYTES, Ps};

/// Planes of the array, which are a superpage of a superblock of all.
const PLANES: u64 = 4;
/// Pages of the cache.
const CACHED: u64 = 4;

/// A read takes 40 us and a program 200 us; whatever is programmed goes before later reads.
fn device(pairs: &[(&str, &str)]) -> Device {
    let base = [
        ("device.capacity", "8MiB"),
        ("cache.capacity", "16KiB"),
        ("nand.channels", "2"),
        ("nand.dies", "2"),
        ("ftl.superblock", "all"),
    ];
    let mut raw = DeviceConfig::builder();
    for (key, value) in base.iter().chain(pairs) {
        raw.set(key, value).unwrap();
    }
    Device::new(&DeviceConfig::new(&raw).unwrap(), 1).unwrap()
}

/// Accesses the page, and says when that is done.
fn access(device: &mut Device, now: Ps, lpn: u64, op: Op) -> Ps {
    let addr = Lpn::of(lpn).addr(PAGE_BYTES);
    device.access(now, Request { addr, op }, &mut ()).done_at
}

/// A store to each page, a hundredth of a second apart, so that flash is at rest in between.
fn store(device: &mut Device, mut now: Ps, lpns: impl IntoIterator<Item = u64>) -> Ps {
    for lpn in lpns {
        now += Ps::from_ms(10);
        access(device, now, lpn, Op::Write);
    }
    now + Ps::from_ms(10)
}

#[test]
fn pages_are_programmed_by_superpages() {
    for superpages in [1, 2, 5] {
        let mut device = device(&[("ftl.write_buffer", &superpages.to_string())]);
        let room = superpages * PLANES;
        let mut now = Ps::ZERO;
        for lpn in 0..64 {
            now = store(&mut device, now, [lpn]);
            let left = (lpn + 1).saturating_sub(CACHED);
            // The buffer is emptied by a superpage as soon as it is full.
            let programmed = match left < room {
                true => 0,
                false => (left - room + PLANES) / PLANES * PLANES,
            };
            assert_eq!(
                device.stats().flash_programs,
                programmed,
                "{left} have left"
            );
            assert_eq!(device.balance(), Ok(()));
        }
    }
}

/// The four programs of a superpage run on a die each: a read behind them waits for one.
#[test]
fn a_superpage_takes_the_time_of_one_program() {
    let mut device = device(&[("ftl.write_buffer", "1")]);
    let now = store(&mut device, Ps::ZERO, 0..CACHED + PLANES - 1);
    assert_eq!(device.stats().flash_programs, 0);
    // The store whose page takes the place of the fourth that leaves: its read begins first on its
    // die or waits for the program there.
    let filled = access(&mut device, now, 100, Op::Write);
    assert_eq!(device.stats().flash_programs, PLANES);
    let hit = Ps::from_ns(150);
    let waits = filled - now - hit;
    assert!([40, 240].map(Ps::from_us).contains(&waits), "{waits}");
    // One less, for with the fourth the next superpage is full.
    for lpn in 200..200 + PLANES - 1 {
        let done = access(&mut device, now, lpn, Op::Read) - now;
        assert!(done <= Ps::from_us(240 + 40) + hit, "{lpn}: {done}");
    }
}

/// What waits there costs no flash read, and on both sides of a superpage the page is the same.
#[test]
fn what_waits_can_be_read() {
    let mut device = device(&[("ftl.write_buffer", "1")]);
    let now = store(&mut device, Ps::ZERO, 0..CACHED + 1);
    let reads = device.stats().flash_reads;
    let done = access(&mut device, now, 0, Op::Read);
    assert_eq!(done - now, Ps::from_ns(150));
    let stats = *device.stats();
    assert_eq!((stats.flash_reads, stats.write_buffer_reads), (reads, 1));
    // A page that has gone to flash is read from there.
    let now = store(&mut device, now, 10..10 + CACHED + PLANES);
    let done = access(&mut device, now, 0, Op::Read);
    assert_eq!(done - now, Ps::from_us(40) + Ps::from_ns(150));
    assert_eq!(device.stats().write_buffer_reads, 1);
}

/// A page that comes again before its superpage is full is programmed once, as it was last; one
/// that is discarded is not programmed.
#[test]
fn what_waits_is_rewritten_and_discarded_in_place() {
    let mut device = device(&[("ftl.write_buffer", "2")]);
    let mut now = Ps::ZERO;
    for _ in 0..10 {
        now = store(&mut device, now, 0..CACHED + 1);
    }
    let stats = *device.stats();
    assert_eq!(
        stats.flash_programs, 0,
        "five pages do not fill eight places"
    );
    assert!(stats.write_buffer_saved > 30, "{stats:?}");
    let saved = stats.write_buffer_saved;
    (0..CACHED + 1).for_each(|lpn| device.discard(now, Lpn::of(lpn)));
    assert!(device.stats().write_buffer_saved > saved);
    assert_eq!(device.balance(), Ok(()));
    device.settle(now);
    assert_eq!(
        device.stats().flash_programs,
        0,
        "nothing is left to be programmed"
    );
}

/// At rest everything has been programmed, superpages that are not full as well.
#[test]
fn a_device_at_rest_has_programmed_what_waited() {
    let mut device = device(&[("ftl.write_buffer", "3")]);
    let now = store(&mut device, Ps::ZERO, 0..CACHED + 3);
    assert_eq!(device.stats().flash_programs, 0);
    let rest = device.settle(now);
    assert_eq!(device.stats().flash_programs, 3);
    assert_eq!(rest, now + Ps::from_us(200));
    assert_eq!(device.balance(), Ok(()));
}

/// Stores to one page after the other, over four times the cache: the mean time of one.
fn mean(pages: u64, pairs: &[(&str, &str)]) -> f64 {
    let capacity = format!("{}B", pages * PAGE_BYTES);
    let own = [
        ("cache.capacity", capacity.as_str()),
        ("device.capacity", "64MiB"),
    ];
    let mut device = device(
        &[
            &own[..],
            &[("nand.channels", "8"), ("nand.dies", "8")],
            pairs,
        ]
        .concat(),
    );
    let (mut now, count) = (Ps::ZERO, 3 * 4 * pages);
    for turn in 0..count {
        now = access(&mut device, now, turn % (4 * pages), Op::Write);
    }
    now.0 as f64 / count as f64
}

/// A cache of whole stripes needs for each fill the die that its victim is programmed on: the mean
/// latency is several times that of a cache that is a page larger. By superpages it is the same.
#[test]
fn one_page_of_cache_more_or_less_changes_nothing() {
    let ratio = |pairs: &[(&str, &str)]| mean(1024, pairs) / mean(1025, pairs);
    let alone = ratio(&[("ftl.superblock", "1")]);
    assert!(
        alone > 3.0,
        "{alone}: without the buffer there is nothing to show"
    );
    let gathered = ratio(&[("ftl.write_buffer", "1")]);
    assert!((0.95..1.05).contains(&gathered), "{gathered}");
}
