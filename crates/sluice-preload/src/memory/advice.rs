//! What a program says of how it will use its memory: `madvise` and its like.
//!
//! Of the device's memory a hint is carried out on the device, or answered as the kernel does. What
//! a range has besides is the kernel's.

use crate::allocator::heap::next_run;
use crate::bytes::answers::status;
use crate::bytes::buffers::{is_behind_end, signal_engine};
use crate::device::engine;
use crate::memory::behind;
use crate::memory::parts::{Part, of_arena, touches_window, whole};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use libc::{c_int, c_void, size_t};
use sluice_abi::Counter;
use sluice_model::Pattern;
use sluice_region::{PAGE, raw_madvise};
use sluice_runtime::{Engine, Hint, OnDevice, may_access};

/// Advice newer than the binding to the C library.
const MADV_DONTNEED_LOCKED: c_int = 24;
const MADV_COLLAPSE: c_int = 25;
const MADV_GUARD_INSTALL: c_int = 102;
const MADV_GUARD_REMOVE: c_int = 103;

/// # Safety
/// C contract of `madvise`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn madvise(addr: *mut c_void, len: size_t, advice: c_int) -> c_int {
    // SAFETY: the program's own request.
    let pass = || unsafe { behind::madvise(addr as usize, len, advice) };
    status(match engine() {
        Some(engine) => advise(engine, addr as usize, len, advice).unwrap_or_else(pass),
        None => pass(),
    })
}

/// The C library's own goes past the hook of `madvise`.
///
/// # Safety
/// C contract of `posix_madvise`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_madvise(addr: *mut c_void, len: size_t, advice: c_int) -> c_int {
    // As in the C library: this one may lose contents by no other name.
    if advice == libc::POSIX_MADV_DONTNEED {
        return 0;
    }
    // SAFETY: the program's own request.
    let pass = || unsafe { behind::madvise(addr as usize, len, advice) };
    let answer = match engine() {
        Some(engine) => advise(engine, addr as usize, len, advice).unwrap_or_else(pass),
        None => pass(),
    };
    answer.err().unwrap_or(0)
}

/// The answer to advice for a range of which some is on the device; `None` if all is the kernel's
/// affair.
pub fn advise(engine: &Engine, addr: usize, len: usize, advice: c_int) -> Option<Result<(), i32>> {
    // The kernel never ends to put guards where the runtime has marked pages in service.
    if is_guard(advice) && touches_window(engine, addr, len) {
        return Some(Err(libc::EINVAL));
    }
    if let OnDevice::Dax(_) = engine.session.place {
        return advise_window(engine, addr, len, advice);
    }
    let part = of_arena(engine, addr, len)?;
    Some(advise_part(engine, part, advice))
}

/// Advice for what is the program's of a part of the arena, in order. The kernel reports holes when
/// it is through, and beyond the arena there is nothing of the program's.
fn advise_part(engine: &Engine, part: Part, advice: c_int) -> Result<(), i32> {
    // The kernel refuses a value that is no advice, whatever the range.
    // SAFETY: of no memory at all.
    unsafe { raw_madvise(part.addr, 0, advice)? };
    let end = part.addr + part.len;
    let (mut at, mut has_holes) = (part.addr, !part.is_whole);
    while let Some(run) = next_run(engine, at, end) {
        has_holes |= run.start > at;
        at = run.end;
        advise_run_by_kind(engine, run.start, run.end, advice)?;
    }
    match has_holes || at < end {
        true => Err(libc::ENOMEM),
        false => Ok(()),
    }
}

/// Advice for memory of the arena that is the program's, of which some may begin as a file's.
fn advise_run_by_kind(engine: &Engine, start: usize, end: usize, advice: c_int) -> Result<(), i32> {
    let mut at = start;
    while at < end {
        let (to, kind) = engine.file_from(at, end);
        match (kind, advice) {
            // The kernel's answers for memory with a file behind it.
            (Some(_), libc::MADV_FREE | libc::MADV_WIPEONFORK) => return Err(libc::EINVAL),
            (Some(_), libc::MADV_REMOVE) => return Err(libc::EACCES),
            (Some(_), libc::MADV_KEEPONFORK) => {}
            _ => advise_run(engine, at, to - at, advice)?,
        }
        at = to;
    }
    Ok(())
}

