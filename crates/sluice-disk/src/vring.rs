//! The guest's queue, with the descriptors by which it and this side wake each other.
//!
//! They come from the other end of the socket. What is read from or written to is an event that
//! does not block: writing to anything else, such as a pipe that nobody reads, could take for ever,
//! or end this process. Of the guest's memory it touches what counts ([`Guest`]).

use crate::guest::Guest;
use crate::request::Memory;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::MutexGuard;
use vhost_user_backend::{VringMutex, VringState, VringStateGuard, VringStateMutGuard, VringT};
use virtio_queue::Error;
use vm_memory::GuestMemoryAtomic;

type Mem = GuestMemoryAtomic<Memory>;

/// What Linux calls an event's descriptor.
const EVENT: &str = "anon_inode:[eventfd]";

/// The guest's queue.
#[derive(Clone)]
pub struct Queue {
    ring: VringMutex<Mem>,
    guest: Guest,
}

impl Queue {
    /// The guest's memory as far as it counts.
    pub fn memory(&self) -> Mem {
        self.guest.safe()
    }

    /// The queue, in the guest's memory of now.
    fn ring(&self) -> &VringMutex<Mem> {
        self.guest.safe();
        &self.ring
    }
}

impl<'a> VringStateGuard<'a, Mem> for Queue {
    type G = MutexGuard<'a, VringState<Mem>>;
}

impl<'a> VringStateMutGuard<'a, Mem> for Queue {
    type G = MutexGuard<'a, VringState<Mem>>;
}

/// The descriptor of an event, which does not block from now on. Of nothing else.
fn event(file: Option<File>) -> Option<File> {
    let file = file?;
    let name = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    let flags = fcntl_getfl(&file)
        .ok()
        .filter(|_| name.as_os_str() == EVENT)?;
    fcntl_setfl(&file, flags | OFlags::NONBLOCK).ok()?;
    Some(file)
}

impl VringT<Mem> for Queue {
    fn new(mem: Mem, max_queue_size: u16) -> Result<Queue, Error> {
        let guest = Guest::new(mem);
        let ring = VringMutex::new(guest.safe(), max_queue_size)?;
        Ok(Queue { ring, guest })
    }

    fn get_ref(&self) -> MutexGuard<'_, VringState<Mem>> {
        self.ring().get_ref()
    }

    fn get_mut(&self) -> MutexGuard<'_, VringState<Mem>> {
        self.ring().get_mut()
    }

    fn add_used(&self, desc_index: u16, len: u32) -> Result<(), Error> {
        self.ring().add_used(desc_index, len)
    }

    fn signal_used_queue(&self) -> io::Result<()> {
        self.ring().signal_used_queue()
    }

    fn enable_notification(&self) -> Result<bool, Error> {
        self.ring().enable_notification()
    }

    fn disable_notification(&self) -> Result<(), Error> {
        self.ring().disable_notification()
    }

    fn needs_notification(&self) -> Result<bool, Error> {
        self.ring().needs_notification()
    }

    fn set_enabled(&self, enabled: bool) {
        self.ring().set_enabled(enabled);
    }

    fn set_queue_info(&self, descriptors: u64, available: u64, used: u64) -> Result<(), Error> {
        self.ring().set_queue_info(descriptors, available, used)
    }

    fn queue_next_avail(&self) -> u16 {
        self.ring().queue_next_avail()
    }

    fn set_queue_next_avail(&self, base: u16) {
        self.ring().set_queue_next_avail(base);
    }

    fn set_queue_next_used(&self, index: u16) {
        self.ring().set_queue_next_used(index);
    }

    fn queue_used_idx(&self) -> Result<u16, Error> {
        self.ring().queue_used_idx()
    }

    fn set_queue_size(&self, size: u16) {
        self.ring().set_queue_size(size);
    }

    fn set_queue_event_idx(&self, enabled: bool) {
        self.ring().set_queue_event_idx(enabled);
    }

    fn set_queue_ready(&self, ready: bool) {
        self.ring().set_queue_ready(ready);
    }

    fn set_kick(&self, file: Option<File>) {
        self.ring().set_kick(event(file));
    }

    fn read_kick(&self) -> io::Result<bool> {
        // Somebody else may have read it: then there is nothing new.
        match self.ring().read_kick() {
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => Ok(false),
            read => read,
        }
    }

    fn set_call(&self, file: Option<File>) {
        self.ring().set_call(event(file));
    }

    fn set_err(&self, file: Option<File>) {
        self.ring().set_err(file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use std::os::fd::OwnedFd;

    /// A full pipe blocks, and one that nobody reads ends the process that writes.
    #[test]
    fn an_event_is_taken_so_that_it_does_not_block_and_nothing_else_is() {
        let (reader, writer) = std::io::pipe().unwrap();
        let others = [OwnedFd::from(reader), OwnedFd::from(writer)];
        for other in others.map(File::from) {
            assert!(event(Some(other)).is_none());
        }
        assert!(event(Some(tempfile::tempfile().unwrap())).is_none());
        assert!(event(None).is_none());
        let blocking = eventfd(0, EventfdFlags::empty()).unwrap();
        let taken = event(Some(blocking.into())).expect("an event");
        assert!(fcntl_getfl(&taken).unwrap().contains(OFlags::NONBLOCK));
    }
}
