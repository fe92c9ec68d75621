//! The adaptive policies as plain lists: ARC, LIRS and W-TinyLFU, the oldest of a list in front.

use super::Naive;
use std::collections::{BTreeMap, VecDeque};

/// The plain cache of a policy at its default parameters, or `None` if it is not one of these.
pub(super) fn cache(policy: &str, capacity: usize) -> Option<Box<dyn Naive>> {
    Some(match policy {
        "arc" => Box::new(Arc {
            capacity,
            ..Arc::default()
        }),
        "lirs" => Box::new(Lirs::new(capacity, false)),
        "lirs libcachesim" => Box::new(Lirs::new(capacity, true)),
        "wtinylfu" => Box::new(WTinyLfu::new(capacity, false)),
        "wtinylfu libcachesim" => Box::new(WTinyLfu::new(capacity, true)),
        _ => return None,
    })
}

/// ARC's target size of T1, in units of 2^-52 pages, after steps up or down by
/// `max(other / own, 1)`.
pub fn arc_target(ways: u32, steps: &[(bool, u32, u32)]) -> u128 {
    let mut target = 0f64;
    for (up, other, own) in steps {
        let step = (f64::from(*other) / f64::from(*own)).max(1.0);
        target = match up {
            true => (target + step).min(f64::from(ways)),
            false => (target - step).max(0.0),
        };
    }
    (target * 2f64.powi(64)) as u128
}

type Pages = VecDeque<u64>;

/// Takes a page out of a list. Says whether it was there.
fn take(pages: &mut Pages, page: u64) -> bool {
    let place = pages.iter().position(|p| *p == page);
    place.inspect(|place| _ = pages.remove(*place)).is_some()
}

#[derive(Default)]
struct Arc {
    t1: Pages,
    t2: Pages,
    b1: Pages,
    b2: Pages,
    target: f64,
    capacity: usize,
}

impl Arc {
    fn replace(&mut self, was_in_b2: bool) -> Option<u64> {
        let t1 = self.t1.len() as f64;
        let over = t1 > self.target || (was_in_b2 && t1 == self.target);
        if self.t2.is_empty() || (over && t1 > 0.0) {
            let page = self.t1.pop_front()?;
            self.b1.push_back(page);
            return Some(page);
        }
        let page = self.t2.pop_front()?;
        self.b2.push_back(page);
        Some(page)
    }

    /// The page was in no list.
    fn bring(&mut self, page: u64, full: bool) -> Option<u64> {
        let mut evicted = None;
        if self.t1.len() + self.b1.len() >= self.capacity {
            if self.b1.pop_front().is_none() {
                evicted = self.t1.pop_front();
            } else if full {
                evicted = self.replace(false);
            }
        } else if full {
            if self.b1.len() + self.b2.len() >= self.capacity {
                self.b2.pop_front();
            }
            evicted = self.replace(false);
        }
        self.t1.push_back(page);
        evicted
    }
}

impl Naive for Arc {
    fn access(&mut self, page: u64) -> (bool, Option<u64>) {
        if take(&mut self.t1, page) || take(&mut self.t2, page) {
            self.t2.push_back(page);
            return (true, None);
        }
        let full = self.t1.len() + self.t2.len() == self.capacity;
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        let was_in_b2 = if take(&mut self.b1, page) {
            self.target = (self.target + (b2 / b1).max(1.0)).min(self.capacity as f64);
            false
        } else if take(&mut self.b2, page) {
            self.target = (self.target - (b1 / b2).max(1.0)).max(0.0);
            true
        } else {
            return (false, self.bring(page, full));
        };
        let evicted = if full { self.replace(was_in_b2) } else { None };
        self.t2.push_back(page);
        (false, evicted)
    }

    fn discard(&mut self, page: u64) {
        let _ = take(&mut self.t1, page) || take(&mut self.t2, page);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Lir,
    Hir,
    Gone,
}

/// The stack is (page, kind), its bottom in front.
struct Lirs {
    stack: VecDeque<(u64, Kind)>,
    queue: Pages,
    gone: Pages,
    capacity: usize,
    hir_max: usize,
    gives_up: bool,
}

impl Lirs {
    fn new(capacity: usize, is_libcachesim: bool) -> Lirs {
        let hir_max = (capacity / 100).max(1);
        Lirs {
            stack: VecDeque::new(),
            queue: Pages::new(),
            gone: Pages::new(),
            capacity,
            hir_max,
            gives_up: is_libcachesim && hir_max > 1,
        }
    }

