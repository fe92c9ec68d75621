//! Host memory in sets: which page leaves for one that comes in, and what that costs.

use sluice_fabric::host::{Adaptive, HostConfig, Memory, Migration};
use sluice_testkit::host_rig::{host, memory_of};
use sluice_units::Ps;

const PAGE: u64 = 4096;
const US: Ps = Ps::from_us(1);

/// Two sets of two: even pages and odd ones.
fn in_sets() -> HostConfig {
    host(Migration::Adaptive(Adaptive {
        pages: 4,
        threshold: 2,
        counts_logged: true,
        decay: Ps::ZERO,
        buffer: 4,
        interrupt: US,
        line: Ps::from_ns(10),
        huge: 1,
        spare: 0,
        remote_pages: 0,
        remote_latency: Ps::ZERO,
        ways: 2,
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

/// A page that was written takes its 64 lines back, or nothing if that is free.
#[test]
fn a_written_page_goes_back() {
    for (is_free, lines) in [(false, 64), (true, 0)] {
        let config = HostConfig {
            demotes_free: is_free,
            ..in_sets()
        };
        let mut memory = memory_of(&config, &[]);
        let mut clock = Clock(Ps::ZERO);
        clock.promote(&mut memory, 0);
        memory.write(clock.tick(), 0);
        for page in [2, 4] {
            clock.promote(&mut memory, page);
        }
        assert_eq!(memory.stats().link_bytes[0], lines * 64);
        assert_eq!(memory.stats().migration.dirty_demotions, 1);
    }
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
