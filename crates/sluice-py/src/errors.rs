//! Errors of the Rust crates as the exceptions of `sluice.errors`, a class for each kind.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sluice_config::Error;
use sluice_kernels::WorkloadError;
use sluice_model::{ConfigError, DeviceConfig, DeviceError};
use sluice_net::FabricError;
use sluice_simulation::{FabricRunError, NoMemory, RunError, SystemError};
use sluice_streams::SpecError;
use sluice_units::Bytes;
use std::path::Path;

/// What a configuration error says besides its message.
#[derive(Default)]
struct Details {
    class: &'static str,
    key: Option<String>,
    value: Option<String>,
    expected: Option<String>,
}

/// The exception for an error of a device's file or name.
pub fn device(py: Python<'_>, error: &Error) -> PyErr {
    let details = match error {
        Error::UnknownDevice { name, presets } => Details {
            class: "UnknownDeviceError",
            value: Some(name.clone()),
            expected: Some(presets.clone()),
            ..Details::default()
        },
        Error::Unreadable { path, .. } => Details {
            class: "UnknownDeviceError",
            value: Some(path.clone()),
            ..Details::default()
        },
        Error::Of { source, .. } => details(source),
        Error::Config { source, .. } => details(source),
        Error::UnknownSystem { name, systems } => Details {
            class: "UnknownDeviceError",
            value: Some(name.clone()),
            expected: Some(systems.clone()),
            ..Details::default()
        },
        Error::UnknownFabric { name, fabrics } => Details {
            class: "UnknownDeviceError",
            value: Some(name.clone()),
            expected: Some(fabrics.clone()),
            ..Details::default()
        },
        _ => Details {
            class: "ConfigError",
            ..Details::default()
        },
    };
    raise(py, &error.to_string(), &details)
}

/// The exception for an error of a key, a value or a combination.
pub fn config(py: Python<'_>, error: &ConfigError) -> PyErr {
    raise(py, &error.to_string(), &details(error))
}

/// The exception for a device that cannot be made.
pub fn made(py: Python<'_>, error: &DeviceError) -> PyErr {
    raise(py, &error.to_string(), &device_details(error))
}

/// The exception for a device that could not run its workload.
pub fn run(py: Python<'_>, error: &RunError) -> PyErr {
    let details = match error {
        RunError::Device(error) => device_details(error),
        _ => Details {
            class: "WorkloadError",
            ..Details::default()
        },
    };
    raise(py, &error.to_string(), &details)
}

/// The exception for an argument with a value that it does not take.
pub fn bad_value(py: Python<'_>, key: &str, value: &str, expected: &str) -> PyErr {
    let message = format!("bad value for `{key}`: \"{value}\"; expected {expected}");
    let details = Details {
        class: "BadValueError",
        key: Some(key.to_owned()),
        value: Some(value.to_owned()),
        expected: Some(expected.to_owned()),
    };
    raise(py, &message, &details)
}

/// The exception for an argument that does not fit the others.
pub fn unfit(py: Python<'_>, key: &str, why: &str) -> PyErr {
    let details = Details {
        class: "ImpossibleError",
        key: Some(key.to_owned()),
        ..Details::default()
    };
    raise(py, &format!("{key}: {why}"), &details)
}

/// The exception for a policy that broke its contract.
pub fn policy(py: Python<'_>, message: &str) -> PyErr {
    of_class(py, "policy", message)
}

/// The exception for a request that the device refused.
pub fn refused(py: Python<'_>, why: &sluice_model::Refused) -> PyErr {
    let details = Details {
        class: "WorkloadError",
        ..Details::default()
    };
    raise(py, &why.to_string(), &details)
}

/// The exception for a policy's answer that is no slot. An exception raised while the answer was
/// looked at stays as it is.
pub fn answer(given: &Bound<'_, PyAny>, error: &PyErr, what: &str, expected: &str) -> PyErr {
    no_answer(given, error, "policy", what, expected)
}

/// The error for the answer of a prefetcher.
pub fn picks(given: &Bound<'_, PyAny>, error: &PyErr, what: &str) -> PyErr {
    no_answer(given, error, "prefetcher", what, "page numbers")
}

fn no_answer(
    given: &Bound<'_, PyAny>,
    error: &PyErr,
    argument: &str,
    what: &str,
    expected: &str,
) -> PyErr {
    let py = given.py();
    if !error.is_instance_of::<PyTypeError>(py) && !error.is_instance_of::<PyOverflowError>(py) {
        return error.clone_ref(py);
    }
    match given.repr() {
        Ok(given) => of_class(
            py,
            argument,
            &format!("{what} answered {given}; expected {expected}"),
        ),
        Err(error) => error,
    }
}

/// The exception for a prefetcher that broke its contract.
pub fn prefetcher(py: Python<'_>, message: &str) -> PyErr {
    of_class(py, "prefetcher", message)
}

fn of_class(py: Python<'_>, argument: &str, message: &str) -> PyErr {
    let details = Details {
        class: "PolicyError",
        key: Some(argument.to_owned()),
        ..Details::default()
    };
    raise(py, message, &details)
}

/// The exception for a workload that is refused.
pub fn workload(py: Python<'_>, error: &WorkloadError) -> PyErr {
    let (key, value, expected) = match error {
        WorkloadError::NoHost(kind) => (None, Some(kind.clone()), None),
        WorkloadError::Kernel { name, kernels, .. } => {
            (None, Some(name.clone()), Some(kernels.clone()))
        }
        WorkloadError::Parameter { source, .. } => {
            let told = details(source);
            (told.key, told.value, told.expected)
        }
        WorkloadError::Spec(error) => stream(error),
    };
    let details = Details {
        class: "WorkloadError",
        key,
        value,
        expected,
    };
    raise(py, &error.to_string(), &details)
}

