//! Mappings: large anonymous ones become pages of the arena, and those of the device file become
//! windows of the device.
//!
//! Address space that a program reserves without access, to open it later piece by piece, is taken
//! from the arena as well, and closed. The heaps of virtual machines are made so.

use crate::allocator::heap::{
    claim, close, empty, free_below, is_lockable, reserve, take, take_at,
};
use crate::allocator::profile;
use crate::bytes::buffers::set_errno;
use crate::device::engine;
use crate::memory::parts::{Part, of_arena};
use crate::memory::wanted::{READ_WRITE, Wanted};
use crate::memory::{files, wishes};
use libc::{c_int, c_void, off_t, size_t};
use sluice_abi::Counter;
use sluice_region::{PAGE, file_identity, raw_munmap};
use sluice_runtime::{Engine, OnDevice};

/// What the C library returns for an address.
pub fn pointer(result: Result<usize, i32>) -> *mut c_void {
    match result {
        Ok(addr) => addr as *mut c_void,
        Err(errno) => {
            set_errno(errno);
            libc::MAP_FAILED
        }
    }
}

fn map(wanted: Wanted) -> Result<usize, i32> {
    let Some(engine) = engine() else {
        return wanted.pass();
    };
    if wanted.is_heap(engine) && wanted.prot == READ_WRITE {
        let addr = where_wished(engine, wanted).or_else(|| take(wanted.len));
        let addr = addr.ok_or(libc::ENOMEM)?;
        return is_lockable(addr, wanted.len)
            .then(|| profile::allocated(addr, wanted.len))
            .map(|()| addr)
            .ok_or(libc::EAGAIN);
    }
    if wanted.is_beyond_limits() {
        return Err(libc::ENOMEM);
    }
    if wanted.is_reservation(engine)
        && !wishes::must_be(wanted.addr)
        && let Some(addr) = reserve(wanted.len)
    {
        wishes::passed_over(wanted.addr, addr, wanted.len.next_multiple_of(PAGE));
        return is_lockable(addr, wanted.len)
            .then(|| profile::allocated(addr, wanted.len))
            .map(|()| addr)
            .ok_or(libc::EAGAIN);
    }
    if wanted.is_fixed()
        && let Some(part) = of_arena(engine, wanted.addr, wanted.len)
    {
        return map_over_arena(engine, wanted, part);
    }
    if wanted.fd >= 0 && matches!(engine.session.place, OnDevice::Dax(_)) {
        return map_file(engine, wanted);
    }
    files::map(engine, &wanted).unwrap_or_else(|| wanted.pass())
}

/// The address that the program would like, if it is the device's and free: pages that it has
/// unmapped, as a rule.
fn where_wished(engine: &Engine, wanted: Wanted) -> Option<usize> {
    let part = of_arena(engine, wanted.addr, wanted.len)?;
    (part.is_whole && take_at(part.addr, part.len)).then_some(part.addr)
}

/// A fixed mapping on device memory: memory that can be read and written, or not at all, stays on
/// the device, empty; anything else takes its range off the device.
fn map_over_arena(engine: &'static Engine, wanted: Wanted, part: Part) -> Result<usize, i32> {
    let Part { addr, len, .. } = part;
    let mut wanted = wanted;
    if wanted.has(libc::MAP_FIXED_NOREPLACE) {
        // Behind the ends of the arena are its fences.
        if !part.is_whole || !take_at(addr, len) {
            return Err(libc::EEXIST);
        }
        // To the kernel there is the arena.
        wanted.flags = wanted.flags & !libc::MAP_FIXED_NOREPLACE | libc::MAP_FIXED;
    }
    if !part.is_whole {
        return Err(libc::ENOMEM);
    }
    // First, so that nobody else is given what may be free of it.
    claim(engine, addr, len);
    empty(engine, addr, len)?;
    match wanted.prot {
        READ_WRITE if wanted.is_memory() => Ok(addr),
        libc::PROT_NONE if wanted.is_memory() => {
            close(engine, addr, len)?;
            Ok(addr)
        }
        _ => files::map_over(engine, &wanted, addr, len).unwrap_or_else(|| {
            engine.leave_device(addr, len);
            let mapped = wanted.pass()?;
            if wanted.has(libc::MAP_GROWSDOWN) && wanted.prot == READ_WRITE {
                grow_below(engine, addr, len);
            }
            Ok(mapped)
        }),
    }
}

/// The kernel grows no mapping into the arena, which to it is another mapping. So one that grows
/// has at once what it may grow to, where nobody has that memory: the kernel serves it.
fn grow_below(engine: &Engine, addr: usize, len: usize) {
    /// As long as stacks are by default, where the program's limit is none.
    const MOST: u64 = 8 << 20;
    // SAFETY: zeros are a valid limit; a live output.
    let limit = unsafe {
        let mut limit: libc::rlimit = core::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_STACK, &mut limit);
        limit.rlim_cur.min(MOST) as usize
    };
    let longest = limit.saturating_sub(len);
    let bytes = free_below(engine, addr, longest);
    if bytes > 0 && take_at(addr - bytes, bytes) {
        engine.leave_device(addr - bytes, bytes);
    }
}

fn map_file(engine: &Engine, wanted: Wanted) -> Result<usize, i32> {
    if file_identity(wanted.fd) != engine.dax_identity() {
        return wanted.pass();
    }
    if !wanted.has(libc::MAP_SHARED) {
        engine.count(Counter::PrivateDax, 1);
        return wanted.pass();
    }
    let addr = wanted.pass()?;
    let len = wanted.len.next_multiple_of(PAGE);
    let added = engine.add_window(addr, len, wanted.offset as u64);
    let added = added.and_then(|()| match engine.lock_if_wanted(addr, len) {
        true => Ok(()),
        false => engine.cut_windows(addr, len).and(Err(libc::EAGAIN)),
    });
    if added.is_err() {
        // SAFETY: mapped just now, and nobody knows of it.
        let _ = unsafe { raw_munmap(addr, len) };
    }
    added.map(|()| addr)
}

/// # Safety
/// C contract of `mmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    addr: *mut c_void,
    len: size_t,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    pointer(map(Wanted {
        addr: addr as usize,
        len,
        prot,
        flags,
        fd,
        offset,
    }))
}

/// # Safety
/// C contract of `mmap`, by its other name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    addr: *mut c_void,
    len: size_t,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: passed on.
    unsafe { mmap(addr, len, prot, flags, fd, offset) }
}
