//! Whose prefetch a page is: what counts as prefetched, what the throttle goes by, and what becomes
//! of the pages that a sampled one stands for.

use sluice_model::{Command, Device, Effects, Op, Pattern, Request};
use sluice_testkit::rig::{device, read};
use sluice_units::{Lpn, Ps};

/// Longer than a miss.
const PAUSE: Ps = Ps::from_us(100);

fn command(device: &mut Device, now: Ps, command: Command) {
    device
        .command(now, command, &mut ())
        .expect("is carried out");
}

/// The prefetched pages: issued, used, late, unused and dropped.
fn counts(device: &Device) -> [u64; 5] {
    let s = device.stats();
    assert_eq!(device.balance(), Ok(()));
    [
        s.prefetch_issued,
        s.prefetch_used,
        s.prefetch_late,
        s.prefetch_unused,
        s.prefetch_dropped,
    ]
}

/// They counted as issued, and lowered the accuracy of a prefetcher that was off.
#[test]
fn pages_of_commands_are_no_prefetched_ones() {
    for moment in ["miss", "fill"] {
        let mut device = device(&[("cache.capacity", "16KiB"), ("cache.evict_at", moment)]);
        for lpn in 0..4 {
            command(
                &mut device,
                PAUSE * u64::from(lpn),
                Command::Prefetch(Lpn(lpn)),
            );
        }
        // One is used late, one in time, and the others leave unused.
        read(&mut device, PAUSE * 3 + Ps(1), 3);
        read(&mut device, PAUSE * 4, 2);
        (4..8).for_each(|lpn| _ = read(&mut device, PAUSE * (1 + lpn), lpn));
        device.land(PAUSE * 20, &mut ());
        assert_eq!(counts(&device), [0; 5], "{moment}");
        assert_eq!(device.stats().command_fills, 4, "{moment}");
        assert_eq!(device.stats().prefetch_accuracy(), None, "{moment}");
    }
}

fn throttled(policy: &str, degree: &str) -> Device {
    device(&[
        ("prefetch.policy", policy),
        ("prefetch.degree", degree),
        ("prefetch.throttle", "feedback"),
        ("prefetch.throttle_interval", "64"),
        // Pages that are no neighbours make no stream.
        ("prefetch.stream_window", "1"),
    ])
}

fn decided(device: &Device) -> (u64, u64) {
    let stats = device.stats();
    (stats.prefetch_raised, stats.prefetch_lowered)
}

/// What the throttle decides of a prefetcher that is right once in 32 times. `others` acts on
/// another part of the device; it gets the step and the step's beginning.
fn decided_beside(mut others: impl FnMut(&mut Device, u64, Ps)) -> (u64, u64) {
    let mut device = throttled("nextn", "8");
    device.advise(Lpn(3_000), 1_000, Pattern::Sequential);
    for step in 0..300 {
        let (now, page) = (PAUSE * (4 * step), step * 12 % 2_000);
        read(&mut device, now, page);
        if step % 4 == 0 {
            read(&mut device, now + Ps(1), page + 1);
        }
        others(&mut device, step, now + PAUSE);
    }
    decided(&device)
}

/// Pages of commands that were used, and those of a line, made a prefetcher look accurate that was
/// not.
#[test]
fn the_throttle_does_not_take_pages_of_others_for_used_prefetches() {
    assert_eq!(decided_beside(|_, _, _| ()), (0, 2));
    let commanded = |device: &mut Device, step: u64, at: Ps| {
        let pages = (0..8).map(|n| 2_100 + step % 90 * 9 + n);
        for (n, page) in (0..).zip(pages.clone()) {
            let lpn = Lpn(page as u32);
            _ = device.command(at + Ps::from_us(10) * n, Command::Prefetch(lpn), &mut ());
        }
        pages.for_each(|page| _ = read(device, at + PAUSE * 2, page));
    };
    assert_eq!(decided_beside(commanded), (0, 2), "by commands");
    let in_line = |device: &mut Device, step: u64, at: Ps| {
        for n in 0..8 {
            let page = 3_000 + (step * 8 + n) % 1_000;
            read(device, at + Ps::from_us(30) * n, page);
        }
    };
    assert_eq!(decided_beside(in_line), (0, 2), "in line");
}

/// A pick that is used in a range of random accesses counted as issued alone.
#[test]
fn the_throttle_sees_the_use_of_a_pick_whatever_was_said_of_its_range() {
    let mut device = throttled("nextn", "1");
    for lpn in (1..4_000).step_by(2) {
        device.advise(Lpn(lpn), 1, Pattern::Random);
    }
    for lpn in (0..4_000).step_by(2) {
        let now = PAUSE * lpn;
        read(&mut device, now, lpn);
        read(&mut device, now + Ps(1), lpn + 1);
    }
    assert_eq!(counts(&device)[..3], [2_000; 3]);
    assert_eq!(decided(&device), (2, 0), "all used, and late");
}

/// A host that maps what it has to.
struct MappingHost;

impl Effects for MappingHost {
    const MAPS: bool = true;

    fn unmap(&mut self, _lpn: Lpn) -> bool {
        false
    }

    fn map(&mut self, _lpn: Lpn) -> bool {
        true
    }
}

/// A way for a page to leave.
type Leave = fn(&mut Device);

/// If it was brought in again and used, the pages of its first group counted as used.
#[test]
fn a_sampled_page_that_has_left_unused_stands_for_nobody() {
    let ways: [(&str, Leave); 3] = [
        ("evict", |device| {
            command(device, PAUSE * 2, Command::Evict(Lpn(4)));
        }),
        ("discard", |device| device.discard(PAUSE * 2, Lpn(4))),
        ("expose", |device| {
            device.expose(Lpn(4));
            command(device, PAUSE * 2, Command::Evict(Lpn(4)));
        }),
    ];
    for (name, leave) in ways {
        let keys = [
            ("prefetch.policy", "nextn"),
            ("prefetch.degree", "4"),
            ("prefetch.sample", "4"),
        ];
        let mut device = device(&keys);
        let mut host = MappingHost;
        let mut access = |device: &mut Device, now, page: u64| {
            let (addr, op) = (page * 4096, Op::Read);
            device.map_arrived(now, &mut host);
            device.access(now, Request { addr, op }, &mut host);
        };
        access(&mut device, Ps::ZERO, 0);
        device.map_arrived(PAUSE, &mut MappingHost);
        assert_eq!(device.stats().prefetch_mapped, 3, "{name}");
        leave(&mut device);
        command(&mut device, PAUSE * 2, Command::Evict(Lpn(0)));
        access(&mut device, PAUSE * 3, 0);
        access(&mut device, PAUSE * 3 + Ps(1), 4);
        let stats = device.stats();
        assert_eq!(
            (stats.prefetch_issued, stats.prefetch_used),
            (5, 1),
            "{name}"
        );
    }
}
