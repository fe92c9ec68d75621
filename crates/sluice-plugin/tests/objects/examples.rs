//! The examples in C and Rust decide the same, and as naive ones of what they say that they are.

use crate::rig::{config, device, evictions};
use sluice_model::cache::{Candidates, Event, External, Set, Slot};
use sluice_model::prefetch::{self, Arrival, Picks, Reach, Seen};
use sluice_model::{Device, DeviceConfig};
use sluice_testkit::objects::{object, root};
use sluice_testkit::traces;
use sluice_units::Lpn;

/// An example in Rust: cargo builds those of a crate with its tests, beside them.
fn in_rust(name: &str) -> String {
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().nth(2).unwrap().join("examples");
    let path = built.join(format!("lib{name}.so"));
    assert!(
        path.exists(),
        "{}: cargo builds it with this test",
        path.display()
    );
    path.to_str().unwrap().to_owned()
}

/// `clean_first`: slots in the order of their last use, the oldest in front.
struct CleanFirst {
    order: Vec<Vec<Slot>>,
    window: usize,
}

impl CleanFirst {
    fn new(config: &DeviceConfig) -> CleanFirst {
        let (pages, ways) = (config.cache.pages, config.cache.ways);
        CleanFirst {
            order: vec![Vec::new(); (pages / ways) as usize],
            window: ways.div_ceil(4) as usize,
        }
    }

    fn of(&mut self, set: Set) -> &mut Vec<Slot> {
        &mut self.order[set.0 as usize]
    }
}

impl External for CleanFirst {
    fn miss(&mut self, _event: &Event, _set: Set, _lpn: Lpn) {}

    fn insert(&mut self, _event: &Event, set: Set, slot: Slot, _lpn: Lpn) {
        self.of(set).push(slot);
    }

    fn hit(&mut self, event: &Event, set: Set, slot: Slot) -> u32 {
        self.remove(event, set, slot);
        self.of(set).push(slot);
        0
    }

    fn victim(&mut self, event: &Event, set: Set, ask: &mut dyn Candidates) -> Option<Slot> {
        let order = self.of(set).clone();
        let old = &order[..order.len().min(self.window)];
        let clean = old
            .iter()
            .find(|slot| ask.may_leave(**slot) && !ask.is_dirty(**slot));
        let slot = clean
            .copied()
            .or_else(|| order.into_iter().find(|slot| ask.may_leave(*slot)))?;
        self.remove(event, set, slot);
        Some(slot)
    }

    fn remove(&mut self, _event: &Event, set: Set, slot: Slot) {
        self.of(set).retain(|held| *held != slot);
    }
}

#[test]
fn clean_first_is_one_policy_in_c_and_rust() {
    let folder = tempfile::tempdir().unwrap();
    let in_c = object(
        folder.path(),
        &root().join("examples/policies/clean_first.c"),
        &[],
    );
    let in_rust = in_rust("clean_first");
    let is_store = |index: usize| index.is_multiple_of(3);
    for trace in traces::all() {
        for (cache_pages, ways) in [(256, "256"), (99, "99"), (240, "8"), (7, "1")] {
            let config = config(cache_pages, &[("cache.ways", ways)]);
            let naive = Box::new(CleanFirst::new(&config));
            let mut naive = Device::with_policy(&config, 1, naive).unwrap();
            let expected = evictions(&mut naive, &trace.pages, is_store);
            for path in [&in_c, &in_rust] {
                let set = [("cache.ways", ways), ("cache.policy", path)];
                let mut own = device(cache_pages, &set);
                assert_eq!(
                    evictions(&mut own, &trace.pages, is_store),
                    expected,
                    "{path}"
                );
                assert_eq!(own.stats(), naive.stats());
            }
            assert_eq!(naive.stats().policy_refused, 0);
        }
    }
    // It does what it is for.
    let pages = &traces::all()[0].pages;
    let dirty = |policy: &str| {
        let mut device = device(256, &[("cache.policy", policy)]);
        evictions(&mut device, pages, is_store);
        device.stats().dirty_evictions
    };
    let (clean_first, lru) = (dirty(&in_c), dirty("lru"));
    assert!(clean_first * 10 < lru * 9, "{clean_first} instead of {lru}");
}

/// `stride`, with all that it has seen.
struct Stride(Vec<i64>);

impl prefetch::External for Stride {
    fn access(&mut self, seen: Seen, reach: Reach, picks: &mut Picks) {
        self.0.push(u64::from(seen.lpn) as i64);
        // What came before the first access was page 0, at a distance of 0 from that before it.
        let [before, last, page] = match self.0[..] {
            [page] => [0, 0, page],
            [last, page] => [0, last, page],
            [.., before, last, page] => [before, last, page],
            [] => unreachable!("an access was seen"),
        };
        if page == last || page - last != last - before {
            return;
        }
        for step in 1..=i64::from(reach.degree) {
            if let Ok(pick) = u64::try_from(page + step * (page - last))
                && pick < traces::PAGES
            {
                picks.push(pick);
            }
        }
    }

    fn arrives(&mut self, _arrival: Arrival) {}
}

/// Walks at several strides, to both ends of the device, and pages in no order.
fn walks() -> Vec<u64> {
    let up = |stride: u64| (0..traces::PAGES).step_by(stride as usize);
    let down = (0..traces::PAGES).rev().step_by(7);
    let strides = up(1).chain(up(5)).chain(down).chain(up(64));
    strides
        .chain(traces::all()[0].pages[..2_000].to_vec())
        .collect()
}

#[test]
fn stride_is_one_prefetcher_in_c_and_rust() {
    let folder = tempfile::tempdir().unwrap();
    let in_c = object(
        folder.path(),
        &root().join("examples/prefetchers/stride.c"),
        &[],
    );
    let in_rust = in_rust("stride");
    for throttle in ["none", "feedback"] {
        let set = [("prefetch.degree", "5"), ("prefetch.throttle", throttle)];
        let naive = Device::new(&config(256, &set), 1).unwrap();
        let mut naive = naive.with_prefetcher(Box::new(Stride(Vec::new())));
        let expected = evictions(&mut naive, &walks(), |_| false);
        for path in [&in_c, &in_rust] {
            let set = [set[0], set[1], ("prefetch.policy", path)];
            let mut own = device(256, &set);
            assert_eq!(evictions(&mut own, &walks(), |_| false), expected, "{path}");
            assert_eq!(own.stats(), naive.stats());
        }
        let stats = naive.stats();
        assert!(
            stats.prefetch_used > 1_000 && stats.prefetch_refused == 0,
            "{stats:?}"
        );
    }
}
