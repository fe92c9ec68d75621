//! Speckle-reducing anisotropic diffusion, after Rodinia's `srad_v2` (OpenMP).
//!
//! A picture J is smoothed along its edges. An iteration takes the statistics of a region of
//! interest, and computes for each pixel four differences and a diffusion coefficient. Then it adds
//! to each pixel what its own and two neighbours' coefficients let through. Arrays of four bytes a
//! pixel as in the original: J, c, dN, dS, dW, dE and the input I, which only the start reads.
//!
//! Different from the original: a thread takes the next row instead of a block of rows fixed
//! before. All threads sum the region's rows, and the sums are put together in order. I is drawn
//! from a seed, and it is a memory region that nobody reads, because a run begins after the start.
//!
//! A run begins near the end of the first pass of the first iteration and goes on to the second, so
//! that SkyByte's section (its lengths divided by the scale) has as many pixels of either. The
//! counters of its artifact have 10,090 pages that are only written and 13,741 that are only read,
//! each line once. These are 2,000 pages of pixels in the first pass (one array read and five
//! written) and 2,000 in the second (six read).

use super::share::{Frame, Phased, Shared, compare, digest};
use super::{Arena, Array, KernelInfo, KernelOptions, Mismatch, Recorder};

use sluice_units::{Bytes, Rng};
use std::ops::Range;

/// What the registry says.
pub const INFO: KernelInfo = KernelInfo {
    name: "srad",
    meaning: "speckle-reducing anisotropic diffusion: two stencil passes over six arrays",
    source: "Rodinia, srad_v2",
    published: Some((8160, 24, 75)),
    thread_bytes: |_| 0,
    own_bytes: |_, bytes, _| bytes / 7 * 6,
    params: &[],
    make: |options| Box::new(Shared(Srad::new(options))),
};

/// I, J, c and the four differences.
pub const ARRAYS: u64 = 7;
/// Side of the region of interest, as in Rodinia's run script.
const REGION: u64 = 128;
const LAMBDA: f32 = 0.5;
/// The part of the first pass that a run leaves behind.
const SKIP: (u64, u64) = (89, 100);
/// Pixels in a stretch.
pub const PIECE: u64 = 128;

/// Instructions for a pixel of the statistics that touch no memory: two additions, a
/// multiplication, the loop.
const WORK_REGION: u32 = 5;
/// Instructions for a pixel of the first pass that touch no memory. The gradient takes 4
/// subtractions, 8 multiplications, 6 additions and a division; the Laplacian 3 and 1; the
/// coefficient 20, with 4 more divisions and 9 conversions, as its constants are doubles; the
/// clamp 4; addresses and the loop 8.
pub const WORK_FIRST: u32 = 52;
/// Those of the second pass: a multiplication and 3 additions for the divergence (the other 3
/// have an array's pixel as their operand), 5 with the conversions for the update, 5 for addresses
/// and the loop. As the first pass, what g++ -O2 makes of it, as Rodinia's build has it.
pub const WORK_SECOND: u32 = 14;

/// The data, and one iteration of it pixel by pixel.
pub struct Image {
    /// Rows of the picture.
    pub rows: u64,
    /// Columns of the picture.
    pub cols: u64,
    /// The picture's points, row by row.
    pub j: Vec<f32>,
    /// The coefficient of each pixel.
    pub c: Vec<f32>,
    d: [Vec<f32>; 4],
}

/// Where it lies.
pub struct Places {
    j: Array,
    c: Array,
    d: [Array; 4],
    west: Array,
    east: Array,
    /// Of all arrays.
    pub footprint: Bytes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Statistics,
    First,
    Second,
}

struct Srad {
    frame: Frame,
    image: Image,
    places: Places,
    phase: Phase,
    /// Sum and sum of squares of each row of the region.
    sums: Vec<(f32, f32)>,
    q0: f32,
    digest: u64,
}

/// Rows and columns of the square picture whose arrays have Table I's size.
fn side(scale: u32) -> u64 {
    let pixels = INFO.table_1_bytes() / u64::from(scale) / (ARRAYS * 4);
    pixels.isqrt().max(16)
}

