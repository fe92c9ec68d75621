//! Eviction policies written in Python.

use crate::errors;
use crate::event::PyEvent;
use crate::instance::Instance;
use crate::python::attached;
use crate::raised::Raised;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use sluice_model::DeviceConfig;
use sluice_model::cache::{Candidates, Event, External, Set, Slot};
use sluice_units::{Lpn, Ps};
use std::ptr::NonNull;

/// An instance of the user's class.
pub struct PyPolicy {
    policy: Instance,
    /// What its space has as `event`.
    event: Py<PyEvent>,
    evictable: Py<Evictable>,
    raised: Raised,
    /// Whether it has methods of its own for them: those of the base class do nothing.
    hears_misses: bool,
    hears_hits: bool,
    hears_time: bool,
    failed: bool,
}

impl PyPolicy {
    /// Makes an instance for the cache of a device.
    pub fn new(
        class: &Bound<'_, PyAny>,
        config: &DeviceConfig,
        seed: u64,
        raised: Raised,
    ) -> PyResult<PyPolicy> {
        let (py, cache) = (class.py(), &config.cache);
        let (sets, ways) = (cache.pages / cache.ways, cache.ways);
        let module = py.import("sluice.policy")?;
        let (space, base) = (module.getattr("PolicySpace")?, module.getattr("Policy")?);
        let event = Py::new(py, PyEvent::none())?;
        let told = (sets, ways, config.pages, seed, event.clone_ref(py));
        let policy = class.call1((space.call1(told)?,))?;
        let hears = |name: &str| -> PyResult<bool> {
            let Some(method) = policy.getattr_opt(name)? else {
                return Ok(false);
            };
            let own = method.getattr_opt("__func__")?.unwrap_or(method);
            Ok(!own.is(&base.getattr(name)?))
        };
        Ok(PyPolicy {
            hears_misses: hears("miss")?,
            hears_hits: hears("hit")?,
            hears_time: hears("tick")?,
            policy: Instance::new(policy),
            event,
            evictable: Py::new(py, Evictable(None))?,
            raised,
            failed: false,
        })
    }

    /// The instance that is asked.
    pub fn instance(&self) -> Instance {
        self.policy.clone()
    }

    /// Calls the policy, unless it has failed before.
    fn call<T>(&mut self, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        if self.failed {
            return None;
        }
        let result = attached(|py| self.policy.get(py).map(|policy| work(&policy)));
        result?
            .map_err(|error| {
                self.failed = true;
                self.raised.keep(error);
            })
            .ok()
    }

    /// Calls the policy for an event, which it can look up.
    fn call_for<T>(
        &mut self,
        event: &Event,
        work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let kept = attached(|py| self.event.clone_ref(py));
        self.call(|policy| {
            kept.borrow_mut(policy.py()).0 = *event;
            work(policy)
        })
    }
}

impl External for PyPolicy {
    fn miss(&mut self, event: &Event, set: Set, lpn: Lpn) {
        if !self.hears_misses {
            return;
        }
        self.call_for(event, |policy| {
            policy
                .call_method1(intern!(policy.py(), "miss"), (set.0, lpn.0))
                .map(drop)
        });
    }

    fn insert(&mut self, event: &Event, set: Set, slot: Slot, lpn: Lpn) {
        self.call_for(event, |policy| {
            policy
                .call_method1(intern!(policy.py(), "insert"), (set.0, slot.0, lpn.0))
                .map(drop)
        });
    }

    fn hit(&mut self, event: &Event, set: Set, slot: Slot) -> u32 {
        if !self.hears_hits {
            return 0;
        }
        self.call_for(event, |policy| {
            policy
                .call_method1(intern!(policy.py(), "hit"), (set.0, slot.0))
                .map(drop)
        });
        0
    }

    fn victim(&mut self, event: &Event, set: Set, slots: &mut dyn Candidates) -> Option<Slot> {
        let (mut slots, raised) = (slots, self.raised.clone());
        let answer = NonNull::from(&mut slots).cast::<()>();
        let ask = attached(|py| self.evictable.clone_ref(py));
        let found = self.call_for(event, |policy| {
            let py = policy.py();
            ask.borrow_mut(py).0 = Some(Answer(answer));
            let found =
                policy.call_method1(intern!(policy.py(), "victim"), (set.0, ask.clone_ref(py)));
            ask.borrow_mut(py).0 = None;
            let found = found?;
            let slot = found.extract::<Option<u32>>().map_err(|error| {
                let what = format!("victim of set {}", set.0);
                errors::answer(&found, &error, &what, "a slot, or None")
            })?;
            Ok(slot.map(Slot))
        })??;
        // Asked once more by the model; here the user learns of it at once.
        if !slots.may_leave(found) {
            let message = format!(
                "victim of set {} answered slot {}, which may not leave",
                set.0, found.0
            );
            attached(|py| raised.keep(errors::policy(py, &message)));
            self.failed = true;
            return None;
        }
        Some(found)
    }

    fn remove(&mut self, event: &Event, set: Set, slot: Slot) {
        self.call_for(event, |policy| {
            policy
                .call_method1(intern!(policy.py(), "remove"), (set.0, slot.0))
                .map(drop)
        });
    }

    fn tick(&mut self, now: Ps) -> Option<Ps> {
        if !self.hears_time {
            return None;
        }
        let next = self.call(|policy| {
            let next = policy.call_method1(intern!(policy.py(), "tick"), (now.0,))?;
            next.extract::<Option<u64>>().map_err(|error| {
                errors::answer(&next, &error, "tick", "a time in picoseconds, or None")
            })
        })?;
        next.map(Ps)
    }
}

/// Answers a policy in Python whether a page may leave, while its `victim` is called.
#[pyclass]
struct Evictable(Option<Answer>);

/// A `&mut &mut dyn Candidates` of the call in progress. Python objects own what they
/// hold, so a borrow can reach them in no other way.
struct Answer(NonNull<()>);

// SAFETY: used only by the thread that is in `victim`, or, with its lock, by one that it waits for.
unsafe impl Send for Answer {}
// SAFETY: `__call__` borrows the object exclusively.
unsafe impl Sync for Answer {}

impl Evictable {
    /// Asks about the slots of the call in progress.
    fn ask(&mut self, question: impl FnOnce(&mut dyn Candidates) -> bool) -> PyResult<bool> {
        let Some(Answer(answer)) = &mut self.0 else {
            return Err(PyValueError::new_err(
                "evictable may be called only while victim is",
            ));
        };
        // SAFETY: set at the start of `victim` and taken back before it returns, and this object
        // is borrowed exclusively.
        let slots = unsafe { answer.cast::<&mut dyn Candidates>().as_mut() };
        Ok(question(*slots))
    }
}

#[pymethods]
impl Evictable {
    fn __call__(&mut self, slot: u32) -> PyResult<bool> {
        self.ask(|slots| slots.may_leave(Slot(slot)))
    }

    /// Whether the device knows that the page in a slot differs from flash.
    fn is_dirty(&mut self, slot: u32) -> PyResult<bool> {
        self.ask(|slots| slots.is_dirty(Slot(slot)))
    }
}
