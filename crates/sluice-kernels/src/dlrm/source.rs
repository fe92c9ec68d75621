//! What is learned from: samples, and rows before they are first updated.

use super::net::{Bag, DENSE, FEATURES, MOST, Row, Sample};
use sluice_units::Rng;

/// Training samples, made from their numbers.
pub(super) struct Source {
    pub(super) seed: u64,
    /// Rows of a table.
    pub(super) rows: u64,
}

impl Source {
    pub(super) fn sample(&self, number: u64) -> Sample {
        let start = number.wrapping_mul(0xd129_0d3e_4d7d_9a63);
        let mut rng = Rng::from_splitmix(self.seed ^ start);
        let mut dense = [0.0; DENSE];
        for x in &mut dense[..FEATURES] {
            *x = rng.below(2_001) as f32 / 1_000.0 - 1.0;
        }
        dense[FEATURES] = 1.0;
        let rows = std::array::from_fn(|_| self.bag(&mut rng));
        // What the model is to find out: a slope for each dense feature, and a like or dislike of
        // each row of the first tables.
        let slopes = (1..)
            .zip(&dense[..FEATURES])
            .map(|(i, x)| if i % 3 == 0 { -x } else { *x });
        let likes = rows[..4].iter().map(|bag: &Bag| {
            if bag.rows()[0].is_multiple_of(2) {
                0.5
            } else {
                -0.5
            }
        });
        let label = if slopes.chain(likes).sum::<f32>() > 0.0 {
            1.0
        } else {
            0.0
        };
        Sample { dense, rows, label }
    }

    fn bag(&self, rng: &mut Rng) -> Bag {
        let count = lookups(rng);
        Bag::new((0..count).map(|_| rng.below(self.rows) as u32))
    }
}

/// Rows that a table's vector is the sum of, as DLRM's own generator draws them: a number up to
/// ten times evenly in 0 to 1, rounded, one at least; each row once.
fn lookups(rng: &mut Rng) -> usize {
    const EVEN: u64 = 1_000;
    ((rng.below(EVEN) * MOST as u64 + EVEN / 2) / EVEN).max(1) as usize
}

/// A row as it is before it is first updated: evenly in +-0.1.
pub(super) fn first(table: usize, row: u32) -> Row {
    let start = (u64::from(row) << 5 | table as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = |i: usize| {
        let x = (start ^ start >> 31).wrapping_mul(2 * i as u64 + 0xd129_0d3e_4d7d_9a63);
        (x >> 44) as f32 / (1 << 19) as f32 - 1.0
    };
    std::array::from_fn(|i| number(i) * 0.1)
}
