//! Simulated hosts for Python: conversions to and from what it has.

use crate::errors;
use crate::python::{Progress, detached, texts};
use crate::workload::{self, trace_path};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sluice_config::System;
use sluice_host::RunLength;
use sluice_kernels::KernelSpec;
use sluice_replay::Replay;
use sluice_results::{SystemResult, to_json};
use sluice_simulation::{SystemError, SystemPlan, SystemRun, TracePlan};
use sluice_skybyte_artifact::parse_kernel;
use sluice_units::Ps;
use std::ffi::OsStr;
use std::path::Path;

/// The arguments of `simulate_system`.
pub struct Asked<'a> {
    pub name: &'a str,
    pub workload: &'a OsStr,
    pub scale: Option<u32>,
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
fn load(
    py: Python<'_>,
    name: &str,
    overrides: Option<&Bound<'_, PyDict>>,
    for_trace: bool,
) -> PyResult<System> {
    let mut system =
        sluice_config::load_system(name).map_err(|error| errors::device(py, &error))?;
    if for_trace {
        sluice_config::begin_from_nothing(&mut system);
    }
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
    let system = load(py, name, overrides, false)?;
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

/// What a host runs.
enum Source<'a> {
    Kernel(KernelSpec),
    Trace(&'a Path, Replay),
}

impl<'a> Source<'a> {
    fn read(py: Python<'_>, asked: &Asked<'a>) -> PyResult<Source<'a>> {
        let Some(path) = trace_path(asked.workload) else {
            let kernel = parse_kernel(&asked.workload.to_string_lossy(), asked.seed);
            return Ok(Source::Kernel(
                kernel.map_err(|error| errors::workload(py, &error))?,
            ));
        };
        if asked.check {
            let why = "a trace computes nothing that could be compared; leave it out";
            return Err(errors::unfit(py, "check", why));
        }
        Ok(Source::Trace(path, workload::open(py, path)?))
    }

    fn length(&self, asked: &Asked<'_>, scale: u32) -> RunLength {
        let (warmup, measured) = (asked.warmup, asked.instructions);
        match self {
            Source::Kernel(kernel) => SystemPlan::length(scale, kernel, warmup, measured),
            Source::Trace(..) => TracePlan::length(warmup, measured),
        }
    }

    fn run(
        &self,
        run: SystemRun<'_>,
        check: bool,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<SystemResult>, SystemError> {
        match self {
            Source::Kernel(kernel) => {
                let kernel = kernel.clone();
                SystemPlan { run, kernel, check }.run(watch)
            }
            Source::Trace(_, replay) => TracePlan { run, replay }.run(watch),
        }
    }

    fn failed(&self, py: Python<'_>, error: &SystemError) -> PyErr {
        match (self, error) {
            (Source::Trace(path, _), SystemError::Trace(error)) => errors::trace(py, path, error),
            _ => errors::system(py, error),
        }
    }
}

/// A thread for each CPU of a trace.
fn set_threads(
    py: Python<'_>,
    system: &mut System,
    overrides: Option<&Bound<'_, PyDict>>,
    replay: &Replay,
) -> PyResult<()> {
    const KEY: &str = "cpu.threads";
    if overrides.is_some_and(|given| given.contains(KEY).unwrap_or(false)) {
        let why = format!(
            "a trace has its own threads, and this one {}",
            replay.cpus()
        );
        return Err(errors::unfit(py, KEY, &why));
    }
    TracePlan::set_threads(system, replay).map_err(|error| errors::config(py, &error))
}

/// Runs without the interpreter's lock, and returns the object's text.
pub fn simulate(
    py: Python<'_>,
    asked: &Asked<'_>,
    overrides: Option<&Bound<'_, PyDict>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let mut system = load(
        py,
        asked.name,
        overrides,
        trace_path(asked.workload).is_some(),
    )?;
    let source = Source::read(py, asked)?;
    let usual = match &source {
        Source::Kernel(_) => SystemPlan::SCALE,
        Source::Trace(_, replay) => {
            set_threads(py, &mut system, overrides, replay)?;
            TracePlan::SCALE
        }
    };
    let sample_every = match asked.timeline {
        None => Ps::ZERO,
        Some(text) => period(py, text)?,
    };
    let scale = asked.scale.unwrap_or(usual);
    let length = RunLength {
        sample_every,
        ..source.length(asked, scale)
    };
    let run = SystemRun {
        name: asked.name,
        system: &system,
        scale,
        workload: &asked.workload.to_string_lossy(),
        length,
        seed: asked.seed,
    };
    // A program that runs to its own end has no length in instructions.
    let progress = Progress::new(progress, length.warmup.checked_add(length.measured));
    let result = detached(py, &progress, |stop| {
        source.run(run, asked.check, &mut |done| !stop(done))
    })?;
    let result = result.map_err(|error| source.failed(py, &error))?;
    Ok(result.as_ref().map(to_json).unwrap_or_default().to_string())
}
