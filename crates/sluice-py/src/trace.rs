//! Trace files, as records that NumPy takes as they are.

use crate::errors;
use crate::python::{Progress, detached};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sluice_trace::{Error, Reader};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Bytes of an access; `sluice.trace.ACCESS` is the same as a NumPy type.
const RECORD_BYTES: usize = 24;
/// Ctrl-C is looked for after so many accesses.
const BATCH: usize = 1 << 20;

/// A trace file that was opened.
#[pyclass(frozen)]
pub struct TraceReader {
    path: PathBuf,
    /// Number of accesses.
    #[pyo3(get)]
    accesses: u64,
    /// Instructions that each CPU executed.
    #[pyo3(get)]
    cpus: Vec<u64>,
    /// What is left out, if the trace was not finished.
    #[pyo3(get)]
    unfinished: Option<String>,
    /// How the trace was made, as JSON.
    #[pyo3(get)]
    header: String,
    /// Only locked without the interpreter's lock.
    reader: Mutex<Reader<BufReader<File>>>,
}

#[pymethods]
impl TraceReader {
    /// Opens a file. Raises `sluice.TraceError`.
    #[new]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<TraceReader> {
        let reader = py.detach(|| Reader::open(&path));
        let reader = reader.map_err(|error| errors::trace(py, &path, &error))?;
        let header = serde_json::to_value(reader.header()).unwrap_or_default();
        Ok(TraceReader {
            path,
            accesses: reader.accesses(),
            cpus: reader.cpus().to_vec(),
            unfinished: reader.unfinished().map(|what| what.to_string()),
            header: header.to_string(),
            reader: Mutex::new(reader),
        })
    }

    /// `count` accesses from number `start` on, of which the trace has as many. Of each: address
    /// (8 bytes), instructions (8), CPU (4), size (2), kind (1), zero.
    fn read<'py>(
        &self,
        py: Python<'py>,
        start: u64,
        count: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let records = detached(py, &Progress::default(), |stop| {
            let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            records(&mut reader, start, count, &|| stop(0))
        })?;
        let records = records.map_err(|error| errors::trace(py, &self.path, &error))?;
        Ok(PyBytes::new(py, &records))
    }
}

fn records(
    reader: &mut Reader<BufReader<File>>,
    start: u64,
    count: usize,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<u8>, Error> {
    reader.seek_access(start)?;
    // An index may claim more accesses than there is memory for: they are taken as they come.
    let mut records = Vec::with_capacity(count.min(BATCH) * RECORD_BYTES);
    for (number, access) in reader.take(count).enumerate() {
        let access = access?;
        records.extend(access.address.to_ne_bytes());
        records.extend(access.instructions.to_ne_bytes());
        records.extend(access.cpu.to_ne_bytes());
        records.extend(access.size.to_ne_bytes());
        records.extend([access.kind as u8, 0]);
        if number % BATCH == BATCH - 1 && stop() {
            break;
        }
    }
    Ok(records)
}
