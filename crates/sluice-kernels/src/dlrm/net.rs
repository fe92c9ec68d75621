//! The network: what it computes for a sample, and what it learns from it.

use sluice_units::Rng;

/// Sparse features, each with an embedding table (Criteo).
pub(super) const TABLES: usize = 26;
/// Numbers of a row.
pub(super) const DIM: usize = 128;
/// Dense features: 13 (Criteo), a one for the bias, and zeros.
pub(super) const DENSE: usize = 16;
pub(super) const FEATURES: usize = 13;
/// Width of the bottom network's hidden layer.
pub(super) const BOTTOM: usize = 64;
/// The rows and the bottom network's output meet in pairs.
pub(super) const VECTORS: usize = TABLES + 1;
pub(super) const PAIRS: usize = VECTORS * (VECTORS - 1) / 2;
/// Pairs, the bottom network's output, and a one for the bias.
pub(super) const TOP_IN: usize = PAIRS + DIM + 1;
/// Width of the top network's hidden layer.
pub(super) const TOP: usize = 128;

/// A row of a table, or its gradient.
pub(super) type Row = [f32; DIM];

/// Most rows of a table that a sample looks up.
pub(super) const MOST: usize = 10;

/// The rows of a table that a sample looks up, in order.
#[derive(Clone, Debug)]
pub(super) struct Bag {
    rows: [u32; MOST],
    count: u8,
}

impl Bag {
    /// Each of them once.
    pub(super) fn new(drawn: impl Iterator<Item = u32>) -> Bag {
        let mut bag = Bag {
            rows: [u32::MAX; MOST],
            count: 0,
        };
        for (row, drawn) in bag.rows.iter_mut().zip(drawn) {
            *row = drawn;
        }
        bag.rows.sort_unstable();
        for i in 0..MOST {
            let (row, count) = (bag.rows[i], usize::from(bag.count));
            if row != u32::MAX && (count == 0 || bag.rows[count - 1] != row) {
                bag.rows[count] = row;
                bag.count += 1;
            }
        }
        bag
    }

    pub(super) fn rows(&self) -> &[u32] {
        &self.rows[..usize::from(self.count)]
    }
}

/// What is known of a sample.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) dense: [f32; DENSE],
    pub(super) rows: [Bag; TABLES],
    pub(super) label: f32,
}

/// The weights but for the tables. All are inputs by outputs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Net {
    pub(super) bottom: Vec<[f32; BOTTOM]>,
    pub(super) output: Vec<Row>,
    pub(super) top: Vec<[f32; TOP]>,
    pub(super) last: [f32; TOP],
}

/// Activations of a sample, and gradients of the loss by them.
#[derive(Clone, Debug)]
pub(super) struct Tape {
    pub(super) dense: [f32; DENSE],
    pub(super) bottom: [f32; BOTTOM],
    pub(super) x: [f32; TOP_IN],
    pub(super) top: [f32; TOP],
    pub(super) by_bottom: [f32; BOTTOM],
    pub(super) by_output: Row,
    pub(super) by_top: [f32; TOP],
    pub(super) by_logit: f32,
    pub(super) by_rows: [Row; TABLES],
    pub(super) loss: f32,
}

impl Tape {
    pub(super) const EMPTY: Tape = Tape {
        dense: [0.0; DENSE],
        bottom: [0.0; BOTTOM],
        x: [0.0; TOP_IN],
        top: [0.0; TOP],
        by_bottom: [0.0; BOTTOM],
        by_output: [0.0; DIM],
        by_top: [0.0; TOP],
        by_logit: 0.0,
        by_rows: [[0.0; DIM]; TABLES],
        loss: 0.0,
    };
}

