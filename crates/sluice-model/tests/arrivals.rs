//! Prefetched pages that a host maps when they arrive: which arrivals reach the host, and what the
//! device knows of pages whose accesses it does not see. Streams with closed-form results.

use sluice_model::prefetch::{Arrival, External, Outcome, Picks, Reach, Seen};
use sluice_model::{Device, DeviceConfig};
use sluice_testkit::rig::device;
use sluice_units::{Lpn, Ps};
use std::collections::BTreeSet;

/// Longer than a miss, so that every prefetch is in time.
const PAUSE: Ps = Ps::from_us(100);

fn prefetching(policy: &str, own: &[(&str, &str)]) -> Device {
    let mut pairs = vec![("prefetch.policy", policy), ("device.capacity", "64MiB")];
    pairs.extend(own);
    device(&pairs)
}

/// A host that maps each page that arrives, and whose accesses to mapped pages the device does not
/// see.
#[derive(Default)]
struct MappingHost {
    mapped: std::collections::BTreeSet<Lpn>,
    /// Pages at most; more cannot be mapped.
    room: usize,
}

impl sluice_model::Effects for MappingHost {
    const MAPS: bool = true;

    fn unmap(&mut self, lpn: Lpn) -> bool {
        self.mapped.remove(&lpn);
        false
    }

    fn map(&mut self, lpn: Lpn) -> bool {
        self.mapped.len() < self.room && self.mapped.insert(lpn)
    }
}

/// Reads the pages one after the other, `pause` apart. Returns how many accesses the device saw.
fn read_mapped(
    device: &mut Device,
    pages: impl Iterator<Item = u64>,
    pause: Ps,
    room: usize,
) -> u64 {
    let (mapped, mut seen) = (Default::default(), 0);
    let mut host = MappingHost { mapped, room };
    for (turn, page) in pages.enumerate() {
        let (now, lpn) = (pause * turn as u64, Lpn::of(page));
        device.map_arrived(now, &mut host);
        if host.mapped.contains(&lpn) {
            continue;
        }
        let (addr, op) = (page * 4096, sluice_model::Op::Read);
        device.access(now, sluice_model::Request { addr, op }, &mut host);
        host.mapped.insert(lpn);
        seen += 1;
    }
    seen
}

/// Of 16 prefetched pages 15 are mapped when they arrive. The device sees the misses and the
/// sampled pages, and knows the uses of all others from those.
#[test]
fn pages_mapped_on_arrival_are_counted_by_the_sampled_ones() {
    let keys = [("prefetch.degree", "4"), ("prefetch.sample", "16")];
    let mut device = prefetching("nextn", &keys);
    let pages = 16 * 5 * 10;
    let seen = read_mapped(&mut device, 0..pages, PAUSE, usize::MAX);
    let stats = *device.stats();
    let issued = pages / 5 * 4;
    assert_eq!((stats.misses, stats.prefetch_used), (pages / 5, issued));
    assert_eq!(stats.prefetch_mapped, issued - issued / 16);
    assert_eq!(seen, pages / 5 + issued / 16);
    assert_eq!(stats.prefetch_accuracy(), sluice_units::Ratio::new(1, 1));
}

/// With room for none they are left to their accesses, as with `prefetch.map = touch`.
#[test]
fn pages_that_are_not_mapped_are_seen_one_by_one() {
    for (map, room) in [("arrival", 0), ("touch", usize::MAX)] {
        let mut device = prefetching("nextn", &[("prefetch.degree", "4"), ("prefetch.map", map)]);
        let seen = read_mapped(&mut device, 0..500, PAUSE, room);
        assert_eq!((seen, device.stats().prefetch_mapped), (500, 0), "{map}");
        assert_eq!(
            (device.stats().misses, device.stats().prefetch_used),
            (100, 400),
            "{map}"
        );
    }
}

/// Each access follows its miss at once: no page is mapped before it is there.
#[test]
fn a_page_on_its_way_is_waited_for() {
    let mut device = prefetching("nextn", &[("prefetch.degree", "4")]);
    let seen = read_mapped(&mut device, 0..50, Ps::from_ns(1), usize::MAX);
    let stats = *device.stats();
    assert_eq!((seen, stats.prefetch_mapped), (50, 0));
    assert_eq!((stats.misses, stats.prefetch_late), (10, 40));
}

