//! Look-ups of neutron cross sections, after XSBench.
//!
//! Tramm et al., "XSBench: the development and verification of a performance abstraction for Monte
//! Carlo reactor analysis", 2014, in its event-based form with the unionized grid. One sorted array
//! has all nuclides' energies, and with each the place that it has in every nuclide's own grid. A
//! look-up draws an energy and a material, finds the energy by bisection, and adds up five cross
//! sections, interpolated between two grid points, over the material's nuclides. Nuclides and
//! materials are those of the original's `small` problem, and so is how often a material is drawn.
//! Grids are as long as the memory allows. Different here: which nuclides a material has, and with
//! what concentrations, is drawn by a generator of ours. Loading begins with grids that are sorted,
//! and fills in the places.

use super::series::{START, Series, Turn, bytes, draws};
use super::{Arena, Array, Kernel, KernelInfo, KernelOptions, Mismatch, Recorder};
use sluice_host::{Instr, Program, Step};
use sluice_params::Param;
use sluice_units::{Bytes, LINE_BYTES, Rng};

const NUCLIDES: usize = 68;
const CHANNELS: usize = 5;
/// Nuclides of each material, and how often in 1,000 look-ups it is drawn: fuel, cladding, water,
/// and nine of the vessel. The original's shares come to 1.001; fuel has what the others leave.
const MATERIALS: [(usize, u64); 12] = [
    (34, 139),
    (5, 52),
    (4, 275),
    (4, 134),
    (27, 154),
    (21, 64),
    (21, 66),
    (21, 55),
    (21, 8),
    (21, 15),
    (9, 25),
    (9, 13),
];
/// A grid point: its energy and a cross section for each channel.
const POINT_BYTES: u64 = 8 * (1 + CHANNELS as u64);
const PLACE_BYTES: u64 = 4;
/// Bytes for each point of the unionized grid.
const EACH: u64 = 8 + PLACE_BYTES * NUCLIDES as u64 + POINT_BYTES;
const ROUND: u64 = 16_384;
const STRETCH: u64 = 16;

/// Drawing an energy and a material.
const DRAW: u32 = 60;
/// A step of the bisection.
const BISECT: u32 = 6;
/// A nuclide: factor of the interpolation, five multiplications and sums.
const NUCLIDE: u32 = 30;
/// Comparing results and keeping the largest.
const VERIFY: u32 = 20;
/// A place that is filled in: compare, count.
const FILL: u32 = 5;

const PARAMS: &[Param] = &[
    bytes("64MB", "assumed: ESF section V-E gives no size"),
    START,
];

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "xsbench",
    meaning: "Monte Carlo look-ups of cross sections on a unionized energy grid",
    source: "ESF section V-E, XSBench",
    published: None,
    thread_bytes: |_| 0,
    own_bytes: |_, bytes, _| bytes,
    params: PARAMS,
    make: |options| Box::new(XsBench::new(options)),
};

#[derive(Clone, Copy)]
struct Point {
    energy: f64,
    sections: [f64; CHANNELS],
}

/// A nuclide of a material, and how much there is of it.
type Share = (u32, f64);

struct XsBench {
    options: KernelOptions,
    /// Points of each nuclide, one nuclide after the other.
    points: Vec<Point>,
    per_nuclide: usize,
    /// All energies in order.
    energies: Vec<f64>,
    /// For each energy, its place in each nuclide's grid.
    places: Vec<u32>,
    materials: Vec<Vec<Share>>,
    energies_at: Array,
    places_at: Array,
    points_at: Array,
    materials_at: Array,
    results_at: Array,
    series: Series,
    /// Sum of the channels with the largest cross section, as the original verifies itself.
    verified: u64,
    footprint: Bytes,
}

