//! The control rings of a process, as the memory that they are. [`crate::control`] serves them.

use sluice_abi::Ring;
use sluice_region::Mapping;

/// The mapped rings of a process.
#[derive(Debug)]
pub struct ControlRing {
    pub host: Mapping,
    pub guest: Option<Mapping>,
}

impl ControlRing {
    /// In the child of a fork: stands where the parent's stood.
    pub fn take_place_of(&mut self, parents: ControlRing) {
        self.host.take_place_of(parents.host);
        if let (Some(own), Some(parents)) = (&mut self.guest, parents.guest) {
            own.take_place_of(parents);
        }
    }

    /// Empty rings over mappings of [`sluice_abi::RING_BYTES`], marked as ready: the host's, and
    /// one that a guest may write.
    pub fn new(host: Mapping, guest: Option<Mapping>, poll_ns: u64) -> ControlRing {
        let made = ControlRing { host, guest };
        ring(&made.host).publish(own_pid(), poll_ns);
        if let Some(guest) = &made.guest {
            ring(guest).publish(0, poll_ns);
        }
        made
    }
}

/// How a ring names this process.
pub fn own_pid() -> u64 {
    u64::from(std::process::id())
}

/// The ring that a mapping holds.
pub fn ring(map: &Mapping) -> &Ring {
    // SAFETY: the mapping is page-aligned, long enough, and all fields are atomics.
    unsafe { &*(map.addr() as *const Ring) }
}
