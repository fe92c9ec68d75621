//! Simulated hosts for Python: conversions to and from what it has.

use crate::errors;
use crate::python::{Progress, detached, texts};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sluice_config::System;
use sluice_host::RunLength;
use sluice_results::to_json;
use sluice_simulation::{SystemPlan, SystemRun};
use sluice_skybyte_artifact::parse_kernel;
use sluice_units::Ps;

/// The arguments of `simulate_system`.
pub struct Asked<'a> {
    pub name: &'a str,
    pub workload: &'a str,
    pub scale: u32,
    pub warmup: Option<u64>,
    pub instructions: Option<u64>,
    pub timeline: Option<&'a str>,
    pub seed: u64,
    pub check: bool,
}

pub fn all(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let all = sluice_config::systems().iter();
    all.map(|system| {
        let text = [
            ("name", system.name),
            ("meaning", system.meaning),
            ("toml", system.toml),
        ];
        texts(py, &text)
    })
    .collect()
}

/// A system with `overrides`, at full size.
fn load(py: Python<'_>, name: &str, overrides: Option<&Bound<'_, PyDict>>) -> PyResult<System> {
    let mut system =
        sluice_config::load_system(name).map_err(|error| errors::device(py, &error))?;
    for (key, value) in overrides.into_iter().flatten() {
        let key: String = key.extract()?;
        // Numbers may stand for themselves: 4 for "4".
        let value = value.str()?.to_string();
        system
            .set(&key, &value)
            .map_err(|error| errors::config(py, &error))?;
    }
    sluice_plugin::make_absolute(&mut system.device).map_err(|error| errors::made(py, &error))?;
    Ok(system)
}

pub fn resolve<'py>(
    py: Python<'py>,
    name: &str,
    overrides: Option<&Bound<'py, PyDict>>,
    scale: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let system = load(py, name, overrides)?;
    let scaled = system.scaled(scale).and_then(|system| {
        // Which seed does not matter to what can be.
        system.check(1).map(|_| system)
    });
    let pairs = scaled
        .map_err(|error| errors::config(py, &error))?
        .to_pairs();
    let text: Vec<_> = pairs.iter().map(|(key, value)| (*key, &**value)).collect();
    texts(py, &text)
}

/// The time between two rows of a timeline.
fn period(py: Python<'_>, text: &str) -> PyResult<Ps> {
    let bad = |expected: &str| errors::bad_value(py, "timeline", text, expected);
    let every = text.parse::<Ps>().map_err(|error| bad(&error.expected))?;
    let least = RunLength::SAMPLE_EVERY_MIN;
    match every < least {
        true => Err(bad(&format!("{least} at least"))),
        false => Ok(every),
    }
}

/// Runs without the interpreter's lock, and returns the object's text.
pub fn simulate(
    py: Python<'_>,
    asked: &Asked<'_>,
    overrides: Option<&Bound<'_, PyDict>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let system = load(py, asked.name, overrides)?;
    let kernel =
        parse_kernel(asked.workload, asked.seed).map_err(|error| errors::workload(py, &error))?;
    let sample_every = match asked.timeline {
        None => Ps::ZERO,
        Some(text) => period(py, text)?,
    };
    let length = SystemPlan::length(asked.scale, &kernel, asked.warmup, asked.instructions);
    let plan = SystemPlan {
        run: SystemRun {
            name: asked.name,
            system: &system,
            scale: asked.scale,
            workload: asked.workload,
            length: RunLength {
                sample_every,
                ..length
            },
            seed: asked.seed,
        },
        kernel,
        check: asked.check,
    };
    // A program that runs to its own end has no length in instructions.
    let progress = Progress::new(progress, length.warmup.checked_add(length.measured));
    let result = detached(py, &progress, |stop| plan.run(&mut |done| !stop(done)))?;
    let result = result.map_err(|error| errors::system(py, &error))?;
    Ok(result.as_ref().map(to_json).unwrap_or_default().to_string())
}
