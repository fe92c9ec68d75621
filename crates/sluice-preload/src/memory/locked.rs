//! Memory that a program wants to stay where it is fast: in the cache of the device, of which
//! `cache.pin_max` can be pinned. The answers are the kernel's for a limit of so much
//! (`RLIMIT_MEMLOCK`).
//!
//! The kernel must not be asked for memory of the device. It would bring every page of a range at
//! once, and move none of them any more.

use crate::allocator::heap::{closed_in, next_run};
use crate::bytes::answers::status;
use crate::device::engine;
use crate::memory::advice::each_alike;
use crate::memory::parts::{of_arena, whole};
use core::ops::Range;
use libc::{c_int, c_long, c_uint, c_void, size_t};
use sluice_region::{PAGE, sys};
use sluice_runtime::{Engine, OnDevice};

/// The flag of `mlock2`: pages are locked when they come.
const ON_FAULT: c_uint = libc::MLOCK_ONFAULT;

/// The pages that a call of `mlock` means: also those of which the range has a part only.
fn meant(addr: usize, len: usize) -> Option<Range<usize>> {
    let start = addr & !(PAGE - 1);
    whole(start, len.checked_add(addr - start)?)
}

/// What of pages can be locked at once.
enum Where {
    /// In the arena, of which the program need not have all.
    Arena(Range<usize>, bool),
    /// In one window of the device file.
    Window(Range<usize>),
}

impl Where {
    /// Whether any of it is on the device, or would be.
    fn is_on_device(&self, engine: &Engine) -> bool {
        match self {
            Where::Arena(pages, _) => on_device(engine, pages) > 0,
            Where::Window(_) => true,
        }
    }
}

fn place(engine: &Engine, addr: usize, len: usize) -> Option<Where> {
    let pages = meant(addr, len)?;
    if let OnDevice::Dax(_) = engine.session.place {
        let is_one = engine.is_one_piece(pages.start, pages.len());
        return is_one.then_some(Where::Window(pages));
    }
    let part = of_arena(engine, pages.start, pages.len())?;
    Some(Where::Arena(part.addr..part.addr + part.len, part.is_whole))
}

/// Locks or unlocks as the kernel does: what is mapped up to a hole, which it reports.
fn up_to_hole(
    engine: &Engine,
    pages: &Range<usize>,
    is_whole: bool,
    each: impl FnOnce(usize, usize) -> Result<(), i32>,
) -> Result<(), i32> {
    let run = next_run(engine, pages.start, pages.end).filter(|run| run.start == pages.start);
    let Some(run) = run else {
        return Err(libc::ENOMEM);
    };
    each(run.start, run.len())?;
    match is_whole && run.end == pages.end {
        true => Ok(()),
        false => Err(libc::ENOMEM),
    }
}

/// Locks memory of the arena that is the program's.
fn lock_run(engine: &Engine, addr: usize, len: usize, flags: c_uint) -> Result<(), i32> {
    let is_on_fault = flags & ON_FAULT != 0;
    let has_closed = closed_in(engine, addr, len) > 0;
    each_alike(engine, addr, len, |at, bytes, is_off_device| {
        if is_off_device {
            // SAFETY: the program's own request, for memory that is the kernel's.
            return unsafe { sys!(libc::SYS_mlock2, at, bytes, flags) }.map(drop);
        }
        engine.lock_pages(at, bytes, is_on_fault)
    })?;
    // What cannot be read cannot be brought in; it is locked all the same.
    match has_closed && !is_on_fault {
        true => Err(libc::ENOMEM),
        false => Ok(()),
    }
}

fn unlock_run(engine: &Engine, addr: usize, len: usize) -> Result<(), i32> {
    each_alike(engine, addr, len, |at, bytes, is_off_device| {
        if is_off_device {
            // SAFETY: as above.
            return unsafe { sys!(libc::SYS_munlock, at, bytes) }.map(drop);
        }
        engine.unlock_pages(at, bytes);
        Ok(())
    })
}

/// The answer for a range of which some is on the device, or else the kernel's.
fn lock(number: c_long, addr: usize, len: usize, flags: c_uint) -> c_int {
    // SAFETY: the program's own request; no memory changes.
    let pass = || unsafe { sys!(number, addr, len, flags) }.map(drop);
    if flags & !ON_FAULT != 0 {
        return status(Err(libc::EINVAL));
    }
    let found = engine().and_then(|engine| Some((engine, place(engine, addr, len)?)));
    status(match found {
        None => pass(),
        Some((engine, found)) if engine.can_lock_none() && found.is_on_device(engine) => {
            Err(libc::EPERM)
        }
        Some((engine, Where::Window(pages))) => {
            engine.lock_pages(pages.start, pages.len(), flags & ON_FAULT != 0)
        }
        // First of all, and nothing is locked if it is too much.
        Some((engine, Where::Arena(pages, _))) if is_too_much(engine, &pages) => Err(libc::ENOMEM),
        Some((engine, Where::Arena(pages, is_whole))) => {
            up_to_hole(engine, &pages, is_whole, |at, bytes| {
                lock_run(engine, at, bytes, flags)
            })
        }
    })
}

