//! Distributions of what is counted.
#![forbid(unsafe_code)]

mod atomic;
mod histogram;
mod summary;

pub use atomic::AtomicHistogram;
pub use histogram::Histogram;
pub use summary::Summary;

/// A part of a whole; nothing of nothing is no number.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
