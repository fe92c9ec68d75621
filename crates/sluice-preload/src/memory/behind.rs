//! The copy of this library behind this one, which serves another device of the program.
//!
//! What a program does to its mappings goes to the kernel from here, past what other libraries
//! hook. A copy must hear of it: the mapping may be of its device.

use crate::next::Next;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering::*};
use libc::{c_int, c_long, c_ulong, c_void, off_t, size_t};
use sluice_region::{errno, raw_madvise, raw_mmap, raw_munmap, sys};
use sluice_runtime::copies::is_copy;

static MMAP: Next = Next::new(c"mmap");
static MUNMAP: Next = Next::new(c"munmap");
static MADVISE: Next = Next::new(c"madvise");
static MREMAP: Next = Next::new(c"mremap");
static MSEAL: Next = Next::new(c"mseal");

/// Whether there is one. Most programs have one device.
static IS_THERE: AtomicBool = AtomicBool::new(false);

/// Looks for it, and finds its functions.
pub fn find() {
    // SAFETY: zeros are a valid Dl_info.
    let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
    // SAFETY: the output is live.
    let found = unsafe { libc::dladdr(MMAP.address() as *const c_void, &mut info) } != 0;
    if !found || info.dli_fname.is_null() {
        return;
    }
    // SAFETY: the loader's terminated string.
    let path = unsafe { CStr::from_ptr(info.dli_fname) };
    if path.to_str().is_ok_and(is_copy) {
        for function in [&MUNMAP, &MADVISE, &MREMAP, &MSEAL] {
            function.address();
        }
        IS_THERE.store(true, Release);
    }
}

fn is_there() -> bool {
    IS_THERE.load(Acquire)
}

fn address(result: *mut c_void) -> Result<usize, i32> {
    match result == libc::MAP_FAILED {
        true => Err(errno()),
        false => Ok(result as usize),
    }
}

fn done(result: c_int) -> Result<(), i32> {
    match result {
        0 => Ok(()),
        _ => Err(errno()),
    }
}

/// `mmap`, by the copy or else by the kernel.
///
/// # Safety
/// As for `mmap(2)`.
pub unsafe fn mmap(
    addr: usize,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> Result<usize, i32> {
    type Call =
        unsafe extern "C-unwind" fn(*mut c_void, size_t, c_int, c_int, c_int, off_t) -> *mut c_void;
    // SAFETY: what the program asked for. The copy has this function with this type.
    unsafe {
        if !is_there() {
            return raw_mmap(addr, len, prot, flags, fd, offset);
        }
        let call: Call = core::mem::transmute(MMAP.address());
        address(call(addr as *mut c_void, len, prot, flags, fd, offset))
    }
}

/// `munmap`, by the copy or else by the kernel.
///
/// # Safety
/// As for `munmap(2)`.
pub unsafe fn munmap(addr: usize, len: usize) -> Result<(), i32> {
    type Call = unsafe extern "C-unwind" fn(*mut c_void, size_t) -> c_int;
    // SAFETY: what the program asked for. The copy has this function with this type.
    unsafe {
        if !is_there() {
            return raw_munmap(addr, len);
        }
        let call: Call = core::mem::transmute(MUNMAP.address());
        done(call(addr as *mut c_void, len))
    }
}

/// `madvise`, by the copy or else by the kernel.
///
/// # Safety
/// As for `madvise(2)`.
pub unsafe fn madvise(addr: usize, len: usize, advice: c_int) -> Result<(), i32> {
    type Call = unsafe extern "C-unwind" fn(*mut c_void, size_t, c_int) -> c_int;
    // SAFETY: what the program asked for. The copy has this function with this type.
    unsafe {
        if !is_there() {
            return raw_madvise(addr, len, advice);
        }
        let call: Call = core::mem::transmute(MADVISE.address());
        done(call(addr as *mut c_void, len, advice))
    }
}

/// The number of `mseal`, the same on all architectures.
pub const SYS_MSEAL: c_long = 462;

/// `mseal`, by the copy or else by the kernel: older C libraries have none.
///
/// # Safety
/// As for `mseal(2)`.
pub unsafe fn mseal(addr: usize, len: usize, flags: c_ulong) -> Result<(), i32> {
    type Call = unsafe extern "C-unwind" fn(*mut c_void, size_t, c_ulong) -> c_int;
    // SAFETY: what the program asked for. The copy has this function with this type.
    unsafe {
        if !is_there() {
            return sys!(SYS_MSEAL, addr, len, flags).map(drop);
        }
        let call: Call = core::mem::transmute(MSEAL.address());
        done(call(addr as *mut c_void, len, flags))
    }
}

/// `mremap`, by the copy or else by the kernel.
///
/// # Safety
/// As for `mremap(2)`.
pub unsafe fn mremap(
    addr: *mut c_void,
    old: size_t,
    new: size_t,
    flags: c_int,
    fixed: *mut c_void,
) -> Result<usize, i32> {
    type Call =
        unsafe extern "C-unwind" fn(*mut c_void, size_t, size_t, c_int, *mut c_void) -> *mut c_void;
    // SAFETY: what the program asked for. The copy has this function with this type.
    unsafe {
        if !is_there() {
            return sys!(libc::SYS_mremap, addr, old, new, flags, fixed);
        }
        let call: Call = core::mem::transmute(MREMAP.address());
        address(call(addr, old, new, flags, fixed))
    }
}
