//! Python bindings: conversions only.

mod errors;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sluice_model::{EVICTIONS, PARAMS, PREFETCHES, RawConfig};

/// The native half of the Python package `sluice`.
#[pymodule]
mod _core {
    use super::*;

    /// The version of the device model that this module was built from.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// The devices that come with Sluice: dicts of name, meaning and toml.
    #[pyfunction]
    fn presets(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
        let all = sluice_config::presets().iter();
        all.map(|preset| {
            let text = [
                ("name", preset.name),
                ("meaning", preset.meaning),
                ("toml", preset.toml),
            ];
            texts(py, &text)
        })
        .collect()
    }

    /// Every parameter: dicts of key, default, expected, choices, meaning and source.
    #[pyfunction]
    fn params(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
        let one = |param: &sluice_model::Param| {
            let text = [
                ("key", param.key),
                ("default", param.default),
                ("expected", &param.kind.expected()),
                ("meaning", param.meaning),
                ("source", param.source),
            ];
            let dict = texts(py, &text)?;
            dict.set_item("choices", param.kind.choices())?;
            Ok(dict)
        };
        PARAMS.iter().map(one).collect()
    }

    /// Every policy: dicts of kind (eviction or prefetch), name, meaning, source and uses_hits.
    #[pyfunction]
    fn policies(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
        let evictions = EVICTIONS.iter().map(|entry| ("eviction", &entry.info));
        let prefetches = PREFETCHES.iter().map(|entry| ("prefetch", &entry.info));
        let all = evictions.chain(prefetches);
        all.map(|(kind, info)| {
            let text = [
                ("kind", kind),
                ("name", info.name),
                ("meaning", info.meaning),
                ("source", info.source),
            ];
            let dict = texts(py, &text)?;
            dict.set_item("uses_hits", info.uses_hits)?;
            Ok(dict)
        })
        .collect()
    }

    /// The checked settings of a device (a preset or the path of a TOML file), by key.
    ///
    /// `overrides` are values by key. Raises `sluice.ConfigError`.
    #[pyfunction]
    #[pyo3(signature = (device, overrides = None))]
    fn resolve<'py>(
        py: Python<'py>,
        device: &str,
        overrides: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let raw = load(py, device, overrides)?;
        raw.check().map_err(|error| errors::config(py, &error))?;
        let pairs: Vec<_> = raw.to_pairs();
        let text: Vec<_> = pairs.iter().map(|(key, value)| (*key, &**value)).collect();
        texts(py, &text)
    }
}

fn texts<'py>(py: Python<'py>, pairs: &[(&str, &str)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, text) in pairs {
        dict.set_item(name, text)?;
    }
    Ok(dict)
}

/// The settings of a device with `overrides`, not yet checked against each other.
fn load<'py>(
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
    Ok(raw)
}
