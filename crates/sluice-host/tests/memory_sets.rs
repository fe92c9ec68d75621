//! Host memory in sets: which page leaves for one that comes in, and what that costs.

use sluice_host::{Adaptive, HostConfig, Memory, Migration, Sampling, Tpp};
use sluice_testkit::host_rig::{host, memory_of};
use sluice_units::{Ps, Rng};

const PAGE: u64 = 4096;
const US: Ps = Ps::from_us(1);

/// Two sets of two: even pages and odd ones.
fn in_sets() -> HostConfig {
    sets_of(2, 2)
}

fn sets_of(sets: u32, ways: u32) -> HostConfig {
    host(Migration::Adaptive(Adaptive {
        pages: sets * ways,
        threshold: 2,
        decay: Ps::ZERO,
        buffer: 4,
        interrupt: US,
        line: Ps::from_ns(10),
        huge: 1,
        spare: 0,
        remote_pages: 0,
        remote_latency: Ps::ZERO,
        ways,
    }))
}

/// Time that goes on.
struct Clock(Ps);

impl Clock {
    fn tick(&mut self) -> Ps {
        self.0 += US * 20;
        self.0
    }

    /// Reads a page until it is hot and has been copied.
    fn promote(&mut self, memory: &mut Memory, page: u64) {
        for _ in 0..3 {
            memory.read(self.tick(), page * PAGE, false);
        }
        memory.run(self.tick());
    }

    /// Whether a read of the page is one of host memory.
    fn is_at_home(&mut self, memory: &mut Memory, page: u64) -> bool {
        let before = memory.stats().requests.host_reads;
        memory.read(self.tick(), page * PAGE, false);
        memory.stats().requests.host_reads > before
    }
}

#[test]
fn the_page_of_the_set_used_longest_ago_leaves() {
    let mut memory = memory_of(&in_sets(), &[]);
    let mut clock = Clock(Ps::ZERO);
    for page in [0, 2, 1] {
        clock.promote(&mut memory, page);
    }
    // Page 2 was not used since, and the odd set still has room.
    memory.read(clock.tick(), 0, false);
    clock.promote(&mut memory, 4);
    let migration = memory.stats().migration;
    assert_eq!((migration.promotions, migration.demotions), (4, 1));
    for (page, expected) in [(0, true), (1, true), (4, true), (2, false)] {
        assert_eq!(clock.is_at_home(&mut memory, page), expected, "page {page}");
    }
}

/// Hardware finds the pages: no TLB has anything to forget.
#[test]
fn no_translation_changes() {
    let mut memory = memory_of(&in_sets(), &[]);
    let mut clock = Clock(Ps::ZERO);
    for page in [0, 2, 4] {
        clock.promote(&mut memory, page);
        assert_eq!(memory.take_moved(), None);
    }
    let migration = memory.stats().migration;
    assert_eq!((migration.demotions, migration.shootdowns), (1, 0));
}

/// What a page was accessed for and when, written down: the pages of each set, the one used longest
/// ago first.
#[test]
fn sets_do_as_lists_that_are_searched() {
    for (sets, ways) in [(1, 1), (1, 7), (3, 4), (8, 2)] {
        let mut memory = memory_of(&sets_of(sets, ways), &[]);
        let mut clock = Clock(Ps::ZERO);
        let mut naive = vec![Vec::new(); sets as usize];
        let mut rng = Rng::stream(9, "sets");
        for _ in 0..600 {
            let page = rng.below(u64::from(sets * ways) * 2);
            let set = &mut naive[(page % u64::from(sets)) as usize];
            let at_home = set.contains(&page);
            assert_eq!(clock.is_at_home(&mut memory, page), at_home, "page {page}");
            match at_home {
                true => set.retain(|other| *other != page),
                false => clock.promote(&mut memory, page),
            }
            if set.len() == ways as usize {
                set.remove(0);
            }
            set.push(page);
        }
        assert!(memory.stats().migration.demotions > 50);
    }
}

/// Sampling can promote into sets as well.
#[test]
fn tpp_has_sets() {
    let mut memory = memory_of(
        &host(Migration::Tpp(Tpp {
            pages: 4,
            sampling: Sampling::Accesses,
            period: US,
            batch: 8,
            fault: US,
            window: US,
            line: Ps::from_ns(10),
            spare: 3,
            ways: 2,
        })),
        &[],
    );
    memory.scan(8);
    let mut clock = Clock(US * 40);
    for page in [0, 2, 4] {
        clock.promote(&mut memory, page);
    }
    for (page, expected) in [(2, true), (4, true), (0, false)] {
        assert_eq!(clock.is_at_home(&mut memory, page), expected, "page {page}");
    }
    assert_eq!(memory.take_moved(), None);
}

/// Two pages of a set on their way leave no room for a third.
#[test]
fn a_page_on_its_way_does_not_leave() {
    let mut memory = memory_of(&in_sets(), &[]);
    for page in [0, 2, 4] {
        memory.read(Ps::ZERO, page * PAGE, false);
    }
    let now = US * 100;
    for page in [0, 2, 4] {
        for _ in 0..2 {
            memory.read(now, page * PAGE, false);
        }
    }
    assert_eq!(memory.stats().migration.no_room, 1);
    memory.run(now + US * 10);
    let migration = memory.stats().migration;
    assert_eq!((migration.promotions, migration.demotions), (2, 0));
}
