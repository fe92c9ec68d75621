//! What a program does to memory that it has mapped: giving it back, protection, growth.
//!
//! What lies in the arena is ours, the rest is the kernel's, and so is every answer to a range that
//! cannot be.

use crate::allocator::heap::{
    allow, claim, close, closed_in, empty, give, in_use_from, is_in_use, leave, note_open, open,
    take, take_at,
};
use crate::allocator::profile;
use crate::bytes::answers::status;
use crate::bytes::piece::{Piece, Place};
use crate::device::engine;
use crate::memory::advice::each_alike;
use crate::memory::map::{mmap, pointer};
use crate::memory::parts::{Part, USER_END, of_arena, whole};
use crate::memory::wanted::READ_WRITE;
use crate::memory::{behind, moved, wishes};
use crate::shared;
use libc::{c_int, c_void, size_t};
use sluice_region::{PAGE, raw_mprotect};
use sluice_runtime::{Engine, FileKind, OnDevice};

/// # Safety
/// C contract of `munmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(addr: *mut c_void, len: size_t) -> c_int {
    let Some(engine) = engine() else {
        // SAFETY: the program's own request.
        return status(unsafe { behind::munmap(addr as usize, len) });
    };
    shared::cut(addr as usize, len);
    // Beyond the arena's ends nothing is the program's.
    let part = of_arena(engine, addr as usize, len);
    if let Some(part) = part.filter(|_| addr as usize + len <= USER_END) {
        if closed_in(engine, part.addr, part.len) == part.len / PAGE {
            wishes::gone(part.addr, part.len);
        }
        leave(part.addr, part.len);
        return 0;
    }
    if part.is_none()
        && let Some(whole) = whole(addr as usize, len)
        && let Err(errno) = engine.cut_windows(whole.start, whole.len())
    {
        return status(Err(errno));
    }
    // SAFETY: the program's own request.
    status(unsafe { behind::munmap(addr as usize, len) })
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
/// C contract of `mprotect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mprotect(addr: *mut c_void, len: size_t, prot: c_int) -> c_int {
    let inside = engine().and_then(|e| Some((e, mapped(e, addr as usize, len)?)));
    status(match inside {
        Some((engine, Ok(part))) => protect_in_arena(engine, part.addr, part.len, prot),
        // The kernel protects what is mapped before the hole, and says that there is one.
        Some((engine, Err(errno))) => {
            let before = of_arena(engine, addr as usize, len)
                .filter(|part| part.addr == addr as usize)
                .map_or(0, |part| in_use_from(engine, part.addr, part.len));
            match before {
                0 => Err(errno),
                bytes => protect_in_arena(engine, addr as usize, bytes, prot).and(Err(errno)),
            }
        }
        // SAFETY: the program's own request.
        None => unsafe { raw_mprotect(addr as usize, len, prot) },
    })
}

/// Changes the protection of what is alike in turn.
fn protect_in_arena(engine: &Engine, addr: usize, len: usize, prot: c_int) -> Result<(), i32> {
    let (mut at, end) = (addr, addr + len);
    while at < end {
        let (to, kind) = engine.file_from(at, end);
        match kind {
            None => protect_memory(engine, at, to - at, prot)?,
            Some(kind) => each_alike(engine, at, to - at, |at, bytes, is_off_device| {
                match is_off_device {
                    // SAFETY: the program's own request, for memory that is the kernel's.
                    true => unsafe { raw_mprotect(at, bytes, prot) },
                    false => protect_file(engine, at, bytes, prot, kind),
                }
            })?,
        }
        at = to;
    }
    Ok(())
}

/// Memory that begins as a file's stays on the device, but where it becomes executable, or can be
/// written and is shared, which the kernel refuses.
fn protect_file(
    engine: &Engine,
    addr: usize,
    len: usize,
    prot: c_int,
    kind: FileKind,
) -> Result<(), i32> {
    match (prot, kind) {
        (libc::PROT_NONE, _) => close(engine, addr, len),
        (libc::PROT_READ, _) | (READ_WRITE, FileKind::Private) => {
            engine.seal(addr, len, prot == libc::PROT_READ)?;
            note_open(engine, addr, len);
            Ok(())
        }
        _ => {
            engine.leave_device(addr, len);
            // SAFETY: the program's own request.
            unsafe { raw_mprotect(addr, len, prot) }
        }
    }
}

