//! Whether pages can move to host memory.

use crate::error::Error;
use sluice_region::PAGE;
use sluice_runtime::{Kinds, LiveSettings, MigrationPolicy, OnDevice};
use sluice_units::Bytes;

/// Refuses a policy where pages have to stay on the device.
pub fn check(settings: &LiveSettings, place: &OnDevice, kinds: &Kinds) -> Result<(), Error> {
    let policy = settings.params.migration_policy;
    if policy == MigrationPolicy::None {
        return Ok(());
    }
    let why = match place {
        OnDevice::Dax(_) => "pages of a device file stay on the device, and those of a guest",
        OnDevice::Heap if kinds.shared => "pages of shared memory stay on the device",
        OnDevice::Heap => return has_room(settings.params.migration_capacity),
    };
    let why = format!("{why}; expected none, or private memory alone (`sluice run --place heap`)");
    Err(Error::value("`host.migration.policy`", policy.name(), &why))
}

/// Less than a page is no room for any.
fn has_room(capacity: Bytes) -> Result<(), Error> {
    match capacity.0 < PAGE as u64 {
        true => Err(Error::value(
            "`host.migration.capacity`",
            capacity,
            "expected a page (4KiB) or more",
        )),
        false => Ok(()),
    }
}
