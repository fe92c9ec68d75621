//! Devices whose eviction policy and prefetcher may be shared objects.
//!
//! The model is pure and loads nothing. [`device`] makes a device from any configuration: it loads
//! the objects that `cache.policy` and `prefetch.policy` name, and hands the model a policy and a
//! prefetcher that call them.

pub mod file;
pub mod library;
mod policy;
mod policy_v1;
mod prefetcher;

use library::LibraryError;
use sluice_model::cache::External;
use sluice_model::prefetch;
use sluice_model::{Device, DeviceConfig, DeviceError, EVICTIONS, PREFETCHES, RawConfig};

const POLICY: &str = "cache.policy";
const PREFETCHER: &str = "prefetch.policy";

/// A device as [`Device::new`] makes it, with its policy and its prefetcher loaded if they are
/// shared objects.
///
/// # Errors
/// What [`Device::new`] finds, and [`DeviceError::Plugin`] if an object cannot be used.
pub fn device(config: &DeviceConfig, seed: u64) -> Result<Device, DeviceError> {
    with_policy(config, seed, policy_of(config, seed)?)
}

/// Makes what [`device`] would have loaded, without a device, and lets it go again.
///
/// # Errors
/// [`DeviceError::Plugin`] if an object cannot be used, or does not take the configuration.
pub fn try_out(config: &DeviceConfig, seed: u64) -> Result<(), DeviceError> {
    policy_of(config, seed)?;
    prefetcher_of(config, seed).map(drop)
}

fn policy_of(config: &DeviceConfig, seed: u64) -> Result<Option<Box<dyn External>>, DeviceError> {
    let own = config.cache.plugin.as_deref();
    let own = own.map(|path| {
        let policy = policy::load(path).and_then(|object| object.build(config, seed));
        policy.map_err(|why| refused(POLICY, path, &why))
    });
    own.transpose()
}

fn prefetcher_of(
    config: &DeviceConfig,
    seed: u64,
) -> Result<Option<Box<dyn prefetch::External>>, DeviceError> {
    let own = config.prefetch.plugin.as_deref();
    let own = own.map(|path| {
        let prefetcher = prefetcher::load(path).and_then(|object| object.build(config, seed));
        prefetcher.map_err(|why| refused(PREFETCHER, path, &why))
    });
    let own = own.transpose()?;
    Ok(own.map(|own| Box::new(own) as Box<dyn prefetch::External>))
}

/// A device with a policy of the caller's, if there is one, and with its prefetcher loaded if that
/// is a shared object.
///
/// # Errors
/// As for [`device`].
pub fn with_policy(
    config: &DeviceConfig,
    seed: u64,
    policy: Option<Box<dyn External>>,
) -> Result<Device, DeviceError> {
    Device::with_own(config, seed, policy, prefetcher_of(config, seed)?)
}

/// Makes the paths of shared objects in `cache.policy` and `prefetch.policy` absolute, so that they
/// mean the same wherever the settings are read again.
///
/// # Errors
/// [`DeviceError::Plugin`] if there is no such file.
pub fn make_absolute(raw: &mut RawConfig) -> Result<(), DeviceError> {
    let is_policy = |name: &String| EVICTIONS.iter().any(|entry| entry.info.name == name);
    let is_prefetcher = |name: &String| PREFETCHES.iter().any(|entry| entry.info.name == name);
    if let Some(path) = raw.get(POLICY).filter(|name| !is_policy(name)) {
        raw.set(POLICY, &absolute(POLICY, &path)?)?;
    }
    if let Some(path) = raw.get(PREFETCHER).filter(|name| !is_prefetcher(name)) {
        raw.set(PREFETCHER, &absolute(PREFETCHER, &path)?)?;
    }
    Ok(())
}

fn absolute(key: &'static str, given: &str) -> Result<String, DeviceError> {
    let refused = |why: String| DeviceError::Plugin {
        key,
        path: given.to_owned(),
        why,
    };
    let path = std::fs::canonicalize(given).map_err(|e| refused(e.to_string()))?;
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| refused("its absolute path is not text".to_owned()))
}

/// Loads the shared objects that the configuration names, if it names any, and lets them go again.
///
/// # Errors
/// [`DeviceError::Plugin`] if one cannot be used.
pub fn check(config: &DeviceConfig) -> Result<(), DeviceError> {
    if let Some(path) = &config.cache.plugin {
        policy::load(path).map_err(|why| refused(POLICY, path, &why))?;
    }
    if let Some(path) = &config.prefetch.plugin {
        prefetcher::load(path).map_err(|why| refused(PREFETCHER, path, &why))?;
    }
    Ok(())
}

fn refused(key: &'static str, path: &str, why: &LibraryError) -> DeviceError {
    DeviceError::Plugin {
        key,
        path: path.to_owned(),
        why: why.to_string(),
    }
}
