//! Memory that processes share: placed on the session's device with `--place shared`, and else left
//! where it is. How much stays is counted, so that nobody takes it for memory on the device.

use crate::device::engine;
use crate::next;
use libc::{c_int, c_void};
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

/// `shmat` over what is there (`linux/shm.h`).
const SHM_REMAP: c_int = 0o40000;

next!(next_shmat: c"shmat"(id: c_int, addr: *const c_void, flags: c_int) -> *mut c_void);

/// # Safety
/// C contract of `shmat`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shmat(id: c_int, addr: *const c_void, flags: c_int) -> *mut c_void {
    if flags & SHM_REMAP != 0
        && let Some(bytes) = bytes_of(id)
    {
        cut(addr as usize, bytes);
    }
    // SAFETY: passed on.
    let at = unsafe { next_shmat(id, addr, flags) };
    if at != libc::MAP_FAILED {
        let before = sluice_region::errno();
        if let Some(bytes) = bytes_of(id) {
            mapped(at as usize, bytes, -1, true, flags & libc::SHM_RDONLY == 0);
        }
        crate::buffers::set_errno(before);
    }
    at
}

/// Size of a System V segment.
fn bytes_of(id: c_int) -> Option<usize> {
    // SAFETY: plain data, for which zeros are valid; the call fills it, or fails.
    unsafe {
        let mut told: libc::shmid_ds = core::mem::zeroed();
        (libc::shmctl(id, libc::IPC_STAT, &raw mut told) == 0).then_some(told.shm_segsz)
    }
}

next!(next_shmdt: c"shmdt"(addr: *const c_void) -> c_int);

/// # Safety
/// C contract of `shmdt`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shmdt(addr: *const c_void) -> c_int {
    let placed = client::mapping_of(addr as usize).filter(|(start, _)| *start == addr as usize);
    if let Some((start, len)) = placed {
        cut(start, len);
    }
    // SAFETY: passed on.
    unsafe { next_shmdt(addr) }
}