impl Places {
    /// The arrays of a picture of so many rows and columns.
    pub fn new(rows: u64, cols: u64) -> Places {
        let mut arena = Arena::default();
        let mut pixels = || arena.array(rows * cols, 4);
        let (_, j, c) = (pixels(), pixels(), pixels());
        let d = [pixels(), pixels(), pixels(), pixels()];
        // The rows' neighbours are loaded once a row, and left out here as they stay in L1.
        let (west, east) = (arena.array(cols, 4), arena.array(cols, 4));
        Places {
            j,
            c,
            d,
            west,
            east,
            footprint: arena.footprint(),
        }
    }

    /// What the first pass does for a pixel.
    pub fn first(&self, k: u64, col: u64, around: [u64; 4], to: &mut Recorder) {
        let Places { j, c, d, .. } = self;
        let [north, south, west, east] = around.map(|at| j.at(at));
        to.load(j.at(k));
        to.load(north);
        to.store(d[0].at(k));
        to.load(south);
        to.store(d[1].at(k));
        let index = to.load(self.west.at(col));
        to.load_after(west, index);
        to.store(d[2].at(k));
        let index = to.load(self.east.at(col));
        to.load_after(east, index);
        to.store(d[3].at(k));
        // A compiler cannot know that the four arrays are apart, so it loads again those that it
        // stored before the last.
        for array in &d[..3] {
            to.load(array.at(k));
        }
        to.work(WORK_FIRST);
        to.store(c.at(k));
    }

    /// What the second pass does for a pixel.
    pub fn second(&self, k: u64, col: u64, [_, south, _, east]: [u64; 4], to: &mut Recorder) {
        let Places { j, c, d, .. } = self;
        to.load(c.at(k));
        to.load(c.at(south));
        let index = to.load(self.east.at(col));
        to.load_after(c.at(east), index);
        for array in d {
            to.load(array.at(k));
        }
        to.load(j.at(k));
        to.work(WORK_SECOND);
        to.store(j.at(k));
    }
}

impl Image {
    /// Drawn from a seed.
    pub fn new(rows: u64, cols: u64, seed: u64) -> Image {
        let mut rng = Rng::stream(seed, "srad");
        let pixels = (rows * cols) as usize;
        let zeros = || vec![0.0; pixels];
        Image {
            rows,
            cols,
            j: (0..pixels).map(|_| exp(rng.next_u64())).collect(),
            c: zeros(),
            d: [zeros(), zeros(), zeros(), zeros()],
        }
    }

    fn region(&self) -> u64 {
        REGION.min(self.rows).min(self.cols)
    }

    fn sums(&self, row: u64) -> (f32, f32) {
        let start = (row * self.cols) as usize;
        let pixels = &self.j[start..start + self.region() as usize];
        let add = |(sum, squares): (f32, f32), j: &f32| (sum + j, squares + j * j);
        pixels.iter().fold((0.0, 0.0), add)
    }

    fn q0(&self, sums: &[(f32, f32)]) -> f32 {
        let add = |a: (f32, f32), b: &(f32, f32)| (a.0 + b.0, a.1 + b.1);
        let (sum, squares) = sums.iter().fold((0.0, 0.0), add);
        let pixels = (self.region() * self.region()) as f32;
        let mean = sum / pixels;
        let variance = squares / pixels - mean * mean;
        variance / (mean * mean)
    }

    /// Indices of the pixels north, south, west and east; the border is its own neighbour.
    pub fn around(&self, row: u64, col: u64) -> [u64; 4] {
        let at = |row: u64, col: u64| row * self.cols + col;
        [
            at(row.saturating_sub(1), col),
            at((row + 1).min(self.rows - 1), col),
            at(row, col.saturating_sub(1)),
            at(row, (col + 1).min(self.cols - 1)),
        ]
    }

