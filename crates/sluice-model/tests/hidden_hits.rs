//! Live, a device sees no hits, or samples of them. Whatever subset a policy sees, it keeps its
//! contract: the pages that it holds, and those that it gives up, are as the engine demanded.

use proptest::prelude::*;
use sluice_model::cache::{AnyEviction, EVICTIONS, Set, Slot, Space};
use sluice_model::{DeviceConfig, SetIndex};
use sluice_units::{IndexType, Lpn, Rng};
use std::collections::BTreeMap;

const PAGES: u32 = 64;

/// All pages are of one set.
const SET: Set = Set(0);

/// A page, whether its hit is seen, and what else happens.
type Step = (u32, bool, u8);

struct Engine {
    policy: AnyEviction,
    /// The slot of each page.
    cached: BTreeMap<u32, Slot>,
    ways: u32,
}

impl Engine {
    fn new(index: usize, settings: &[(&str, &str)], ways: u32) -> Engine {
        let mut raw = DeviceConfig::builder();
        for (key, value) in settings {
            raw.set(key, value).unwrap();
        }
        let space = Space {
            sets: 1,
            ways,
            pages: PAGES,
            index: SetIndex::Modulo,
            given: raw,
            rng: Rng::stream(1, "test"),
        };
        Engine {
            policy: (EVICTIONS[index].build)(&space),
            cached: BTreeMap::new(),
            ways,
        }
    }

    /// The page of a slot that the policy gave up leaves.
    fn let_go(&mut self, slot: Slot) {
        let page = self.cached.iter().find(|(_, held)| **held == slot);
        let page = *page.expect("a victim is held").0;
        self.cached.remove(&page);
    }

    fn step(&mut self, (page, is_seen, kind): Step) {
        if let Some(slot) = self.cached.get(&page).copied() {
            if kind == 0 {
                self.policy.remove(SET, slot);
                self.cached.remove(&page);
            } else if is_seen {
                for _ in 0..self.policy.hit(SET, slot) {
                    if let Some(gone) = self.policy.victim(SET, |other| other != slot) {
                        assert_ne!(gone, slot);
                        self.let_go(gone);
                    }
                }
            }
            return;
        }
        self.policy.miss(SET, Lpn(page));
        // A prefetch finds no room.
        if kind == 1 {
            return;
        }
        let mut slots = Slot::range(0..self.ways);
        let free = slots.find(|slot| self.cached.values().all(|held| held != slot));
        let slot = free.unwrap_or_else(|| {
            let in_flight = |slot: Slot| kind > 4 && (slot.0 + page).is_multiple_of(3);
            let found = self.policy.victim(SET, |slot| !in_flight(slot));
            let all_in_flight = Slot::range(0..self.ways).all(in_flight);
            assert_eq!(
                found.is_none(),
                all_in_flight,
                "gave up although it need not"
            );
            let slot = found.unwrap_or_else(|| self.policy.victim(SET, |_| true).unwrap());
            assert!(found.is_none() || !in_flight(slot));
            self.let_go(slot);
            slot
        });
        self.policy.insert(SET, slot, Lpn(page));
        self.cached.insert(page, slot);
    }
}

fn keeps_its_contract(index: usize, settings: &[(&str, &str)], ways: u32, steps: &[Step]) {
    let mut engine = Engine::new(index, settings, ways);
    for (number, step) in steps.iter().enumerate() {
        engine.step(*step);
        let mut held = engine.policy.dump(SET);
        held.sort_unstable();
        let mut expected: Vec<Slot> = engine.cached.values().copied().collect();
        expected.sort_unstable();
        let name = EVICTIONS[index].info.name;
        assert_eq!(held, expected, "{name} after step {number}, {step:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(64)))]

    #[test]
    fn any_subset_of_hits_will_do(
        steps in prop::collection::vec((0..PAGES / 2, any::<bool>(), 0u8..8), 1..300),
        ways in 1u32..24,
        seen in prop::sample::select(vec![Some(true), Some(false), None]),
    ) {
        let seen_or_drawn = |(page, drawn, kind): &Step| (*page, seen.unwrap_or(*drawn), *kind);
        let steps: Vec<Step> = steps.iter().map(seen_or_drawn).collect();
        let variants = [
            ("cache.s3fifo_variant", "paper"),
            ("cache.twoq_variant", "libcachesim"),
            ("cache.slru_variant", "libcachesim"),
            ("cache.slru_segments", "4"),
            ("cache.lirs_variant", "libcachesim"),
            ("cache.wtinylfu_variant", "libcachesim"),
            ("cache.clock_bits", "2"),
        ];
        for (index, entry) in EVICTIONS.iter().enumerate() {
            keeps_its_contract(index, &[], ways, &steps);
            keeps_its_contract(index, &variants, ways, &steps);
            if entry.info.name == "twoq" {
                let artifact = [("cache.twoq_variant", "cxl-ssd-sim")];
                keeps_its_contract(index, &artifact, ways, &steps);
            }
        }
    }
}
