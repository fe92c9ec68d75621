//! The worked example of docs/extending.md: this compiles that very text, as it would stand beside
//! the other policies, and runs it.

use proptest::prelude::*;
use sluice_model::cache::{Brought, Eviction, Set, Slot, Space};
use sluice_model::{Device, DeviceConfig, SetIndex};
use sluice_testkit::rig::{Recorder, access};
use sluice_testkit::traces;
use sluice_units::{Bytes, IndexType, Lpn, PAGE_BYTES, Ps, Rng};
use std::collections::BTreeMap;

#[path = "../../../examples/policy-rust"]
mod policy {
    pub use sluice_model::cache::{Eviction, PolicyInfo, Set, Slot, Space};

    pub mod nru;
}

use policy::nru::Nru;

const SOURCE: &str = include_str!("../../../examples/policy-rust/nru.rs");
const PAGE: &str = include_str!("../../../docs/extending.md");

#[test]
fn the_page_shows_the_file_that_is_compiled() {
    assert!(
        PAGE.contains(&format!("```rust\n{SOURCE}```\n")),
        "docs/extending.md does not show examples/policy-rust/nru.rs as it is"
    );
    assert!(PAGE.contains("    nru::Nru,\n"), "the registry's line");
}

fn space(sets: u32, ways: u32) -> Space {
    Space {
        sets,
        ways,
        pages: 1_000,
        index: SetIndex::Modulo,
        given: DeviceConfig::builder(),
        rng: Rng::stream(1, "test"),
    }
}

fn device(cache_pages: u64, ways: u32) -> Device {
    let mut raw = DeviceConfig::builder();
    let size = |pages: u64| Bytes(pages * PAGE_BYTES).to_string();
    raw.set("device.capacity", &size(traces::PAGES)).unwrap();
    raw.set("cache.capacity", &size(cache_pages)).unwrap();
    raw.set("cache.ways", &ways.to_string()).unwrap();
    let config = DeviceConfig::new(&raw).unwrap();
    let policy = Nru::build(&space(config.cache.pages / ways, ways));
    Device::with_policy(&config, 1, Box::new(Brought(policy))).unwrap()
}

/// The contract of `victim`: held, of the set, evictable, forgotten; and the dump shows it.
#[test]
fn a_victim_is_held_evictable_and_forgotten() {
    let mut policy = Nru::build(&space(2, 10));
    let (other, set) = (Set(0), Set(1));
    Slot::range(10..20).for_each(|slot| policy.insert(set, slot, Lpn(slot.0)));
    assert!(Slot::range(10..15).all(|slot| policy.hit(set, slot) == 0));
    for slot in Slot::range(12..19).rev() {
        let found = policy.victim(set, |candidate| candidate == slot);
        assert_eq!(found, Some(slot));
        assert!(!policy.dump(set).contains(&slot));
        policy.insert(set, slot, Lpn(slot.0 + 100));
    }
    assert_eq!(policy.victim(set, |_| false), None);
    policy.remove(set, Slot(13));
    assert_eq!((policy.dump(set).len(), policy.dump(other).len()), (9, 0));
    while let Some(last) = policy.dump(set).last().copied() {
        assert_eq!(policy.victim(set, |_| true), Some(last));
    }
}

proptest! {
    /// Against pages with a bit each in a map, one set: slots in order, a hand that moves on.
    #[test]
    fn it_evicts_what_the_text_says(steps in prop::collection::vec(0u32..12, 1..300)) {
        let ways = 6;
        let mut policy = Nru::build(&space(1, ways));
        let (mut bit, mut page_of, mut hand) = (BTreeMap::new(), BTreeMap::new(), 0u32);
        for page in steps {
            let found = page_of.iter().find(|(_, held)| **held == page);
            if let Some(slot) = found.map(|(slot, _)| *slot) {
                policy.hit(Set(0), Slot(slot));
                bit.insert(slot, true);
                continue;
            }
            let slot = if page_of.len() < ways as usize {
                page_of.len() as u32
            } else {
                if bit.values().all(|bit| *bit) {
                    bit.values_mut().for_each(|bit| *bit = false);
                }
                let expected = (0..ways).map(|n| (hand + n) % ways).find(|slot| !bit[slot]);
                let slot = policy.victim(Set(0), |_| true).unwrap().0;
                prop_assert_eq!(Some(slot), expected);
                hand = (slot + 1) % ways;
                slot
            };
            policy.insert(Set(0), Slot(slot), Lpn(page));
            page_of.insert(slot, page);
            bit.insert(slot, true);
        }
    }

    /// In a device, with many requests in flight and pages discarded, no answer is refused.
    #[test]
    fn the_device_takes_all_its_answers(
        steps in prop::collection::vec((0u64..64, 0u8..20), 1..300),
        gap in 0u64..30,
        ways in prop::sample::select(vec![1u32, 2, 4, 16]),
    ) {
        let mut device = device(16, ways);
        for (step, (page, kind)) in steps.iter().enumerate() {
            let (now, lpn) = (Ps::from_us(step as u64 * gap), Lpn::of(*page));
            if *kind == 0 {
                device.discard(now, lpn);
            } else {
                access(&mut device, now, *page, sluice_model::Op::Read);
                prop_assert!(device.is_cached(lpn));
            }
        }
        prop_assert_eq!(device.stats().policy_refused, 0);
    }
}

#[test]
fn nothing_beats_belady() {
    for trace in traces::all() {
        let mut device = device(256, 256);
        let (mut host, mut now) = (Recorder::default(), Ps::ZERO);
        for page in &trace.pages {
            let req = sluice_model::Request {
                addr: Lpn::of(*page).addr(PAGE_BYTES),
                op: sluice_model::Op::Read,
            };
            now = device.access(now, req, &mut host).done_at;
        }
        let best = sluice_testkit::belady::hits(&trace.pages, 256);
        let hits = device.stats().hits;
        assert!(hits <= best && hits > 0, "{}: {hits} of {best}", trace.name);
    }
}
