//! When the page is chosen that leaves for another (`cache.evict_at`), beside a model in a few
//! lines: a list of pages, and those on their way.

use sluice_model::{Command, Device, DeviceConfig, Op, ServedBy};
use sluice_params::ConfigError;
use sluice_testkit::rig::{Recorder, access, device, read};
use sluice_units::{LINE_BYTES, Lpn, PAGE_BYTES, Ps, Rng};
use std::collections::{BTreeMap, BTreeSet};

const PAGES: u64 = 14;
const HIT: Ps = Ps::from_ns(150);
const READ: Ps = Ps::from_us(40);
const PROGRAM: Ps = Ps::from_us(200);

/// Which page leaves, and whether hits matter to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    Fifo,
    Lru,
    Mru,
}

/// What the device should do. Times of fills are the device's: those of flash are not the matter.
struct Twin {
    at_fill: bool,
    policy: Policy,
    capacity: usize,
    /// Pages with a place that are not pinned: the one that came, or was used, first in front.
    order: Vec<u64>,
    /// Pages without a place, in the order of their requests.
    flight: Vec<u64>,
    pinned: BTreeSet<u64>,
    prefetched: BTreeSet<u64>,
    written: BTreeSet<u64>,
    /// When each page was there, or will be.
    ready: BTreeMap<u64, Ps>,
    gone: Vec<u64>,
    /// How many of the pages that left were written, and how many were prefetched in vain.
    dirty: u64,
    unused: u64,
}

impl Twin {
    fn new(at_fill: bool, policy: Policy, capacity: usize) -> Twin {
        Twin {
            at_fill,
            policy,
            capacity,
            order: Vec::new(),
            flight: Vec::new(),
            pinned: BTreeSet::new(),
            prefetched: BTreeSet::new(),
            written: BTreeSet::new(),
            ready: BTreeMap::new(),
            gone: Vec::new(),
            dirty: 0,
            unused: 0,
        }
    }

    /// Pages that have a place.
    fn placed(&self) -> usize {
        self.ready.len() - self.flight.len()
    }

    fn forget(&mut self, page: u64) -> bool {
        self.order.retain(|other| *other != page);
        self.flight.retain(|other| *other != page);
        self.pinned.remove(&page);
        self.ready.remove(&page);
        self.unused += u64::from(self.prefetched.remove(&page));
        self.written.remove(&page)
    }

    fn leaves(&mut self, page: u64) {
        self.gone.push(page);
        self.dirty += u64::from(self.forget(page));
    }

    /// Makes room at `at`. Says whether there is.
    fn has_room(&mut self, at: Ps) -> bool {
        if self.placed() < self.capacity {
            return true;
        }
        let mut is_there = self.order.iter().filter(|page| self.ready[*page] <= at);
        let victim = match self.policy {
            Policy::Fifo | Policy::Lru => is_there.next(),
            Policy::Mru => is_there.next_back(),
        };
        let victim = victim.copied();
        victim.inspect(|page| self.leaves(*page)).is_some()
    }

    /// The pages that have arrived take their places.
    fn land(&mut self, by: Ps) {
        while let Some(next) = self
            .flight
            .iter()
            .copied()
            .min_by_key(|page| self.ready[page])
            && self.ready[&next] <= by
        {
            let at = self.ready[&next];
            assert!(self.has_room(at), "a page of the set is not pinned");
            self.flight.retain(|page| *page != next);
            if !self.pinned.contains(&next) {
                self.order.push(next);
            }
        }
    }

    /// Where an access is served.
    fn access(&mut self, now: Ps, page: u64, is_store: bool) -> ServedBy {
        let Some(ready_at) = self.ready.get(&page).copied() else {
            return ServedBy::Flash;
        };
        self.prefetched.remove(&page);
        if is_store {
            self.written.insert(page);
        }
        if self.policy != Policy::Fifo
            && let Some(at) = self.order.iter().position(|other| *other == page)
        {
            self.order.remove(at);
            self.order.push(page);
        }
        match ready_at > now {
            true => ServedBy::MshrMerge,
            false => ServedBy::CacheHit,
        }
    }

    /// Asks for a page, before the device has said when it is there. Says whether it can be.
    fn ask(&mut self, now: Ps, waits: bool) -> bool {
        let mut at = now;
        while !self.at_fill && !self.has_room(at) {
            if !waits {
                return false;
            }
            let later = self.order.iter().map(|page| self.ready[page]);
            at = later
                .filter(|ready| *ready > at)
                .min()
                .expect("a page on its way");
        }
        true
    }

    fn comes(&mut self, page: u64, ready_at: Ps) {
        self.ready.insert(page, ready_at);
        match self.at_fill {
            true => self.flight.push(page),
            false => self.order.push(page),
        }
    }
}

