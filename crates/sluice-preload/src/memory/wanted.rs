//! Requests for mappings, and which kinds of them there are.

use crate::allocator::heap::allow;
use crate::memory::behind;
use crate::shared;
use libc::{c_int, off_t};
use sluice_region::PAGE;
use sluice_runtime::{Engine, Trap};

/// Protection of memory on the device.
pub const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;
/// Kinds of mapping that stay where they are: stacks, huge pages, pages that must not move.
const NOT_PLACED: c_int =
    libc::MAP_STACK | libc::MAP_GROWSDOWN | libc::MAP_HUGETLB | LOW | libc::MAP_LOCKED;
/// Below what 32 bits reach: only this architecture has a flag for it.
#[cfg(target_arch = "x86_64")]
const LOW: c_int = libc::MAP_32BIT;
#[cfg(target_arch = "aarch64")]
const LOW: c_int = 0;

/// The part of a request that says what kind of mapping it is.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub addr: usize,
    pub len: usize,
    pub prot: c_int,
    pub flags: c_int,
    pub fd: c_int,
    pub offset: off_t,
}

impl Wanted {
    pub fn has(&self, flag: c_int) -> bool {
        self.flags & flag == flag
    }

    pub fn is_fixed(&self) -> bool {
        self.has(libc::MAP_FIXED) || self.has(libc::MAP_FIXED_NOREPLACE)
    }

    /// Whether it is of a kind that stays where it is.
    pub fn is_unplaceable(&self) -> bool {
        self.flags & NOT_PLACED != 0
    }

    fn is_private(&self) -> bool {
        self.flags & libc::MAP_TYPE == libc::MAP_PRIVATE
    }

    /// Memory of the program's own, whatever access it has. The kernel refuses what begins within
    /// a page of its file, although it has none.
    pub fn is_memory(&self) -> bool {
        let is_whole = (self.offset as usize).is_multiple_of(PAGE);
        self.is_private() && self.has(libc::MAP_ANONYMOUS) && is_whole && !self.is_unplaceable()
    }

    /// Whether it may be anywhere, and be placed on the device.
    pub fn is_heap(&self, engine: &Engine) -> bool {
        engine.arena().1 > 0
            && engine.session.kinds.heap
            && self.is_memory()
            && !self.is_fixed()
            && self.len >= engine.session.mmap_min
    }

    /// Whether it is address space to be opened later.
    ///
    /// It may be a stack that the program makes for itself. In signal mode a trap needs the stack
    /// of its thread, so there it must be said that most will not be used, which nobody says of a
    /// stack.
    pub fn is_reservation(&self, engine: &Engine) -> bool {
        let is_no_stack = engine.session.trap == Trap::Event || self.has(libc::MAP_NORESERVE);
        self.is_heap(engine) && self.prot == libc::PROT_NONE && is_no_stack
    }

    /// Whether the program's own limits have no room for it. What it replaces is there already.
    pub fn is_beyond_limits(&self) -> bool {
        let is_data = self.is_private() && self.prot & libc::PROT_WRITE != 0;
        !self.is_fixed() && !allow(self.len, is_data)
    }

    pub fn pass(&self) -> Result<usize, i32> {
        if self.is_fixed() {
            shared::cut(self.addr, self.len);
        }
        // SAFETY: what the program asked for.
        let addr = unsafe {
            behind::mmap(
                self.addr,
                self.len,
                self.prot,
                self.flags,
                self.fd,
                self.offset,
            )?
        };
        if self.has(libc::MAP_SHARED) {
            let fd = if self.has(libc::MAP_ANONYMOUS) {
                -1
            } else {
                self.fd
            };
            let is_placeable = self.flags & (libc::MAP_HUGETLB | libc::MAP_LOCKED) == 0;
            let may_write = self.prot & libc::PROT_WRITE != 0;
            shared::mapped(addr, self.len, fd, is_placeable, may_write);
        }
        Ok(addr)
    }
}
