//! Every registered policy keeps the contract of its trait and does what its plain list does.

use proptest::prelude::*;
use sluice_model::cache::{EVICTIONS, Set, Slot, Space};
use sluice_model::{Device, DeviceConfig, Op, Request, ServedBy, SetIndex};
use sluice_testkit::naive;
use sluice_testkit::rig::Recorder;
use sluice_units::{Bytes, IndexType, Lpn, PAGE_BYTES, Ps, Rng};
use std::collections::{BTreeMap, BTreeSet};

const PAGES: u64 = 64;

#[derive(Clone, Copy, Debug)]
enum Step {
    Read(u64),
    Write(u64),
    Discard(u64),
}

fn step() -> impl Strategy<Value = Step> {
    // Squared, so that low pages come up more often and hits happen.
    let page = (0..8u64, 0..8u64).prop_map(|(a, b)| a * b);
    (0..20u8, page).prop_map(|(kind, page)| match kind {
        0 => Step::Discard(page),
        1..6 => Step::Write(page),
        _ => Step::Read(page),
    })
}

fn device(policy: &str, cache_pages: u64, ways: u64, extra: &[(&str, &str)]) -> Device {
    let mut raw = DeviceConfig::builder();
    let size = |pages: u64| Bytes(pages * PAGE_BYTES).to_string();
    raw.set("device.capacity", &size(PAGES)).unwrap();
    raw.set("cache.capacity", &size(cache_pages)).unwrap();
    raw.set("cache.ways", &ways.to_string()).unwrap();
    raw.set("cache.policy", policy).unwrap();
    for (key, value) in extra {
        raw.set(key, value).unwrap();
    }
    Device::new(&DeviceConfig::new(&raw).unwrap(), 1).unwrap()
}

/// Policies with a plain list beside them. A new policy needs none: the other tests here run it as
/// well.
const TWINS: &[&str] = &[
    "fifo", "lifo", "lru", "clock", "s3fifo", "sieve", "mru", "twoq", "slru", "lfu", "lfru", "arc",
    "lirs", "wtinylfu",
];

/// Hits, victims and dirty victims of the device equal those of one plain list for each set.
fn equals_naive(policy: &str, sets: u64, ways: u64, steps: &[Step]) {
    let small = [("cache.s3fifo_small", "20%"), ("cache.s3fifo_ghost", "80%")];
    let mut device = device(policy, sets * ways, ways, &small);
    let make = || naive::cache(policy, ways as usize, 20).unwrap();
    let mut plain: Vec<_> = (0..sets).map(|_| make()).collect();
    let (mut dirty, mut dirty_evictions) = (BTreeSet::new(), 0);
    for (index, step) in steps.iter().enumerate() {
        let now = Ps::from_ms(index as u64 * 100);
        let (page, op) = match *step {
            Step::Read(page) => (page, Op::Read),
            Step::Write(page) => (page, Op::Write),
            Step::Discard(page) => {
                device.discard(now, Lpn::of(page));
                plain[(page % sets) as usize].discard(page);
                dirty.remove(&page);
                continue;
            }
        };
        let mut host = Recorder::default();
        let req = Request {
            addr: Lpn::of(page).addr(PAGE_BYTES),
            op,
        };
        let hit = device.access(now, req, &mut host).served_by == ServedBy::CacheHit;
        let (expected_hit, evicted) = plain[(page % sets) as usize].access(page);
        assert_eq!(hit, expected_hit, "{policy}: step {index}, page {page}");
        assert_eq!(
            host.unmapped,
            Vec::from_iter(evicted),
            "{policy}: step {index}, page {page}"
        );
        dirty_evictions += u64::from(evicted.is_some_and(|page| dirty.remove(&page)));
        if op == Op::Write {
            dirty.insert(page);
        }
        assert_eq!(
            device.stats().dirty_evictions,
            dirty_evictions,
            "step {index}"
        );
    }
}

