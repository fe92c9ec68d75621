//! Units of results.

use sluice_stats::share;
use sluice_units::Ps;

pub(crate) const PS_PER_NS: f64 = 1e3;
pub(crate) const PS_PER_S: f64 = 1e12;

/// Bytes in a picosecond are TB in a second.
pub(crate) fn mb_s(bytes: u64, time: Ps) -> Option<f64> {
    share(bytes, time.0).map(|tb_s| tb_s * 1e6)
}
