//! The settings of a device by its name.

use crate::errors;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sluice_model::RawConfig;

/// The settings of a device with `overrides`, not yet checked against each other.
pub fn load<'py>(
    py: Python<'py>,
    device: &str,
    overrides: Option<&Bound<'py, PyDict>>,
) -> PyResult<RawConfig> {
    let mut raw = sluice_config::load(device).map_err(|error| errors::device(py, &error))?;
    for (key, value) in overrides.into_iter().flatten() {
        let key: String = key.extract()?;
        // Numbers may stand for themselves: 4 for "4".
        let value = value.str()?.to_string();
        raw.set(&key, &value)
            .map_err(|error| errors::config(py, &error))?;
    }
    sluice_plugin::make_absolute(&mut raw).map_err(|error| errors::made(py, &error))?;
    Ok(raw)
}
