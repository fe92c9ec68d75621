//! AstriFlash: host memory as a cache of pages.

use sluice_host::{AstriFlash, Memory, Migration};
use sluice_testkit::host_rig::{HIT, memory};
use sluice_units::Ps;

const LOOKUP: Ps = Ps::from_ns(11);
const FLASH: Ps = Ps::from_us(3);
const PAGE: u64 = 4096;
/// The last of 64 lines, with 4 ns each: the first is there 1 ns after its slot begins.
const PAGE_ON_LINK: Ps = Ps::from_ns(63 * 4 - 2);

fn astriflash() -> Memory {
    let given = AstriFlash {
        pages: 4,
        ways: 2,
        lookup: LOOKUP,
    };
    memory(Migration::AstriFlash(given), &[])
}

#[test]
fn a_miss_takes_a_page_over_the_link() {
    let mut memory = astriflash();
    let done_at = memory.read(Ps::ZERO, 0, false).done_at;
    let first = LOOKUP + HIT + FLASH;
    assert_eq!(first.0 % 4_000, 2_000);
    assert_eq!(done_at, first + PAGE_ON_LINK);
    let stats = memory.stats();
    assert_eq!(stats.link_bytes, [0, PAGE]);
    assert_eq!(stats.requests.device_read_misses, 1);
    assert_eq!(stats.access_time.host_dram, LOOKUP);
    assert_eq!(stats.access_time.flash, FLASH);
    assert_eq!(stats.access_time.total(), done_at);
    // An access that comes before the page is there waits for it; later ones find it.
    let merged = memory.read(done_at - LOOKUP - Ps(1), 64, false);
    assert_eq!(merged.done_at, done_at);
    let found = memory.read(done_at - LOOKUP, 64, false);
    assert!(found.done_at > done_at);
    let requests = memory.stats().requests;
    assert_eq!((requests.host_reads, requests.device_read_misses), (1, 2));
}

/// A miss is a switch of threads, whatever the device thinks of the wait.
#[test]
fn a_miss_is_answered_after_the_lookup() {
    let mut memory = astriflash();
    for now in [Ps::ZERO, Ps::from_ns(100)] {
        let answer = memory.read(now, 0, true);
        assert!(answer.delayed);
        assert_eq!(answer.done_at, now + LOOKUP);
    }
    let stats = memory.stats();
    assert_eq!((stats.long_delays, stats.access_time.accesses), (2, 0));
    assert_eq!(stats.link_bytes, [0, PAGE]);
    assert!(!memory.read(Ps::from_us(10), 0, true).delayed);
}

/// Pages 0, 2, 4.. share a set of two.
#[test]
fn the_page_used_longest_ago_leaves_and_is_given_back_if_written() {
    let mut memory = astriflash();
    let us = Ps::from_us;
    memory.read(us(0), 0, false);
    memory.read(us(100), 2 * PAGE, false);
    memory.write(us(200), 0);
    memory.read(us(300), 4 * PAGE, false);
    let migration = memory.stats().migration;
    assert_eq!((migration.demotions, migration.dirty_demotions), (1, 0));
    assert_eq!(memory.stats().link_bytes, [0, 3 * PAGE]);
    memory.read(us(400), 2 * PAGE, false);
    let migration = memory.stats().migration;
    assert_eq!((migration.demotions, migration.dirty_demotions), (2, 1));
    assert_eq!(memory.stats().link_bytes, [PAGE, 4 * PAGE]);
    assert_eq!(memory.device().stats().migration.demoted, 1);
    memory.read(us(500), 0, false);
    assert_eq!(memory.stats().requests.device_read_hits, 2);
}

/// A store that the device answers with a delay has written nothing: it comes again.
#[test]
fn a_store_comes_again_when_its_page_is_there() {
    let mut memory = astriflash();
    for now in [Ps::ZERO, Ps::from_ns(500)] {
        let answer = memory.store(now, 0, true);
        assert!(answer.delayed);
        assert_eq!(answer.done_at, now + LOOKUP);
    }
    let now = Ps::from_us(10);
    let answer = memory.store(now, 0, true);
    assert!(!answer.delayed && answer.done_at > now);
    let stats = memory.stats();
    assert_eq!((stats.long_delays, stats.requests.host_writes), (2, 1));
    assert_eq!(stats.requests.device_writes, 2);
}

/// With every page of its set on its way, an access goes to the device for its line alone.
#[test]
fn a_busy_set_is_passed_by() {
    let mut memory = astriflash();
    for page in [0, 2] {
        memory.read(Ps::ZERO, page * PAGE, true);
    }
    memory.write(Ps::ZERO, 4 * PAGE);
    assert_eq!(memory.stats().link_bytes, [64, 2 * PAGE]);
    let answer = memory.read(Ps::ZERO, 4 * PAGE, false);
    assert!(answer.done_at > FLASH);
    assert_eq!(memory.stats().link_bytes, [64, 2 * PAGE + 64]);
}

/// An access that goes to the device takes as long as without a cache of pages, and the look-up.
#[test]
fn a_busy_set_costs_the_lookup() {
    let (mut cached, mut plain) = (astriflash(), memory(Migration::None, &[]));
    for (at, page) in [(0, 4), (100, 0), (200, 2)] {
        let at = Ps::from_us(at);
        cached.read(at, page * PAGE, false);
        plain.read(at, page * PAGE, false);
    }
    let now = Ps::from_us(500);
    for page in [6, 8] {
        assert!(cached.read(now, page * PAGE, true).delayed);
    }
    let now = now + Ps::from_ns(500);
    let due = plain.read(now + LOOKUP, 4 * PAGE, false);
    assert_eq!(cached.read(now, 4 * PAGE, false).done_at, due.done_at);
    let now = now + Ps::from_ns(500);
    let due = plain.store(now + LOOKUP, 4 * PAGE, false);
    assert_eq!(cached.store(now, 4 * PAGE, false).done_at, due.done_at);
}