/// Advice for memory of the arena that is the program's, and all of one kind.
fn advise_run(engine: &Engine, addr: usize, len: usize, advice: c_int) -> Result<(), i32> {
    if may_not_be_locked(advice) {
        let free = engine.unlocked_from(addr, len);
        if free < len {
            if free > 0 {
                advise_run(engine, addr, free, advice)?;
            }
            return Err(libc::EINVAL);
        }
    }
    // SAFETY: the program's own request, for memory of its own.
    let pass = || unsafe { raw_madvise(addr, len, advice) };
    match advice {
        libc::MADV_DONTNEED | MADV_DONTNEED_LOCKED => {
            return drop_run(engine, addr, len, advice, Counter::HintsDontneed);
        }
        // The kernel may drop the contents any time from now on, and so does the device: now.
        libc::MADV_FREE => return drop_run(engine, addr, len, advice, Counter::HintsFree),
        // Pages stay small, and each has memory of its own, as they may. The kernel would refuse to
        // collapse them here.
        libc::MADV_HUGEPAGE
        | libc::MADV_NOHUGEPAGE
        | libc::MADV_MERGEABLE
        | libc::MADV_UNMERGEABLE
        | MADV_COLLAPSE => engine.count(Counter::HintsIgnored, 1),
        libc::MADV_DONTFORK => return engine.withhold(addr, len),
        libc::MADV_DOFORK => engine.withhold_no_more(addr, len),
        // A child finds zeros there. That is the kernel's doing, for memory off the device.
        libc::MADV_WIPEONFORK | libc::MADV_KEEPONFORK => {
            engine.leave_device(addr, len);
            return pass();
        }
        // These would change pages behind the device's back. A kernel without them says this.
        MADV_GUARD_INSTALL | MADV_GUARD_REMOVE => return Err(libc::EINVAL),
        libc::MADV_POPULATE_READ | libc::MADV_POPULATE_WRITE if signal_engine().is_some() => {
            return populate(engine, addr, len, advice);
        }
        _ => match hint_of(advice) {
            Some(hint) => return hint_run(engine, hint, addr, len, advice),
            None => return pass(),
        },
    }
    Ok(())
}

/// Drops contents. Of memory that has left the device the kernel is asked: it may be locked there.
fn drop_run(
    engine: &Engine,
    addr: usize,
    len: usize,
    advice: c_int,
    counter: Counter,
) -> Result<(), i32> {
    each_alike(engine, addr, len, |at, bytes, is_off_device| {
        if is_off_device {
            // SAFETY: the program's own request, for memory that is the kernel's.
            return unsafe { raw_madvise(at, bytes, advice) };
        }
        let dropped = match engine.has_file(at, bytes) {
            true => engine.drop_written(at, bytes),
            false => engine.discard(at, bytes),
        };
        engine.count(counter, dropped);
        Ok(())
    })
}

/// Brings pages in, in signal mode: the kernel cannot. As it does, up to one that the program may
/// not access so.
fn populate(engine: &Engine, addr: usize, len: usize, advice: c_int) -> Result<(), i32> {
    let to_write = advice == libc::MADV_POPULATE_WRITE;
    each_alike(engine, addr, len, |at, bytes, is_off_device| {
        if is_off_device {
            // SAFETY: the program's own request, for memory that is the kernel's.
            return unsafe { raw_madvise(at, bytes, advice) };
        }
        let may = engine.served_run(at, at + bytes, to_write);
        let may = may.filter(|run| run.start == at).map_or(0, |run| run.len());
        for page in (at..at + may).step_by(PAGE) {
            if is_behind_end(engine, page) {
                return Err(libc::EFAULT);
            }
            touch(page, to_write);
        }
        match may == bytes {
            true => Ok(()),
            false => Err(libc::EINVAL),
        }
    })
}

