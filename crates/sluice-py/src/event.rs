//! What happens while a policy written in Python is called.

use pyo3::prelude::*;
use sluice_model::Trigger;
use sluice_model::cache::Event;
use sluice_units::Ps;

/// What happens while a policy is called: its methods look it up here.
#[pyclass(name = "PolicyEvent", module = "sluice")]
pub struct PyEvent(pub Event);

impl PyEvent {
    /// Before anything has happened.
    pub fn none() -> PyEvent {
        PyEvent(Event {
            now: Ps::ZERO,
            thread: None,
            is_store: false,
            trigger: Trigger::Command,
            is_dirty: false,
        })
    }
}

#[pymethods]
impl PyEvent {
    /// When, in picoseconds of the device's time. It never goes back.
    #[getter]
    fn now_ps(&self) -> u64 {
        self.0.now.0
    }

    /// Whose access it is: threads or cores are numbered from 0 in the order of their first access.
    /// `None` if it is not known.
    #[getter]
    fn thread(&self) -> Option<u32> {
        self.0.thread
    }

    /// Whether the access is a store.
    #[getter]
    fn is_store(&self) -> bool {
        self.0.is_store
    }

    /// Whether the device knows that the page in the slot differs from flash, this access included.
    #[getter]
    fn is_dirty(&self) -> bool {
        self.0.is_dirty
    }

    /// What made it happen: `"demand"`, `"prefetch"` or `"command"`.
    #[getter]
    fn trigger(&self) -> &'static str {
        match self.0.trigger {
            Trigger::Demand => "demand",
            Trigger::Prefetch => "prefetch",
            Trigger::Command => "command",
        }
    }
}
