//! Bytes by way of memory that is off the device, for signal mode.
//!
//! The kernel cannot wait for a page there. A call that meets a missing one stops in the middle,
//! and a datagram that it has taken from its socket is lost. So where a buffer lies on the device,
//! the kernel reads and writes memory of this library, and the program's own thread copies.

use crate::buffers::signal_engine;
use crate::internal::Internal;
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::copy_nonoverlapping;
use libc::{c_int, c_void, iovec, msghdr, size_t, ssize_t};
use sluice_region::{PAGE, raw_madvise};
use sluice_runtime::Engine;

/// As much is moved at once. Larger than any datagram that the kernel takes by default.
const MOST: usize = 1 << 20;

/// Which way bytes go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the kernel to the program.
    In,
    /// From the program to the kernel.
    Out,
}

/// Memory off the device, aligned as direct input and output wants it.
struct Memory {
    at: *mut u8,
    layout: Layout,
}

impl Memory {
    /// Memory for so many bytes; `None` if there is none.
    fn new(bytes: usize) -> Option<Memory> {
        let layout = Layout::from_size_align(bytes.max(1), PAGE).ok()?;
        // SAFETY: the size is not zero.
        let at = unsafe { Internal.alloc(layout) };
        (!at.is_null()).then_some(Memory { at, layout })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: as `new` made it.
        unsafe { Internal.dealloc(self.at, self.layout) };
    }
}

/// Whether any byte of a buffer may be missing.
fn is_on_device(buffer: *const c_void, bytes: size_t) -> bool {
    let Some(engine) = signal_engine().filter(|_| bytes > 0) else {
        return false;
    };
    let start = buffer as usize;
    engine
        .next_served(start, start.saturating_add(bytes))
        .is_some()
}

/// How many of the bytes at an address the program may access, as far as that is known of memory of
/// the device. Of other memory nobody is asked: a stack grows by the access.
fn accessible(engine: &Engine, at: usize, bytes: usize, way: Way) -> usize {
    let (mut next, end) = (at, at.saturating_add(bytes));
    let advice = match way {
        Way::In => libc::MADV_POPULATE_WRITE,
        Way::Out => libc::MADV_POPULATE_READ,
    };
    while let Some(page) = engine.next_unserved(next, end, way == Way::In) {
        // The kernel has such a page. It brings the page in, as for its own access, or says that
        // the program may not.
        // SAFETY: as the call would do with the program's own buffer.
        if unsafe { raw_madvise(page, PAGE, advice) }.is_err() {
            return page.max(at) - at;
        }
        next = page + PAGE;
    }
    bytes
}

/// Makes a call for one buffer. `goes_on` says whether a call that moved all that it was given is
/// to be followed by another for the rest.
pub fn whole(
    (buffer, bytes): (*const c_void, size_t),
    way: Way,
    goes_on: impl Fn() -> bool,
    call: impl Fn(*const c_void, size_t, size_t) -> ssize_t,
) -> ssize_t {
    if !is_on_device(buffer, bytes) {
        return call(buffer, bytes, 0);
    }
    let part = iovec {
        iov_base: buffer.cast_mut(),
        iov_len: bytes,
    };
    let plain = || call(buffer, bytes, 0);
    moved(&[part], way, goes_on, plain, &call)
}

/// Makes a call for a vector; see [`whole`]. `plain` makes it where nothing is on the device.
pub fn vector(
    (parts, count): (*const iovec, c_int),
    way: Way,
    goes_on: impl Fn() -> bool,
    plain: impl Fn() -> ssize_t,
    call: impl Fn(*const c_void, size_t, size_t) -> ssize_t,
) -> ssize_t {
    if signal_engine().is_none() || count <= 0 || count > libc::UIO_MAXIOV || parts.is_null() {
        return plain();
    }
    // SAFETY: the program's vector, of the length that it gave.
    let parts = unsafe { core::slice::from_raw_parts(parts, count as usize) };
    let is_on_device = is_on_device(parts.as_ptr().cast(), size_of_val(parts))
        || parts
            .iter()
            .any(|part| is_on_device(part.iov_base, part.iov_len));
    match is_on_device {
        true => moved(parts, way, goes_on, plain, call),
        false => plain(),
    }
}

