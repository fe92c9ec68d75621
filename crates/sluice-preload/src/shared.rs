//! Memory that processes share: placed on the session's device with `--place shared`, and else left
//! where it is. How much stays is counted, so that nobody takes it for memory on the device.

use crate::device::engine;
use libc::c_int;
use sluice_abi::Counter;
use sluice_region::{PAGE, file_identity, is_memory_file};
use sluice_runtime::{Engine, shmem::client};

/// A shared mapping was made, of a file unless `fd` is negative. Small ones would not be placed
/// either if they were the program's own.
pub fn mapped(addr: usize, len: usize, fd: c_int, is_placeable: bool, may_write: bool) {
    let Some(engine) = engine().filter(|engine| len >= engine.session.mmap_min.max(1)) else {
        return;
    };
    if fd >= 0 && (!is_memory_file(fd) || is_device(engine, fd)) {
        return;
    }
    let is_placed = is_placeable && engine.session.kinds.shared && place(engine, addr, len);
    if !is_placed && may_write {
        engine.count(Counter::SharedBytes, len as u64);
    }
}

fn place(engine: &Engine, addr: usize, len: usize) -> bool {
    let len = len.next_multiple_of(PAGE);
    !engine.is_off() && client::place(&engine.session.dir, addr, len).is_ok()
}

/// Takes a range off the session's device that is about to be unmapped or mapped otherwise.
pub fn cut(addr: usize, len: usize) {
    // The kernel refuses what does not begin with a page.
    let from = addr;
    if !from.is_multiple_of(PAGE) {
        return;
    }
    if let Some(to) = addr
        .checked_add(len)
        .and_then(|end| end.checked_next_multiple_of(PAGE))
    {
        client::cut(from, to - from);
    }
}

/// Leaves a page to the kernel for good.
pub fn leave(page: usize) {
    cut(page, PAGE);
    if let Some(engine) = engine() {
        engine.count(Counter::SharedBytes, PAGE as u64);
    }
}

/// Moves or resizes a mapping by a call to the kernel. What was on the device is so afterwards.
pub fn moved(
    addr: usize,
    old: usize,
    new: usize,
    to: Option<usize>,
    call: impl FnOnce() -> Result<usize, i32>,
) -> Result<usize, i32> {
    let was_placed = client::mapping_of(addr).is_some();
    cut(addr, old);
    if let Some(to) = to {
        cut(to, new);
    }
    let moved = call();
    if was_placed && let Some(engine) = engine() {
        // Where that fails the memory is the kernel's, and right.
        let (at, len) = moved.map_or((addr, old), |at| (at, new));
        if len > 0 && !place(engine, at, len) {
            engine.count(Counter::SharedBytes, len as u64);
        }
    }
    moved
}

fn is_device(engine: &Engine, fd: c_int) -> bool {
    let device = engine.dax_identity();
    device.is_some() && file_identity(fd) == device
}
