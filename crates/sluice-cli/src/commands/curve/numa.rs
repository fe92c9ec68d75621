//! Whether the memory of a curve can be bound to a NUMA node.

use super::OnArg;
use crate::error::Error;

/// Refuses a node where nothing can be bound to it.
pub fn fits(node: Option<u32>, on: OnArg) -> Result<(), Error> {
    let Some(node) = node else {
        return Ok(());
    };
    if on != OnArg::Host {
        let why = "only --on host measures memory that lies on a node; --device names a device";
        return Err(Error::unfit("--numa-node", why));
    }
    sluice_workload::numa::check(node)
        .map_err(|expected| Error::value("--numa-node", node, format!("expected {expected}")))
}
