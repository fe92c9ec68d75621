//! Python bindings: conversions only.

use pyo3::prelude::*;

/// The native half of the Python package `sluice`.
#[pymodule]
mod _core {
    use super::*;

    /// The version of the device model that this module was built from.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
