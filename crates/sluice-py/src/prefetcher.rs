//! Prefetchers written in Python.

use crate::errors;
use crate::instance::Instance;
use crate::python::attached;
use crate::raised::Raised;
use pyo3::exceptions::PyOverflowError;
use pyo3::intern;
use pyo3::prelude::*;
use sluice_model::DeviceConfig;
use sluice_model::prefetch::{Arrival, External, Outcome, PICKS_MAX, Picks, Reach, Seen};
use sluice_units::Ps;

/// No device has so many pages.
const BEYOND: u64 = u64::MAX;

/// An instance of the user's class.
pub struct PyPrefetcher {
    prefetcher: Instance,
    raised: Raised,
    failed: bool,
}

impl PyPrefetcher {
    /// Makes an instance for a device. One of degree 0 would never be asked: that is refused.
    pub fn new(
        class: &Bound<'_, PyAny>,
        config: &DeviceConfig,
        seed: u64,
        raised: Raised,
    ) -> PyResult<PyPrefetcher> {
        let (py, settings) = (class.py(), &config.prefetch);
        if settings.degree == 0 {
            let expected = format!("1 to {PICKS_MAX}: how many pages the prefetcher may pick");
            return Err(errors::bad_value(py, "prefetch.degree", "0", &expected));
        }
        let space = py.import("sluice.policy")?.getattr("PrefetchSpace")?;
        let space = space.call1((config.pages, settings.degree, settings.distance, seed))?;
        Ok(PyPrefetcher {
            prefetcher: Instance::new(class.call1((space,))?),
            raised,
            failed: false,
        })
    }

    /// The instance that is asked.
    pub fn instance(&self) -> Instance {
        self.prefetcher.clone()
    }

    /// Calls the class, unless it has raised before: a run that is over asks it no more.
    fn call<T>(&mut self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        if self.failed {
            return None;
        }
        attached(|py| self.prefetcher.get(py).map(|prefetcher| call(&prefetcher)))?
            .map_err(|error| {
                self.failed = true;
                self.raised.keep(error);
            })
            .ok()
    }
}

impl External for PyPrefetcher {
    fn access(&mut self, seen: Seen, reach: Reach, picks: &mut Picks) {
        let found = self.call(|prefetcher| {
            let outcome = match seen.outcome {
                Outcome::Miss => "miss",
                Outcome::FirstUse => "first use",
                Outcome::LateUse => "late use",
            };
            let told = (seen.lpn.0, outcome, ns(seen.at), reach.degree);
            let answer = prefetcher.call_method1(intern!(prefetcher.py(), "access"), told)?;
            let most = reach.degree as usize;
            let mut pages = Vec::with_capacity(most);
            let refused = |given: &Bound<'_, PyAny>, error: &PyErr| {
                let what = format!("access of page {}", seen.lpn.0);
                errors::picks(given, error, &what)
            };
            let each = answer
                .try_iter()
                .map_err(|error| refused(&answer, &error))?;
            for page in each {
                let page = page?;
                let number = match page.extract::<u64>() {
                    // Before the first page, or far behind the last: no page of the device.
                    Err(error) if error.is_instance_of::<PyOverflowError>(page.py()) => BEYOND,
                    number => number.map_err(|error| refused(&page, &error))?,
                };
                pages.push(number);
                if pages.len() > most {
                    let message = format!(
                        "access of page {} picked more than {most} pages, the degree it was given",
                        seen.lpn.0
                    );
                    return Err(errors::prefetcher(prefetcher.py(), &message));
                }
            }
            Ok(pages)
        });
        found
            .into_iter()
            .flatten()
            .for_each(|page| picks.push(page));
    }

    fn arrives(&mut self, arrival: Arrival) {
        let told = (arrival.lpn.0, arrival.cause.0, ns(arrival.at));
        self.call(|prefetcher| {
            prefetcher
                .call_method1(intern!(prefetcher.py(), "arrives"), told)
                .map(drop)
        });
    }
}

/// As Python has it.
fn ns(at: Ps) -> f64 {
    at.0 as f64 / 1e3
}
