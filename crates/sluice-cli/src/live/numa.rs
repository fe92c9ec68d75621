//! Whether the cache's frames can be on a NUMA node.

use crate::error::Error;
use sluice_runtime::{Kinds, LiveSettings, OnDevice};

/// Refuses a node where nothing can be bound to it.
pub fn check(settings: &LiveSettings, place: &OnDevice, kinds: &Kinds) -> Result<(), Error> {
    let Some(node) = settings.params.numa_node else {
        return Ok(());
    };
    let bad = |why: &str| Error::value("`cache.numa_node`", node, why);
    if matches!(place, OnDevice::Dax(_)) || kinds.shared {
        return Err(bad(
            "pages of a device file and of shared memory are where their file is, in the cache \
             and out of it; expected none, or the heap alone on the device (--place heap)",
        ));
    }
    let checked = sluice_workload::numa::check(u32::try_from(node).unwrap_or(u32::MAX));
    checked.map_err(|expected| bad(&format!("expected {expected}")))
}
