//! The end of a process's device.

use crate::clock::{now_ns, sleep_until};
use crate::engine::Engine;
use crate::process::filter;
use crate::threads::calm::calm;
use core::sync::atomic::Ordering::*;
use sluice_abi::Counter;

/// Waits that go on now are over soon. A thread of the runtime that lost its CPU may be late.
const LAST_MAX_NS: u64 = 20_000_000;
/// How often to look.
const LOOK_NS: u64 = 20_000;

impl Engine {
    /// Writes the last figures and marks the block as ended.
    pub fn finish(&self) {
        calm(|| {
            self.await_last();
            let core = self.core();
            core.publish();
            // A filter may end the thread for the question.
            if !filter::is_set() {
                let faults = sluice_region::major_faults();
                core.live.change().set(Counter::MajorFaults, faults);
            }
            core.live.block().ended.store(1, Release);
        });
    }

    /// Waits until the waits are counted whose page is there. A thread that had lost its CPU before
    /// it waited finds the page and goes on, perhaps to its end, ahead of the moment that counts.
    fn await_last(&self) {
        let end_ns = now_ns() + LAST_MAX_NS;
        while self.core().ahead > 0 && now_ns() < end_ns {
            sleep_until(now_ns() + LOOK_NS);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rig;
    use std::time::Duration;

    /// One of 1,088 waits was missing.
    #[test]
    fn a_wait_whose_page_is_there_is_counted_before_the_end() {
        let engine = rig::engine(&[]);
        let mut wait = rig::begin(engine, 1, 0, false).expect("a page that is not there");
        engine.bring(&mut wait);
        assert!(wait.is_there);
        std::thread::scope(|scope| {
            let handler = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(5));
                assert!(engine.fill(&wait, wait.act_ns));
            });
            engine.finish();
            assert_eq!(engine.core().waiting, 0);
            handler.join().expect("no panic");
        });
    }
}