/// A message with one part: memory off the device.
pub fn message(
    given: *const msghdr,
    way: Way,
    plain: impl Fn() -> ssize_t,
    call: impl Fn(*const msghdr) -> ssize_t,
) -> ssize_t {
    if signal_engine().is_none() || given.is_null() {
        return plain();
    }
    // SAFETY: the program's message.
    let head = unsafe { *given };
    let parts = (head.msg_iov.cast_const(), head.msg_iovlen as c_int);
    vector(
        parts,
        way,
        || false,
        &plain,
        |at, bytes, _| {
            let mut part = iovec {
                iov_base: at.cast_mut(),
                iov_len: bytes,
            };
            let mut own = head;
            own.msg_iov = &raw mut part;
            own.msg_iovlen = 1;
            let moved = call(&own);
            if way == Way::In && moved >= 0 {
                // SAFETY: the program's message, into which the kernel writes these.
                unsafe {
                    let given = &mut *given.cast_mut();
                    given.msg_namelen = own.msg_namelen;
                    given.msg_controllen = own.msg_controllen;
                    given.msg_flags = own.msg_flags;
                }
            }
            moved
        },
    )
}

/// The program's own thread copies, so only what it may access is moved. `plain` is the call as it
/// was made: of a buffer of which nothing may be accessed the kernel says so.
fn moved(
    parts: &[iovec],
    way: Way,
    goes_on: impl Fn() -> bool,
    plain: impl Fn() -> ssize_t,
    call: impl Fn(*const c_void, size_t, size_t) -> ssize_t,
) -> ssize_t {
    let total = parts
        .iter()
        .fold(0usize, |sum, part| sum.saturating_add(part.iov_len));
    let Some(memory) = Memory::new(total.min(MOST)) else {
        crate::buffers::set_errno(libc::ENOMEM);
        return -1;
    };
    let mut done = 0;
    loop {
        let wanted = (total - done).min(MOST);
        let bytes = reach(parts, done, wanted, way);
        if bytes == 0 && wanted > 0 {
            return if done > 0 { done as ssize_t } else { plain() };
        }
        if way == Way::Out {
            copy(parts, done, memory.at, bytes, way);
        }
        let result = call(memory.at.cast_const().cast(), bytes, done);
        if result < 0 {
            return if done > 0 { done as ssize_t } else { result };
        }
        // A datagram may have been longer than the buffer, and the call may say so.
        let here = (result as usize).min(bytes);
        if way == Way::In {
            copy(parts, done, memory.at, here, way);
        }
        done += here;
        if here < result as usize {
            return result;
        }
        if here < wanted || done == total || !goes_on() {
            return done as ssize_t;
        }
    }
}

/// The pieces of a vector that have so many bytes from its byte `from` on.
fn pieces(parts: &[iovec], from: usize, bytes: usize) -> impl Iterator<Item = (*mut u8, usize)> {
    let (mut skip, mut left) = (from, bytes);
    parts.iter().map(move |part| {
        let skipped = skip.min(part.iov_len);
        skip -= skipped;
        let here = (part.iov_len - skipped).min(left);
        left -= here;
        (part.iov_base.cast::<u8>().wrapping_add(skipped), here)
    })
}

/// How many of these bytes the program may access, up to the first one that it may not.
fn reach(parts: &[iovec], from: usize, bytes: usize, way: Way) -> usize {
    let Some(engine) = signal_engine() else {
        return bytes;
    };
    let mut all = 0;
    for (at, here) in pieces(parts, from, bytes) {
        let may = accessible(engine, at as usize, here, way);
        all += may;
        if may < here {
            break;
        }
    }
    all
}

/// Copies bytes between a vector, from its byte `from` on, and memory off the device.
fn copy(parts: &[iovec], from: usize, memory: *mut u8, bytes: usize, way: Way) {
    let mut at = 0;
    for (theirs, here) in pieces(parts, from, bytes) {
        let ours = memory.wrapping_add(at);
        // SAFETY: the program named this memory as its buffer; ours is long enough.
        unsafe {
            match way {
                Way::In => copy_nonoverlapping(ours, theirs, here),
                Way::Out => copy_nonoverlapping(theirs, ours, here),
            }
        }
        at += here;
    }
}
