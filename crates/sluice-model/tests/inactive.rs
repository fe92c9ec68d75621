//! Inactive pages, beside a model in a few lines: two queues, the second of which gives pages back.

use sluice_model::{Effects, Op, Request};
use sluice_testkit::rig::device;
use sluice_units::{Lpn, PAGE_BYTES, Ps, Rng};
use std::collections::{BTreeMap, VecDeque};

const CACHE: usize = 40;
const PAGES: u64 = 120;

/// A host that sees which pages it maps, and writes to some of them.
#[derive(Default)]
struct Host {
    /// Mapped pages, and whether each was written since.
    mapped: BTreeMap<Lpn, bool>,
}

impl Effects for Host {
    const MAPS: bool = true;

    fn unmap(&mut self, lpn: Lpn) -> bool {
        self.mapped.remove(&lpn).unwrap_or(false)
    }

    fn set_aside(&mut self, lpn: Lpn) -> bool {
        self.unmap(lpn)
    }
}

/// The first page of each queue is the next to leave it.
struct Twin {
    is_lru: bool,
    inactive_max: usize,
    active: VecDeque<u64>,
    inactive: VecDeque<u64>,
    dirty: BTreeMap<u64, bool>,
    /// How often in a row a page was used while it was inactive, up to two, and how often it is
    /// taken for used from then on.
    trust: BTreeMap<u64, (u32, u32)>,
    hits: u64,
    misses: u64,
    dirty_evictions: u64,
    deactivated: u64,
    reactivated: u64,
}

impl Twin {
    /// `is_seen` says whether the device sees accesses to active pages.
    fn access(&mut self, page: u64, write: bool, is_seen: bool) {
        if let Some(at) = self.active.iter().position(|other| *other == page) {
            self.hits += u64::from(is_seen);
            if is_seen && self.is_lru {
                self.active.remove(at);
                self.active.push_back(page);
            }
        } else if let Some(at) = self.inactive.iter().position(|other| *other == page) {
            self.hits += 1;
            self.reactivated += 1;
            self.inactive.remove(at);
            self.active.push_back(page);
            let level = self.trust.get(&page).map_or(0, |(level, _)| *level);
            let new = if level == 0 { (1, 1) } else { (2, 3) };
            self.trust.insert(page, new);
        } else {
            self.misses += 1;
            if self.active.len() + self.inactive.len() == CACHE {
                self.make_room();
            }
            self.active.push_back(page);
        }
        *self.dirty.entry(page).or_insert(false) |= write;
    }

    fn make_room(&mut self) {
        let queue = match self.inactive.len() == self.inactive_max {
            true if self.inactive_max > 0 => &mut self.inactive,
            _ => &mut self.active,
        };
        let gone = queue.pop_front().expect("a page");
        self.dirty_evictions += u64::from(self.dirty.remove(&gone).unwrap());
        self.trust.remove(&gone);
        if self.inactive.len() == self.inactive_max {
            return;
        }
        for _ in 0..9 {
            let page = self.active.pop_front().unwrap();
            match self.trust.get_mut(&page) {
                Some((_, left)) if *left > 0 => {
                    *left -= 1;
                    self.active.push_back(page);
                }
                _ => {
                    self.inactive.push_back(page);
                    self.deactivated += 1;
                    return;
                }
            }
        }
    }
}

/// The same accesses for the device and its twin, each after all flash work of the last.
fn agree(policy: &str, inactive: &str, inactive_max: usize, is_seen: bool) -> Twin {
    let bytes = |pages: u64| format!("{}B", pages * PAGE_BYTES);
    let (capacity, cache) = (bytes(PAGES), bytes(CACHE as u64));
    let mut device = device(&[
        ("device.capacity", capacity.as_str()),
        ("cache.capacity", cache.as_str()),
        ("cache.policy", policy),
        ("cache.inactive", inactive),
    ]);
    let mut twin = Twin {
        is_lru: policy == "lru",
        inactive_max,
        active: VecDeque::new(),
        inactive: VecDeque::new(),
        dirty: BTreeMap::new(),
        trust: BTreeMap::new(),
        hits: 0,
        misses: 0,
        dirty_evictions: 0,
        deactivated: 0,
        reactivated: 0,
    };
    let (mut host, mut now, mut rng) = (Host::default(), Ps::ZERO, Rng::stream(5, "test"));
    for _ in 0..20_000 {
        let page = rng.below(PAGES).min(rng.below(PAGES));
        let write = rng.below(4) == 0;
        let (lpn, op) = (Lpn::of(page), if write { Op::Write } else { Op::Read });
        now += Ps::from_ns(10_000_000);
        twin.access(page, write, is_seen);
        match host.mapped.get_mut(&lpn).filter(|_| !is_seen) {
            Some(written) => *written |= write,
            None => {
                let addr = lpn.addr(PAGE_BYTES);
                device.access(now, Request { addr, op }, &mut host);
                host.mapped.insert(lpn, false);
            }
        }
    }
    let stats = device.stats();
    let counted = [
        stats.hits,
        stats.misses,
        stats.dirty_evictions,
        stats.deactivated,
        stats.reactivated,
    ];
    let expected = [
        twin.hits,
        twin.misses,
        twin.dirty_evictions,
        twin.deactivated,
        twin.reactivated,
    ];
    assert_eq!(counted, expected, "{policy} {inactive} {is_seen}");
    twin
}

#[test]
fn two_queues_in_a_few_lines_count_the_same() {
    for policy in ["fifo", "lru"] {
        for (share, most) in [("none", 0), ("10%", 4), ("24%", 9), ("50%", 20)] {
            for is_seen in [false, true] {
                let twin = agree(policy, share, most, is_seen);
                assert_eq!(twin.reactivated > 100, most > 0, "{policy} {share}");
            }
        }
    }
}

/// LRU that sees no hit is FIFO. With inactive pages it comes near LRU that sees all.
#[test]
fn a_policy_that_sees_inactive_pages_alone_comes_near_one_that_sees_all() {
    let all = agree("lru", "none", 0, true).misses;
    let none = agree("lru", "none", 0, false).misses;
    let inactive = agree("lru", "50%", 20, false).misses;
    assert!(none > all + 250, "{none} {all}");
    let share = (none - inactive) as f64 / (none - all) as f64;
    assert!((0.5..1.2).contains(&share), "{share}");
}