/// With many requests in flight, what leaves had arrived, and no page is lost count of.
fn keeps_what_is_in_flight(policy: &str, ways: u64, steps: &[Step], gaps: &[u64]) {
    let extra = [
        ("prefetch.policy", "nextn"),
        ("prefetch.degree", "2"),
        ("mshr.entries", "5"),
    ];
    let mut device = device(policy, 16, ways, &extra);
    let mut ready_at: BTreeMap<u64, Ps> = BTreeMap::new();
    let mut now = Ps::ZERO;
    for (step, gap) in steps.iter().zip(gaps.iter().cycle()) {
        now += Ps::from_us(*gap);
        let (Step::Read(page) | Step::Write(page) | Step::Discard(page)) = *step;
        let mut host = Recorder::default();
        let stalls = device.stats().mshr_stalls;
        let req = Request {
            addr: Lpn::of(page).addr(PAGE_BYTES),
            op: Op::Read,
        };
        let completion = device.access(now, req, &mut host);
        for victim in host.unmapped {
            let arrived = ready_at.remove(&victim).is_none_or(|at| at <= now);
            let waited = device.stats().mshr_stalls > stalls;
            assert!(arrived || waited, "page {victim} left in flight");
        }
        if completion.served_by == ServedBy::Flash {
            ready_at.insert(page, completion.done_at);
        }
        assert!(device.is_cached(Lpn::of(page)), "the page asked for stays");
        assert!(completion.done_at >= now + Ps::from_ns(150));
        let cached = (0..PAGES)
            .filter(|lpn| device.is_cached(Lpn::of(*lpn)))
            .count() as u64;
        let stats = device.stats();
        assert_eq!(
            stats.misses + stats.prefetch_issued - stats.evictions,
            cached
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(64)))]

    #[test]
    fn every_policy_equals_its_plain_list(
        steps in prop::collection::vec(step(), 1..400),
        ways in 1u64..14,
        sets in 1u64..4,
    ) {
        for policy in TWINS {
            equals_naive(policy, sets, ways, &steps);
        }
    }

    /// From one page and one die up: nothing panics, and every page has its place.
    #[test]
    fn any_small_geometry_works(
        (pages, cache_share) in (1u64..300, 1u64..100),
        (channels, dies, pages_per_block) in (1u32..5, 1u32..5, 2u32..40),
        (threshold, transfer_us) in (1u32..7, 0u32..5),
        (policy, precondition) in (0..EVICTIONS.len(), any::<bool>()),
        steps in prop::collection::vec((0u64..300, 0u8..12), 1..800),
    ) {
        let mut raw = DeviceConfig::builder();
        let cache_pages = (pages * cache_share / 100).max(1);
        for (key, value) in [
            ("device.capacity", Bytes(pages * PAGE_BYTES).to_string()),
            ("cache.capacity", Bytes(cache_pages * PAGE_BYTES).to_string()),
            ("cache.policy", EVICTIONS[policy].info.name.to_owned()),
            ("nand.channels", channels.to_string()),
            ("nand.dies", dies.to_string()),
            ("nand.pages_per_block", pages_per_block.to_string()),
            ("nand.transfer", format!("{transfer_us}us")),
            ("ftl.gc_threshold", threshold.to_string()),
            ("ftl.precondition", if precondition { "sequential" } else { "none" }.to_owned()),
        ] {
            raw.set(key, &value).unwrap();
        }
        let mut device = Device::new(&DeviceConfig::new(&raw).unwrap(), 1).unwrap();
        for (step, (page, kind)) in steps.iter().enumerate() {
            let (now, lpn) = (Ps::from_us(step as u64), Lpn::of(page % pages));
            match kind {
                0 => device.discard(now, lpn),
                1..5 => device.write_back(now, lpn),
                _ => {
                    let op = if kind % 2 == 0 { Op::Read } else { Op::Write };
                    device.access(now, Request { addr: lpn.addr(PAGE_BYTES), op }, &mut ());
                }
            }
        }
        let stats = device.stats();
        prop_assert_eq!(stats.flash_programs, stats.host_programs + stats.gc_moves);
        prop_assert_eq!(stats.dirty_evictions + stats.late_write_backs, stats.host_programs);
    }

    #[test]
    fn no_page_leaves_in_flight(
        steps in prop::collection::vec(step(), 1..300),
        gaps in prop::collection::vec(0u64..30, 1..10),
        ways in prop::sample::select(vec![1u64, 2, 4, 16]),
    ) {
        for entry in EVICTIONS {
            keeps_what_is_in_flight(entry.info.name, ways, &steps, &gaps);
        }
    }
}

fn space(sets: u32, ways: u32) -> Space {
    let rng = Rng::stream(1, "test");
    Space {
        sets,
        ways,
        pages: 1_000,
        index: SetIndex::Modulo,
        given: DeviceConfig::builder(),
        rng,
    }
}

/// The contract of `victim`, on the trait itself: held, of the set, evictable, and forgotten.
#[test]
fn a_victim_is_held_evictable_and_forgotten() {
    for entry in EVICTIONS {
        let name = entry.info.name;
        let mut policy = (entry.build)(&space(2, 10));
        let set = Set(1);
        for slot in Slot::range(10..20) {
            policy.miss(set, Lpn(slot.0));
            policy.insert(set, slot, Lpn(slot.0));
        }
        for slot in Slot::range(10..15) {
            assert_eq!(policy.hit(set, slot), 0, "{name} must let nothing go");
        }
        for slot in Slot::range(12..19).rev() {
            let found = policy.victim(set, |candidate| candidate == slot);
            assert_eq!(found, Some(slot), "{name} must find the one that may leave");
            assert!(!policy.dump(set).contains(&slot), "{name} must forget it");
            policy.insert(set, slot, Lpn(slot.0 + 100));
        }
        assert_eq!(
            policy.victim(set, |_| false),
            None,
            "{name} must not insist"
        );
        let mut held = policy.dump(set);
        held.sort_unstable();
        let all = Slot::range(10..20).collect::<Vec<_>>();
        assert_eq!(held, all, "{name} must keep the rest");
        policy.remove(set, Slot(13));
        assert_eq!(
            policy.dump(set).len(),
            9,
            "{name} must forget a discarded page"
        );
        assert_eq!(policy.dump(Set(0)), [], "{name} must keep sets apart");
    }
}

