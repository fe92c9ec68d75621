//! Distributions of what is counted.
#![forbid(unsafe_code)]

mod atomic;
mod histogram;
mod summary;

pub use atomic::AtomicHistogram;
pub use histogram::Histogram;
pub use summary::Summary;

/// The middle of some values: of an even number the mean of the two in the middle. None has none.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.len() / 2;
    let lower = sorted.len().checked_sub(1)? / 2;
    Some(f64::midpoint(sorted[lower], sorted[upper]))
}

/// A part of a whole; nothing of nothing is no number.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::median;

    /// It was the upper of the two.
    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        for (values, expected) in [
            (&[][..], None),
            (&[3.0], Some(3.0)),
            (&[4.0, 1.0], Some(2.5)),
            (&[9.0, 1.0, 2.0], Some(2.0)),
            (&[9.0, 4.0, 1.0, 2.0], Some(3.0)),
        ] {
            assert_eq!(median(values.iter().copied()), expected, "{values:?}");
        }
    }
}
