//! Devices whose policy or prefetcher may be a class of Python.

use crate::errors;
use crate::instance::Instance;
use crate::policy::PyPolicy;
use crate::prefetcher::PyPrefetcher;
use crate::raised::Raised;
use pyo3::prelude::*;
use sluice_model::{Device, DeviceConfig};

/// The classes that decide in the place of `cache.policy` and `prefetch.policy`.
#[derive(Clone, Copy)]
pub struct Classes<'a, 'py> {
    pub policy: Option<&'a Bound<'py, PyAny>>,
    pub prefetcher: Option<&'a Bound<'py, PyAny>>,
}

/// A device, and what the classes raise.
pub struct Made {
    pub device: Device,
    pub raised: Raised,
    /// Of the classes that were given.
    pub instances: Vec<Instance>,
    /// Whether its policy is a class.
    pub has_policy: bool,
}

impl Made {
    pub fn new(
        py: Python<'_>,
        config: &DeviceConfig,
        seed: u64,
        classes: Classes<'_, '_>,
    ) -> PyResult<Made> {
        for (key, class) in [
            ("policy", classes.policy),
            ("prefetcher", classes.prefetcher),
        ] {
            check_class(key, class)?;
        }
        let (raised, mut instances) = (Raised::default(), Vec::new());
        let device = match classes.policy {
            None => sluice_plugin::device(config, seed),
            Some(class) => {
                let policy = PyPolicy::new(class, config, seed, raised.clone())?;
                instances.push(policy.instance());
                sluice_plugin::with_policy(config, seed, Some(Box::new(policy)))
            }
        };
        let mut device = device.map_err(|error| errors::made(py, &error))?;
        if let Some(class) = classes.prefetcher {
            let prefetcher = PyPrefetcher::new(class, config, seed, raised.clone())?;
            instances.push(prefetcher.instance());
            device = device.with_prefetcher(Box::new(prefetcher));
        }
        Ok(Made {
            device,
            raised,
            instances,
            has_policy: classes.policy.is_some(),
        })
    }
}

/// Refuses what cannot be called, such as the name of a policy of the model's.
fn check_class(key: &str, class: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let Some(class) = class.filter(|class| !class.is_callable()) else {
        return Ok(());
    };
    let base = match key {
        "policy" => "a class such as sluice.Policy; cache.policy takes names",
        _ => "a class such as sluice.Prefetcher; prefetch.policy takes names",
    };
    let given = class.repr()?.to_string();
    Err(errors::bad_value(class.py(), key, &given, base))
}

/// Raises what a class raised, or that a policy broke its contract without a word.
pub fn settle(py: Python<'_>, raised: &Raised, has_policy: bool, refused: u64) -> PyResult<()> {
    if let Some(error) = raised.take() {
        return Err(error);
    }
    if has_policy && refused > 0 {
        let message = format!("victim found no page {refused} times, although one may leave");
        return Err(errors::policy(py, &message));
    }
    Ok(())
}