    /// The first pass of a pixel.
    pub fn first(&mut self, k: usize, around: [u64; 4], q0: f32) {
        let here = self.j[k];
        let d = around.map(|at| self.j[at as usize] - here);
        for (array, value) in self.d.iter_mut().zip(d) {
            array[k] = value;
        }
        let squares = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[3] * d[3];
        let gradient = squares / (here * here);
        let laplacian = (d[0] + d[1] + d[2] + d[3]) / here;
        let above = 0.5 * gradient - (1.0 / 16.0) * (laplacian * laplacian);
        let below = 1.0 + 0.25 * laplacian;
        let q = above / (below * below);
        let c = 1.0 / (1.0 + (q - q0) / (q0 * (1.0 + q0)));
        self.c[k] = c.clamp(0.0, 1.0);
    }

    fn second(&mut self, k: usize, around: [u64; 4]) {
        self.j[k] = self.smoothed(k, around);
    }

    /// What the second pass makes of a pixel.
    pub fn smoothed(&self, k: usize, [_, south, _, east]: [u64; 4]) -> f32 {
        let (here, south, east) = (self.c[k], self.c[south as usize], self.c[east as usize]);
        let [n, s, w, e] = &self.d;
        let divergence = here * n[k] + south * s[k] + here * w[k] + east * e[k];
        self.j[k] + 0.25 * LAMBDA * divergence
    }

    /// How much the region of interest as it is varies.
    pub fn speckle(&self) -> f32 {
        let sums: Vec<_> = (0..self.region()).map(|row| self.sums(row)).collect();
        self.q0(&sums)
    }

    /// A whole iteration, one step after the other.
    pub fn iterate(&mut self) {
        let q0 = self.speckle();
        for second in [false, true] {
            for k in 0..self.j.len() {
                let around = self.around(k as u64 / self.cols, k as u64 % self.cols);
                match second {
                    false => self.first(k, around, q0),
                    true => self.second(k, around),
                }
            }
        }
    }

    fn digest(&self) -> u64 {
        digest(self.j.iter().map(|j| u64::from(j.to_bits())))
    }
}

/// e to a number from 0 to 1, by arithmetic that is the same on every machine.
fn exp(bits: u64) -> f32 {
    let mut power = 1.0 + (bits >> 40) as f64 / f64::from(1 << 24) / 1024.0;
    for _ in 0..10 {
        power *= power;
    }
    power as f32
}

impl Srad {
    fn new(options: &KernelOptions) -> Srad {
        let side = side(options.scale);
        let image = Image::new(side, side, options.seed);
        let rows = image.region();
        let mut srad = Srad {
            frame: Frame::new(options, rows, 1),
            places: Places::new(side, side),
            phase: Phase::Statistics,
            sums: vec![(0.0, 0.0); rows as usize],
            q0: 0.0,
            digest: image.digest(),
            image,
        };
        srad.skip_to_section();
        srad
    }

    /// Does all before the section without a trace: the statistics, and most of the first pass.
    fn skip_to_section(&mut self) {
        for (row, sums) in (0..).zip(&mut self.sums) {
            *sums = self.image.sums(row);
        }
        self.advance();
        let pixels = self.image.rows * SKIP.0 / SKIP.1 * self.image.cols;
        for k in 0..pixels {
            self.first_pixel(k);
        }
        self.frame.share.skip(pixels);
    }

    fn statistics(&mut self, row: u64, to: &mut Recorder) {
        self.sums[row as usize] = self.image.sums(row);
        for col in 0..self.image.region() {
            to.load(self.places.j.at(row * self.image.cols + col));
            to.work(WORK_REGION);
        }
    }

    /// Computes a pixel of the first pass. Returns its column, and those around it.
    fn first_pixel(&mut self, k: u64) -> (u64, [u64; 4]) {
        let (row, col) = (k / self.image.cols, k % self.image.cols);
        let around = self.image.around(row, col);
        self.image.first(k as usize, around, self.q0);
        (col, around)
    }

    fn first(&mut self, k: u64, to: &mut Recorder) {
        let (col, around) = self.first_pixel(k);
        self.places.first(k, col, around, to);
    }

    fn second(&mut self, k: u64, to: &mut Recorder) {
        let (row, col) = (k / self.image.cols, k % self.image.cols);
        let around = self.image.around(row, col);
        self.image.second(k as usize, around);
        self.places.second(k, col, around, to);
    }
}

