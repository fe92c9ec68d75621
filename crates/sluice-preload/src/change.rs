//! What a program does to memory that it has mapped: giving it back, advice, protection, growth.
//!
//! What lies in the arena is ours, the rest is the kernel's, and so is every answer to a range that
//! cannot be.

use crate::buffers::set_errno;
use crate::heap::{close, closed_in, give, is_in_use, open, take};
use crate::init::engine;
use crate::map::{READ_WRITE, pointer};
use crate::parts::{Part, of_arena, whole};
use crate::wishes;
use libc::{c_int, c_void, size_t};
use sluice_region::{PAGE, raw_madvise, raw_mprotect, raw_munmap};
use sluice_runtime::{Engine, Place};

/// Advice newer than the binding to the C library.
const MADV_DONTNEED_LOCKED: c_int = 24;
const MADV_GUARD_INSTALL: c_int = 102;
const MADV_GUARD_REMOVE: c_int = 103;

/// Behind this nothing is a program's, and the kernel unmaps nothing of a range that goes there.
const USER_END: usize = 1 << 47;

/// What the C library returns for success or an error.
pub fn status(result: Result<(), i32>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(errno) => {
            set_errno(errno);
            -1
        }
    }
}

/// # Safety
/// C contract of `munmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(addr: *mut c_void, len: size_t) -> c_int {
    let Some(engine) = engine() else {
        // SAFETY: the program's own request.
        return status(unsafe { raw_munmap(addr as usize, len) });
    };
    // Beyond the arena's ends nothing is the program's.
    let part = of_arena(engine, addr as usize, len);
    if let Some(part) = part.filter(|_| addr as usize + len <= USER_END) {
        if closed_in(engine, part.addr, part.len) == part.len / PAGE {
            wishes::gone(part.addr, part.len);
        }
        give(part.addr, part.len);
        return 0;
    }
    if part.is_none()
        && let Some(whole) = whole(addr as usize, len)
        && let Err(errno) = engine.cut_windows(whole.start, whole.len())
    {
        return status(Err(errno));
    }
    // SAFETY: the program's own request.
    status(unsafe { raw_munmap(addr as usize, len) })
}

/// What lies in the arena of a range, if some of it does: all, or the kernel's answer to memory
/// that is not mapped.
pub fn mapped(engine: &Engine, addr: usize, len: usize) -> Option<Result<Part, i32>> {
    let part = of_arena(engine, addr, len)?;
    let is_mapped = part.is_whole && is_in_use(engine, part.addr, part.len);
    Some(if is_mapped {
        Ok(part)
    } else {
        Err(libc::ENOMEM)
    })
}

/// # Safety
/// C contract of `madvise`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn madvise(addr: *mut c_void, len: size_t, advice: c_int) -> c_int {
    // SAFETY: the program's own request.
    let pass = || unsafe { raw_madvise(addr as usize, len, advice) };
    let inside = engine().and_then(|e| Some((e, mapped(e, addr as usize, len)?)));
    status(match inside {
        Some((engine, Ok(part))) => advise_in_arena(engine, part, advice, pass),
        Some((_, Err(errno))) => Err(errno),
        None => pass(),
    })
}

fn advise_in_arena(
    engine: &Engine,
    part: Part,
    advice: c_int,
    pass: impl Fn() -> Result<(), i32>,
) -> Result<(), i32> {
    match advice {
        libc::MADV_DONTNEED | MADV_DONTNEED_LOCKED => {
            engine.discard(part.addr, part.len);
            Ok(())
        }
        // Allowed to do nothing: contents may go later or never, pages stay small, and a child
        // that has memory which it was not to have does not look at it.
        libc::MADV_FREE
        | libc::MADV_HUGEPAGE
        | libc::MADV_NOHUGEPAGE
        | libc::MADV_WILLNEED
        | libc::MADV_COLD
        | libc::MADV_PAGEOUT
        | libc::MADV_DONTFORK
        | libc::MADV_DOFORK => Ok(()),
        // These would change pages behind the device's back. A kernel without them says this.
        libc::MADV_WIPEONFORK | libc::MADV_MERGEABLE | MADV_GUARD_INSTALL | MADV_GUARD_REMOVE => {
            Err(libc::EINVAL)
        }
        _ => pass(),
    }
}