fn small(at_fill: bool, policy: Policy, capacity: usize, entries: &str) -> Device {
    let bytes = |pages: u64| format!("{}B", pages * PAGE_BYTES);
    let (capacity, cache) = (bytes(PAGES), bytes(capacity as u64));
    device(&[
        ("device.capacity", capacity.as_str()),
        ("cache.capacity", cache.as_str()),
        ("cache.policy", &format!("{policy:?}").to_lowercase()),
        ("cache.evict_at", if at_fill { "fill" } else { "miss" }),
        ("mshr.entries", entries),
        ("nand.transfer", "3us"),
    ])
}

/// One access, command or discard of a random page, by both.
fn step(rng: &mut Rng, now: Ps, device: &mut Device, twin: &mut Twin, host: &mut Recorder) {
    let (page, kind) = (rng.below(PAGES), rng.below(20));
    let lpn = Lpn::of(page);
    let is_there = twin.ready.contains_key(&page);
    let pins_max = twin.capacity / 2;
    match kind {
        0 => {
            // A discard names no page that leaves.
            device.land(now, host);
            device.discard(now, lpn);
            twin.forget(page);
        }
        1 => {
            let was_pinned = twin.pinned.contains(&page);
            let pinned = device.command(now, Command::Pin(lpn), host);
            let can_be = was_pinned || twin.pinned.len() < pins_max;
            assert_eq!(pinned.is_ok(), can_be, "pin {page}");
            if can_be && !is_there {
                assert!(twin.ask(now, true));
                twin.comes(page, device.cached_at(lpn).expect("it comes"));
            }
            if can_be {
                twin.pinned.insert(page);
                twin.order.retain(|other| *other != page);
            }
        }
        2 | 3 => {
            let unpinned = device.command(now, Command::Unpin(lpn), host).is_ok();
            assert_eq!(unpinned, twin.pinned.remove(&page));
            if unpinned && !twin.flight.contains(&page) {
                twin.order.push(page);
            }
        }
        4..=6 => {
            let has_entry = device.can_fill_at(now) <= now;
            let sent = device.command(now, Command::Prefetch(lpn), host).is_ok();
            assert_eq!(sent, is_there || has_entry && twin.ask(now, false));
            if sent && !is_there {
                twin.comes(page, device.cached_at(lpn).expect("it comes"));
                twin.prefetched.insert(page);
            }
        }
        _ => {
            let op = if kind % 3 == 0 { Op::Write } else { Op::Read };
            let addr = lpn.addr(PAGE_BYTES);
            let request = sluice_model::Request { addr, op };
            let served_by = device.access(now, request, host).served_by;
            assert_eq!(served_by, twin.access(now, page, op == Op::Write), "{page}");
            if served_by == ServedBy::Flash {
                assert!(twin.ask(now, true));
                twin.comes(page, device.cached_at(lpn).expect("it comes"));
                if op == Op::Write {
                    twin.written.insert(page);
                }
            }
        }
    }
}

/// Random steps, so close to each other that up to eight fills overlap. Returns the pages that
/// left.
fn agree(seed: u64, at_fill: bool, policy: Policy, capacity: usize, entries: &str) -> Vec<u64> {
    let mut rng = Rng::stream(seed, "evict_at");
    let mut device = small(at_fill, policy, capacity, entries);
    let mut twin = Twin::new(at_fill, policy, capacity);
    let (mut now, mut host) = (Ps::ZERO, Recorder::default());
    for number in 0..600 {
        now += match rng.below(4) {
            // To the moment of a fill, or just before it.
            0 => {
                let ahead = twin.ready.values().filter(|ready| **ready > now + Ps(1));
                let next = ahead.min().copied().unwrap_or(now + Ps(1));
                next - now - Ps(rng.below(2))
            }
            1 => Ps::ZERO,
            _ => Ps::from_ns(rng.below(40_000)),
        };
        twin.land(now);
        step(&mut rng, now, &mut device, &mut twin, &mut host);
        let what = format!("{policy:?}, {capacity}, seed {seed}, step {number} at {now}");
        assert_eq!(host.unmapped, twin.gone, "{what}");
        assert!(twin.placed() <= capacity, "{what}");
        assert_eq!(device.cached_pages(), twin.ready.len() as u64, "{what}");
        let stats = device.stats();
        assert_eq!(stats.dirty_evictions, twin.dirty, "{what}");
        assert_eq!(device.balance(), Ok(()), "{what}");
    }
    assert!(device.stats().prefetch_unused <= twin.unused);
    host.unmapped
}

