//! Inactive pages, beside a model in a few lines: two queues, the second of which gives pages back.

use sluice_model::cache::{Candidates, Event, External, Set};
use sluice_model::{Device, DeviceConfig, Effects, Op, Request};
use sluice_testkit::rig::device;
use sluice_units::{Lpn, PAGE_BYTES, Ps, Rng, Slot};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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
            let is_full = self.active.len() + self.inactive.len() == CACHE;
            let back = if is_full {
                self.make_room()
            } else {
                Vec::new()
            };
            self.active.push_back(page);
            self.active.extend(back);
        }
        *self.dirty.entry(page).or_insert(false) |= write;
    }

    /// Says which pages are taken for used, which come back behind the newcomer.
    fn make_room(&mut self) -> Vec<u64> {
        let queue = match self.inactive.len() == self.inactive_max {
            true if self.inactive_max > 0 => &mut self.inactive,
            _ => &mut self.active,
        };
        let gone = queue.pop_front().expect("a page");
        self.dirty_evictions += u64::from(self.dirty.remove(&gone).unwrap());
        self.trust.remove(&gone);
        let mut back = Vec::new();
        if self.inactive.len() == self.inactive_max {
            return back;
        }
        for _ in 0..9 {
            let Some(page) = self.active.pop_front() else {
                return back;
            };
            match self.trust.get_mut(&page) {
                Some((_, left)) if *left > 0 => {
                    *left -= 1;
                    back.push(page);
                }
                _ => {
                    self.inactive.push_back(page);
                    self.deactivated += 1;
                    return back;
                }
            }
        }
        back
    }
}

/// The device and its twin get the same accesses, each after all flash work of the last.
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

/// The page that is accessed, and how many others came back to the policy meanwhile.
static ASKED: AtomicU64 = AtomicU64::new(0);
static CAME_BACK: AtomicU64 = AtomicU64::new(0);

/// LRU that holds the device to what a policy is promised.
#[derive(Default)]
struct Watching {
    order: VecDeque<(Slot, Lpn)>,
    /// The page that missed last, until it is in a slot.
    missed: Option<Lpn>,
}

impl External for Watching {
    fn miss(&mut self, _event: &Event, _set: Set, lpn: Lpn) {
        assert_eq!(self.missed, None, "of two misses in a row one has no page");
        self.missed = Some(lpn);
    }

    fn insert(&mut self, _event: &Event, _set: Set, slot: Slot, lpn: Lpn) {
        assert_eq!(
            self.missed.take(),
            Some(lpn),
            "a page that did not just miss"
        );
        self.order.push_back((slot, lpn));
    }

    fn hit(&mut self, event: &Event, _set: Set, slot: Slot) -> u32 {
        let at = self.order.iter().position(|held| held.0 == slot).unwrap();
        let held = self.order.remove(at).unwrap();
        self.order.push_back(held);
        if u64::from(held.1) != ASKED.load(Relaxed) {
            assert!(!event.is_store, "nobody stores to a page that comes back");
            CAME_BACK.fetch_add(1, Relaxed);
        }
        0
    }

    fn victim(&mut self, _event: &Event, _set: Set, slots: &mut dyn Candidates) -> Option<Slot> {
        let at = self.order.iter().position(|held| slots.may_leave(held.0))?;
        self.order.remove(at).map(|held| held.0)
    }

    fn remove(&mut self, _event: &Event, _set: Set, slot: Slot) {
        self.order.retain(|held| held.0 != slot);
    }
}

/// A policy that remembers which page missed last took the next one for it: a page that came back
/// between the miss of another and its insertion. And that page counted as stored to.
#[test]
fn a_page_is_inserted_where_it_has_just_missed() {
    let mut raw = DeviceConfig::builder();
    for (key, pages) in [("device.capacity", PAGES), ("cache.capacity", CACHE as u64)] {
        raw.set(key, &format!("{}B", pages * PAGE_BYTES)).unwrap();
    }
    raw.set("cache.inactive", "30%").unwrap();
    let config = DeviceConfig::new(&raw).unwrap();
    let policy = Box::new(Watching::default());
    let mut device = Device::with_policy(&config, 1, policy).unwrap();
    let (mut host, mut now, mut rng) = (Host::default(), Ps::ZERO, Rng::stream(5, "test"));
    for _ in 0..20_000 {
        let page = rng.below(PAGES).min(rng.below(PAGES));
        let op = if rng.below(2) == 0 {
            Op::Write
        } else {
            Op::Read
        };
        now += Ps::from_ns(10_000_000);
        ASKED.store(page, Relaxed);
        let addr = Lpn::of(page).addr(PAGE_BYTES);
        if host.mapped.insert(Lpn::of(page), false).is_none() {
            device.access(now, Request { addr, op }, &mut host);
        }
    }
    assert_eq!(device.stats().policy_refused, 0);
    assert!(CAME_BACK.load(Relaxed) > 100, "{CAME_BACK:?}");
}
