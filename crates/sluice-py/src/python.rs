//! What every conversion needs of the interpreter.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::RefCell;

/// Runs `work` without the interpreter's lock; it asks now and then whether Ctrl-C was pressed.
pub fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&dyn Fn() -> bool) -> T + Send,
) -> PyResult<T> {
    let (result, signal) = py.detach(|| {
        let signal = RefCell::new(None);
        let stop = || {
            let raised = Python::attach(|py| py.check_signals()).err();
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
