//! Counters over time, sampled while a program runs.

use crate::heat::HeatMap;
use crate::others::Others;
use crate::process::{image_path, read_image};
use crate::session::read_session;
use sluice_abi::Counter;
use std::fmt::Write;
use std::path::Path;

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
    Counter::Reactivated,
];

/// Samples of the counters of the program itself: of all images of its process, not of the
/// processes it made.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    rows: Vec<(f64, Vec<u64>)>,
    heat: HeatMap,
    /// The first image that may still count, and what those before it counted.
    image: u64,
    before: Vec<u64>,
}

impl Timeline {
    /// Adds a sample of the process `pid` of a session, taken at a moment of the run. No other file
    /// is looked at, and none of an image that has become another one a second time.
    pub fn sample(&mut self, seconds: f64, dir: &Path, pid: u64) {
        // Of a process that has become many programs, some are in the session's sum.
        let row = match Others::read(dir).own_images() {
            0 => self.walk(seconds, dir, pid),
            _ => self.add_up(seconds, dir, pid),
        };
        self.rows.push((seconds, row));
    }

    /// From the image that was the last one at the sample before.
    fn walk(&mut self, seconds: f64, dir: &Path, pid: u64) -> Vec<u64> {
        self.before.resize(COLUMNS.len(), 0);
        loop {
            // Looked for first: an image that has a successor counts no more.
            let is_over = image_path(dir, pid, self.image + 1).exists();
            let image = read_image(dir, pid, self.image);
            self.heat.sample(seconds, dir, pid, self.image);
            let counted = |c: &Counter| image.as_ref().map_or(0, |p| p.get(*c));
            let sums = self.before.iter().zip(COLUMNS);
            let sums: Vec<u64> = sums.map(|(before, c)| before + counted(c)).collect();
            if !is_over {
                break sums;
            }
            self.before = sums;
            self.image += 1;
        }
    }

    /// From the sum, and all images that are not in it.
    fn add_up(&mut self, seconds: f64, dir: &Path, pid: u64) -> Vec<u64> {
        let (sums, last) = read_session(dir, |others, images| {
            let mut sums: Vec<u64> = COLUMNS.iter().map(|c| others.own(*c)).collect();
            let mut last = 0;
            for image in images.filter(|image| image.pid == pid) {
                last = image.image.max(last);
                let counted = sums.iter_mut().zip(COLUMNS);
                counted.for_each(|(sum, c)| *sum += image.get(*c));
            }
            (sums, last)
        });
        self.heat.sample(seconds, dir, pid, last);
        sums
    }

    /// Where its misses were.
    pub fn heat(&self) -> &HeatMap {
        &self.heat
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
