//! Whether the read of a page waits until the one that it takes the place of is programmed.

use sluice_model::{Device, DeviceConfig, Op, Request};
use sluice_params::ConfigError;
use sluice_units::{Lpn, PAGE_BYTES, Ps};

/// Pages of the cache.
const CACHED: u64 = 4;
const HIT: Ps = Ps::from_ns(150);
const READ: Ps = Ps::from_us(40);
const PROGRAM: Ps = Ps::from_us(200);

/// 64 dies, so that a victim is programmed on another one than the next page is read from.
fn raw(pairs: &[(&str, &str)]) -> Result<DeviceConfig, ConfigError> {
    let base = [("device.capacity", "8MiB"), ("cache.capacity", "16KiB")];
    let mut raw = DeviceConfig::builder();
    for (key, value) in base.iter().chain(pairs) {
        raw.set(key, value).unwrap();
    }
    DeviceConfig::new(&raw)
}

fn device(pairs: &[(&str, &str)]) -> Device {
    Device::new(&raw(pairs).unwrap(), 1).unwrap()
}

/// How long each access takes, a hundredth of a second after the one before.
fn times<const N: usize>(device: &mut Device, accesses: [(u64, Op); N]) -> [Ps; N] {
    let mut now = device.settle(Ps::ZERO);
    accesses.map(|(lpn, op)| {
        now += Ps::from_ms(10);
        let addr = Lpn::of(lpn).addr(PAGE_BYTES);
        device.access(now, Request { addr, op }, &mut ()).done_at - now
    })
}

/// Two written pages and two read ones, in the order in which FIFO lets them go.
fn fill(device: &mut Device) {
    use Op::{Read, Write};
    let filled = times(device, [(30, Write), (31, Read), (32, Write), (33, Read)]);
    assert_eq!(filled, [READ + HIT; CACHED as usize]);
}

#[test]
fn a_read_waits_for_the_program_of_a_written_page_alone() {
    for (rule, written) in [("behind", READ), ("wait", PROGRAM + READ)] {
        let mut device = device(&[("cache.dirty_eviction", rule)]);
        fill(&mut device);
        let took = times(&mut device, [40, 41, 42, 43].map(|lpn| (lpn, Op::Read)));
        let due = [written, READ, written, READ].map(|time| time + HIT);
        assert_eq!(took, due, "{rule}");
        assert_eq!(device.stats().flash_programs, 2);
        assert_eq!(device.balance(), Ok(()));
    }
}

/// A written page leaves and is waited for; right behind it a page that was only read leaves, and
/// its place is free at once.
#[test]
fn a_page_that_was_only_read_waits_for_no_other() {
    let mut device = device(&[("cache.dirty_eviction", "wait")]);
    fill(&mut device);
    let now = device.settle(Ps::ZERO) + Ps::from_ms(100);
    let mut took = |lpn| {
        let addr = Lpn::of(lpn).addr(PAGE_BYTES);
        device
            .access(now, Request { addr, op: Op::Read }, &mut ())
            .done_at
            - now
    };
    assert_eq!([took(40), took(41)], [PROGRAM + READ + HIT, READ + HIT]);
}

/// With a write buffer only the page that fills it waits: for the superpage that makes room.
#[test]
fn with_a_write_buffer_one_of_a_superpage_waits() {
    let mut device = device(&[
        ("cache.dirty_eviction", "wait"),
        ("nand.channels", "2"),
        ("nand.dies", "2"),
        ("ftl.superblock", "all"),
        ("ftl.write_buffer", "1"),
    ]);
    let written = [50, 51, 52, 53, 54, 55, 56, 57].map(|lpn| (lpn, Op::Write));
    let took = times(&mut device, written).map(|time| time - HIT);
    assert_eq!(took[..7], [READ; 7]);
    // Its read waits for no die then: all of them are done with the superpage.
    assert_eq!(took[7], PROGRAM + READ);
    assert_eq!(device.stats().flash_programs, 4);
}

#[test]
fn waiting_needs_a_known_end() {
    let given = [
        ("cache.dirty_eviction", "wait"),
        ("nand.priority", "read_first"),
    ];
    let refused = raw(&given).unwrap_err().to_string();
    for word in [
        "cache.dirty_eviction",
        "wait",
        "nand.priority",
        "fifo",
        "behind",
    ] {
        assert!(refused.contains(word), "{refused}");
    }
}
