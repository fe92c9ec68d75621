//! Devices whose eviction policy may be a shared object.
//!
//! The model is pure and loads nothing. [`device`] makes a device from any configuration: it loads
//! the object that `cache.policy` names and hands the model a policy that calls it.

pub mod library;
mod object;

use sluice_model::{Device, DeviceConfig, DeviceError, EVICTIONS, RawConfig};

/// A device as [`Device::new`] makes it, with its policy loaded if that is a shared object.
///
/// # Errors
/// What [`Device::new`] finds, and [`DeviceError::Plugin`] if the object cannot be used.
pub fn device(config: &DeviceConfig, seed: u64) -> Result<Device, DeviceError> {
    match &config.cache.plugin {
        None => Device::new(config, seed),
        Some(path) => {
            let policy = object::load(path)?.build(config, seed)?;
            Device::with_policy(config, seed, Box::new(policy))
        }
    }
}

/// Makes the path of a shared object in `cache.policy` absolute, so that it means the same
/// wherever the settings are read again.
///
/// # Errors
/// [`DeviceError::Plugin`] if there is no such file.
pub fn make_absolute(raw: &mut RawConfig) -> Result<(), DeviceError> {
    let Some(given) = raw.get("cache.policy").filter(|name| is_path(name)) else {
        return Ok(());
    };
    let refused = |why: String| DeviceError::Plugin {
        path: given.clone(),
        why,
    };
    let path = std::fs::canonicalize(&given).map_err(|e| refused(e.to_string()))?;
    let text = path
        .to_str()
        .ok_or_else(|| refused("its absolute path is not text".to_owned()))?;
    Ok(raw.set("cache.policy", text)?)
}

/// Loads the shared object that the configuration names, if it names one, and lets it go again.
///
/// # Errors
/// [`DeviceError::Plugin`] if it cannot be used.
pub fn check(config: &DeviceConfig) -> Result<(), DeviceError> {
    match &config.cache.plugin {
        None => Ok(()),
        Some(path) => object::load(path).map(drop),
    }
}

fn is_path(name: &str) -> bool {
    EVICTIONS.iter().all(|entry| entry.info.name != name)
}