impl Phased for Srad {
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

    fn work(&mut self, _: u32, items: Range<u64>, to: &mut Recorder) {
        for item in items {
            match self.phase {
                Phase::Statistics => self.statistics(item, to),
                Phase::First => self.first(item, to),
                Phase::Second => self.second(item, to),
            }
        }
    }

    fn advance(&mut self) {
        let (rows, cols) = (self.image.rows, self.image.cols);
        self.phase = match self.phase {
            Phase::Statistics => {
                self.q0 = self.image.q0(&self.sums);
                self.frame.share.begin(rows * cols, cols);
                Phase::First
            }
            Phase::First => {
                self.frame.share.begin(rows * cols, cols);
                Phase::Second
            }
            Phase::Second => {
                self.frame.end_round();
                self.digest = self.image.digest();
                self.frame.share.begin(self.image.region(), 1);
                Phase::Statistics
            }
        };
    }

    fn check(&self) -> Result<(), Mismatch> {
        let mut image = Image::new(self.image.rows, self.image.cols, self.frame.options.seed);
        (0..self.frame.rounds).for_each(|_| image.iterate());
        compare("srad", self.frame.rounds, self.digest, image.digest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footprint_is_that_of_table_1() {
        crate::drive::assert_footprint(&INFO, |scale| {
            Places::new(side(scale), side(scale)).footprint
        });
    }

    /// The published equations (Yu and Acton, 2002) in doubles, pixel by pixel.
    fn diffused(j: &[f64], side: usize) -> Vec<f64> {
        let region = REGION.min(side as u64) as usize;
        let inside = || (0..region * region).map(|at| j[at / region * side + at % region]);
        let mean = inside().sum::<f64>() / (region * region) as f64;
        let squares = inside().map(|x| x * x).sum::<f64>() / (region * region) as f64;
        let q0 = squares / (mean * mean) - 1.0;
        let at = |row: isize, col: isize| {
            let clamp = |x: isize| x.clamp(0, side as isize - 1) as usize;
            clamp(row) * side + clamp(col)
        };
        let pixel = |k: usize| ((k / side) as isize, (k % side) as isize);
        let coefficient = |k: usize| {
            let (row, col) = pixel(k);
            let around = [
                (row - 1, col),
                (row + 1, col),
                (row, col - 1),
                (row, col + 1),
            ];
            let slopes = around.map(|(row, col)| (j[at(row, col)] - j[k]) / j[k]);
            let gradient = slopes.iter().map(|slope| slope * slope).sum::<f64>();
            let laplacian = slopes.iter().sum::<f64>();
            let q =
                (gradient / 2.0 - laplacian * laplacian / 16.0) / (1.0 + laplacian / 4.0).powi(2);
            (1.0 / (1.0 + (q - q0) / (q0 * (1.0 + q0)))).clamp(0.0, 1.0)
        };
        let c: Vec<f64> = (0..j.len()).map(coefficient).collect();
        let update = |k: usize| {
            let (row, col) = pixel(k);
            let flow = |by: usize, to: usize| c[by] * (j[to] - j[k]);
            let (south, east) = (at(row + 1, col), at(row, col + 1));
            let back = flow(k, at(row - 1, col)) + flow(k, at(row, col - 1));
            j[k] + 0.5 / 4.0 * (back + flow(south, south) + flow(east, east))
        };
        (0..j.len()).map(update).collect()
    }

    #[test]
    fn smooths_as_the_published_equations_do() {
        for side in [16, 150] {
            let mut image = Image::new(side, side, 1);
            let mut plain: Vec<_> = image.j.iter().map(|j| f64::from(*j)).collect();
            for _ in 0..3 {
                image.iterate();
                plain = diffused(&plain, side as usize);
            }
            let pairs = image.j.iter().zip(&plain);
            let worst = pairs.map(|(ours, theirs)| (f64::from(*ours) - theirs).abs());
            // The worst of all is what is no number.
            let worst = worst.max_by(f64::total_cmp).unwrap();
            assert!(worst < 1e-3, "{worst} off in a picture of {side} rows");
        }
    }
}
