//! What every conversion needs of the interpreter.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::RefCell;

/// The callback that hears how far a run is, and how far it goes, if that is known.
#[derive(Default)]
pub struct Progress {
    told: Option<Py<PyAny>>,
    total: Option<u64>,
}

impl Progress {
    /// A function of Python that takes both.
    pub fn new(told: Option<&Bound<'_, PyAny>>, total: Option<u64>) -> Progress {
        Progress {
            told: told.map(|told| told.clone().unbind()),
            total,
        }
    }

    fn tell(&self, py: Python<'_>, done: u64) -> PyResult<()> {
        match &self.told {
            None => Ok(()),
            // What comes behind the last one is no more of them.
            Some(told) => {
                let done = self.total.map_or(done, |total| done.min(total));
                told.call1(py, (done, self.total)).map(drop)
            }
        }
    }
}

/// Runs `work` with the interpreter's lock. A thread that is still here when the interpreter has
/// ended waits for the end of the process, as Python's own do.
pub fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    Python::try_attach(work).unwrap_or_else(|| {
        loop {
            std::thread::park();
        }
    })
}

/// Runs `work` without the interpreter's lock. Now and then it says how much is done, and is
/// answered whether to stop: after Ctrl-C, or what the user's function raised.
pub fn detached<T: Send>(
    py: Python<'_>,
    progress: &Progress,
    work: impl FnOnce(&dyn Fn(u64) -> bool) -> T + Send,
) -> PyResult<T> {
    let (result, signal) = py.detach(|| {
        let signal = RefCell::new(None);
        let stop = |done| {
            let heard = attached(|py| {
                py.check_signals()?;
                progress.tell(py, done)
            });
            let raised = heard.err();
            let stop = raised.is_some();
            if stop {
                signal.replace(raised);
            }
            stop
        };
        let result = work(&stop);
        (result, signal.into_inner())
    });
    signal.map_or(Ok(result), Err)
}

/// A dict of texts.
pub fn texts<'py>(py: Python<'py>, pairs: &[(&str, &str)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, text) in pairs {
        dict.set_item(name, text)?;
    }
    Ok(dict)
}
