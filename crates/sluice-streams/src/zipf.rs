//! Zipfian ranks, drawn exactly and without tables.

use sluice_units::{Fnv, Rng};

/// The skew of YCSB's zipfian distributions.
pub const YCSB_THETA: f64 = 0.99;
/// YCSB draws a rank among this many items and hashes it onto the records it has.
const YCSB_ITEMS: u64 = 10_000_000_000;

/// Ranks from 0 to `items - 1`, rank `k` with a probability proportional to `(k + 1)^-theta`.
///
/// Rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from
/// monotone discrete distributions", 1996): no sum over the items, so their number may change
/// from draw to draw.
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    items: u64,
    theta: f64,
    top: f64,
    bottom: f64,
    squeeze: f64,
}

impl Zipf {
    /// A distribution over at least one item; `theta` is positive.
    #[must_use]
    pub fn new(items: u64, theta: f64) -> Self {
        let mut zipf = Self {
            items: items.max(1),
            theta,
            top: 0.0,
            bottom: 0.0,
            squeeze: 0.0,
        };
        zipf.top = zipf.area(1.5) - 1.0;
        zipf.bottom = zipf.area(zipf.items as f64 + 0.5);
        zipf.squeeze = 2.0 - zipf.area_inverse(zipf.area(2.5) - zipf.density(2.0));
        zipf
    }

    /// The next rank, most likely 0.
    pub fn rank(&self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.bottom + unit(rng) * (self.top - self.bottom);
            let x = self.area_inverse(u);
            let k = (x + 0.5).floor().clamp(1.0, self.items as f64);
            if k - x <= self.squeeze || u >= self.area(k + 0.5) - self.density(k) {
                return k as u64 - 1;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// Integral of the density from 1 to `x`.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        exp_m1_ratio((1.0 - self.theta) * log) * log
    }

    fn area_inverse(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.theta)).max(-1.0);
        (ln_1p_ratio(t) * area).exp()
    }
}

/// `(e^x - 1) / x`, and its limit where x is none. Both functions are exact of a small x, and so
/// are the quotients.
fn exp_m1_ratio(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { x.exp_m1() / x }
}

/// `ln(1 + x) / x`, in the same way.
fn ln_1p_ratio(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { x.ln_1p() / x }
}

/// A number in `[0, 1)` from the upper 53 bits of a draw.
fn unit(rng: &mut Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// YCSB's scrambled zipfian: popular items spread over the whole key space.
#[derive(Clone, Copy, Debug)]
pub struct Scrambled {
    zipf: Zipf,
}

impl Default for Scrambled {
    fn default() -> Self {
        Self {
            zipf: Zipf::new(YCSB_ITEMS, YCSB_THETA),
        }
    }
}

impl Scrambled {
    /// The next item of `items`.
    pub fn item(&self, rng: &mut Rng, items: u64) -> u64 {
        scramble(self.zipf.rank(rng)) % items.max(1)
    }
}

/// YCSB's hash of a rank: 64-bit FNV-1 style over the eight octets, low first, as a
/// non-negative signed number.
#[must_use]
pub fn scramble(rank: u64) -> u64 {
    let hash = Fnv::of(&rank.to_le_bytes());
    hash.cast_signed().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prop_assert, proptest};

    /// Chi-square of the drawn ranks against the closed form, over cells of equal expectation
    /// or better, and the degrees of freedom.
    fn chi_square(items: u64, theta: f64, draws: u64) -> (f64, f64) {
        let weight = |k: u64| ((k + 1) as f64).powf(-theta);
        let sum: f64 = (0..items).map(weight).sum();
        let zipf = Zipf::new(items, theta);
        let mut rng = Rng::stream(11, "zipf.test");
        let mut counts = vec![0_u64; items as usize];
        (0..draws).for_each(|_| counts[zipf.rank(&mut rng) as usize] += 1);
        let (mut chi2, mut cells) = (0.0, 0.0);
        let (mut seen, mut due) = (0.0, 0.0);
        for k in 0..items {
            seen += counts[k as usize] as f64;
            due += draws as f64 * weight(k) / sum;
            if due >= 50.0 || k == items - 1 {
                chi2 += (seen - due) * (seen - due) / due.max(1.0);
                cells += 1.0;
                (seen, due) = (0.0, 0.0);
            }
        }
        (chi2, cells - 1.0)
    }

    #[test]
    fn frequencies_follow_the_closed_form() {
        for (items, theta) in [
            (2, 0.99),
            (10, 0.99),
            (1_000, 0.99),
            (1_000, 0.5),
            (300, 1.0),
            (300, 1.0 + 1e-12),
            (300, 1.3),
        ] {
            let (chi2, freedom) = chi_square(items, theta, 400_000);
            // Mean `freedom`, deviation sqrt(2 freedom): four deviations above.
            let limit = freedom + 4.0 * (2.0 * freedom).sqrt();
            assert!(
                chi2 < limit,
                "{items} items, theta {theta}: {chi2} over {limit}"
            );
        }
    }

    #[test]
    fn the_most_popular_item_is_as_popular_as_in_ycsb() {
        // YCSB's own constant: zeta(10^10, 0.99) = 26.46902820178302, so rank 0 has 3.778 %.
        let zipf = Zipf::new(YCSB_ITEMS, YCSB_THETA);
        let mut rng = Rng::stream(5, "zipf.test");
        let draws = 1_000_000;
        let first = (0..draws).filter(|_| zipf.rank(&mut rng) == 0).count() as f64;
        let expected = f64::from(draws) / 26.469_028_201_783_02;
        let deviation = expected.sqrt();
        assert!(
            (first - expected).abs() < 4.0 * deviation,
            "{first} for {expected}"
        );
    }

    #[test]
    fn ranks_hash_as_in_ycsb() {
        // The first two keys of every YCSB load: user6284781860667377211 and
        // user8517097267634966620.
        assert_eq!(scramble(0), 6_284_781_860_667_377_211);
        assert_eq!(scramble(1), 8_517_097_267_634_966_620);
    }

    proptest! {
        #[test]
        fn ranks_stay_inside(items in 1_u64..1 << 40, seed: u64, hundredths in 1_u32..300) {
            let zipf = Zipf::new(items, f64::from(hundredths) / 100.0);
            let mut rng = Rng::stream(seed, "zipf.test");
            for _ in 0..20 {
                prop_assert!(zipf.rank(&mut rng) < items);
            }
        }
    }
}