    fn lir(&self) -> usize {
        self.stack.iter().filter(|(_, k)| *k == Kind::Lir).count()
    }

    fn unstack(&mut self, page: u64) -> Option<Kind> {
        let place = self.stack.iter().position(|(p, _)| *p == page)?;
        self.stack.remove(place).map(|(_, kind)| kind)
    }

    fn prune(&mut self) {
        while self.stack.front().is_some_and(|(_, k)| *k != Kind::Lir) {
            let (page, _) = self.stack.pop_front().unwrap();
            take(&mut self.gone, page);
        }
    }

    /// Makes LIR pages HIR, lowest first, until there is room for `wanted` more.
    fn make_room(&mut self, wanted: usize) {
        while self.lir() + wanted > self.capacity - self.hir_max && self.lir() > 0 {
            self.prune();
            let (page, _) = self.stack.pop_front().unwrap();
            self.queue.push_back(page);
            self.prune();
        }
    }

    fn evict(&mut self) -> Option<u64> {
        let page = self.queue.pop_front()?;
        if let Some(entry) = self.stack.iter_mut().find(|(p, _)| *p == page) {
            entry.1 = Kind::Gone;
            self.gone.push_back(page);
        }
        Some(page)
    }

    fn cut(&mut self) {
        while self.stack.len() > 2 * self.capacity {
            let page = self.gone.pop_front().unwrap();
            self.unstack(page);
        }
    }

    fn hit(&mut self, page: u64) -> Option<u64> {
        let mut evicted = None;
        match self.unstack(page) {
            Some(Kind::Lir) => {
                self.stack.push_back((page, Kind::Lir));
                self.prune();
            }
            Some(_) => {
                take(&mut self.queue, page);
                self.stack.push_back((page, Kind::Lir));
                self.make_room(0);
                self.prune();
            }
            None => {
                take(&mut self.queue, page);
                self.queue.push_back(page);
                if self.gives_up {
                    self.make_room(1);
                    if self.queue.len() > self.hir_max {
                        evicted = self.evict();
                    }
                }
                self.stack.push_back((page, Kind::Hir));
            }
        }
        self.cut();
        evicted
    }
}

impl Naive for Lirs {
    fn access(&mut self, page: u64) -> (bool, Option<u64>) {
        let stacked = |(p, k): &(u64, Kind)| *p == page && *k != Kind::Gone;
        if self.queue.contains(&page) || self.stack.iter().any(stacked) {
            return (true, self.hit(page));
        }
        let full = self.lir() + self.queue.len() == self.capacity;
        let evicted = if full { self.evict() } else { None };
        let known = self.unstack(page).is_some();
        take(&mut self.gone, page);
        if known || self.lir() < self.capacity - self.hir_max {
            self.stack.push_back((page, Kind::Lir));
            self.make_room(0);
            self.prune();
        } else {
            self.stack.push_back((page, Kind::Hir));
            self.queue.push_back(page);
        }
        self.cut();
        (false, evicted)
    }

    fn discard(&mut self, page: u64) {
        let queued = take(&mut self.queue, page);
        let stacked = |(p, k): &(u64, Kind)| *p == page && *k != Kind::Gone;
        if queued || self.stack.iter().any(stacked) {
            let kind = self.unstack(page);
            if kind == Some(Kind::Lir) {
                self.prune();
            }
        }
    }
}

struct WTinyLfu {
    window: Pages,
    probation: Pages,
    protected: Pages,
    /// By place: the counting filter.
    counters: BTreeMap<u64, u64>,
    size: u64,
    counted: usize,
    capacity: usize,
    main: usize,
    is_libcachesim: bool,
}

impl WTinyLfu {
    fn new(capacity: usize, is_libcachesim: bool) -> WTinyLfu {
        let main = capacity - (capacity / 100).max(1);
        let wanted = (main as f64 * 1000f64.ln() / 2f64.ln().powi(2)).ceil() as u64;
        WTinyLfu {
            window: Pages::new(),
            probation: Pages::new(),
            protected: Pages::new(),
            counters: BTreeMap::new(),
            size: if wanted < 10 { 20 } else { wanted },
            counted: 0,
            capacity,
            main,
            is_libcachesim,
        }
    }

    fn places(&self, page: u64) -> Vec<u64> {
        let hash = |seed| xxh64(page, seed) as u32;
        let (first, step) = (hash(0x1234_5678), hash(0x1234_4321));
        let place = |n: u32| u64::from(first.wrapping_add(n.wrapping_mul(step))) % self.size;
        (0..10).map(place).collect()
    }

