//! Counters over time, sampled while a program runs.

use crate::process::Process;
use sluice_abi::Counter;
use std::fmt::Write;

const COLUMNS: &[Counter] = &[
    Counter::Traps,
    Counter::Misses,
    Counter::SoftTraps,
    Counter::Late,
    Counter::Evictions,
    Counter::DirtyEvictions,
    Counter::PrefetchIssued,
    Counter::PrefetchUsed,
    Counter::FlashReads,
    Counter::FlashPrograms,
    Counter::Erases,
    Counter::GcMoves,
    Counter::SampledPages,
    Counter::SampledTouched,
    Counter::SampledWindowNs,
    Counter::SampledMapped,
];

/// Samples of the counters of the program itself: of all images of its process, not of the
/// processes it made.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    rows: Vec<(f64, Vec<u64>)>,
}

impl Timeline {
    /// Adds a sample of the process `pid`, taken at a moment of the run.
    pub fn sample(&mut self, seconds: f64, pid: u64, processes: &[Process]) {
        let images = || processes.iter().filter(|p| p.pid == pid);
        let total = |c: &Counter| images().map(|p| p.get(*c)).sum();
        self.rows
            .push((seconds, COLUMNS.iter().map(total).collect()));
    }

    /// The samples as CSV, cumulative.
    pub fn to_csv(&self) -> String {
        let mut text = String::from("t_s");
        COLUMNS.iter().for_each(|c| text.extend([",", c.name()]));
        text.push('\n');
        for (seconds, values) in &self.rows {
            // Writing to a string cannot fail.
            let _ = write!(text, "{seconds:.3}");
            values.iter().for_each(|v| {
                let _ = write!(text, ",{v}");
            });
            text.push('\n');
        }
        text
    }
}