#[test]
fn a_list_of_pages_and_those_on_their_way_lets_the_same_pages_go() {
    let (mut differ, mut left) = (0, 0);
    for policy in [Policy::Fifo, Policy::Lru, Policy::Mru] {
        for capacity in 1..=5 {
            for seed in 0..12 {
                let at_miss = agree(seed, false, policy, capacity, "256");
                let at_fill = agree(seed, true, policy, capacity, "256");
                differ += u64::from(at_miss != at_fill);
                left += at_fill.len();
            }
        }
    }
    assert!(differ > 100, "{differ} traces of 180 tell the two apart");
    assert!(left > 20_000, "{left} pages are too few to mean anything");
}

/// Accesses wait for the one or two entries then, so that more pages are on their way than those.
#[test]
fn with_few_mshr_entries_too() {
    for policy in [Policy::Fifo, Policy::Lru, Policy::Mru] {
        for (seed, entries) in [(1, "1"), (2, "2"), (3, "1"), (4, "2")] {
            agree(seed, true, policy, 3, entries);
        }
    }
}

/// Two pages are there, the first longer than the second, and a third is asked for at `MISSED`.
const MISSED: Ps = Ps::from_ms(1);
const FILLED: Ps = Ps(MISSED.0 + READ.0 + HIT.0);

fn with_two(policy: &str, value: &str, own: &[(&str, &str)]) -> Device {
    let base = [
        ("cache.capacity", "8KiB"),
        ("cache.policy", policy),
        ("cache.evict_at", value),
    ];
    let mut device = device(&[&base[..], own].concat());
    read(&mut device, Ps::ZERO, 1);
    read(&mut device, Ps::from_us(100), 2);
    assert_eq!(read(&mut device, MISSED, 3).done_at, FILLED);
    device
}

/// From where an access at `at` is served, and which pages have left after all fills.
fn look(policy: &str, value: &str, at: Ps, page: u64) -> (ServedBy, Vec<u64>) {
    let mut device = with_two(policy, value, &[]);
    let served_by = read(&mut device, at, page).served_by;
    device.settle(at);
    let gone = (1..=3).filter(|page| !device.is_cached(Lpn::of(*page)));
    (served_by, gone.collect())
}

#[test]
fn until_its_fill_a_page_that_would_leave_is_there() {
    use ServedBy::{CacheHit, Flash};
    let before = Ps(FILLED.0 - 1);
    // The first page is used: LRU lets the other go, FIFO has no eyes for that.
    assert_eq!(look("lru", "fill", before, 1), (CacheHit, vec![2]));
    assert_eq!(look("fifo", "fill", before, 1), (CacheHit, vec![1]));
    // MRU lets the page go that was used last: the one that has just had a hit.
    assert_eq!(look("mru", "fill", before, 2), (CacheHit, vec![2]));
    assert_eq!(look("mru", "fill", before, 1), (CacheHit, vec![1]));
    // At the moment of the fill it is too late, and another page leaves for this one.
    for at in [FILLED, FILLED + Ps(1)] {
        assert_eq!(look("lru", "fill", at, 1), (Flash, vec![2]));
        assert_eq!(look("fifo", "fill", at, 1), (Flash, vec![2]));
        assert_eq!(look("mru", "fill", at, 2), (Flash, vec![3]));
    }
}

#[test]
fn at_its_miss_a_page_that_leaves_is_gone() {
    for at in [MISSED + Ps(1), Ps(FILLED.0 - 1), FILLED] {
        for policy in ["lru", "fifo"] {
            assert_eq!(look(policy, "miss", at, 1), (ServedBy::Flash, vec![2]));
            assert_eq!(look(policy, "miss", at, 2).0, ServedBy::CacheHit);
        }
    }
}

/// A host whose accesses to mapped pages are not seen asks before each what has happened.
#[test]
fn a_host_that_maps_pages_learns_at_the_fill_which_one_leaves() {
    let mut device = with_two("fifo", "fill", &[]);
    let mut host = Recorder::default();
    device.map_arrived(Ps(FILLED.0 - 1), &mut host);
    assert_eq!(
        (&host.unmapped[..], device.is_cached(Lpn(1))),
        (&[][..], true)
    );
    device.map_arrived(FILLED, &mut host);
    assert_eq!(
        (&host.unmapped[..], device.is_cached(Lpn(1))),
        (&[1][..], false)
    );
}

