//! A device that Python asks by arrays.

use crate::errors;
use crate::instance::Instance;
use crate::own::{Classes, Made, settle};
use crate::python::{Progress, detached};
use crate::raised::Raised;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};
use sluice_driver::{Accesses, Blocks, Bulk, Visibility};
use sluice_model::{BlockOp, DeviceConfig};
use sluice_results::to_json;
use sluice_simulation::Plan;
use sluice_units::{ClockEnd, Ps};
use std::sync::Mutex;

const PS_PER_NS: f64 = 1e3;

/// A simulated device with its time. `sluice.Device` is what users have; it checks that arrays
/// have one length and kind, and that one thread at a time is here.
#[pyclass]
pub struct Device {
    name: String,
    config: DeviceConfig,
    seed: u64,
    raised: Raised,
    instances: Vec<Instance>,
    has_policy: bool,
    failed: bool,
    /// Python shares what it holds between threads; nobody ever waits for this lock.
    bulk: Mutex<Bulk>,
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (device, overrides, seed, policy, prefetcher))]
    fn new(
        py: Python<'_>,
        device: &str,
        overrides: Option<&Bound<'_, PyDict>>,
        seed: u64,
        policy: Option<&Bound<'_, PyAny>>,
        prefetcher: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Device> {
        let raw = crate::settings::load(py, device, overrides)?;
        let config = DeviceConfig::simulated(&raw).map_err(|error| errors::config(py, &error))?;
        let classes = Classes { policy, prefetcher };
        let made = Made::new(py, &config, seed, classes)?;
        Ok(Device {
            name: device.to_owned(),
            config,
            seed,
            raised: made.raised,
            instances: made.instances,
            has_policy: made.has_policy,
            failed: false,
            bulk: Mutex::new(Bulk::new(made.device)),
        })
    }

    /// Makes each access and writes how long it took, in nanoseconds, into `latencies`.
    ///
    /// Raises `sluice.BadValueError` before anything is asked for, and `sluice.PolicyError` of a
    /// device whose classes have failed: it goes on no more.
    #[pyo3(signature = (addresses, writes, sizes, at_ns, latencies, progress))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn access(
        &mut self,
        py: Python<'_>,
        addresses: PyBuffer<u64>,
        writes: Option<PyBuffer<u8>>,
        sizes: Option<PyBuffer<u64>>,
        at_ns: Option<PyBuffer<f64>>,
        latencies: PyBuffer<f64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.check_classes(py)?;
        let addresses = addresses.to_vec(py)?;
        let writes = writes.map(|writes| writes.to_vec(py)).transpose()?;
        let writes: Option<Vec<bool>> =
            writes.map(|writes| writes.into_iter().map(|write| write != 0).collect());
        let sizes = sizes.map(|sizes| sizes.to_vec(py)).transpose()?;
        let at = at_ns.map(|at| at.to_vec(py)).transpose()?;
        self.check_places(py, &addresses, sizes.as_deref())?;
        let bulk = self
            .bulk
            .get_mut()
            .unwrap_or_else(|broken| broken.into_inner());
        let at = at.map(|at| times(py, &at, bulk.made())).transpose()?;
        let given = Accesses {
            addresses: &addresses,
            writes: writes.as_deref(),
            sizes: sizes.as_deref(),
            at: at.as_deref(),
        };
        let progress = Progress::new(progress, Some(addresses.len() as u64));
        let raised = &self.raised;
        let took = detached(py, &progress, |stop| {
            let took = bulk.access(given, |done| raised.is_some() || stop(done));
            (took, bulk.now())
        })?;
        self.settle(py)?;
        let (took, now) = took;
        clock_goes_on(py, now)?;
        let took: Vec<f64> = took.iter().map(|took| took.0 as f64 / PS_PER_NS).collect();
        latencies.copy_from_slice(py, &took)
    }

    /// Makes each request of the block door and writes how long it took, in nanoseconds, into
    /// `latencies`.
    ///
    /// Raises `sluice.BadValueError` before anything is asked for, and `sluice.WorkloadError` if
    /// the device has no flash, or none that can be written any more. Classes of the device may
    /// fail as in `access`.
    #[pyo3(signature = (op, pages, counts, at_ns, latencies))]
    fn block(
        &mut self,
        py: Python<'_>,
        op: &str,
        pages: PyBuffer<u64>,
        counts: PyBuffer<u64>,
        at_ns: Option<PyBuffer<f64>>,
        latencies: PyBuffer<f64>,
    ) -> PyResult<()> {
        self.check_classes(py)?;
        let op = match op {
            "read" => BlockOp::Read,
            "write" => BlockOp::Write,
            "trim" => BlockOp::Trim,
            "flush" => BlockOp::Flush,
            _ => {
                return Err(errors::bad_value(
                    py,
                    "op",
                    op,
                    "read, write, trim or flush",
                ));
            }
        };
        let (pages, counts) = (pages.to_vec(py)?, counts.to_vec(py)?);
        self.check_pages(py, &pages, &counts)?;
        let at = at_ns.map(|at| at.to_vec(py)).transpose()?;
        let bulk = self
            .bulk
            .get_mut()
            .unwrap_or_else(|broken| broken.into_inner());
        let at = at.map(|at| times(py, &at, bulk.made())).transpose()?;
        let given = Blocks {
            op,
            pages: &pages,
            counts: Some(&counts),
            at: at.as_deref(),
        };
        let progress = Progress::new(None, Some(pages.len() as u64));
        let raised = &self.raised;
        let took = detached(py, &progress, |stop| {
            let took = bulk.block(given, |done| raised.is_some() || stop(done));
            (took, bulk.now())
        })?;
        self.settle(py)?;
        let (took, now) = took;
        clock_goes_on(py, now)?;
        let took = took.map_err(|refused| errors::refused(py, &refused))?;
        let took: Vec<f64> = took.iter().map(|took| took.0 as f64 / PS_PER_NS).collect();
        latencies.copy_from_slice(py, &took)
    }

    /// When all that was asked for is done, in nanoseconds.
    fn now_ns(&mut self) -> f64 {
        let bulk = self
            .bulk
            .get_mut()
            .unwrap_or_else(|broken| broken.into_inner());
        bulk.now().0 as f64 / PS_PER_NS
    }

    /// The object that `sluice sim` prints, of all accesses so far, as text.
    fn stats(&mut self) -> String {
        let bulk = self
            .bulk
            .get_mut()
            .unwrap_or_else(|broken| broken.into_inner());
        let plan = Plan {
            device: &self.name,
            config: &self.config,
            workload: "arrays of sluice.Device",
            visibility: Visibility::All,
            seed: self.seed,
            bound: false,
            histogram: false,
            warmup: 0,
        };
        to_json(&plan.result(bulk.device(), bulk.counted())).to_string()
    }

    /// A policy may hold the device that asks it: what holds nothing else must be found.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let mut instances = self.instances.iter();
        instances.try_for_each(|instance| instance.visit(&visit))
    }

    fn __clear__(&mut self) {
        self.failed = true;
        self.instances.iter().for_each(Instance::clear);
    }
}

