//! Fabrics for Python: conversions to and from what it has.

use crate::errors;
use crate::python::{Progress, detached, texts};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sluice_config::fabrics;
use sluice_net::Length;
use sluice_results::to_json;
use sluice_simulation::FabricPlan;

pub fn all(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let all = fabrics().iter();
    all.map(|fabric| {
        let text = [
            ("name", fabric.name),
            ("meaning", fabric.meaning),
            ("toml", fabric.toml),
        ];
        texts(py, &text)
    })
    .collect()
}

/// Runs without the interpreter's lock, and returns the object's text.
pub fn simulate(
    py: Python<'_>,
    name: &str,
    overrides: Option<&Bound<'_, PyDict>>,
    length: Length,
    seed: u64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let described = sluice_config::describe_fabric(name);
    let mut spec = described.map_err(|error| errors::device(py, &error))?.given;
    for (key, value) in overrides.into_iter().flatten() {
        let key: String = key.extract()?;
        // Numbers may stand for themselves: 4 for "4".
        let value = value.str()?.to_string();
        spec.set(&key, &value)
            .map_err(|error| errors::config(py, &error))?;
    }
    let plan = FabricPlan {
        name,
        spec: &spec,
        length,
        seed,
        replay: None,
        window: 0,
    };
    let progress = Progress::new(progress, length.warmup.checked_add(length.requests));
    let result = detached(py, &progress, |stop| plan.run(&mut |done| !stop(done)))?;
    let result = result.map_err(|error| errors::fabric(py, &error))?;
    Ok(result.as_ref().map(to_json).unwrap_or_default().to_string())
}
