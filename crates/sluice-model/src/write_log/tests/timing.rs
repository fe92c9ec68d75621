//! When pages are flushed and stores can go on, on a flash where nothing waits for anything.

use super::*;
use sluice_units::Lpn;

/// `pages` pages of one line each, compacted `at_once` at a time, are done in so many rounds.
#[test]
fn compaction_takes_a_read_and_a_program_for_each_round() {
    for (pages, at_once, rounds) in [(1, 1, 1), (4, 4, 1), (5, 4, 2), (8, 1, 8)] {
        let mut log = log_of(pages, 2, at_once);
        let (mut flash, mut stats) = (flash_for(&log), Stats::default());
        let start = Ps(500);
        for lpn in 0..pages {
            assert_eq!(
                log.append(start, Lpn(lpn), PageLine(3), &mut flash, &mut stats)
                    .unwrap()
                    .0,
                start
            );
        }
        let end = start + (READ + PROGRAM) * rounds;
        log.run(end - Ps(1), &mut flash, &mut stats);
        assert_eq!(
            (
                stats.write_log.compactions,
                log.find(Lpn(0), PageLine(3)).is_some()
            ),
            (0, true)
        );
        log.run(end, &mut flash, &mut stats);
        assert_eq!(
            (
                stats.write_log.compactions,
                log.find(Lpn(0), PageLine(3)).is_some()
            ),
            (1, false)
        );
        assert_eq!(stats.write_log.pages_flushed, u64::from(pages));
        assert_eq!(flash.read.len(), pages as usize);
    }
}

#[test]
fn a_page_that_is_cached_or_whole_is_not_read() {
    let mut log = log_of(64 + 2, 2, 8);
    let mut flash = flash_for(&log);
    flash.cached.insert(1);
    let mut stats = Stats::default();
    let places = (0..64).map(|line| (0, line)).chain([(1, 0), (2, 0)]);
    for (lpn, line) in places {
        log.append(Ps::ZERO, Lpn(lpn), PageLine(line), &mut flash, &mut stats);
    }
    log.run(Ps(10_000), &mut flash, &mut stats);
    assert_eq!(flash.read, [(Ps::ZERO, 2)]);
    assert_eq!(flash.programmed, [(Ps::ZERO, 0), (Ps::ZERO, 1), (READ, 2)]);
    assert_eq!(
        (
            stats.write_log.pages_flushed,
            stats.write_log.lines_flushed,
            stats.write_log.compaction_reads
        ),
        (3, 66, 1)
    );
}

/// Two stores of one line are one line of flash, and the newer one.
#[test]
fn stores_to_one_page_are_one_program() {
    let mut log = log_of(100, 2, 8);
    let mut flash = flash_for(&log);
    let mut stats = Stats::default();
    for at in 0..100 {
        log.append(Ps::ZERO, Lpn(7), PageLine(at % 20), &mut flash, &mut stats);
    }
    log.run(Ps(10_000), &mut flash, &mut stats);
    assert_eq!(
        (
            stats.write_log.superseded,
            stats.write_log.lines_flushed,
            stats.write_log.pages_flushed
        ),
        (80, 20, 1)
    );
}

/// Both buffers full: the next store waits for the first one's compaction, to the picosecond.
#[test]
fn a_store_waits_when_no_buffer_is_free() {
    let end = READ + PROGRAM;
    for (now, at) in [(end - Ps(1), end), (end, end), (end + Ps(1), end + Ps(1))] {
        let mut log = log_of(4, 2, 8);
        let mut flash = flash_for(&log);
        let mut stats = Stats::default();
        for lpn in 0..8 {
            assert_eq!(
                log.append(Ps::ZERO, Lpn(lpn), PageLine(0), &mut flash, &mut stats)
                    .unwrap()
                    .0,
                Ps::ZERO
            );
        }
        log.run(now, &mut flash, &mut stats);
        assert_eq!(
            log.append(now, Lpn(8), PageLine(0), &mut flash, &mut stats)
                .unwrap()
                .0,
            at
        );
        assert_eq!(
            (stats.write_log.stalls, stats.write_log.stall_ps),
            (u64::from(at > now), (at - now).0)
        );
        // The second buffer's compaction begins when the first one's has ended.
        log.run(end * 2 - Ps(1), &mut flash, &mut stats);
        assert_eq!(stats.write_log.compactions, 1);
        log.run(end * 2, &mut flash, &mut stats);
        assert_eq!(stats.write_log.compactions, 2);
    }
}

/// A store that comes after one that waits cannot be in the log before it.
#[test]
fn waiting_stores_keep_their_order() {
    let mut log = log_of(4, 1, 8);
    let mut flash = flash_for(&log);
    let mut stats = Stats::default();
    for lpn in 0..4 {
        log.append(Ps::ZERO, Lpn(lpn), PageLine(0), &mut flash, &mut stats);
    }
    let end = READ + PROGRAM;
    for (now, stalls) in [(Ps(1), 1), (Ps(2), 2), (end - Ps(1), 3), (end, 3)] {
        log.run(now, &mut flash, &mut stats);
        assert_eq!(
            log.append(now, Lpn(9), PageLine(0), &mut flash, &mut stats)
                .unwrap()
                .0,
            end
        );
        assert_eq!(stats.write_log.stalls, stalls);
    }
}

/// A page discarded between its read and its program is not programmed.
#[test]
fn a_page_dropped_while_it_is_coalesced_is_not_programmed() {
    let mut log = log_of(2, 2, 8);
    let mut flash = flash_for(&log);
    let mut stats = Stats::default();
    log.append(Ps::ZERO, Lpn(0), PageLine(0), &mut flash, &mut stats);
    log.append(Ps::ZERO, Lpn(1), PageLine(0), &mut flash, &mut stats);
    log.run(READ - Ps(1), &mut flash, &mut stats);
    assert_eq!((flash.read.len(), flash.programmed.len()), (2, 0));
    log.drop_page(Lpn(1), &mut stats);
    log.run(Ps(10_000), &mut flash, &mut stats);
    assert_eq!(flash.programmed, [(READ, 0)]);
    assert_eq!(
        (
            stats.write_log.dropped,
            stats.write_log.lines_flushed,
            stats.write_log.compactions
        ),
        (1, 1, 1)
    );
}

/// A buffer whose pages are all gone is free at once.
#[test]
fn a_buffer_of_dropped_pages_needs_no_flash() {
    let mut log = log_of(2, 1, 8);
    let mut flash = flash_for(&log);
    let mut stats = Stats::default();
    log.append(Ps::ZERO, Lpn(0), PageLine(0), &mut flash, &mut stats);
    log.drop_page(Lpn(0), &mut stats);
    log.append(Ps(5), Lpn(0), PageLine(1), &mut flash, &mut stats);
    log.drop_page(Lpn(0), &mut stats);
    log.run(Ps(5), &mut flash, &mut stats);
    assert_eq!(
        log.append(Ps(5), Lpn(3), PageLine(1), &mut flash, &mut stats)
            .unwrap()
            .0,
        Ps(5)
    );
    assert_eq!(
        (
            stats.write_log.stalls,
            stats.write_log.compactions,
            stats.write_log.pages_flushed
        ),
        (0, 1, 0)
    );
}
