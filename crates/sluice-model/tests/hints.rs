//! What the host says of its accesses: cold pages leave first, pages in line come ahead.

use proptest::prelude::*;
use sluice_model::{Command, Device, EVICTIONS, Pattern, Refused, ServedBy};
use sluice_testkit::rig::{device, read, write};
use sluice_units::{Lpn, Ps};

fn now(ms: u64) -> Ps {
    Ps::from_ms(ms)
}

fn cool(device: &mut Device, ms: u64, lpn: u32) -> Result<bool, Refused> {
    let done = device.command(now(ms), Command::Cold(Lpn(lpn)), &mut ());
    assert_eq!(device.balance(), Ok(()));
    done.map(|done| done.changed)
}

fn is_hit(device: &mut Device, ms: u64, lpn: u64) -> bool {
    read(device, now(ms), lpn).served_by == ServedBy::CacheHit
}

#[test]
fn cold_pages_leave_first_in_the_order_told_under_every_policy() {
    for entry in EVICTIONS {
        let name = entry.info.name;
        let mut device = device(&[("cache.capacity", "32KiB"), ("cache.policy", name)]);
        for lpn in 0..8 {
            read(&mut device, now(lpn), lpn);
        }
        for (n, lpn) in [5, 2, 7].into_iter().enumerate() {
            assert_eq!(cool(&mut device, 10 + n as u64, lpn), Ok(true), "{name}");
            assert_eq!(cool(&mut device, 10 + n as u64, lpn), Ok(false), "{name}");
        }
        for (n, leaves) in [5, 2, 7].into_iter().enumerate() {
            assert!(device.is_cached(Lpn(leaves)), "{name}: {leaves}");
            read(&mut device, now(20 + n as u64), 100 + n as u64);
            assert!(!device.is_cached(Lpn(leaves)), "{name}: {leaves}");
        }
        assert_eq!(device.stats().cold_evictions, 3, "{name}");
        // After that the policy decides again.
        for lpn in 0..50 {
            read(&mut device, now(30 + lpn), 200 + lpn % 20);
        }
        assert_eq!(device.stats().cold_evictions, 3, "{name}");
        assert_eq!((device.cached_pages(), device.balance()), (8, Ok(())));
    }
}

#[test]
fn an_access_that_is_seen_or_a_pin_takes_it_back() {
    let mut device = device(&[("cache.capacity", "16KiB"), ("cache.policy", "lru")]);
    for lpn in 0..4 {
        read(&mut device, now(lpn), lpn);
    }
    (1..4).for_each(|lpn| _ = cool(&mut device, 10, lpn));
    assert!(is_hit(&mut device, 11, 1));
    device
        .command(now(12), Command::Pin(Lpn(2)), &mut ())
        .unwrap();
    assert_eq!(
        cool(&mut device, 12, 2),
        Err(Refused::Pinned(Lpn(2))),
        "a pinned page stays"
    );
    // 3 is cold still, 0 is the oldest of the others.
    for (ms, leaves) in [(20, 3), (21, 0), (22, 1)] {
        read(&mut device, now(ms), ms);
        assert!(!device.is_cached(Lpn(leaves)), "{leaves}");
    }
    assert!(device.is_cached(Lpn(2)));
}

#[test]
fn a_page_on_its_way_and_one_elsewhere_do_not_go_cold() {
    let mut device = device(&[("cache.capacity", "16KiB")]);
    let refused = cool(&mut device, 0, 9);
    assert_eq!(refused, Err(Refused::NotCached(Lpn(9))));
    let there = read(&mut device, now(1), 9).done_at;
    let refused = device.command(now(1), Command::Cold(Lpn(9)), &mut ());
    let Err(Refused::InFlight(Lpn(9), at)) = refused else {
        panic!("{refused:?}");
    };
    assert!(at <= there);
    assert_eq!(cool(&mut device, 2, 9), Ok(true));
    let many = device.command(now(2), Command::Cold(Lpn::of(device.pages())), &mut ());
    assert!(matches!(many, Err(Refused::NotOnDevice(..))));
}

#[test]
fn a_dirty_cold_page_is_programmed_and_another_policy_keeps_it_cold() {
    let mut device = device(&[("cache.capacity", "16KiB")]);
    for lpn in 0..4 {
        write(&mut device, now(lpn), lpn);
    }
    cool(&mut device, 10, 3).unwrap();
    device.tune(&[("cache.policy", "lru")], 1).unwrap();
    let programs = device.stats().flash_programs;
    read(&mut device, now(11), 50);
    assert!(!device.is_cached(Lpn(3)));
    assert_eq!(device.stats().flash_programs, programs + 1);
    assert_eq!(device.stats().dirty_evictions, 1);
}