/// Key, value and what was expected, of a stream's text that is wrong.
fn stream(error: &SpecError) -> (Option<String>, Option<String>, Option<String>) {
    match error {
        SpecError::Kind(kind) => (None, Some(kind.clone()), None),
        SpecError::Form { part, keys, .. } => (None, Some(part.clone()), Some(keys.clone())),
        SpecError::Key { key, keys, .. } => (Some(key.clone()), None, Some(keys.clone())),
        SpecError::Twice { key, .. } => (Some(key.clone()), None, None),
        SpecError::Value { source, .. } => (
            Some(source.key.to_owned()),
            Some(source.value.clone()),
            Some(source.expected.clone()),
        ),
    }
}

/// The exception for a workload that does not fit on its device.
pub fn too_large(py: Python<'_>, config: &DeviceConfig, footprint_bytes: u64) -> PyErr {
    let (needs, has) = (Bytes(footprint_bytes), config.capacity());
    let message = format!("size: all threads together use {needs}; device.capacity is {has}");
    let details = Details {
        class: "WorkloadError",
        key: Some("size".to_owned()),
        value: Some(needs.to_string()),
        expected: Some(format!("at most {has}")),
    };
    raise(py, &message, &details)
}

/// The exception for a trace that cannot be read.
pub fn trace(py: Python<'_>, path: &Path, error: &sluice_trace::Error) -> PyErr {
    let path = path.display();
    let details = Details {
        class: "TraceError",
        key: Some("path".to_owned()),
        value: Some(path.to_string()),
        ..Details::default()
    };
    // These name the path already.
    let message = match error {
        sluice_trace::Error::Io { .. } | sluice_trace::Error::Input { .. } => error.to_string(),
        _ => format!("{path}: {error}"),
    };
    raise(py, &message, &details)
}

/// The exception for a workload that says it is a trace, and names no file.
pub fn no_trace(py: Python<'_>) -> PyErr {
    let (given, expected) = ("trace:", "a file after the colon, such as trace:run.trace");
    let details = Details {
        class: "TraceError",
        key: Some("workload".to_owned()),
        value: Some(given.to_owned()),
        expected: Some(expected.to_owned()),
    };
    let message = format!("bad value for `workload`: \"{given}\"; expected {expected}");
    raise(py, &message, &details)
}

/// The exception for a system that could not run its program.
pub fn system(py: Python<'_>, error: &SystemError) -> PyErr {
    let details = match error {
        SystemError::Config(source) => details(source),
        SystemError::Device(error) => device_details(error),
        SystemError::TooLarge {
            footprint,
            key,
            room,
            ..
        } => Details {
            class: "WorkloadError",
            key: Some((*key).to_owned()),
            value: Some(footprint.to_string()),
            expected: Some(format!("at most {room}")),
        },
        SystemError::NoMemory(NoMemory { needed, room, .. }) => Details {
            class: "WorkloadError",
            key: Some("workload".to_owned()),
            value: Some(needed.to_string()),
            expected: Some(format!("at most {}", room.bytes)),
        },
        SystemError::NoInstructions => Details {
            class: "BadValueError",
            key: Some("instructions".to_owned()),
            value: Some("0".to_owned()),
            expected: Some("a whole number from 1 on".to_owned()),
        },
        _ => Details {
            class: "WorkloadError",
            ..Details::default()
        },
    };
    raise(py, &error.to_string(), &details)
}

fn details(error: &ConfigError) -> Details {
    match error {
        ConfigError::UnknownKey { key, valid, .. } => Details {
            class: "UnknownKeyError",
            key: Some(key.clone()),
            value: None,
            expected: Some(valid.clone()),
        },
        ConfigError::BadValue {
            key,
            value,
            expected,
            ..
        } => Details {
            class: "BadValueError",
            key: Some((*key).to_owned()),
            value: Some(value.clone()),
            expected: Some(expected.clone()),
        },
        ConfigError::Impossible { settings, .. } => Details {
            class: "ImpossibleError",
            key: Some(join(settings.iter().map(|(key, _)| *key))),
            value: Some(join(settings.iter().map(|(_, value)| value.as_str()))),
            expected: None,
        },
    }
}

fn device_details(error: &DeviceError) -> Details {
    match error {
        DeviceError::Config(error) => details(error),
        DeviceError::Plugin { key, path, .. } | DeviceError::Object { key, path } => Details {
            class: "BadValueError",
            key: Some((*key).to_owned()),
            value: Some(path.clone()),
            expected: None,
        },
        DeviceError::Fixed { .. } | DeviceError::TooLong { .. } => Details {
            class: "ConfigError",
            ..Details::default()
        },
    }
}

fn join<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// The exception for a fabric that cannot be, or that cannot run to its end.
pub fn fabric(py: Python<'_>, error: &FabricRunError) -> PyErr {
    let details = match error {
        FabricRunError::Fabric(
            FabricError::Config(source) | FabricError::Element { source, .. },
        ) => details(source),
        FabricRunError::Fabric(FabricError::Device(error)) => device_details(error),
        FabricRunError::Fabric(_) => Details {
            class: "ConfigError",
            ..Details::default()
        },
        _ => Details {
            class: "WorkloadError",
            ..Details::default()
        },
    };
    raise(py, &error.to_string(), &details)
}

fn raise(py: Python<'_>, message: &str, details: &Details) -> PyErr {
    let build = || {
        let named = PyDict::new(py);
        named.set_item("key", &details.key)?;
        named.set_item("value", &details.value)?;
        named.set_item("expected", &details.expected)?;
        py.import("sluice.errors")?
            .getattr(details.class)?
            .call((message,), Some(&named))
    };
    build().map_or_else(|failed| failed, PyErr::from_value)
}