/// Populates a window of the device file. `None` where the program may not access it so, which the
/// kernel says.
fn populate_window(range: Range<usize>, to_write: bool) -> Option<Result<(), i32>> {
    if !may_access(range.clone(), to_write) {
        return None;
    }
    for page in range.step_by(PAGE) {
        touch(page, to_write);
    }
    Some(Ok(()))
}

/// Loads from a page, or stores what it has.
fn touch(page: usize, to_write: bool) {
    // SAFETY: memory of the program's, which others may change at the same time.
    let word = unsafe { &*(page as *const AtomicU64) };
    let has = word.load(Relaxed);
    if to_write {
        // Where it has changed meanwhile somebody has stored there.
        let _ = word.compare_exchange(has, has, Relaxed, Relaxed);
    }
}

fn is_guard(advice: c_int) -> bool {
    matches!(advice, MADV_GUARD_INSTALL | MADV_GUARD_REMOVE)
}

/// Whether the kernel refuses such advice for locked memory.
fn may_not_be_locked(advice: c_int) -> bool {
    const THESE: [c_int; 4] = [
        libc::MADV_DONTNEED,
        libc::MADV_FREE,
        libc::MADV_COLD,
        libc::MADV_PAGEOUT,
    ];
    THESE.contains(&advice)
}

/// What the device makes of advice.
fn hint_of(advice: c_int) -> Option<Hint> {
    Some(match advice {
        libc::MADV_WILLNEED => Hint::WillNeed,
        libc::MADV_COLD => Hint::Cold,
        libc::MADV_PAGEOUT => Hint::PageOut,
        libc::MADV_NORMAL => Hint::Access(Pattern::Normal),
        libc::MADV_RANDOM => Hint::Access(Pattern::Random),
        libc::MADV_SEQUENTIAL => Hint::Access(Pattern::Sequential),
        _ => return None,
    })
}

/// A hint for memory of the arena, of which parts may have left the device.
fn hint_run(
    engine: &Engine,
    hint: Hint,
    addr: usize,
    len: usize,
    advice: c_int,
) -> Result<(), i32> {
    each_alike(engine, addr, len, |at, bytes, is_off_device| {
        if is_off_device {
            // SAFETY: the program's own request, for memory that is the kernel's.
            return unsafe { raw_madvise(at, bytes, advice) };
        }
        engine.hint(hint, at, bytes);
        Ok(())
    })
}

/// Calls with each part of a run that is on the device, or off it, as a whole.
pub fn each_alike(
    engine: &Engine,
    addr: usize,
    len: usize,
    mut each: impl FnMut(usize, usize, bool) -> Result<(), i32>,
) -> Result<(), i32> {
    let (mut at, end) = (addr, addr + len);
    while at < end {
        let (mut to, is_off_device) = engine.alike_from(at, end);
        while to < end {
            let (next, other) = engine.alike_from(to, end);
            if other != is_off_device {
                break;
            }
            to = next;
        }
        each(at, to - at, is_off_device)?;
        at = to;
    }
    Ok(())
}

/// Advice for a range within a window of the device file.
fn advise_window(
    engine: &Engine,
    addr: usize,
    len: usize,
    advice: c_int,
) -> Option<Result<(), i32>> {
    let range = whole(addr, len)?;
    let is_populated = matches!(advice, libc::MADV_POPULATE_READ | libc::MADV_POPULATE_WRITE);
    if is_populated && signal_engine().is_some() && engine.is_one_piece(addr, range.len()) {
        return populate_window(range, advice == libc::MADV_POPULATE_WRITE);
    }
    let hint = hint_of(advice);
    if hint.is_none() && !may_not_be_locked(advice) || !engine.is_one_piece(addr, range.len()) {
        return None;
    }
    if may_not_be_locked(advice) && engine.locked_in(addr, range.len()) > 0 {
        return Some(Err(libc::EINVAL));
    }
    engine.hint(hint?, addr, range.len());
    Some(Ok(()))
}
