//! Fabrics whose memories may be shared objects.

mod memory;

use sluice_net::{EndpointId, Fabric, FabricConfig, FabricError, MemorySettings, needs_objects};
use sluice_units::{Ps, seed_of};

/// A fabric as [`Fabric::new`] makes it, with the memory models of its external endpoints, and the
/// policies and prefetchers of its devices that are shared objects.
///
/// # Errors
/// What [`Fabric::new`] finds, [`FabricError::Library`] if an object cannot be used and
/// [`FabricError::NoLibrary`] if an external endpoint names none.
pub fn fabric(config: &FabricConfig) -> Result<Fabric, FabricError> {
    let mut fabric = Fabric::new(config)?;
    for (id, settings) in (0..).map(EndpointId).zip(&config.endpoints) {
        let seed = seed_of(config.seed, u64::from(id.0));
        let library = match &settings.memory {
            MemorySettings::External(library) => library,
            MemorySettings::Device(device) if needs_objects(device) => {
                fabric.put_device(id, sluice_plugin::device(device, seed)?, Ps::ZERO);
                continue;
            }
            _ => continue,
        };
        let endpoint = config.graph.name(config.graph.endpoint(id)).to_owned();
        let Some(library) = library else {
            return Err(FabricError::NoLibrary { endpoint });
        };
        let (path, capacity) = (&library.path, settings.capacity);
        let memory = memory::load(path, &library.argument, capacity, seed);
        let memory = memory.map_err(|why| FabricError::Library {
            endpoint,
            path: path.clone(),
            why: why.to_string(),
        })?;
        fabric.attach(id, Box::new(memory));
    }
    Ok(fabric)
}
