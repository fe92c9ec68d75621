//! What a simulated device is asked: a pattern, or a trace by its path.

use crate::errors;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use sluice_model::DeviceConfig;
use sluice_replay::{Placement, Replay};
use sluice_streams::{Spec, Stream};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What begins a workload that is a trace and no pattern.
const TRACE: &[u8] = b"trace:";
/// Frames from the one that calls this module to the user's.
const CALLER: i32 = 2;

/// A workload that fits on its device.
pub enum Workload {
    Pattern(Spec),
    Trace(PathBuf, Box<Replay>),
}

impl Workload {
    /// Of its text, checked.
    pub fn new(
        py: Python<'_>,
        text: &OsStr,
        config: &DeviceConfig,
        seed: u64,
    ) -> PyResult<Workload> {
        let workload = match trace_path(text) {
            Some(path) => Workload::Trace(path.to_owned(), Box::new(open(py, path)?)),
            None => Workload::Pattern(
                sluice_kernels::parse_stream(&text.to_string_lossy(), seed)
                    .map_err(|error| errors::workload(py, &error))?,
            ),
        };
        let footprint_bytes = match &workload {
            Workload::Pattern(spec) => spec.footprint_bytes(),
            Workload::Trace(_, replay) => replay.footprint().0,
        };
        match footprint_bytes > config.capacity().0 {
            true => Err(errors::too_large(py, config, footprint_bytes)),
            false => Ok(workload),
        }
    }

    /// Accesses of all requesters, at least.
    pub fn accesses(&self) -> u64 {
        match self {
            Workload::Pattern(spec) => spec.accesses(),
            Workload::Trace(_, replay) => replay.accesses(),
        }
    }

    /// The accesses of each requester.
    pub fn streams(&self, py: Python<'_>) -> PyResult<Vec<Stream>> {
        match self {
            Workload::Pattern(spec) => Ok(spec.streams()),
            Workload::Trace(path, replay) => {
                let streams = replay.streams();
                streams.map_err(|error| errors::trace(py, path, &error))
            }
        }
    }

    /// A trace that could not be read to its end has no result.
    pub fn check(&self, py: Python<'_>) -> PyResult<()> {
        match self {
            Workload::Pattern(_) => Ok(()),
            Workload::Trace(path, replay) => replay
                .failure()
                .map_or(Ok(()), |error| Err(errors::trace(py, path, &error))),
        }
    }
}

/// The file of a workload that is a trace.
pub fn trace_path(text: &OsStr) -> Option<&Path> {
    let path = text.as_bytes().strip_prefix(TRACE)?;
    Some(Path::new(OsStr::from_bytes(path)))
}

/// Opens a trace to be replayed. A part of what was recorded may be missing, of which the command
/// warns as well.
pub fn open(py: Python<'_>, path: &Path) -> PyResult<Replay> {
    if path.as_os_str().is_empty() {
        return Err(errors::no_trace(py));
    }
    let replay = Replay::open(path, Placement::Touch);
    let replay = replay.map_err(|error| errors::trace(py, path, &error))?;
    if let Some(unfinished) = replay.unfinished() {
        let message = CString::new(format!("{}: {unfinished}", path.display()))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, CALLER)?;
    }
    Ok(replay)
}