impl Device {
    /// A device whose classes have failed goes on no more.
    fn check_classes(&self, py: Python<'_>) -> PyResult<()> {
        match self.failed {
            false => Ok(()),
            true => {
                let message = "a class of this device has failed before; make another device";
                Err(errors::policy(py, message))
            }
        }
    }

    /// Raises what a class raised meanwhile, or that a policy broke its contract.
    fn settle(&mut self, py: Python<'_>) -> PyResult<()> {
        let bulk = self
            .bulk
            .get_mut()
            .unwrap_or_else(|broken| broken.into_inner());
        let refused = bulk.device().stats().policy_refused;
        let settled = settle(py, &self.raised, self.has_policy, refused);
        self.failed = settled.is_err();
        settled
    }

    /// Every page must be on the device: checked before anything is asked for.
    fn check_pages(&self, py: Python<'_>, pages: &[u64], counts: &[u64]) -> PyResult<()> {
        let has = u64::from(self.config.pages);
        for (page, count) in pages.iter().zip(counts) {
            if *count == 0 {
                let expected = "1 page or more of each request";
                return Err(errors::bad_value(py, "counts", "0", expected));
            }
            if page.checked_add(*count).is_none_or(|end| end > has) {
                let given = match count {
                    1 => page.to_string(),
                    _ => format!("{page} and {count} pages from there"),
                };
                let expected = format!("pages below {has}, of device.capacity");
                return Err(errors::bad_value(py, "pages", &given, &expected));
            }
        }
        Ok(())
    }

    /// Every byte must be on the device: checked before anything is asked for.
    fn check_places(
        &self,
        py: Python<'_>,
        addresses: &[u64],
        sizes: Option<&[u64]>,
    ) -> PyResult<()> {
        let capacity = self.config.capacity();
        let beyond = |(index, address): (usize, &u64)| {
            let size = sizes.map_or(1, |sizes| sizes[index]);
            let is_there = address
                .checked_add(size)
                .is_some_and(|end| end <= capacity.0);
            (size == 0 || !is_there).then_some((*address, size))
        };
        let Some((address, size)) = addresses.iter().enumerate().find_map(beyond) else {
            return Ok(());
        };
        if size == 0 {
            let expected = "1 byte or more of each access";
            return Err(errors::bad_value(py, "sizes", "0", expected));
        }
        let given = match size {
            1 => address.to_string(),
            _ => format!("{address} and {size} bytes from there"),
        };
        let expected = format!("addresses below {capacity}, device.capacity");
        Err(errors::bad_value(py, "addresses", &given, &expected))
    }
}

/// Refuses what came after the end of the clock.
fn clock_goes_on(py: Python<'_>, now: Ps) -> PyResult<()> {
    match now > Ps::LAST {
        true => Err(errors::run(py, &ClockEnd.into())),
        false => Ok(()),
    }
}

/// Picoseconds of nanoseconds that never go back.
fn times(py: Python<'_>, at_ns: &[f64], made: Ps) -> PyResult<Vec<Ps>> {
    let mut last = made;
    let mut times = Vec::with_capacity(at_ns.len());
    for ns in at_ns {
        let ps = (ns * PS_PER_NS).round();
        let at = Ps(ps as u64);
        if !(0.0..2f64.powi(63)).contains(&ps) || at < last {
            let expected = format!(
                "times in nanoseconds that never go back, from {} on",
                last.0 as f64 / PS_PER_NS
            );
            return Err(errors::bad_value(
                py,
                "at_ns",
                &format!("{ns:?}"),
                &expected,
            ));
        }
        times.push(at);
        last = at;
    }
    Ok(times)
}