/// A layer of `inputs` with weights evenly in +-sqrt(6 / (inputs + outputs)).
fn layer<const N: usize>(rng: &mut Rng, inputs: usize) -> Vec<[f32; N]> {
    let bound = (6.0 / (inputs + N) as f32).sqrt();
    let mut weight = || (rng.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0) * bound;
    (0..inputs)
        .map(|_| std::array::from_fn(|_| weight()))
        .collect()
}

fn relu<const N: usize>(values: [f32; N]) -> [f32; N] {
    values.map(|x| x.max(0.0))
}

/// The gradient where the activation is positive.
fn gate<const N: usize>(by: [f32; N], activation: &[f32; N]) -> [f32; N] {
    std::array::from_fn(|i| if activation[i] > 0.0 { by[i] } else { 0.0 })
}

fn dot<const N: usize>(a: &[f32; N], b: &[f32; N]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `out += factor * a`
pub(super) fn add<const N: usize>(out: &mut [f32; N], factor: f32, a: &[f32; N]) {
    out.iter_mut().zip(a).for_each(|(o, a)| *o += factor * a);
}

fn forward<const N: usize>(inputs: &[f32], weights: &[[f32; N]]) -> [f32; N] {
    let mut out = [0.0; N];
    for (x, row) in inputs.iter().zip(weights) {
        add(&mut out, *x, row);
    }
    out
}

/// Both vectors of every pair, in order.
fn pairs() -> impl Iterator<Item = (usize, usize)> {
    (1..VECTORS).flat_map(|i| (0..i).map(move |j| (i, j)))
}

impl Net {
    pub(super) fn new(seed: u64) -> Net {
        let rng = &mut Rng::stream(seed, "dlrm.net");
        Net {
            bottom: layer(rng, DENSE),
            output: layer(rng, BOTTOM),
            top: layer(rng, TOP_IN),
            last: layer::<1>(rng, TOP)
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .try_into()
                .expect("as many as the layer has"),
        }
    }

    /// Forward and backward. `share` is what the sample counts in its batch.
    pub(super) fn learn(&self, sample: &Sample, rows: &[Row; TABLES], share: f32, tape: &mut Tape) {
        tape.dense = sample.dense;
        tape.bottom = relu(forward(&sample.dense, &self.bottom));
        let output = relu(forward(&tape.bottom, &self.output));
        let vector = |i: usize| if i < TABLES { &rows[i] } else { &output };
        for (x, (i, j)) in tape.x.iter_mut().zip(pairs()) {
            *x = dot(vector(i), vector(j));
        }
        tape.x[PAIRS..PAIRS + DIM].copy_from_slice(&output);
        tape.x[PAIRS + DIM] = 1.0;
        tape.top = relu(forward(&tape.x, &self.top));
        let chance = 1.0 / (1.0 + (-dot(&tape.top, &self.last)).exp());
        let right = if sample.label > 0.5 {
            chance
        } else {
            1.0 - chance
        };
        tape.loss = -right.max(1e-7).ln();

        tape.by_logit = (chance - sample.label) * share;
        tape.by_top = gate(self.last.map(|w| w * tape.by_logit), &tape.top);
        let mut by_x = [0.0; TOP_IN];
        for (by, weights) in by_x.iter_mut().zip(&self.top) {
            *by = dot(weights, &tape.by_top);
        }
        let mut by_output: Row = std::array::from_fn(|i| by_x[PAIRS + i]);
        tape.by_rows = [[0.0; DIM]; TABLES];
        for (by, (i, j)) in by_x.iter().zip(pairs()) {
            match i {
                TABLES => add(&mut by_output, *by, &rows[j]),
                _ => add(&mut tape.by_rows[i], *by, &rows[j]),
            }
            add(&mut tape.by_rows[j], *by, vector(i));
        }
        tape.by_output = gate(by_output, &output);
        let by_bottom = std::array::from_fn(|i| dot(&self.output[i], &tape.by_output));
        tape.by_bottom = gate(by_bottom, &tape.bottom);
    }

    /// Descends along the batch's gradient of inputs `from..to` of the top's hidden layer.
    pub(super) fn update_top(&mut self, tapes: &[Tape], from: usize, to: usize, rate: f32) {
        for (k, weights) in (from..to).zip(&mut self.top[from..to]) {
            let mut sum = [0.0; TOP];
            tapes.iter().for_each(|t| add(&mut sum, t.x[k], &t.by_top));
            add(weights, -rate, &sum);
        }
    }

    /// Updates the weights of all other layers.
    pub(super) fn update_rest(&mut self, tapes: &[Tape], rate: f32) {
        let mut sum = [0.0; TOP];
        tapes.iter().for_each(|t| add(&mut sum, t.by_logit, &t.top));
        add(&mut self.last, -rate, &sum);
        for (k, weights) in self.output.iter_mut().enumerate() {
            let mut sum = [0.0; DIM];
            tapes
                .iter()
                .for_each(|t| add(&mut sum, t.bottom[k], &t.by_output));
            add(weights, -rate, &sum);
        }
        for (k, weights) in self.bottom.iter_mut().enumerate() {
            let mut sum = [0.0; BOTTOM];
            tapes
                .iter()
                .for_each(|t| add(&mut sum, t.dense[k], &t.by_bottom));
            add(weights, -rate, &sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rng: &mut Rng) -> (Sample, [Row; TABLES]) {
        let mut number = || rng.below(2_000) as f32 / 1_000.0 - 1.0;
        let rows = std::array::from_fn(|_| std::array::from_fn(|_| number() / 4.0));
        let mut dense: [f32; DENSE] = std::array::from_fn(|_| number());
        dense[FEATURES..].copy_from_slice(&[1.0, 0.0, 0.0]);
        let rows_at = std::array::from_fn(|_| Bag::new([0].into_iter()));
        (
            Sample {
                dense,
                rows: rows_at,
                label: 1.0,
            },
            rows,
        )
    }

    fn loss(net: &Net, sample: &Sample, rows: &[Row; TABLES]) -> f32 {
        let mut tape = Tape::EMPTY;
        net.learn(sample, rows, 1.0, &mut tape);
        tape.loss
    }

    /// The gradient is the change of the loss with each number, by central differences.
    #[test]
    fn gradients_are_those_of_the_loss() {
        let rng = &mut Rng::stream(3, "dlrm.test");
        let net = Net::new(5);
        let mut tape = Tape::EMPTY;
        let step = 2e-3;
        for _ in 0..4 {
            let (sample, rows) = sample(rng);
            net.learn(&sample, &rows, 1.0, &mut tape);
            let near = |what: &str, gradient: f32, up: f32, down: f32| {
                let slope = (up - down) / (2.0 * step);
                let off = (gradient - slope).abs();
                assert!(
                    off < 0.02 * slope.abs() + 2e-3,
                    "{what}: {gradient} for {slope}"
                );
            };
            for (table, i) in [(0, 0), (7, 31), (25, 16)] {
                let at = |by: f32| {
                    let mut rows = rows;
                    rows[table][i] += by;
                    loss(&net, &sample, &rows)
                };
                near("row", tape.by_rows[table][i], at(step), at(-step));
            }
            let weight = |what, gradient, of: fn(&mut Net) -> &mut f32| {
                let at = |by: f32| {
                    let mut net = net.clone();
                    *of(&mut net) += by;
                    loss(&net, &sample, &rows)
                };
                near(what, gradient, at(step), at(-step));
            };
            weight("top", tape.x[360] * tape.by_top[9], |n| &mut n.top[360][9]);
            weight("last", tape.by_logit * tape.top[4], |n| &mut n.last[4]);
            weight("output", tape.bottom[8] * tape.by_output[3], |n| {
                &mut n.output[8][3]
            });
            weight("bottom", tape.dense[2] * tape.by_bottom[11], |n| {
                &mut n.bottom[2][11]
            });
        }
    }
}