proptest! {
    /// Against a plain list of cold pages before an LRU list.
    #[test]
    fn pages_leave_like_those_of_two_lists(
        steps in prop::collection::vec((0u8..4, 0u32..24), 1..300)
    ) {
        const WAYS: usize = 8;
        let mut device = device(&[("cache.capacity", "32KiB"), ("cache.policy", "lru")]);
        // Oldest first.
        let (mut cold, mut all): (Vec<u32>, Vec<u32>) = (vec![], vec![]);
        for (n, (what, lpn)) in steps.into_iter().enumerate() {
            let ms = n as u64;
            let is_there = all.contains(&lpn);
            match what {
                0 => {
                    let changed = cool(&mut device, ms, lpn).unwrap_or(false);
                    prop_assert_eq!(changed, is_there && !cold.contains(&lpn));
                    if changed {
                        cold.push(lpn);
                    }
                }
                1 => {
                    device.discard(now(ms), Lpn(lpn));
                    cold.retain(|page| *page != lpn);
                    all.retain(|page| *page != lpn);
                }
                _ => {
                    prop_assert_eq!(is_hit(&mut device, ms, lpn.into()), is_there);
                    cold.retain(|page| *page != lpn);
                    all.retain(|page| *page != lpn);
                    if all.len() == WAYS {
                        let leaves = cold.first().copied().unwrap_or(all[0]);
                        cold.retain(|page| *page != leaves);
                        all.retain(|page| *page != leaves);
                    }
                    all.push(lpn);
                }
            }
            for page in 0..24 {
                prop_assert_eq!(device.is_cached(Lpn(page)), all.contains(&page), "{}", page);
            }
        }
    }
}

/// Misses of a scan of so many pages, a millisecond apart.
fn scan(device: &mut Device, pages: u64) -> u64 {
    let before = device.stats().misses;
    for lpn in 0..pages {
        read(device, now(lpn), lpn);
    }
    assert_eq!(device.balance(), Ok(()));
    device.stats().misses - before
}

const SCAN: [(&str, &str); 2] = [("cache.capacity", "1MiB"), ("mshr.entries", "128")];

#[test]
fn a_scan_that_is_told_misses_once_and_leaves_the_rest_of_the_cache_alone() {
    const KEPT: u64 = 64;
    let mut device = device(&SCAN);
    assert_eq!(scan(&mut device, 1_000), 1_000);
    device.advise(Lpn(0), 1_000, Pattern::Sequential);
    // Other pages, as many as fit beside what the scan has at a time: the page it is at, the one
    // before, and 64 ahead.
    for lpn in 0..KEPT {
        read(&mut device, now(10_000 + lpn), 2_000 + lpn);
    }
    // What is left of the first scan makes room.
    for lpn in 0..1_000 {
        let _ = device.command(now(11_000), Command::Evict(Lpn(lpn)), &mut ());
    }
    let before = *device.stats();
    for lpn in 0..1_000 {
        read(&mut device, now(12_000 + lpn), lpn);
    }
    let done = device.stats().since(&before);
    assert_eq!((done.misses, done.sequential_prefetches), (1, 999));
    // All that it passed but the page before the last.
    assert_eq!(done.sequential_passed, 998);
    assert!((0..KEPT).all(|lpn| device.is_cached(Lpn::of(2_000 + lpn))));
}

#[test]
fn no_more_comes_ahead_than_the_range_has_or_a_quarter_of_the_cache() {
    let mut device = device(&[("cache.capacity", "128KiB"), ("mshr.entries", "128")]);
    device.advise(Lpn(10), 3, Pattern::Sequential);
    device.advise(Lpn(100), 50, Pattern::Sequential);
    read(&mut device, now(0), 10);
    let cached = |device: &Device| -> Vec<u32> {
        (0..200).filter(|lpn| device.is_cached(Lpn(*lpn))).collect()
    };
    assert_eq!(cached(&device), [10, 11, 12]);
    read(&mut device, now(1), 100);
    let expected: Vec<u32> = (10..13).chain(100..109).collect();
    assert_eq!(cached(&device), expected, "32 pages / 4");
    device.tune(&[("prefetch.sequential", "2")], 1).unwrap();
    read(&mut device, now(2), 120);
    let expected: Vec<u32> = expected.into_iter().chain(120..123).collect();
    assert_eq!(cached(&device), expected);
    device.advise(Lpn(0), 200, Pattern::Normal);
    read(&mut device, now(3), 130);
    assert_eq!(device.cached_pages(), expected.len() as u64 + 1);
}

#[test]
fn accesses_in_no_order_send_for_nothing() {
    let next = [("prefetch.policy", "nextn"), ("prefetch.degree", "4")];
    let mut device = device(&next);
    device.advise(Lpn(8), 8, Pattern::Random);
    read(&mut device, now(0), 9);
    assert_eq!((device.cached_pages(), device.stats().random_quiet), (1, 1));
    read(&mut device, now(1), 7);
    assert_eq!(
        device.cached_pages(),
        5,
        "with 9 there are 8, 10 and 11 now"
    );
    assert_eq!(device.stats().random_quiet, 1);
    device.advise(Lpn(0), 64, Pattern::Normal);
    read(&mut device, now(2), 20);
    assert_eq!(device.stats().prefetch_issued, 3 + 4);
}

/// Ranges of any kind one over the other, against one value a page.
#[test]
fn the_last_that_was_said_of_a_page_holds() {
    let mut device = device(&[]);
    let mut naive = vec![Pattern::Normal; 600];
    let mut seed = 7u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    for _ in 0..500 {
        let (first, count) = (next(600), next(300));
        let pattern = Pattern::ALL[next(3) as usize];
        device.advise(Lpn::of(first), count, pattern);
        let end = (first + count).min(600);
        naive[first as usize..end as usize].fill(pattern);
        for (lpn, pattern) in naive.iter().enumerate() {
            assert_eq!(device.advice(Lpn(lpn as u32)), *pattern, "{lpn}");
        }
    }
    // Beyond the device there is nothing to note.
    device.advise(Lpn::of(device.pages() - 1), u64::MAX, Pattern::Random);
    assert_eq!(device.advice(Lpn::of(device.pages() - 1)), Pattern::Random);
}
