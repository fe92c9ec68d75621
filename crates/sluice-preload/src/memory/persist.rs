//! Calls by which a program makes its data durable, and asks what of a range is in memory.
//!
//! On a persistent device an answer of success means that the device's store has the data. Errors
//! come first: of ranges that are not mapped, and of descriptors that are none. Memory of the
//! device that is free is not mapped to the program, though the kernel knows it.

use crate::bytes::answers::status;
use crate::bytes::buffers::{are_readable, with_pages};
use crate::device::engine;
use crate::memory::change::mapped;
use crate::next;
use crate::signal_mode::helpers::with_request;
use libc::{aiocb, c_int, c_long, c_uchar, c_void, size_t};
use sluice_region::{PAGE, errno, file_identity};
use sluice_runtime::Engine;

next!(next_msync: c"msync"(addr: *mut c_void, len: size_t, flags: c_int) -> c_int);
next!(next_mincore: c"mincore"(addr: *mut c_void, len: size_t, to: *mut c_uchar) -> c_int);
next!(next_fsync: c"fsync"(fd: c_int) -> c_int);
next!(next_fdatasync: c"fdatasync"(fd: c_int) -> c_int);
next!(next_syncfs: c"syncfs"(fd: c_int) -> c_int);
next!(next_sync: c"sync"() -> ());
next!(next_aio_fsync: c"aio_fsync"(how: c_int, request: *mut aiocb) -> c_int);
next!(next_aio_fsync64: c"aio_fsync64"(how: c_int, request: *mut aiocb) -> c_int);

fn persistent() -> Option<&'static Engine> {
    engine().filter(|engine| engine.is_persistent())
}

/// The kernel's answer for a range, of which some may be memory of the device that is not the
/// program's: to the kernel that is mapped.
fn unless_free(addr: usize, len: usize, answer: c_int) -> c_int {
    let part = engine().and_then(|engine| mapped(engine, addr, len));
    match part {
        Some(Err(errno)) if answer == 0 => status(Err(errno)),
        _ => answer,
    }
}

/// # Safety
/// C contract of `mincore`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mincore(addr: *mut c_void, len: size_t, to: *mut c_uchar) -> c_int {
    let answers = (to.cast::<c_void>().cast_const(), len.div_ceil(PAGE));
    // SAFETY: passed on.
    let answer = with_pages(answers, || unsafe { next_mincore(addr, len, to) });
    unless_free(addr as usize, len, answer)
}

/// # Safety
/// C contract of `msync`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn msync(addr: *mut c_void, len: size_t, flags: c_int) -> c_int {
    // SAFETY: passed on.
    let answer = unless_free(addr as usize, len, unsafe { next_msync(addr, len, flags) });
    match persistent().filter(|_| answer == 0 && flags & libc::MS_SYNC != 0) {
        Some(engine) => status(engine.flush_range(addr as usize, len)),
        None => answer,
    }
}

/// # Safety
/// C contract of `fsync`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fsync(fd: c_int) -> c_int {
    // SAFETY: passed on.
    after(fd, unsafe { next_fsync(fd) })
}

/// # Safety
/// C contract of `fdatasync`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fdatasync(fd: c_int) -> c_int {
    // SAFETY: passed on.
    after(fd, unsafe { next_fdatasync(fd) })
}

/// # Safety
/// C contract of `syncfs`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn syncfs(fd: c_int) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { next_syncfs(fd) };
    after_if(answer, |engine| {
        let system = |identity: Option<(u64, u64)>| identity.map(|(system, _)| system);
        system(file_identity(fd)) == system(engine.dax_identity())
    })
}

/// # Safety
/// C contract of `sync`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sync() {
    // SAFETY: no arguments.
    unsafe { next_sync() };
    // It cannot say that something failed; the run says so at its end.
    let _ = after_if(0, |_| true);
}

/// What was stored before the call is durable when it returns. The C library's thread then flushes
/// the file, and says that it has.
fn aio(request: *mut aiocb, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program's request, without bytes.
    let call = || unsafe { with_request(request, false, call) };
    let Some(engine) = persistent() else {
        return call();
    };
    let is_there = are_readable(engine, request.cast_const().cast(), size_of::<aiocb>());
    // SAFETY: the program's own, which it can read.
    let fd = is_there.then(|| unsafe { (&raw const (*request).aio_fildes).read_unaligned() });
    match fd.map_or(0, |fd| after(fd, 0)) {
        0 => call(),
        failed => failed,
    }
}

/// # Safety
/// C contract of `aio_fsync`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn aio_fsync(how: c_int, request: *mut aiocb) -> c_int {
    // SAFETY: passed on.
    aio(request, || unsafe { next_aio_fsync(how, request) })
}

/// # Safety
/// C contract of `aio_fsync64`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn aio_fsync64(how: c_int, request: *mut aiocb) -> c_int {
    // SAFETY: passed on.
    aio(request, || unsafe { next_aio_fsync64(how, request) })
}

/// What was written to the device's file by whatever way is in its store.
fn after(fd: c_int, answer: c_int) -> c_int {
    after_if(answer, |engine| file_identity(fd) == engine.dax_identity())
}

/// What the device has is in its store, if a call succeeded that is about the device's file.
fn after_if(answer: c_int, is_about_it: impl FnOnce(&Engine) -> bool) -> c_int {
    let Some(engine) = persistent().filter(|_| answer == 0) else {
        return answer;
    };
    let before = errno();
    let is_about_it = is_about_it(engine);
    crate::bytes::buffers::set_errno(before);
    match is_about_it {
        true => status(engine.flush_all()),
        false => answer,
    }
}

/// The same calls by their numbers.
///
/// # Safety
/// Contracts of the system calls.
pub unsafe fn making_durable(number: c_long, args: &[usize; 6]) -> Option<c_long> {
    let [first, len, flags, ..] = *args;
    let fd = first as c_int;
    // SAFETY: passed on.
    let answer = unsafe {
        match number {
            libc::SYS_msync => msync(first as *mut c_void, len, flags as c_int),
            libc::SYS_fsync => fsync(fd),
            libc::SYS_fdatasync => fdatasync(fd),
            libc::SYS_syncfs => syncfs(fd),
            libc::SYS_sync => {
                sync();
                0
            }
            _ => return None,
        }
    };
    Some(answer.into())
}