/// Nothing that was prefetched is used, and nothing is counted as used.
#[test]
fn what_is_not_used_is_not_presumed_to_be() {
    let mut device = prefetching(
        "nextn",
        &[("prefetch.degree", "4"), ("prefetch.sample", "8")],
    );
    let seen = read_mapped(&mut device, (0..200).map(|n| 5 * n), PAUSE, usize::MAX);
    let stats = *device.stats();
    assert_eq!((seen, stats.misses, stats.prefetch_used), (200, 200, 0));
    // Three of the last four are still on their way.
    assert_eq!(stats.prefetch_mapped, 700 - 3);
}

/// A prefetcher that runs ahead of its accesses learns of those that the host does not show by the
/// sampled pages. It misses no more than one that sees all.
#[test]
fn a_stream_is_followed_by_its_sampled_pages() {
    for policy in ["stride", "stream"] {
        let keys = [
            ("prefetch.degree", "4"),
            ("prefetch.distance", "32"),
            ("prefetch.sample", "8"),
        ];
        let mut device = prefetching(policy, &keys);
        let seen = read_mapped(&mut device, 0..1_000, PAUSE, usize::MAX);
        let stats = *device.stats();
        assert!(stats.misses <= 8, "{policy}: {} misses", stats.misses);
        assert!(seen < 200, "{policy}: {seen} of 1000 accesses trapped");
        let used = stats.prefetch_used as f64 / (1_000 - stats.misses) as f64;
        assert!((0.95..=1.05).contains(&used), "{policy}: {used}");
    }
}

/// The page that is accessed stays, whatever the sampled page's use makes the prefetcher bring in:
/// under LIFO the page that came last would leave first.
#[test]
fn a_page_that_is_accessed_outlasts_what_its_use_brings_in() {
    for policy in ["lifo", "mru", "fifo"] {
        let keys = [
            ("prefetch.degree", "4"),
            ("prefetch.sample", "4"),
            ("cache.policy", policy),
            ("cache.capacity", "64KiB"),
        ];
        let mut device = prefetching("stream", &keys);
        let mut host = MappingHost {
            room: usize::MAX,
            ..Default::default()
        };
        for turn in 0..2_000 {
            let (now, page) = (PAUSE * turn, turn % 300);
            device.map_arrived(now, &mut host);
            if !host.mapped.contains(&Lpn::of(page)) {
                let (addr, op) = (page * 4096, sluice_model::Op::Read);
                device.access(now, sluice_model::Request { addr, op }, &mut host);
                assert!(device.is_cached(Lpn::of(page)), "{policy}: page {page}");
                host.mapped.insert(Lpn::of(page));
            }
            assert!(
                host.mapped.iter().all(|lpn| device.is_cached(*lpn)),
                "{policy}"
            );
        }
    }
}

/// One that picks the next pages, and expects to learn of a first use once for each that arrives.
#[derive(Default)]
struct Expecting {
    on_their_way: BTreeSet<Lpn>,
}

impl External for Expecting {
    fn access(&mut self, seen: Seen, reach: Reach, picks: &mut Picks) {
        let was_sent = self.on_their_way.remove(&seen.lpn);
        let is_first = matches!(seen.outcome, Outcome::FirstUse | Outcome::LateUse);
        assert!(was_sent || !is_first, "{} has not come since", seen.lpn);
        let next = u64::from(seen.lpn) + 1;
        (next..next + u64::from(reach.degree)).for_each(|page| picks.push(page));
    }

    fn arrives(&mut self, arrival: Arrival) {
        self.on_their_way.insert(arrival.lpn);
    }
}

/// Pages that a host had mapped were taken for used when a later one of their group was, although
/// they had left, or missed in the meantime.
#[test]
fn a_prefetcher_learns_of_first_uses_of_pages_that_are_there() {
    let mut raw = DeviceConfig::builder();
    for (key, value) in [
        ("device.capacity", "4MiB"),
        ("cache.capacity", "128KiB"),
        ("prefetch.policy", "nextn"),
        ("prefetch.degree", "4"),
        ("prefetch.sample", "16"),
    ] {
        raw.set(key, value).unwrap();
    }
    let config = DeviceConfig::new(&raw).unwrap();
    let device = Device::new(&config, 1).unwrap();
    let mut device = device.with_prefetcher(Box::new(Expecting::default()));
    let mut rng = sluice_units::Rng::stream(3, "test");
    let pages = std::iter::from_fn(|| Some(rng.below(200)));
    read_mapped(&mut device, pages.take(5_000), PAUSE, usize::MAX);
    assert!(device.stats().prefetch_used > 100, "{:?}", device.stats());
}
