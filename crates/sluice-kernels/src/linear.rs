//! Linear regression by dual coordinate descent, after LIBLINEAR.
//!
//! Fan et al., "LIBLINEAR: a library for large linear classification", 2008. The method is that of
//! Hsieh et al., "A dual coordinate descent method for large-scale linear SVM", 2008, here for the
//! squared loss. A pass takes the examples in an order that is drawn anew each time. For each it
//! takes the step that makes the example's own dual variable best, and keeps the weights up to
//! date. Examples are sparse, lists of (feature, value) of 16 bytes as LIBLINEAR has them; text has
//! few common features and many rare ones. A round is a pass over all examples. Different here: no
//! shrinking and no stopping condition.

use super::series::{START, Series, Turn, bytes, draws};
use super::{Arena, Array, Kernel, KernelInfo, KernelOptions, Mismatch, Recorder};
use sluice_host::{Instr, Program, Step};
use sluice_params::Param;
use sluice_units::{Bytes, LINE_BYTES, Rng};

/// Bytes of a feature's number and its value.
const PAIR: u64 = 16;
/// Features of an example: from and up to.
const PAIRS: (u64, u64) = (16, 113);
/// Examples for each feature.
const PER_FEATURE: u64 = 2;
/// Bytes of an example: its features, their end, and what is kept for it.
const EXAMPLE: u64 = PAIR * ((PAIRS.0 + PAIRS.1) / 2 + 1) + 40 + 8 / PER_FEATURE;
/// Examples in a stretch.
const STRETCH: u64 = 8;
/// The regularisation: the weight of the squared dual variables.
const LAMBDA: f64 = 1.0;

/// The next example's number: a draw and a swap.
const DRAW: u32 = 20;
/// A feature in a sum of products: address, multiply, add, loop.
const PRODUCT: u32 = 4;
/// The step from the sum.
const STEP: u32 = 20;
/// Reading a feature from text.
const PARSE: u32 = 60;

const PARAMS: &[Param] = &[
    bytes("64MB", "assumed: ESF section V-E gives no size"),
    START,
];

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "linear",
    meaning: "linear regression on sparse examples by dual coordinate descent",
    source: "ESF section V-E, LIBLINEAR",
    published: None,
    thread_bytes: |_| 0,
    own_bytes: |_, bytes, _| bytes / 2,
    params: PARAMS,
    make: |options| Box::new(Linear::new(options)),
};

/// Where things are, in LIBLINEAR's names.
struct Layout {
    order: Array,
    starts: Array,
    targets: Array,
    duals: Array,
    norms: Array,
    weights: Array,
    pairs: Array,
}

struct Linear {
    options: KernelOptions,
    layout: Layout,
    footprint: Bytes,
    /// Where each example's features begin, and where the last one's end.
    starts: Vec<usize>,
    pairs: Vec<(u32, f32)>,
    targets: Vec<f64>,
    /// Squares of the examples' lengths.
    norms: Vec<f64>,
    order: Vec<u32>,
    duals: Vec<f64>,
    weights: Vec<f64>,
    series: Series,
}

impl Linear {
    fn new(options: &KernelOptions) -> Linear {
        let len = (options.bytes() / EXAMPLE).max(PER_FEATURE * PAIRS.1);
        let features = len / PER_FEATURE;
        let mut rng = Rng::stream(options.seed, "kernel.linear");
        let hidden: Vec<f64> = (0..features).map(|_| centred(&mut rng)).collect();
        let (mut starts, mut pairs, mut targets) = (vec![0], Vec::new(), Vec::new());
        let mut norms = Vec::new();
        for _ in 0..len {
            let example = example(&mut rng, features);
            targets.push(product(&example, &hidden) + centred(&mut rng) / 8.0);
            norms.push(example.iter().map(|(_, x)| f64::from(*x).powi(2)).sum());
            pairs.extend(example);
            starts.push(pairs.len());
        }
        let mut arena = Arena::default();
        let layout = Layout {
            order: arena.array(len, 4),
            starts: arena.array(len, 8),
            targets: arena.array(len, 8),
            duals: arena.array(len, 8),
            norms: arena.array(len, 8),
            weights: arena.array(features, 8),
            // A pair that ends the list follows each example.
            pairs: arena.array(pairs.len() as u64 + len, PAIR),
        };
        Linear {
            options: options.clone(),
            layout,
            footprint: arena.footprint(),
            starts,
            pairs,
            targets,
            norms,
            order: (0..len as u32).collect(),
            duals: vec![0.0; len as usize],
            weights: vec![0.0; features as usize],
            series: Series::new(options, len, len),
        }
    }

    fn len(&self) -> u64 {
        self.targets.len() as u64
    }

