//! What classes of the user's raise.

use pyo3::prelude::*;
use std::sync::{Arc, Mutex};

/// The first exception that a class of the user's raised.
#[derive(Clone, Default)]
pub struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Whether there is one: then the class is called no more, and the run may stop.
    pub fn is_some(&self) -> bool {
        self.0.lock().is_ok_and(|raised| raised.is_some())
    }

    /// The exception, to be raised again.
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().ok()?.take()
    }

    /// Keeps the exception, unless there is one already.
    pub fn keep(&self, error: PyErr) {
        if let Ok(mut raised) = self.0.lock() {
            raised.get_or_insert(error);
        }
    }
}
