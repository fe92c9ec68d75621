//! The memory of a session's heap, and where its pages are that leave the cache.

use crate::error::{StartError, os};
use crate::private::PrivateBacking;
use crate::session::{Session, Store};
use crate::store::{Error, FileStore, Stash};
use sluice_region::{Uffd, bind_to_node};

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
