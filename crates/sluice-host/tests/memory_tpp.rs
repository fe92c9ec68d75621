//! TPP: pages are sampled by faults, and promoted at the second within a window.

use sluice_host::{Memory, Migration, Sampling, Tpp};
use sluice_testkit::host_rig::{HIT, memory};
use sluice_units::Ps;

const PERIOD: Ps = Ps::from_ms(1);
const FAULT: Ps = Ps::from_us(1);
const WINDOW: Ps = Ps::from_us(1_500);
const LINE: Ps = Ps::from_ns(50);
const COPY: Ps = Ps(LINE.0 * 64);
const PAGE: u64 = 4096;

fn tpp(batch: u32) -> Memory {
    sampled(Sampling::Faults, batch)
}

fn sampled(sampling: Sampling, batch: u32) -> Memory {
    let given = Tpp {
        pages: 4,
        sampling,
        period: PERIOD,
        batch,
        fault: FAULT,
        window: WINDOW,
        line: LINE,
        spare: 1,
        ways: 0,
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

/// Marks all of a program of so many pages, and lets the time come for it.
fn accesses(pages: u64) -> Memory {
    let mut memory = sampled(Sampling::Accesses, pages as u32);
    memory.scan(pages);
    memory.run(PERIOD);
    memory
}

/// Reads a page, some time after the read before.
fn read(memory: &mut Memory, turn: u64, page: u64) -> Ps {
    let now = PERIOD + Ps::from_us(10) * turn;
    memory.walk(now, page);
    memory.read(now, page * PAGE, false).done_at - now
}

/// The miss makes it active, the hit after it promotes it; its thread pays for neither.
#[test]
fn an_access_of_an_active_page_in_the_cache_promotes() {
    let mut memory = accesses(8);
    assert!(moved(&mut memory).is_empty(), "nothing faults");
    read(&mut memory, 0, 5);
    assert_eq!(memory.stats().migration.promotions, 0);
    assert_eq!(read(&mut memory, 1, 5), HIT);
    let migration = memory.stats().migration;
    assert_eq!((migration.promotions, migration.samples), (1, 0));
    assert_eq!(moved(&mut memory), [(5, true)]);
    read(&mut memory, 2, 5);
    assert_eq!(memory.stats().requests.host_reads, 1);
}

/// Marks go round: with two a period, page 5 is marked in the third.
#[test]
fn a_page_that_is_not_marked_stays() {
    let mut memory = sampled(Sampling::Accesses, 2);
    memory.scan(8);
    let mut promoted = Vec::new();
    for period in 1..=3 {
        for after in 0..3 {
            let now = PERIOD * period + Ps::from_us(10) * after;
            memory.read(now, 5 * PAGE, false);
        }
        promoted.push(memory.stats().migration.promotions);
    }
    assert_eq!(promoted, [0, 0, 1]);
}

/// As many pages are active as host memory has frames: four others later, the first has to begin
/// anew.
#[test]
fn the_page_active_for_longest_is_not_any_more() {
    let promoted = |others: u64| {
        let mut memory = accesses(8);
        for (turn, page) in (0..=others).enumerate() {
            read(&mut memory, turn as u64, page);
        }
        read(&mut memory, 10, 0);
        memory.stats().migration.promotions
    };
    assert_eq!((promoted(3), promoted(4)), (1, 0));
}

/// What the log takes or serves is not seen by sampling: the page is not in the cache.
#[test]
fn accesses_of_the_log_are_not_sampled() {
    let given = Tpp {
        pages: 4,
        sampling: Sampling::Accesses,
        period: PERIOD,
        batch: 8,
        fault: FAULT,
        window: WINDOW,
        line: LINE,
        spare: 1,
        ways: 0,
    };
    let mut memory = memory(Migration::Tpp(given), &[("write_log.capacity", "1MiB")]);
    memory.scan(8);
    memory.run(PERIOD);
    for turn in 0..4 {
        memory.write(PERIOD + Ps::from_us(turn), 5 * PAGE);
        read(&mut memory, 1 + turn, 5);
    }
    assert_eq!(memory.stats().migration.promotions, 0);
}

/// A page that goes back written is not marked until its turn comes; one that was not, still is.
#[test]
fn a_page_that_goes_back_written_begins_anew() {
    let again = |writes: bool| {
        let mut memory = accesses(8);
        let mut turn = 0..;
        let mut promote = |memory: &mut Memory, page| {
            for _ in 0..2 {
                read(memory, turn.next().unwrap(), page);
            }
        };
        promote(&mut memory, 0);
        if writes {
            memory.write(PERIOD + Ps::from_us(15), 0);
        }
        for page in 1..6 {
            promote(&mut memory, page);
        }
        assert!(memory.stats().migration.demotions > 0);
        let before = memory.stats().migration.promotions;
        promote(&mut memory, 0);
        memory.stats().migration.promotions - before
    };
    assert_eq!((again(false), again(true)), (1, 0));
}
