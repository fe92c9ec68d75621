//! The memory of a session's heap, and where its pages are that leave the cache.

use crate::memory::memory_use::memory_use;
use crate::memory::private::PrivateBacking;
use crate::process::limits::{Limit, get};
use crate::session::error::{StartError, os};
use crate::session::{OnDevice, Session, Store};
use crate::store::{Error, FileStore, Stash};
use sluice_region::{Uffd, bind_to_node};
use sluice_units::Bytes;

/// Beside the device: the runtime's tables and stacks.
const TABLES: u64 = 128 << 20;

/// Refuses limits that have no room for the heap and the pages that leave it. Asked before there is
/// any of it: the runtime's own memory would be the first that cannot be had, and end the program.
///
/// # Errors
/// [`StartError::Limit`].
pub fn allow(session: &Session) -> Result<(), StartError> {
    let needed = needed(session);
    if needed == 0 {
        return Ok(());
    }
    for (at, (flag, which)) in [("-v", Limit::AddressSpace), ("-d", Limit::Data)]
        .into_iter()
        .enumerate()
    {
        let allowed = get(which).map_or(libc::RLIM_INFINITY, |limit| limit.rlim_cur);
        if allowed == libc::RLIM_INFINITY {
            continue;
        }
        let used = memory_use().map_or(0, |used| used[at]);
        let needed = needed.saturating_add(used);
        if allowed < needed {
            return Err(StartError::Limit {
                flag,
                allowed: Bytes(allowed),
                needed: Bytes(needed),
            });
        }
    }
    Ok(())
}

/// Bytes of address space that the heap and the pages that leave it take.
pub fn needed(session: &Session) -> u64 {
    let device = session.device.capacity().0;
    match (&session.place, &session.store) {
        (OnDevice::Heap, Store::Memory) => 2 * device + TABLES,
        (OnDevice::Heap, Store::File(_)) => device + TABLES,
        _ => 0,
    }
}

/// The heap, whose faults come to a descriptor.
pub fn open(session: &Session, uffd: &Uffd, pages: usize) -> Result<PrivateBacking, StartError> {
    let heap = PrivateBacking::new(pages, stash(session, pages)?);
    let mut heap = heap.map_err(StartError::NoRoom)?;
    if let Some(node) = session.settings.params.numa_node {
        let bound = bind_to_node(heap.arena().addr(), heap.arena().len(), node);
        bound.map_err(os("binding the cache to a NUMA node"))?;
    }
    heap.register(uffd).map_err(os("registering the heap"))?;
    heap.keep_from_children().map_err(os("the heap"))?;
    Ok(heap)
}

/// A place for the pages that are evicted.
fn stash(session: &Session, pages: usize) -> Result<Stash, StartError> {
    let Store::File(folder) = &session.store else {
        return Stash::in_memory(pages).map_err(StartError::NoRoom);
    };
    let cached = session.device.cache.pages as usize;
    let file = FileStore::new(folder, pages, cached, session.io());
    let file = file.map_err(|error| match error {
        Error::TooLarge => StartError::StoreTooLarge,
        Error::System(errno) => StartError::Store {
            folder: folder.clone(),
            errno,
        },
    })?;
    Ok(Stash::File(Box::new(file)))
}
