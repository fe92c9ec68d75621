//! Medians of many rounds, and how sure they are.

use sluice_units::Rng;

/// Figures of the rounds of each boot.
pub type Boots = [Vec<f64>];

const RESAMPLES: usize = 2_000;
const SEED: u64 = 1;

/// The median of all rounds.
pub fn median(boots: &Boots) -> f64 {
    middle(boots.iter().flatten().copied().collect())
}

/// The median, and between which values it is with 95 % of certainty: boots are drawn again, and of
/// each its rounds, for those of a boot have its memory in common.
pub fn interval(boots: &Boots) -> (f64, f64, f64) {
    let mut rng = Rng::stream(SEED, "bench.guest.interval");
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn = boots.iter().flat_map(|_| {
                let boot = &boots[rng.below(boots.len() as u64) as usize];
                let rounds = boot.iter();
                let drawn: Vec<f64> = rounds
                    .map(|_| boot[rng.below(boot.len() as u64) as usize])
                    .collect();
                drawn
            });
            middle(drawn.collect())
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let at = |share: f64| medians[((medians.len() - 1) as f64 * share) as usize];
    (median(boots), at(0.025), at(0.975))
}

/// A median with its interval, in words.
pub fn told(boots: &Boots) -> String {
    let (median, low, high) = interval(boots);
    format!("{median:.3} [{low:.3}, {high:.3}]")
}

fn middle(values: Vec<f64>) -> f64 {
    sluice_stats::median(values).expect("a boot")
}
