//! TPP: pages are sampled by faults, and promoted at the second within a window.

use sluice_fabric::host::{Memory, Migration, Tpp};
use sluice_testkit::host_rig::{HIT, memory};
use sluice_units::Ps;

const PERIOD: Ps = Ps::from_ms(1);
const FAULT: Ps = Ps::from_us(1);
const WINDOW: Ps = Ps::from_us(1_500);
const LINE: Ps = Ps::from_ns(50);
const COPY: Ps = Ps(LINE.0 * 64);
const PAGE: u64 = 4096;

fn tpp(batch: u32) -> Memory {
    let given = Tpp {
        pages: 4,
        period: PERIOD,
        batch,
        fault: FAULT,
        window: WINDOW,
        line: LINE,
        spare: 1,
    };
    memory(Migration::Tpp(given), &[])
}

/// Misses the TLB on a page and reads it.
fn touch(memory: &mut Memory, now: Ps, page: u64) -> Ps {
    memory.run(now);
    let extra = memory.walk(now, page);
    memory.read(now + extra, page * PAGE, false);
    extra
}

fn moved(memory: &mut Memory) -> Vec<(u64, bool)> {
    let mut all = Vec::new();
    while let Some(moved) = memory.take_moved() {
        assert_eq!(moved.pages, 1);
        all.push((moved.first, moved.shootdown));
    }
    all
}

#[test]
fn a_batch_of_touched_pages_is_marked_every_period() {
    let mut memory = tpp(2);
    for page in [1, 3, 9] {
        assert_eq!(touch(&mut memory, Ps::from_us(page), page), Ps::ZERO);
    }
    memory.run(PERIOD - Ps(1));
    assert_eq!(moved(&mut memory), []);
    memory.run(PERIOD);
    // One flush of the TLBs for both.
    assert_eq!(moved(&mut memory), [(1, true), (3, false)]);
    assert_eq!(memory.stats().migration.shootdowns, 1);
    memory.run(PERIOD * 2);
    // Page 1 is marked already.
    assert_eq!(moved(&mut memory), [(9, true)]);
    assert_eq!(memory.next_event(), Some(PERIOD * 3));
}

#[test]
fn the_second_fault_within_the_window_promotes() {
    let second = |at: Ps| {
        let mut memory = tpp(8);
        touch(&mut memory, Ps::ZERO, 5);
        assert_eq!(touch(&mut memory, PERIOD, 5), FAULT);
        // Only once: the mark is gone.
        assert_eq!(touch(&mut memory, PERIOD + FAULT, 5), Ps::ZERO);
        memory.run(at);
        let extra = memory.walk(at, 5);
        (extra, memory.stats().migration)
    };
    let (extra, migration) = second(PERIOD + WINDOW);
    assert_eq!(extra, FAULT + COPY);
    assert_eq!((migration.samples, migration.promotions), (2, 1));
    let (extra, migration) = second(PERIOD + WINDOW + Ps(1));
    assert_eq!(extra, FAULT);
    assert_eq!((migration.samples, migration.promotions), (2, 0));
}

/// Another thread, whose TLB misses too, waits for the copy as well.
#[test]
fn a_page_under_way_is_waited_for() {
    let mut memory = tpp(8);
    touch(&mut memory, Ps::ZERO, 5);
    touch(&mut memory, PERIOD, 5);
    let now = PERIOD * 2;
    memory.run(now);
    assert_eq!(memory.walk(now, 5), FAULT + COPY);
    assert_eq!(moved(&mut memory).last(), Some(&(5, true)));
    let ready_at = now + FAULT + COPY;
    assert_eq!(memory.walk(now, 5), Ps::ZERO);
    let early = memory.read(now, 5 * PAGE, false).done_at;
    assert!(early > ready_at, "{early}");
    let now = ready_at + Ps::from_us(1);
    let late = memory.read(now, 5 * PAGE, false).done_at - now;
    assert_eq!(memory.stats().requests.host_reads, 2);
    assert!(late < Ps::from_ns(200), "{late}");
}

/// When host memory is short, the page that was used least recently goes back.
#[test]
fn reclaim_keeps_frames_free() {
    let mut memory = tpp(8);
    for page in 0..4 {
        touch(&mut memory, Ps::ZERO, page);
    }
    for round in 1..=2 {
        for page in 0..4 {
            touch(&mut memory, PERIOD * round, page);
        }
    }
    let migration = memory.stats().migration;
    assert_eq!((migration.promotions, migration.demotions), (4, 1));
}

/// A core that is ahead of the others promotes a page: nobody else has to wait.
#[test]
fn a_fault_ahead_of_time_turns_no_clock_on() {
    let mut memory = tpp(8);
    touch(&mut memory, Ps::ZERO, 5);
    touch(&mut memory, PERIOD, 5);
    let now = PERIOD * 2;
    memory.read(now, 6 * PAGE, false);
    let now = now + Ps::from_us(10);
    memory.run(now);
    let ahead = now + Ps::from_us(1);
    assert_eq!(memory.walk(ahead, 5), FAULT + COPY);
    assert_eq!(memory.read(now, 6 * PAGE, false).done_at, now + HIT);
}
