//! Memory that processes share stays where it is, for a device belongs to one process. How much
//! there is of it is counted, so that nobody takes it for memory on the device.

use crate::device::engine;
use crate::next;
use libc::{c_int, c_void};
use sluice_abi::Counter;
use sluice_region::{file_identity, is_memory_file};
use sluice_runtime::Engine;

/// A shared mapping that the program may write to was made, of a file unless `fd` is negative.
/// Small ones would not be placed either if they were its own.
pub fn mapped(len: usize, fd: c_int) {
    let Some(engine) = engine().filter(|engine| len >= engine.session.mmap_min) else {
        return;
    };
    if fd < 0 || (is_memory_file(fd) && !is_device(engine, fd)) {
        engine.count(Counter::SharedBytes, len as u64);
    }
}

fn is_device(engine: &Engine, fd: c_int) -> bool {
    let device = engine.dax_identity();
    device.is_some() && file_identity(fd) == device
}

next!(next_shmat: c"shmat"(id: c_int, addr: *const c_void, flags: c_int) -> *mut c_void);

/// # Safety
/// C contract of `shmat`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shmat(id: c_int, addr: *const c_void, flags: c_int) -> *mut c_void {
    // SAFETY: passed on.
    let at = unsafe { next_shmat(id, addr, flags) };
    if at != libc::MAP_FAILED && flags & libc::SHM_RDONLY == 0 {
        let before = sluice_region::errno();
        // SAFETY: plain data, for which zeros are valid; the call fills it, or fails.
        let bytes = unsafe {
            let mut told: libc::shmid_ds = core::mem::zeroed();
            libc::shmctl(id, libc::IPC_STAT, &raw mut told);
            told.shm_segsz
        };
        mapped(bytes, -1);
        crate::buffers::set_errno(before);
    }
    at
}
