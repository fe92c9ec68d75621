//! Readers of a statistics block see figures of one moment.

use sluice_abi::{Counter, StatsBlock};
use sluice_testkit::child::LIMIT;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::Instant;

/// A block of zeros, as a fresh file is.
fn block() -> Box<StatsBlock> {
    // SAFETY: all fields are atomics of integers, for which zeros are valid.
    Box::new(unsafe { std::mem::zeroed() })
}

#[test]
fn a_reader_never_sees_half_a_change() {
    let (block, is_over) = (block(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                let outer = block.change();
                outer.add(Counter::Traps, 1);
                {
                    let inner = block.change();
                    inner.add(Counter::Misses, 1);
                    inner.achieved.record(7);
                }
                std::hint::spin_loop();
                outer.add(Counter::FlashReads, 1);
            }
        });
        let (mut found, started) = (0, Instant::now());
        while found < 20_000 && started.elapsed() < LIMIT {
            let (figures, sequence) = block.at_rest(|block| {
                let counters = [Counter::Traps, Counter::Misses, Counter::FlashReads];
                let [traps, misses, reads] = counters.map(|one| block.get(one));
                [traps, misses, reads, block.achieved.count()]
            });
            if let Some(sequence) = sequence {
                assert_eq!(figures, [sequence; 4]);
                found += 1;
            }
        }
        is_over.store(true, Relaxed);
        assert!(found == 20_000, "at rest {found} times in {LIMIT:?}");
    });
}

#[test]
fn a_writer_that_died_in_a_change_is_told() {
    let block = block();
    block.change().add(Counter::Traps, 5);
    assert_eq!(
        block.at_rest(|block| block.get(Counter::Traps)),
        (5, Some(1))
    );
    std::mem::forget(block.change());
    assert_eq!(block.at_rest(|block| block.get(Counter::Traps)), (5, None));
}
