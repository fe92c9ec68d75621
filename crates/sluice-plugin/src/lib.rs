//! Devices whose eviction policy, and fabrics whose memories, may be shared objects.
//!
//! The model is pure and loads nothing. [`device`] makes a device from any configuration: it loads
//! the object that `cache.policy` names and hands the model a policy that calls it. [`fabric`] does
//! the same for endpoints of type `external`.

mod library;
mod memory;
mod object;

use sluice_fabric::net::{Fabric, FabricConfig, FabricError, MemorySettings};
use sluice_model::{ConfigError, Device, DeviceConfig, EVICTIONS, RawConfig};

/// A device as [`Device::new`] makes it, with its policy loaded if that is a shared object.
///
/// # Errors
/// What [`Device::new`] finds, and [`ConfigError::Plugin`] if the object cannot be used.
pub fn device(config: &DeviceConfig, seed: u64) -> Result<Device, ConfigError> {
    match &config.cache.plugin {
        None => Device::new(config, seed),
        Some(path) => {
            let policy = object::load(path)?.build(config, seed)?;
            Device::with_policy(config, seed, Box::new(policy))
        }
    }
}

/// A fabric as [`Fabric::new`] makes it, with the memory models of its external endpoints.
///
/// # Errors
/// What [`Fabric::new`] finds, [`FabricError::Library`] if an object cannot be used and
/// [`FabricError::NoLibrary`] if an external endpoint names none.
pub fn fabric(config: &FabricConfig) -> Result<Fabric, FabricError> {
    let mut fabric = Fabric::new(config)?;
    for (index, settings) in config.endpoints.iter().enumerate() {
        let MemorySettings::External(library) = &settings.memory else {
            continue;
        };
        let name = &config.graph.names[config.graph.requesters as usize + index];
        let endpoint = name.clone();
        let Some(library) = library else {
            return Err(FabricError::NoLibrary { endpoint });
        };
        let seed = config.seed ^ index as u64;
        let (path, capacity) = (&library.path, settings.capacity);
        let memory = memory::load(path, &library.argument, capacity, seed);
        let memory = memory.map_err(|why| FabricError::Library {
            endpoint,
            path: path.clone(),
            why,
        })?;
        fabric.attach(index as u32, Box::new(memory));
    }
    Ok(fabric)
}

/// Makes the path of a shared object in `cache.policy` absolute, so that it means the same
/// wherever the settings are read again.
///
/// # Errors
/// [`ConfigError::Plugin`] if there is no such file.
pub fn make_absolute(raw: &mut RawConfig) -> Result<(), ConfigError> {
    let Some(given) = raw.get("cache.policy").filter(|name| is_path(name)) else {
        return Ok(());
    };
    let refused = |why: String| ConfigError::Plugin {
        path: given.clone(),
        why,
    };
    let path = std::fs::canonicalize(&given).map_err(|e| refused(e.to_string()))?;
    let text = path
        .to_str()
        .ok_or_else(|| refused("its absolute path is not text".to_owned()))?;
    raw.set("cache.policy", text)
}

/// Loads the shared object that the configuration names, if it names one, and lets it go again.
///
/// # Errors
/// [`ConfigError::Plugin`] if it cannot be used.
pub fn check(config: &DeviceConfig) -> Result<(), ConfigError> {
    match &config.cache.plugin {
        None => Ok(()),
        Some(path) => object::load(path).map(drop),
    }
}

fn is_path(name: &str) -> bool {
    EVICTIONS.iter().all(|entry| entry.info.name != name)
}
