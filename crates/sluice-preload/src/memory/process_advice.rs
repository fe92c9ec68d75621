//! `process_madvise` of a program on itself: its ranges one by one, each as by `madvise`.

use crate::bytes::answers::answer;
use crate::bytes::buffers::{MAX_TRIES, One, bring, on_device};
use crate::device::engine;
use crate::memory::advice::advise;
use crate::memory::parts::{of_arena, touches_window};
use core::mem::MaybeUninit;
use libc::{c_int, c_uint, c_void, iovec, size_t, ssize_t};
use sluice_region::{is_own_process, sys};
use sluice_runtime::{Engine, OnDevice};

/// The most ranges that the kernel takes.
const RANGES_MAX: usize = libc::UIO_MAXIOV as usize;

/// # Safety
/// C contract of `process_madvise`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn process_madvise(
    process: c_int,
    ranges: *const iovec,
    count: size_t,
    advice: c_int,
    flags: c_uint,
) -> ssize_t {
    let ask = |ranges: *const iovec, count: usize| {
        // SAFETY: the program's own request, or a part of it.
        unsafe {
            sys!(
                libc::SYS_process_madvise,
                process,
                ranges,
                count,
                advice,
                flags
            )
        }
    };
    let own = engine().filter(|engine| {
        count <= RANGES_MAX && any_on_device(engine, ranges, count) && is_own_process(process)
    });
    answer(match own {
        Some(engine) => advise_each(engine, ranges, count, advice, ask),
        None => ask(ranges, count),
    }) as ssize_t
}

/// A range of the list, which may be anywhere: read as the kernel would.
fn range(ranges: *const iovec, n: usize) -> Result<iovec, i32> {
    let from = ranges.wrapping_add(n);
    let mut read = copy(from);
    for _ in 0..MAX_TRIES {
        if read.as_ref().err() != Some(&libc::EFAULT) || !bring(&One(from)) {
            break;
        }
        read = copy(from);
    }
    read
}

fn copy(from: *const iovec) -> Result<iovec, i32> {
    let mut to = MaybeUninit::<iovec>::uninit();
    let part = |at: *mut c_void| iovec {
        iov_base: at,
        iov_len: size_of::<iovec>(),
    };
    let (into, of) = (part(to.as_mut_ptr().cast()), part(from.cast_mut().cast()));
    // SAFETY: the kernel checks the address that it reads from; the other is live.
    let read = unsafe {
        let (into, of) = (&raw const into, &raw const of);
        sys!(
            libc::SYS_process_vm_readv,
            libc::getpid(),
            into,
            1,
            of,
            1,
            0
        )
    };
    match read {
        // SAFETY: two words, all of which the kernel has written.
        Ok(bytes) if bytes == size_of::<iovec>() => Ok(unsafe { to.assume_init() }),
        Ok(_) => Err(libc::EFAULT),
        Err(errno) => Err(errno),
    }
}

fn any_on_device(engine: &Engine, ranges: *const iovec, count: usize) -> bool {
    let is_dax = matches!(engine.session.place, OnDevice::Dax(_));
    (0..count).any(|n| {
        range(ranges, n).is_ok_and(|one| {
            let (addr, len) = (one.iov_base as usize, one.iov_len);
            is_dax && on_device(engine, addr)
                || of_arena(engine, addr, len).is_some()
                || touches_window(engine, addr, len)
        })
    })
}

/// Bytes of the ranges that were advised before one that could not be, or its error if it is the
/// first.
fn advise_each(
    engine: &Engine,
    ranges: *const iovec,
    count: usize,
    advice: c_int,
    ask: impl Fn(*const iovec, usize) -> Result<usize, i32>,
) -> Result<usize, i32> {
    // What the kernel says of process, advice and flags, it says of no memory as well.
    let nothing = iovec {
        iov_base: engine.arena().0 as *mut _,
        iov_len: 0,
    };
    ask(&raw const nothing, 1)?;
    let mut advised = 0;
    for n in 0..count {
        let one = range(ranges, n)?;
        let len = isize::try_from(one.iov_len).map_err(|_| libc::EINVAL)? as usize;
        let done = advise(engine, one.iov_base as usize, len, advice);
        let done = done.unwrap_or_else(|| ask(&raw const one, 1).map(drop));
        match done {
            Ok(()) => advised += len,
            Err(errno) if advised == 0 => return Err(errno),
            Err(_) => break,
        }
    }
    Ok(advised)
}
