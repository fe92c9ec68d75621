//! Instances of the user's classes, as Python's search for cycles sees them.

use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use std::sync::{Arc, Mutex, PoisonError};

/// The instance of a class, shared by the model, which asks it, and the object of Python that owns
/// the model. That one shows it to Python's search for cycles: it may hold its own device.
#[derive(Clone)]
pub struct Instance(Arc<Mutex<Option<Py<PyAny>>>>);

impl Instance {
    pub fn new(made: Bound<'_, PyAny>) -> Instance {
        Instance(Arc::new(Mutex::new(Some(made.unbind()))))
    }

    /// `None` after `clear`.
    pub fn get<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().map(|made| made.bind(py).clone())
    }

    /// Part of `__traverse__`. Others lock only with the interpreter's lock, so it is free.
    pub fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.0.try_lock() {
            Ok(held) => visit.call(&*held),
            Err(_) => Ok(()),
        }
    }

    /// Part of `__clear__`.
    pub fn clear(&self) {
        let held = { self.0.lock().unwrap_or_else(PoisonError::into_inner) }.take();
        // Its end may run anything of Python's, so it comes after the lock's.
        drop(held);
    }
}