/// From 0 up to 1, never twice the same in a grid's worth of draws.
fn unit(rng: &mut Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

fn grids(rng: &mut Rng, per_nuclide: usize) -> Vec<Point> {
    let mut points = Vec::with_capacity(NUCLIDES * per_nuclide);
    for _ in 0..NUCLIDES {
        let mut grid: Vec<Point> = (0..per_nuclide)
            .map(|_| Point {
                energy: unit(rng),
                sections: [(); CHANNELS].map(|()| unit(rng)),
            })
            .collect();
        grid.sort_unstable_by(|a, b| a.energy.total_cmp(&b.energy));
        points.extend(grid);
    }
    points
}

fn materials(rng: &mut Rng) -> Vec<Vec<Share>> {
    let material = |(nuclides, _): (usize, u64)| {
        let mut all: Vec<u32> = (0..NUCLIDES as u32).collect();
        rng.shuffle(&mut all);
        all.truncate(nuclides);
        all.into_iter()
            .map(|nuclide| (nuclide, unit(rng)))
            .collect()
    };
    MATERIALS.map(material).to_vec()
}

impl XsBench {
    fn new(options: &KernelOptions) -> XsBench {
        let per_nuclide = (options.bytes() / EACH / NUCLIDES as u64).max(4);
        let len = per_nuclide * NUCLIDES as u64;
        let mut rng = Rng::stream(options.seed, "kernel.xsbench");
        let points = grids(&mut rng, per_nuclide as usize);
        let mut energies: Vec<f64> = points.iter().map(|point| point.energy).collect();
        energies.sort_unstable_by(f64::total_cmp);
        let mut arena = Arena::default();
        let mut kernel = XsBench {
            options: options.clone(),
            points,
            per_nuclide: per_nuclide as usize,
            energies,
            places: vec![0; len as usize * NUCLIDES],
            materials: materials(&mut rng),
            energies_at: arena.array(len, 8),
            places_at: arena.array(len * NUCLIDES as u64, PLACE_BYTES),
            points_at: arena.array(len, POINT_BYTES),
            materials_at: arena.array((MATERIALS.len() * NUCLIDES) as u64, 16),
            results_at: arena.array(u64::from(options.threads), LINE_BYTES),
            series: Series::new(options, len, ROUND),
            verified: 0,
            footprint: arena.footprint(),
        };
        (0..kernel.series.loaded(len)).for_each(|at| kernel.place(at as usize));
        kernel
    }

    fn grid(&self, nuclide: usize) -> &[Point] {
        &self.points[nuclide * self.per_nuclide..(nuclide + 1) * self.per_nuclide]
    }

    /// The places of an energy: those of the one before, or the next.
    fn place(&mut self, at: usize) {
        let energy = self.energies[at];
        for nuclide in 0..NUCLIDES {
            let before = match at {
                0 => 0,
                _ => self.places[(at - 1) * NUCLIDES + nuclide],
            };
            let next = self.grid(nuclide).get(before as usize + 1);
            let is_next = next.is_some_and(|next| next.energy <= energy);
            self.places[at * NUCLIDES + nuclide] = before + u32::from(is_next);
        }
    }

    fn load(&mut self, rec: &mut Recorder, at: usize) {
        self.place(at);
        rec.load(self.energies_at.at(at as u64));
        for nuclide in 0..NUCLIDES {
            let number = at * NUCLIDES + nuclide;
            let next = (self.places[number] as usize + 1).min(self.per_nuclide - 1);
            rec.load(
                self.points_at
                    .at((nuclide * self.per_nuclide + next) as u64),
            );
            rec.work(FILL);
            rec.store(self.places_at.at(number as u64));
        }
    }

    /// The energy and material of a look-up.
    fn wanted(&self, number: u64) -> (f64, usize) {
        let mut rng = draws(self.options.seed, number);
        let energy = unit(&mut rng);
        let mut left = rng.below(MATERIALS.iter().map(|(_, share)| share).sum());
        let place = MATERIALS
            .iter()
            .position(|(_, share)| match left.checked_sub(*share) {
                Some(over) => {
                    left = over;
                    false
                }
                None => true,
            });
        (energy, place.expect("the shares are the sum"))
    }

    fn look_up(&mut self, rec: &mut Recorder, thread: u32, number: u64) {
        rec.work(DRAW);
        let (energy, material) = self.wanted(number);
        let (mut low, mut high) = (0, self.energies.len());
        let mut before = None;
        while high - low > 1 {
            let middle = low.midpoint(high);
            rec.work(BISECT);
            let addr = self.energies_at.at(middle as u64);
            before = Some(match before {
                Some(before) => rec.load_after(addr, before),
                None => rec.load(addr),
            });
            if self.energies[middle] > energy {
                high = middle;
            } else {
                low = middle;
            }
        }
        let found = before.unwrap_or_else(|| rec.load(self.energies_at.at(0)));
        let mut sum = [0.0; CHANNELS];
        for (index, (nuclide, much)) in self.materials[material].iter().enumerate() {
            rec.load(self.materials_at.at((material * NUCLIDES + index) as u64));
            let number = low * NUCLIDES + *nuclide as usize;
            let loaded = rec.load_after(self.places_at.at(number as u64), found);
            let place = self.places[number] as usize;
            let place = place.min(self.per_nuclide - 2);
            let at = self
                .points_at
                .at((*nuclide as usize * self.per_nuclide + place) as u64);
            // Two points of 48 bytes: every word of them, and so two or three lines.
            for offset in (0..2 * POINT_BYTES).step_by(16) {
                rec.load_after(at + offset, loaded);
            }
            rec.work(NUCLIDE);
            add(
                &mut sum,
                &self.grid(*nuclide as usize)[place..],
                energy,
                *much,
            );
        }
        rec.work(VERIFY);
        rec.store(self.results_at.at(thread.into()));
        self.verified += largest(&sum);
    }
}

/// Adds a nuclide's cross sections between its first two points.
fn add(sum: &mut [f64; CHANNELS], points: &[Point], energy: f64, much: f64) {
    let [low, high] = [points[0], points[1]];
    let part = (high.energy - energy) / (high.energy - low.energy);
    for (channel, sum) in sum.iter_mut().enumerate() {
        let [low, high] = [low, high].map(|point| point.sections[channel]);
        *sum += much * (high - part * (high - low));
    }
}

/// The channel with the largest cross section, from 1.
fn largest(sum: &[f64; CHANNELS]) -> u64 {
    let best = (0..CHANNELS).fold(0, |best, one| if sum[one] > sum[best] { one } else { best });
    best as u64 + 1
}

impl Program for XsBench {
    fn footprint(&self) -> Bytes {
        self.footprint
    }

    fn threads(&self) -> u32 {
        self.options.threads
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let left = self.series.left(STRETCH);
        let mut rec = Recorder::new(out);
        for _ in 0..left {
            match self.series.take() {
                Turn::Load(at) => self.load(&mut rec, at as usize),
                Turn::Do(number) => self.look_up(&mut rec, thread, number),
            }
        }
        if left == 0 { Step::End } else { Step::More }
    }
}

impl Kernel for XsBench {
    fn rounds(&self) -> u64 {
        self.series.rounds()
    }

    /// Bisects each nuclide's own grid, and needs no unionized one for that.
    fn check(&self) -> Result<(), Mismatch> {
        let mut due = 0;
        for number in 0..self.series.done() {
            let (energy, material) = self.wanted(number);
            let mut sum = [0.0; CHANNELS];
            for (nuclide, much) in &self.materials[material] {
                let grid = self.grid(*nuclide as usize);
                let above = grid.partition_point(|point| point.energy <= energy);
                let place = above.saturating_sub(1).min(grid.len() - 2);
                add(&mut sum, &grid[place..], energy, *much);
            }
            due += largest(&sum);
        }
        if due != self.verified {
            let is = self.verified;
            return Err(Mismatch::new("the sum of the largest channels", is, due));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive::{given, run};
    use super::*;

    #[test]
    fn the_unionized_grid_finds_what_each_nuclides_own_does() {
        for start in ["built", "empty"] {
            let mut kernel = XsBench::new(&given(&INFO, 2, 1, &[("start", start)], 300));
            run(&mut kernel, 1);
            assert_eq!((kernel.check(), kernel.rounds()), (Ok(()), 1));
            kernel.verified += 1;
            assert!(kernel.check().is_err());
        }
    }

    /// On a straight line from one point to the next.
    #[test]
    fn cross_sections_are_those_of_the_energy_between_two_points() {
        let point = |energy, sections| Point { energy, sections };
        let points = [
            point(2.0, [0.0, 1.0, 2.0, 3.0, 8.0]),
            point(6.0, [4.0, 1.0, 0.0, 7.0, 0.0]),
        ];
        for (energy, due) in [
            (2.0, [0.0, 1.0, 2.0, 3.0, 8.0]),
            (3.0, [1.0, 1.0, 1.5, 4.0, 6.0]),
            (6.0, [4.0, 1.0, 0.0, 7.0, 0.0]),
        ] {
            let mut sum = [10.0; CHANNELS];
            add(&mut sum, &points, energy, 0.5);
            assert_eq!(sum, due.map(|section| 10.0 + section / 2.0));
        }
        assert_eq!(largest(&[1.0, 3.0, 2.0, 3.0, 0.0]), 2);
    }

    /// The original looks for the first material whose share, with those from cladding on to it, is
    /// above the roll, and takes fuel if there is none.
    #[test]
    fn shares_are_what_the_original_s_rolls_come_to() {
        let told = [140, 52, 275, 134, 154, 64, 66, 55, 8, 15, 25, 13];
        let mut drawn = [0; MATERIALS.len()];
        for roll in 0..1_000 {
            let upto = |material: usize| told[1..=material].iter().sum::<u64>();
            let found = (0..told.len()).find(|material| roll < upto(*material));
            drawn[found.unwrap_or(0)] += 1;
        }
        assert_eq!(drawn, MATERIALS.map(|(_, share)| share));
    }

    #[test]
    fn materials_are_drawn_as_often_as_they_should() {
        let kernel = XsBench::new(&given(&INFO, 1, 1, &[], 1_000));
        let mut drawn = [0_u64; MATERIALS.len()];
        (0..100_000).for_each(|number| drawn[kernel.wanted(number).1] += 1);
        for (is, (_, due)) in drawn.into_iter().zip(MATERIALS) {
            assert!(is.abs_diff(due * 100) < 20 + due * 5, "{drawn:?}");
        }
    }

    #[test]
    fn it_has_the_memory_that_was_asked_for() {
        let kernel = XsBench::new(&given(&INFO, 1, 1, &[("bytes", "8MB")], 1));
        assert!(
            kernel.footprint().0.abs_diff(8_000_000) < 400_000,
            "{}",
            kernel.footprint().0
        );
    }
}
