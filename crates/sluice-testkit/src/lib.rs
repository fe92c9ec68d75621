//! Oracles and generators used by the tests: slow, plain, and written without a look at what
//! they check.

pub mod alloc;
pub mod belady;
pub mod build;
pub mod child;
pub mod core_rig;
pub mod host_rig;
pub mod mount;
pub mod mutate;
pub mod naive;
pub mod objects;
pub mod parity;
pub mod rig;
pub mod sharing;
pub mod touches;
pub mod traces;

/// How many random inputs a property test draws: so many, times `SLUICE_FUZZ` if that is set, as
/// `make fuzz` does.
///
/// # Panics
/// If it is set and no number.
pub fn cases(usual: u32) -> u32 {
    let times = std::env::var("SLUICE_FUZZ").map_or(1, |times| {
        times.parse().expect("SLUICE_FUZZ: a whole number of times")
    });
    usual.saturating_mul(times)
}