/// Memory that can be read and written, or not be accessed at all, stays on the device.
fn protect_memory(engine: &Engine, addr: usize, len: usize, prot: c_int) -> Result<(), i32> {
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
    let call = || unsafe { behind::mremap(addr, old, new, flags, fixed) };
    let to = (flags & libc::MREMAP_FIXED != 0).then_some(fixed as usize);
    let Some(engine) = engine() else {
        return pointer(call());
    };
    let pass = || {
        if new > old && !allow(new - old, true) {
            return Err(libc::ENOMEM);
        }
        match shared::moved(addr as usize, old, new, to, call) {
            Err(libc::EFAULT) => moved::outside(engine, addr as usize, old, new, flags, to),
            moved => moved,
        }
    };
    if is_beyond(addr as usize, old) || is_beyond(0, new) {
        return pointer(match flags & libc::MREMAP_FIXED {
            0 => call(),
            // The kernel may empty the place first.
            _ => Err(libc::EINVAL),
        });
    }
    match mapped(engine, addr as usize, old) {
        Some(Ok(part)) => {
            let to = (flags & libc::MREMAP_FIXED != 0).then_some(fixed as usize);
            let made = remap_in_arena(engine, part, new, flags, to);
            return pointer(made.inspect(|addr| profile::allocated(*addr, new)));
        }
        // The kernel's answer to what is not one mapping, which it shortens all the same.
        Some(Err(_)) => {
            let plain = flags & !libc::MREMAP_MAYMOVE == 0;
            let is_there = matches!(mapped(engine, addr as usize, PAGE), Some(Ok(_)));
            let (old, new) = (old.next_multiple_of(PAGE), new.next_multiple_of(PAGE));
            if !plain || !is_there || new == 0 || new > old {
                return pointer(Err(libc::EFAULT));
            }
            if new < old {
                // SAFETY: the program's own request.
                unsafe { munmap(addr.wrapping_byte_add(new), old - new) };
            }
            return addr;
        }
        None if engine.in_arena(addr as usize) => return pointer(Err(libc::EINVAL)),
        None => {}
    }
    if flags & libc::MREMAP_FIXED != 0
        && let Some(part) = of_arena(engine, fixed as usize, new)
    {
        return pointer(remap_over_arena(engine, part, pass));
    }
    // Windows of the device file are cut, not moved: a moved one would lose its traps.
    let is_dax = matches!(engine.session.place, OnDevice::Dax(_));
    if is_dax && engine.is_placed(addr as usize) {
        return pointer(Err(libc::ENOMEM));
    }
    pointer(pass())
}

/// Whether a range goes past the end of all that a program can have. The kernel refuses such a
/// range, changes nothing, and has the right error.
fn is_beyond(addr: usize, len: usize) -> bool {
    let end = addr
        .checked_add(len)
        .and_then(|end| end.checked_next_multiple_of(PAGE));
    end.is_none_or(|end| end > USER_END - PAGE)
}

/// Moves a mapping from elsewhere over pages of the arena, which leave the device.
fn remap_over_arena(
    engine: &Engine,
    part: Part,
    pass: impl FnOnce() -> Result<usize, i32>,
) -> Result<usize, i32> {
    if !part.is_whole {
        return Err(libc::ENOMEM);
    }
    claim(engine, part.addr, part.len);
    empty(engine, part.addr, part.len)?;
    engine.leave_device(part.addr, part.len);
    pass()
}

