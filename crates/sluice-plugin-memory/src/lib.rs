//! Fabrics whose memories may be shared objects.

mod memory;

use memory::ObjectMemory;
use sluice_net::{
    EndpointId, Fabric, FabricConfig, FabricError, Library, MemorySettings, needs_objects,
};
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
        let library = match &settings.memory {
            MemorySettings::External(library) => library,
            MemorySettings::Device(device) if needs_objects(device) => {
                let seed = seed_of(config.seed, u64::from(id.0));
                fabric.put_device(id, sluice_plugin::device(device, seed)?, Ps::ZERO);
                continue;
            }
            _ => continue,
        };
        fabric.attach(id, Box::new(memory_of(config, id, library.as_ref())?));
    }
    Ok(fabric)
}

/// Loads the shared objects of a fabric as [`fabric`] would, and lets them go again.
///
/// # Errors
/// [`FabricError::Device`] and [`FabricError::Library`] if one cannot be used, and
/// [`FabricError::NoLibrary`] if an external endpoint names none.
pub fn try_out(config: &FabricConfig) -> Result<(), FabricError> {
    for (id, settings) in (0..).map(EndpointId).zip(&config.endpoints) {
        match &settings.memory {
            MemorySettings::External(library) => drop(memory_of(config, id, library.as_ref())?),
            MemorySettings::Device(device) if needs_objects(device) => {
                sluice_plugin::try_out(device, seed_of(config.seed, u64::from(id.0)))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn memory_of(
    config: &FabricConfig,
    id: EndpointId,
    library: Option<&Library>,
) -> Result<ObjectMemory, FabricError> {
    let endpoint = config.graph.name(config.graph.endpoint(id)).to_owned();
    let Some(library) = library else {
        return Err(FabricError::NoLibrary { endpoint });
    };
    let capacity = config.endpoints[id.0 as usize].capacity;
    let seed = seed_of(config.seed, u64::from(id.0));
    let memory = memory::load(&library.path, &library.argument, capacity, seed);
    memory.map_err(|why| FabricError::Library {
        endpoint,
        path: library.path.clone(),
        why: why.to_string(),
    })
}