    fn example(&self, number: usize) -> &[(u32, f32)] {
        &self.pairs[self.starts[number]..self.starts[number + 1]]
    }

    /// The address of an example's features.
    fn pairs_at(&self, number: usize) -> u64 {
        self.layout.pairs.at((self.starts[number] + number) as u64)
    }

    /// Reads an example from text: a feature after the other.
    fn load(&self, rec: &mut Recorder, number: usize) {
        let at = self.pairs_at(number);
        rec.store(self.layout.starts.at(number as u64));
        rec.store(self.layout.targets.at(number as u64));
        for pair in 0..=self.example(number).len() as u64 {
            rec.work(PARSE);
            rec.store(at + pair * PAIR);
        }
        rec.store(self.layout.norms.at(number as u64));
        rec.store(self.layout.order.at(number as u64));
        rec.store(self.layout.duals.at(number as u64));
    }

    /// The step for the next example of this pass.
    fn step(&mut self, rec: &mut Recorder, step: u64) {
        let (pass, place) = (step / self.len(), step % self.len());
        let mut rng = draws(self.options.seed ^ pass << 32, place);
        let other = place + rng.below(self.len() - place);
        self.order.swap(place as usize, other as usize);
        rec.work(DRAW);
        let swapped = [place, other].map(|at| self.layout.order.at(at));
        rec.load(swapped[0]);
        let chosen = rec.load(swapped[1]);
        swapped.into_iter().for_each(|at| rec.store(at));
        let number = self.order[place as usize] as usize;
        let layout = &self.layout;
        let [start, target, dual, norm] =
            [layout.starts, layout.targets, layout.duals, layout.norms]
                .map(|array| array.at(number as u64));
        for at in [target, dual, norm] {
            rec.load_after(at, chosen);
        }
        let start = rec.load_after(start, chosen);
        self.tell_products(rec, number, start, false);
        rec.work(STEP);
        let gradient = product(self.example(number), &self.weights) - self.targets[number]
            + LAMBDA * self.duals[number];
        let change = -gradient / (self.norms[number] + LAMBDA);
        self.tell_products(rec, number, start, true);
        self.duals[number] += change;
        rec.store_after(dual, chosen);
        for place in self.starts[number]..self.starts[number + 1] {
            let (feature, x) = self.pairs[place];
            self.weights[feature as usize] += change * f64::from(x);
        }
    }

    /// A loop over an example's features and their weights, which are written or not. It ends with
    /// the pair that ends the list. The pairs of a line come with one load, as a compiler would not
    /// but an L1 does.
    fn tell_products(
        &self,
        rec: &mut Recorder,
        number: usize,
        start: super::Loaded,
        are_written: bool,
    ) {
        let at = self.pairs_at(number);
        let mut line = start;
        let begins_line = |pair: u64| pair == at || pair.is_multiple_of(LINE_BYTES);
        for (pair, (feature, _)) in (at..).step_by(PAIR as usize).zip(self.example(number)) {
            if begins_line(pair) {
                line = rec.load_after(pair, start);
            }
            let weight = self.layout.weights.at(u64::from(*feature));
            rec.load_after(weight, line);
            rec.work(PRODUCT);
            if are_written {
                rec.store_after(weight, line);
            }
        }
        let end = at + self.example(number).len() as u64 * PAIR;
        if begins_line(end) {
            rec.load_after(end, start);
        }
    }
}

/// From -1 to 1.
fn centred(rng: &mut Rng) -> f64 {
    rng.below(1 << 21) as f64 / f64::from(1 << 20) - 1.0
}

/// Different features in ascending order; a feature's rank is drawn evenly on a logarithmic scale.
fn example(rng: &mut Rng, features: u64) -> Vec<(u32, f32)> {
    let len = PAIRS.0 + rng.below(PAIRS.1 - PAIRS.0);
    let mut numbers: Vec<u32> = Vec::new();
    while (numbers.len() as u64) < len.min(features / 2) {
        let drawn = (0..len).map(|_| {
            let log = rng.below(1 << 20) as f64 / f64::from(1 << 20);
            ((features as f64).powf(log) - 1.0) as u32
        });
        numbers.extend(drawn.collect::<Vec<u32>>());
        numbers.sort_unstable();
        numbers.dedup();
        // Small systems run out of common features.
        if numbers.len() as u64 * 2 >= features {
            break;
        }
    }
    while numbers.len() as u64 > len {
        numbers.remove(rng.below(numbers.len() as u64) as usize);
    }
    let value = |_: &u32| centred(rng) as f32;
    let values: Vec<f32> = numbers.iter().map(value).collect();
    numbers.into_iter().zip(values).collect()
}

