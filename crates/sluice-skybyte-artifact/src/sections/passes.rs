//! The section that SkyByte's artifact (doi:10.5281/zenodo.14660184) has of srad: while six threads
//! of eight are in the first pass, two are in the second.
//!
//! The pages of its runs (output/warmup_traces) say so. In each of six arrays a thread has one
//! stretch: six of 335 pages, in J with the two rows of 25 pages around it, and two of 906. By the
//! counters (figure_drawing/all.dat) the six threads write the lines of five arrays and read those
//! of J, 641,470 and some 130,000. The two threads read the lines of six arrays. Cores 3 and 5,
//! which have the long stretches, take two to four times as long as the others. Between the passes
//! there is a barrier: threads that were waiting at it when the traces began have the second pass
//! in theirs. Replayed, all begin at once.
//!
//! A thread has 23 million instructions of those traces: as many as 335 pages of pixels take at 67
//! in the first pass, and 906 at 24 in the second, which is what g++ -O2 makes of both loops.
//!
//! Here the section is run through again and again, each time with the pixels that follow; a thread
//! that has done its part waits for the others. At the end of its rows it begins anew. A row has
//! the artifact's 25 pages divided by the scale, so that rows keep their ratio to the caches. What
//! the second pass makes of a pixel is kept beside J for the digest, since the first pass of a
//! neighbour must not see it.

use sluice_kernels::share::{Frame, Phased, compare, digest};
use sluice_kernels::srad::{ARRAYS, INFO, Image, PIECE, Places, WORK_FIRST, WORK_SECOND};
use sluice_kernels::{KernelOptions, Mismatch, Recorder};
use sluice_units::Bytes;
use std::ops::Range;

/// Of so many threads these are in the second pass.
const OF_THREADS: u64 = 8;
const SECOND: [u64; 2] = [3, 5];
/// Instructions of a section, in all threads together.
const INSTRUCTIONS: u64 = OF_THREADS * 23_000_000;
/// Instructions for a pixel: the loads and stores of both passes, and those without memory.
const FIRST_PIXEL: u64 = 15 + WORK_FIRST as u64;
const SECOND_PIXEL: u64 = 10 + WORK_SECOND as u64;
/// Pixels of a row at scale 1: 25 pages.
const COLUMNS: u64 = 25 * 1024;

/// The kernel with `section=passes`.
pub(super) struct Passes {
    frame: Frame,
    image: Image,
    places: Places,
    q0: f32,
    /// What the second pass made of J.
    smoothed: Vec<f32>,
    digest: u64,
}

/// Rows and columns of the picture whose arrays have Table I's size.
fn shape(scale: u32) -> (u64, u64) {
    let pixels = INFO.table_1_bytes() / u64::from(scale) / (ARRAYS * 4);
    let cols = (COLUMNS / u64::from(scale)).max(16);
    ((pixels / cols).max(16), cols)
}

/// Whether the thread is in the second pass: two of each eight, those of the cores that are there.
fn is_second(thread: u64) -> bool {
    SECOND.contains(&(thread % OF_THREADS))
}

impl Passes {
    pub(super) fn new(options: &KernelOptions) -> Passes {
        let (rows, cols) = shape(options.scale);
        let image = Image::new(rows, cols, options.seed);
        let mut passes = Passes {
            frame: Frame::new(options, 0, 1),
            places: Places::new(rows, cols),
            q0: image.speckle(),
            smoothed: vec![0.0; image.j.len()],
            digest: 0,
            image,
        };
        for thread in passes.threads().filter(|thread| is_second(*thread)) {
            // The second pass needs the row behind its own too.
            let Range { start, end } = passes.part(thread);
            let end = (end + cols).min(rows * cols);
            (start..end).for_each(|k| passes.coefficient(k));
        }
        passes.begin();
        passes
    }

    fn threads(&self) -> Range<u64> {
        0..u64::from(self.frame.options.threads)
    }

    /// The pixels of a thread: OpenMP's blocks of rows.
    fn part(&self, thread: u64) -> Range<u64> {
        let (rows, threads) = (self.image.rows, u64::from(self.frame.options.threads));
        let row = |thread| rows * thread / threads * self.image.cols;
        row(thread)..row(thread + 1)
    }

