//! Fabrics whose memories may be shared objects.

mod memory;

use sluice_net::{Fabric, FabricConfig, FabricError, MemorySettings};

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