/// # Safety
/// C contract of `mprotect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mprotect(addr: *mut c_void, len: size_t, prot: c_int) -> c_int {
    let inside = engine().and_then(|e| Some((e, mapped(e, addr as usize, len)?)));
    status(match inside {
        Some((engine, Ok(part))) => protect_in_arena(engine, part.addr, part.len, prot),
        Some((_, Err(errno))) => Err(errno),
        // SAFETY: the program's own request.
        None => unsafe { raw_mprotect(addr as usize, len, prot) },
    })
}

/// Memory that can be read and written, or not be accessed at all, stays on the device.
fn protect_in_arena(engine: &Engine, addr: usize, len: usize, prot: c_int) -> Result<(), i32> {
    let all_on_device = !engine.any_off_device(addr, len);
    match prot {
        READ_WRITE if all_on_device => return open(engine, addr, len),
        libc::PROT_NONE if all_on_device => return close(engine, addr, len),
        _ => {}
    }
    // What leaves the device takes its contents along, to where it can be written.
    open(engine, addr, len)?;
    if prot != READ_WRITE {
        engine.leave_device(addr, len);
    }
    // SAFETY: the program's own request.
    unsafe { raw_mprotect(addr, len, prot) }
}

/// # Safety
/// C contract of `mremap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mremap(
    addr: *mut c_void,
    old: size_t,
    new: size_t,
    flags: c_int,
    fixed: *mut c_void,
) -> *mut c_void {
    // SAFETY: the program's own request.
    let pass =
        || unsafe { libc::syscall(libc::SYS_mremap, addr, old, new, flags, fixed) as *mut c_void };
    let Some(engine) = engine() else {
        return pass();
    };
    let is_moved_to = flags & libc::MREMAP_FIXED != 0;
    if is_moved_to && of_arena(engine, fixed as usize, new).is_some() {
        return pointer(Err(libc::ENOMEM));
    }
    match mapped(engine, addr as usize, old) {
        Some(Ok(part)) => return pointer(remap_in_arena(engine, part, new, flags)),
        // The kernel's answer to what is not one mapping.
        Some(Err(_)) => return pointer(Err(libc::EFAULT)),
        None if engine.in_arena(addr as usize) => return pointer(Err(libc::EINVAL)),
        None => {}
    }
    // Windows of the device file are cut, not moved: a moved one would lose its traps.
    let is_dax = matches!(engine.session.place, Place::Dax(_));
    if is_dax && engine.core().host.lpn(addr as usize).is_some() {
        return pointer(Err(libc::ENOMEM));
    }
    pass()
}

fn remap_in_arena(engine: &Engine, old: Part, new: usize, flags: c_int) -> Result<usize, i32> {
    let new = new.checked_next_multiple_of(PAGE).ok_or(libc::ENOMEM)?;
    let Part { addr, len, .. } = old;
    if new == 0 || flags & !libc::MREMAP_MAYMOVE != 0 {
        return Err(libc::EINVAL);
    }
    if new <= len {
        if new < len {
            give(addr + new, len - new);
        }
        return Ok(addr);
    }
    if flags & libc::MREMAP_MAYMOVE == 0 || closed_in(engine, addr, len) > 0 {
        return Err(libc::ENOMEM);
    }
    let to = take(new).ok_or(libc::ENOMEM)?;
    // SAFETY: both ranges are the program's, readable and writable; the new one is unused.
    unsafe { core::ptr::copy_nonoverlapping(addr as *const u8, to as *mut u8, len) };
    give(addr, len);
    Ok(to)
}