/// All on one die: what is asked for first is done first.
#[test]
fn a_written_page_is_programmed_behind_the_read_of_the_other() {
    let one_die = [
        ("cache.capacity", "4KiB"),
        ("nand.channels", "1"),
        ("nand.dies", "1"),
    ];
    let later = MISSED + READ + HIT;
    for (value, missed, then) in [
        // The program first, then the read; the next one begins with a free die.
        ("miss", PROGRAM + READ + HIT, READ + HIT),
        // The read first; the next one waits for the program that began with the fill.
        ("fill", READ + HIT, PROGRAM + READ + HIT),
    ] {
        let evict_at = [("cache.evict_at", value)];
        let mut device = device(&[&one_die[..], &evict_at].concat());
        access(&mut device, Ps::ZERO, 1, Op::Write);
        assert_eq!(
            read(&mut device, MISSED, 2).done_at,
            MISSED + missed,
            "{value}"
        );
        let programs = |device: &Device| device.stats().flash_programs;
        assert_eq!(programs(&device), u64::from(value == "miss"));
        device.advance(Ps(later.0 - 1));
        assert_eq!(programs(&device), u64::from(value == "miss"));
        device.advance(later);
        assert_eq!(programs(&device), 1);
        let now = later.max(MISSED + missed);
        assert_eq!(read(&mut device, now, 3).done_at, now + then, "{value}");
        device.settle(now);
        assert_eq!(device.balance(), Ok(()));
    }
}

/// The prefetched page leaves nobody alone: the page of the access that sent for it has arrived.
#[test]
fn a_prefetched_page_takes_the_place_of_the_policys_choice_when_it_arrives() {
    let own = [
        ("prefetch.policy", "nextn"),
        ("prefetch.degree", "1"),
        ("cache.capacity", "4KiB"),
    ];
    for (value, issued, cached) in [("miss", 0, 9), ("fill", 1, 10)] {
        let mut device = device(&[&own[..], &[("cache.evict_at", value)]].concat());
        read(&mut device, Ps::ZERO, 9);
        assert_eq!(device.stats().prefetch_issued, issued, "{value}");
        device.settle(Ps::ZERO);
        assert_eq!(device.cached_pages(), 1);
        assert!(device.is_cached(Lpn(cached)), "{value}");
    }
}

/// A page that never comes takes no place.
#[test]
fn a_page_that_is_discarded_on_its_way_pushes_none_out() {
    let mut device = with_two("lru", "fill", &[]);
    device.discard(MISSED + Ps(1), Lpn(3));
    device.settle(MISSED);
    let cached: Vec<bool> = (1..=3).map(|page| device.is_cached(Lpn(page))).collect();
    assert_eq!(cached, [true, true, false]);
}

#[test]
fn an_answer_that_would_have_to_wait_for_a_page_to_leave_is_refused() {
    for (key, value, instead) in [
        ("cache.dirty_eviction", "wait", "behind"),
        ("cache.replacement", "5ns", "0ns"),
    ] {
        let mut raw = DeviceConfig::builder();
        raw.set(key, value).unwrap();
        assert!(DeviceConfig::new(&raw).is_ok());
        raw.set("cache.evict_at", "fill").unwrap();
        let refused: ConfigError = DeviceConfig::new(&raw).unwrap_err();
        let told = refused.to_string();
        let given = format!("cache.evict_at = fill, {key} = {value}: ");
        for word in [&given, "to miss", &format!("{key} to {instead}")] {
            assert!(told.contains(word), "{told}");
        }
        assert_eq!(told.lines().count(), 1);
    }
}

/// Lines that were used before their page had a place.
#[test]
fn lines_are_counted_of_a_page_on_its_way() {
    for value in ["miss", "fill"] {
        let mut device = device(&[
            ("cache.capacity", "4KiB"),
            ("cache.track_lines", "yes"),
            ("cache.evict_at", value),
        ]);
        for (us, line) in [(0, 0), (1, 1)] {
            let addr = Lpn(1).addr(PAGE_BYTES) + line * LINE_BYTES;
            let request = sluice_model::Request {
                addr,
                op: Op::Write,
            };
            device.access(Ps::from_us(us), request, &mut ());
        }
        read(&mut device, MISSED, 2);
        device.settle(MISSED);
        let lines = device.line_use().expect("they are counted");
        assert_eq!(lines.touched_of_evicted()[2], 1, "{value}");
        assert_eq!(lines.written_of_programmed()[2], 1, "{value}");
    }
}

/// The page's lines are written to the DRAM when it lands, and the first hit waits for that.
#[test]
fn a_page_that_lands_keeps_the_banks_busy() {
    let [at_miss, at_fill] = ["miss", "fill"].map(|value| {
        let own = [("dram.model", "ddr4-2400"), ("cache.evict_at", value)];
        let mut device = device(&own);
        read(&mut device, Ps::ZERO, 1);
        let ready_at = device.cached_at(Lpn(1)).expect("it comes");
        [ready_at, MISSED].map(|at| read(&mut device, at, 1).done_at - at)
    });
    assert_eq!(at_miss, at_fill);
    assert!(at_fill[0] > at_fill[1], "{at_fill:?}");
}