    fn estimate(&self, page: u64) -> u64 {
        let count = |place| self.counters.get(place).copied().unwrap_or(0);
        self.places(page).iter().map(count).min().unwrap()
    }

    fn count(&mut self, page: u64) {
        let lowest = self.estimate(page);
        for place in self.places(page) {
            let counter = self.counters.entry(place).or_default();
            if self.is_libcachesim || *counter == lowest {
                *counter += 1;
            }
        }
    }

    fn age(&mut self) {
        self.counted += 1;
        let pages = if self.is_libcachesim {
            self.main
        } else {
            self.capacity
        };
        if self.counted >= 32 * pages {
            // The paper's number of accesses is a counter as any other.
            self.counted = if self.is_libcachesim {
                0
            } else {
                self.counted / 2
            };
            self.counters.values_mut().for_each(|count| *count /= 2);
        }
    }

    fn admit(&mut self, page: u64) {
        let probation_full = self.probation.len() >= self.main / 5;
        if self.is_libcachesim && probation_full && self.protected.len() < self.main * 4 / 5 {
            self.protected.push_back(page);
        } else {
            self.probation.push_back(page);
        }
    }

    fn evict(&mut self) -> Option<u64> {
        while self.is_libcachesim && self.probation.len() + self.protected.len() < self.main {
            let page = self.window.pop_front()?;
            self.admit(page);
            self.count(page);
        }
        let main = self.probation.front().or(self.protected.front()).copied();
        let Some(candidate) = self.window.pop_front() else {
            return self
                .probation
                .pop_front()
                .or_else(|| self.protected.pop_front());
        };
        let wins = main.is_some_and(|main| self.estimate(candidate) > self.estimate(main));
        if wins && self.probation.pop_front().is_none() {
            self.protected.pop_front();
        }
        if wins {
            self.admit(candidate);
        }
        if self.is_libcachesim && main.is_some() {
            self.count(candidate);
        }
        if wins { main } else { Some(candidate) }
    }

    fn hit(&mut self, page: u64) -> Option<u64> {
        let mut evicted = None;
        if take(&mut self.window, page) {
            self.window.push_back(page);
            if self.is_libcachesim {
                return None;
            }
        } else if take(&mut self.probation, page) {
            self.protected.push_back(page);
            if self.protected.len() > self.main * 4 / 5 {
                self.probation.extend(self.protected.pop_front());
                if self.is_libcachesim && self.probation.len() > self.main / 5 {
                    evicted = self.probation.iter().find(|p| **p != page).copied();
                    evicted.inspect(|p| _ = take(&mut self.probation, *p));
                }
            }
        } else {
            take(&mut self.protected, page);
            self.protected.push_back(page);
        }
        self.count(page);
        self.age();
        evicted
    }
}

impl Naive for WTinyLfu {
    fn access(&mut self, page: u64) -> (bool, Option<u64>) {
        let mut all = self
            .window
            .iter()
            .chain(&self.probation)
            .chain(&self.protected);
        if all.any(|p| *p == page) {
            return (true, self.hit(page));
        }
        if !self.is_libcachesim {
            self.count(page);
            self.age();
        }
        let full = self.window.len() + self.probation.len() + self.protected.len() == self.capacity;
        let evicted = if full { self.evict() } else { None };
        self.window.push_back(page);
        if self.is_libcachesim {
            self.count(page);
        } else if self.window.len() > self.capacity - self.main {
            let page = self.window.pop_front().unwrap();
            self.admit(page);
        }
        (false, evicted)
    }

    fn discard(&mut self, page: u64) {
        let _ = take(&mut self.window, page)
            || take(&mut self.probation, page)
            || take(&mut self.protected, page);
    }
}

/// XXH64 of the page as eight bytes, step by step as the specification has it.
fn xxh64(page: u64, seed: u64) -> u64 {
    let prime: [u64; 6] = [
        0,
        11_400_714_785_074_694_791,
        14_029_467_366_897_019_727,
        1_609_587_929_392_839_161,
        9_650_029_242_287_828_579,
        2_870_177_450_012_600_261,
    ];
    let times = |a: u64, b: u64| a.wrapping_mul(b);
    let lane = times(times(page, prime[2]).rotate_left(31), prime[1]);
    let mut hash = seed.wrapping_add(prime[5]).wrapping_add(8) ^ lane;
    hash = times(hash.rotate_left(27), prime[1]).wrapping_add(prime[4]);
    hash = times(hash ^ (hash >> 33), prime[2]);
    hash = times(hash ^ (hash >> 29), prime[3]);
    hash ^ (hash >> 32)
}