fn product(example: &[(u32, f32)], weights: &[f64]) -> f64 {
    let each = example.iter();
    each.map(|(feature, x)| f64::from(*x) * weights[*feature as usize])
        .sum()
}

impl Program for Linear {
    fn footprint(&self) -> Bytes {
        self.footprint
    }

    fn threads(&self) -> u32 {
        self.options.threads
    }

    fn fill(&mut self, _thread: u32, out: &mut Vec<Instr>) -> Step {
        let left = self.series.left(STRETCH);
        let mut rec = Recorder::new(out);
        for _ in 0..left {
            match self.series.take() {
                Turn::Load(number) => self.load(&mut rec, number as usize),
                Turn::Do(step) => self.step(&mut rec, step),
            }
        }
        if left == 0 { Step::End } else { Step::More }
    }
}

impl Kernel for Linear {
    fn rounds(&self) -> u64 {
        self.series.rounds()
    }

    /// The weights are the examples' sum by the dual variables, and the dual objective has come
    /// down from the zero at which it began.
    fn check(&self) -> Result<(), Mismatch> {
        let mut weights = vec![0.0; self.weights.len()];
        for (number, dual) in self.duals.iter().enumerate() {
            for (feature, x) in self.example(number) {
                weights[*feature as usize] += dual * f64::from(*x);
            }
        }
        let largest = weights.iter().fold(1.0_f64, |most, w| most.max(w.abs()));
        for (feature, (due, is)) in weights.iter().zip(&self.weights).enumerate() {
            if (due - is).abs() > 1e-9 * largest {
                return Err(Mismatch::new(format!("weight {feature}"), is, due));
            }
        }
        let half_square = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>() / 2.0;
        let gained: f64 = self
            .duals
            .iter()
            .zip(&self.targets)
            .map(|(a, y)| a * y)
            .sum();
        let objective = half_square(&self.weights) + LAMBDA * half_square(&self.duals) - gained;
        if self.series.done() > 0 && objective >= 0.0 {
            return Err(Mismatch::new("the dual objective", objective, "below 0"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive::{given, run};
    use super::*;
    use crate::record::told;

    /// The optimum is where no dual variable has a slope: (K + lambda) alpha = y.
    #[test]
    fn it_descends_to_the_solution_of_the_normal_equations() {
        let mut kernel = Linear::new(&given(&INFO, 1, 400, &[], 2_000));
        let slope = |kernel: &Linear| {
            let of = |i: usize| {
                product(kernel.example(i), &kernel.weights) - kernel.targets[i]
                    + LAMBDA * kernel.duals[i]
            };
            let all = (0..kernel.targets.len()).map(|i| of(i).abs());
            all.fold(0.0, f64::max)
        };
        assert!(slope(&kernel) > 1.0);
        run(&mut kernel, 1);
        assert!(slope(&kernel) < 1e-6, "{}", slope(&kernel));
        assert_eq!(kernel.check(), Ok(()));
    }

    #[test]
    fn threads_share_out_the_same_steps() {
        let told = [(1, 1), (4, 1), (4, 3)].map(|(threads, stretches)| {
            let mut kernel = Linear::new(&given(&INFO, threads, 2, &[("start", "empty")], 500));
            let told = run(&mut kernel, stretches);
            assert_eq!((kernel.check(), kernel.rounds()), (Ok(()), 2));
            kernel.weights[3] += 0.01;
            assert!(kernel.check().is_err());
            (told.loads, told.stores, told.instructions)
        });
        assert!(told[0] == told[1] && told[1] == told[2]);
    }

    /// Examples begin anywhere in a line: the last line of most was never read.
    #[test]
    fn each_line_of_an_example_is_read_once_in_a_loop() {
        let kernel = Linear::new(&given(&INFO, 1, 1, &[], 500));
        for number in 0..100 {
            let (from, pairs) = (kernel.pairs_at(number), kernel.example(number).len() as u64);
            let lines = from / LINE_BYTES..=(from + pairs * PAIR) / LINE_BYTES;
            let ((), out) = told(|rec| {
                let start = rec.load(0);
                kernel.tell_products(rec, number, start, true);
            });
            let of_pairs = out.iter().filter(|instr| instr.addr >= from);
            let read: Vec<u64> = of_pairs.map(|instr| instr.addr / LINE_BYTES).collect();
            assert!(lines.eq(read.iter().copied()), "{number}: {read:?}");
        }
    }

    #[test]
    fn it_has_the_memory_that_was_asked_for() {
        let kernel = Linear::new(&given(&INFO, 1, 1, &[("bytes", "8MB")], 1));
        assert!(
            kernel.footprint().0.abs_diff(8_000_000) < 800_000,
            "{}",
            kernel.footprint().0
        );
    }
}