/// Whether more of the device would be locked than can be. The kernel counts holes too. What the
/// program has mapped over device memory is bounded by the kernel alone.
fn is_too_much(engine: &Engine, pages: &Range<usize>) -> bool {
    let locked = engine.locked_in(pages.start, pages.len());
    on_device(engine, pages).saturating_sub(locked) > engine.lockable()
}

/// Pages of a range of the arena that are on the device, or would be.
fn on_device(engine: &Engine, pages: &Range<usize>) -> u64 {
    let mut count = 0;
    let counted = each_alike(
        engine,
        pages.start,
        pages.len(),
        |_, bytes, is_off_device| {
            if !is_off_device {
                count += (bytes / PAGE) as u64;
            }
            Ok(())
        },
    );
    debug_assert_eq!(counted, Ok(()));
    count
}

/// # Safety
/// C contract of `mlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mlock(addr: *const c_void, len: size_t) -> c_int {
    lock(libc::SYS_mlock, addr as usize, len, 0)
}

/// # Safety
/// C contract of `mlock2`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mlock2(addr: *const c_void, len: size_t, flags: c_uint) -> c_int {
    lock(libc::SYS_mlock2, addr as usize, len, flags)
}

/// # Safety
/// C contract of `munlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munlock(addr: *const c_void, len: size_t) -> c_int {
    let found = engine().and_then(|engine| Some((engine, place(engine, addr as usize, len)?)));
    status(match found {
        // SAFETY: the program's own request; no memory changes.
        None => unsafe { sys!(libc::SYS_munlock, addr, len) }.map(drop),
        Some((engine, Where::Window(pages))) => {
            engine.unlock_pages(pages.start, pages.len());
            Ok(())
        }
        Some((engine, Where::Arena(pages, is_whole))) => {
            up_to_hole(engine, &pages, is_whole, |at, bytes| {
                unlock_run(engine, at, bytes)
            })
        }
    })
}

/// Calls with each piece of the arena that is the program's, or with each mapping of the device
/// file.
fn each_run(
    engine: &Engine,
    mut each: impl FnMut(usize, usize) -> Result<(), i32>,
) -> Result<(), i32> {
    if let OnDevice::Dax(_) = engine.session.place {
        return each_window(engine, each);
    }
    let (mut at, end) = (engine.arena().0, engine.arena().0 + engine.arena().1);
    while let Some(run) = next_run(engine, at, end) {
        each(run.start, run.len())?;
        at = run.end;
    }
    Ok(())
}

fn each_window(
    engine: &Engine,
    mut each: impl FnMut(usize, usize) -> Result<(), i32>,
) -> Result<(), i32> {
    let mut at = 0;
    while at < usize::MAX {
        let (end, is_window) = engine.window_from(at, usize::MAX);
        // There may be shared memory of another device, too.
        if is_window && engine.is_one_piece(at, end - at) {
            each(at, end - at)?;
        }
        at = end;
    }
    Ok(())
}

/// All memory is the device's and that of its emulation, which is much more. So the program's
/// memory on the device is locked, and nothing else: that is in DRAM anyway.
fn lock_all(engine: &Engine, flags: c_int) -> Result<(), i32> {
    let on_fault = if flags & libc::MCL_ONFAULT != 0 {
        ON_FAULT
    } else {
        0
    };
    if engine.can_lock_none() {
        return Err(libc::EPERM);
    }
    if flags & libc::MCL_CURRENT != 0 {
        let mut new = 0;
        each_run(engine, |at, bytes| {
            new += (bytes / PAGE) as u64 - engine.locked_in(at, bytes);
            Ok(())
        })?;
        if new > engine.lockable() {
            return Err(libc::ENOMEM);
        }
    }
    engine.lock_what_comes(flags & libc::MCL_FUTURE != 0);
    if flags & libc::MCL_CURRENT != 0 {
        // As the kernel, which brings in what it can.
        let _ = each_run(engine, |at, bytes| {
            let _ = match engine.session.place {
                OnDevice::Dax(_) => engine.lock_pages(at, bytes, on_fault != 0),
                OnDevice::Heap => lock_run(engine, at, bytes, on_fault),
            };
            Ok(())
        });
    }
    Ok(())
}

/// # Safety
/// C contract of `mlockall`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mlockall(flags: c_int) -> c_int {
    let all = libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT;
    let is_asked = flags & (libc::MCL_CURRENT | libc::MCL_FUTURE) != 0 && flags & !all == 0;
    status(match engine() {
        Some(engine) if is_asked => lock_all(engine, flags),
        // SAFETY: the program's own request; no memory changes.
        _ => unsafe { sys!(libc::SYS_mlockall, flags) }.map(drop),
    })
}

/// # Safety
/// C contract of `munlockall`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munlockall() -> c_int {
    if let Some(engine) = engine() {
        engine.lock_what_comes(false);
        engine.unlock_all();
    }
    // What is off the device, and was locked piece by piece.
    // SAFETY: the program's own request; no memory changes.
    status(unsafe { sys!(libc::SYS_munlockall) }.map(drop))
}