#[test]
fn the_next_victim_is_last_in_the_dump() {
    for entry in EVICTIONS.iter().filter(|entry| entry.info.name != "random") {
        let mut policy = (entry.build)(&space(1, 10));
        let set = Set(0);
        Slot::range(0..10).for_each(|slot| policy.insert(set, slot, Lpn(slot.0)));
        while let Some(last) = policy.dump(set).last().copied() {
            assert_eq!(
                policy.victim(set, |_| true),
                Some(last),
                "{}",
                entry.info.name
            );
        }
    }
}

/// Chi-squared over 8 ways, 16,000 victims: 24.32 is exceeded once in a thousand fair draws.
#[test]
fn random_victims_are_uniform() {
    let entry = EVICTIONS
        .iter()
        .find(|entry| entry.info.name == "random")
        .unwrap();
    let mut policy = (entry.build)(&space(1, 8));
    let set = Set(0);
    Slot::range(0..8).for_each(|slot| policy.insert(set, slot, Lpn(slot.0)));
    let mut count = [0i64; 8];
    for _ in 0..16_000 {
        let slot = policy.victim(set, |_| true).unwrap();
        count[slot.index()] += 1;
        policy.insert(set, slot, Lpn(0));
    }
    let squares: i64 = count.iter().map(|c| (c - 2_000) * (c - 2_000)).sum();
    assert!(squares < 24_320 * 2, "{count:?}");
}

/// A runtime hands the device from thread to thread.
#[test]
fn a_device_can_be_sent_to_another_thread() {
    fn is_send<T: Send>(_: &T) {}
    is_send(&device("fifo", 4, 4, &[]));
}

#[test]
fn names_are_unique_and_facts_are_there() {
    let infos = || EVICTIONS.iter().map(|entry| entry.info);
    let names: BTreeSet<&str> = infos().map(|info| info.name).collect();
    assert_eq!(names.len(), EVICTIONS.len());
    assert!(infos().all(|info| !info.meaning.is_empty() && !info.source.is_empty()));
}

/// Misses of a policy by the trait alone, with a slot for each page that is never given twice.
fn misses_by_the_trait(
    entry: &sluice_model::cache::EvictionEntry,
    space: &Space,
    pages: &[Lpn],
) -> u64 {
    let mut policy = (entry.build)(space);
    let mut held = BTreeMap::new();
    let mut free: BTreeSet<Slot> = Slot::range(0..space.slots()).collect();
    let mut misses = 0;
    for &page in pages {
        let set = Set(page.0 % space.sets);
        let mut of_set = space.slots_of(set);
        if let Some(&slot) = held.get(&page) {
            for _ in 0..policy.hit(set, slot) {
                if let Some(gone) = policy.victim(set, |other| other != slot) {
                    held.retain(|_, slot| *slot != gone);
                    assert!(free.insert(gone), "{} gave {gone:?} twice", entry.info.name);
                }
            }
            continue;
        }
        misses += 1;
        policy.miss(set, page);
        let empty = of_set.find(|slot| free.contains(slot));
        let slot = empty.unwrap_or_else(|| policy.victim(set, |_| true).expect("a full set"));
        free.remove(&slot);
        held.retain(|_, held| *held != slot);
        held.insert(page, slot);
        policy.insert(set, slot, page);
    }
    misses
}

/// Some variants let pages go at a hit.
#[test]
fn the_fast_count_of_misses_is_that_of_the_trait() {
    let mut rng = Rng::stream(1, "pages");
    let pages: Vec<Lpn> = (0..4_000)
        .map(|_| Lpn::of(rng.below(10) * rng.below(10)))
        .collect();
    let mut others = DeviceConfig::builder();
    for variant in ["twoq", "slru", "lirs", "wtinylfu"] {
        let key = format!("cache.{variant}_variant");
        let name = if variant == "twoq" {
            "cxl-ssd-sim"
        } else {
            "libcachesim"
        };
        others.set(&key, name).unwrap();
    }
    let both = [DeviceConfig::builder(), others];
    for (entry, given) in EVICTIONS
        .iter()
        .flat_map(|entry| both.iter().map(move |given| (entry, given)))
    {
        for (sets, ways) in [(1, 16), (2, 8), (4, 4)] {
            let space = Space {
                given: given.clone(),
                ..space(sets, ways)
            };
            // In one part, and in parts of a size that no batch divides.
            let found = (entry.misses)(&space, &mut std::iter::once(&pages[..]));
            assert_eq!(found, (entry.misses)(&space, &mut pages.chunks(1001)));
            let expected = misses_by_the_trait(entry, &space, &pages);
            assert_eq!(found, expected, "{}: {sets} x {ways}", entry.info.name);
        }
    }
}
