//! Marks that the program sets: its statistics of this moment, in a file of the session.

use crate::clock::now_ns;
use crate::engine::Engine;
use crate::session::files::own_stats;
use crate::threads::calm::calm;
use sluice_abi::{MARK_DONE, MARK_FAILED, MARK_INVALID, MARKS_MAX, is_mark_name, mark_words};
use sluice_region::write_numbered;

impl Engine {
    /// Sets a mark, from outside the fault path. The answer is one of `MARK_DONE` and so on.
    pub fn mark(&self, name: &str) -> i32 {
        if !is_mark_name(name) {
            return MARK_INVALID;
        }
        let written = calm(|| {
            let words = {
                let mut core = self.core();
                let now = now_ns();
                core.device.advance(self.device_time(now));
                core.publish();
                let recorder = core.recorder.as_ref();
                let recorded = recorder.map_or(0, |recorder| recorder.count());
                mark_words(core.live.block(), now, recorded, name)
            };
            write_numbered(&own_stats(&self.session), "mark", MARKS_MAX, None, &words)
        });
        match written {
            Ok(()) => MARK_DONE,
            Err(_) => MARK_FAILED,
        }
    }
}