/// Changes the size of a piece of the arena, or its place: to any, or to the one that is named.
fn remap_in_arena(
    engine: &Engine,
    old: Part,
    new: usize,
    flags: c_int,
    to: Option<usize>,
) -> Result<usize, i32> {
    const KNOWN: c_int = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;
    let new = new.next_multiple_of(PAGE);
    let Part { addr, len, .. } = old;
    let may_move = flags & libc::MREMAP_MAYMOVE != 0;
    let stays = flags & libc::MREMAP_DONTUNMAP != 0;
    let is_refused = new == 0
        || flags & !KNOWN != 0
        || (to.is_some() || stays) && !may_move
        || stays && new != len;
    if is_refused {
        return Err(libc::EINVAL);
    }
    let is_file = engine.has_file(addr, len);
    if (to.is_some() || stays || new > len) && (is_file || is_off_device(engine, old)) {
        if !may_move {
            return match is_file {
                true => Err(libc::ENOMEM),
                false => moved::lengthen(engine, old, new),
            };
        }
        engine.leave_device(addr, len);
        return moved::remap(engine, old, new, flags, to);
    }
    if let Some(to) = to {
        return move_to(engine, old, new, to, stays);
    }
    let all = addr..addr + len;
    if stays {
        let to = take_for(engine, old, new)?;
        return empty_into(engine, old, to)
            .map(|()| to)
            .inspect_err(|_| give(to, new));
    }
    if new <= len {
        if new < len {
            leave(addr + new, len - new);
        }
        return Ok(addr);
    }
    if take_at(addr + len, new - len) {
        return engine
            .hand_hints_on(all, addr, new)
            .map(|()| addr)
            .inspect_err(|_| give(addr + len, new - len));
    }
    if !may_move {
        return Err(libc::ENOMEM);
    }
    let to = take_for(engine, old, new)?;
    engine
        .hand_hints_on(all, to, new)
        .inspect_err(|_| give(to, new))?;
    move_contents(engine, old, to, len);
    leave(addr, len);
    Ok(to)
}

/// Whether all of a piece is the kernel's.
fn is_off_device(engine: &Engine, part: Part) -> bool {
    let end = part.addr + part.len;
    engine.alike_from(part.addr, end) == (end, true)
}

/// Pages for a piece that moves. What is closed cannot be read, so it does not move.
fn take_for(engine: &Engine, old: Part, new: usize) -> Result<usize, i32> {
    if closed_in(engine, old.addr, old.len) > 0 {
        return Err(libc::ENOMEM);
    }
    take(new).ok_or(libc::ENOMEM)
}

/// Copies a piece to where its owner has it from now on. In the program's own thread: both may be
/// on the device.
fn move_contents(engine: &Engine, old: Part, to: usize, len: usize) {
    debug_assert!(engine.in_arena(old.addr));
    // SAFETY: both ranges are the program's, readable and writable; the new one is unused, and
    // does not overlap.
    unsafe { core::ptr::copy_nonoverlapping(old.addr as *const u8, to as *mut u8, len) };
}

/// Moves the contents of a piece that stays, empty. Other threads may store to it meanwhile: page
/// by page either the new place has that, or the old one.
fn empty_into(engine: &Engine, old: Part, to: usize) -> Result<(), i32> {
    let place = Place::new();
    let page = Piece::new(&place, PAGE).ok_or(libc::ENOMEM)?;
    for at in (0..old.len).step_by(PAGE) {
        let (from, to) = (old.addr + at, to + at);
        // SAFETY: the piece has a page of room.
        let is_withdrawn = unsafe { engine.withdraw(from, page.at) };
        // A page of the kernel's, or one that it does not let go.
        if !is_withdrawn && moved::page(engine, from, to).is_ok() {
            continue;
        }
        let contents = match is_withdrawn {
            true => page.at.cast_const(),
            false => from as *const u8,
        };
        // SAFETY: the program's page, or our copy; the new place is unused.
        unsafe { core::ptr::copy_nonoverlapping(contents, to as *mut u8, PAGE) };
        // The process has too many mappings: a store in between is lost.
        if !is_withdrawn {
            engine.discard(from, PAGE);
        }
    }
    Ok(())
}

/// Moves a piece to the place that the program wants, over what is there.
fn move_to(engine: &Engine, old: Part, new: usize, to: usize, stays: bool) -> Result<usize, i32> {
    let Part { addr, len, .. } = old;
    let overlaps = to < addr + len && addr < to.saturating_add(new);
    if !to.is_multiple_of(PAGE) || overlaps || to.checked_add(new).is_none_or(|end| end > USER_END)
    {
        return Err(libc::EINVAL);
    }
    if closed_in(engine, addr, len) > 0 {
        return Err(libc::ENOMEM);
    }
    // Fresh memory there: of the device, if the place is the arena's.
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the program's own request, by the hook.
    let made = unsafe { mmap(to as *mut c_void, new, READ_WRITE, flags, -1, 0) };
    if made == libc::MAP_FAILED {
        return Err(sluice_region::errno());
    }
    engine.hand_hints_on(addr..addr + len, to, new)?;
    if stays {
        return empty_into(engine, old, to).map(|()| to);
    }
    move_contents(engine, old, to, len.min(new));
    leave(addr, len);
    Ok(to)
}