    /// Pixels of a thread in a section: one at least, and none of a thread that has no rows.
    fn section(&self, thread: u64) -> u64 {
        if self.part(thread).is_empty() {
            return 0;
        }
        let of_all = u64::from(self.frame.options.scale) * u64::from(self.frame.options.threads);
        let pixel = if is_second(thread) {
            SECOND_PIXEL
        } else {
            FIRST_PIXEL
        };
        (INSTRUCTIONS / of_all / pixel).max(1)
    }

    /// Which pixel a thread's item of a round's section is.
    fn pixel(&self, round: u64, thread: u64, item: u64) -> u64 {
        let Range { start, end } = self.part(thread);
        start + (round * self.section(thread) + item) % (end - start)
    }

    /// Column of a pixel, and those around it.
    fn around(&self, k: u64) -> (u64, [u64; 4]) {
        let (row, col) = (k / self.image.cols, k % self.image.cols);
        (col, self.image.around(row, col))
    }

    /// The first pass of a pixel.
    fn coefficient(&mut self, k: u64) {
        let (_, around) = self.around(k);
        self.image.first(k as usize, around, self.q0);
    }

    fn begin(&mut self) {
        let sections: Vec<_> = self
            .threads()
            .map(|thread| 0..self.section(thread))
            .collect();
        self.frame
            .share
            .begin_own(|thread| sections[thread as usize].clone());
    }

    /// Of what a round's threads computed.
    fn digest_of(&self, round: u64, coefficients: &[f32], smoothed: &[f32]) -> u64 {
        digest(self.threads().flat_map(|thread| {
            let of = if is_second(thread) {
                smoothed
            } else {
                coefficients
            };
            let items = 0..self.section(thread);
            items.map(move |item| {
                of[self.pixel(round, thread, item) as usize]
                    .to_bits()
                    .into()
            })
        }))
    }
}

impl Phased for Passes {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn footprint(&self) -> Bytes {
        self.places.footprint
    }

    fn stretch(&self) -> u64 {
        PIECE
    }

    fn work(&mut self, thread: u32, items: Range<u64>, to: &mut Recorder) {
        let thread = u64::from(thread);
        for item in items {
            let k = self.pixel(self.frame.rounds, thread, item);
            let (col, around) = self.around(k);
            if is_second(thread) {
                self.smoothed[k as usize] = self.image.smoothed(k as usize, around);
                self.places.second(k, col, around, to);
            } else {
                self.coefficient(k);
                self.places.first(k, col, around, to);
            }
        }
    }

    fn advance(&mut self) {
        self.digest = self.digest_of(self.frame.rounds, &self.image.c, &self.smoothed);
        self.frame.end_round();
        self.begin();
    }

    /// One iteration of the whole picture, one step after the other.
    fn check(&self) -> Result<(), Mismatch> {
        let Some(last) = self.frame.rounds.checked_sub(1) else {
            return Ok(());
        };
        let mut image = Image::new(self.image.rows, self.image.cols, self.frame.options.seed);
        image.iterate();
        let plain = self.digest_of(last, &image.c, &image.j);
        compare("srad", self.frame.rounds, self.digest, plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_kernels::Kernel;
    use sluice_kernels::drive::{assert_footprint, options, run};
    use sluice_kernels::share::Shared;

    fn section(threads: u32, scale: u32, rounds: u64) -> Shared<Passes> {
        Shared(Passes::new(&options(threads, scale, rounds)))
    }

    #[test]
    fn any_number_of_threads_computes_what_one_does() {
        for (threads, scale) in [(1, 20_000), (3, 20_000), (8, 20_000), (24, 8_000)] {
            // Further than to the end of a thread's rows.
            let mut kernel = section(threads, scale, 150);
            let told = run(&mut kernel, 1 + threads as usize % 3);
            assert_eq!(
                (kernel.rounds(), kernel.check()),
                (150, Ok(())),
                "{threads}"
            );
            let whole = 150 * INSTRUCTIONS / u64::from(scale);
            assert!(told.instructions <= whole && told.instructions * 10 > whole * 9);
            let k = kernel.0.pixel(149, 0, 0) as usize;
            kernel.0.image.c[k] += 0.5;
            kernel.0.digest = kernel
                .0
                .digest_of(149, &kernel.0.image.c, &kernel.0.smoothed);
            assert!(kernel.check().is_err());
        }
    }

    #[test]
    fn footprint_is_that_of_table_1() {
        assert_footprint(&INFO, |scale| {
            let (rows, cols) = shape(scale);
            Places::new(rows, cols).footprint
        });
    }
}
