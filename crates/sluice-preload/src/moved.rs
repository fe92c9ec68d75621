//! Mappings in the arena that are the kernel's, which moves them itself.
//!
//! Between a move away and the arena's own memory in its place somebody else could be given the
//! addresses. So the kernel leaves an empty mapping there each time, which the arena then replaces.

use crate::heap::{claim, empty, give, take_at};
use crate::parts::{Part, USER_END, of_arena};
use libc::c_int;
use sluice_region::{PAGE, raw_mmap, raw_munmap, sys};
use sluice_runtime::Engine;

/// Moves or lengthens a mapping that has left the device, and may be moved.
pub fn remap(
    engine: &Engine,
    old: Part,
    new: usize,
    flags: c_int,
    to: Option<usize>,
) -> Result<usize, i32> {
    let Part { addr, len, .. } = old;
    if let Some(to) = to {
        make_way(engine, old, new, to)?;
    }
    let target = to.unwrap_or(0);
    if flags & libc::MREMAP_DONTUNMAP != 0 {
        return engine.move_away(addr..addr + len, new, || raw(addr, len, new, flags, target));
    }
    let kept = len.min(new);
    if kept < len {
        give(addr + kept, len - kept);
    }
    let how = libc::MREMAP_MAYMOVE | libc::MREMAP_DONTUNMAP;
    let aside = engine.move_away(addr..addr + kept, kept, || raw(addr, kept, kept, how, 0))?;
    let moved = engine.move_away(addr..addr + kept, new, || {
        raw(aside, kept, new, flags, target)
    });
    match moved {
        Ok(at) => {
            give(addr, kept);
            Ok(at)
        }
        Err(errno) => {
            // Where it was there is an empty mapping, which nobody else can have been given.
            let back = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            raw(aside, kept, kept, back, addr)?;
            Err(errno)
        }
    }
}

/// Lengthens a mapping that has left the device where it is, if the pages behind it are free.
///
/// Other threads may use it meanwhile, so it does not move. Between the two calls the kernel may
/// give the addresses to another mapping of the program's. The arena has handed them out by then,
/// and takes them back when that mapping goes.
pub fn lengthen(engine: &Engine, old: Part, new: usize) -> Result<usize, i32> {
    let Part { addr, len, .. } = old;
    let (end, more) = (addr + len, new - len);
    if !take_at(end, more) {
        return Err(libc::ENOMEM);
    }
    engine.leave_device(end, more);
    // SAFETY: pages that were free until now.
    let made = unsafe { raw_munmap(end, more) }.and_then(|()| raw(addr, len, new, 0, 0));
    let hinted = made.and_then(|_| engine.hand_hints_on(addr..end, addr, new));
    hinted.map(|()| addr).inspect_err(|_| {
        if made.is_ok() || is_free(end, more) {
            give(end, more);
        }
    })
}

/// Whether nothing is mapped in a range, where a mapping without access is then.
fn is_free(addr: usize, len: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: the kernel maps nothing where something is.
    unsafe { raw_mmap(addr, len, libc::PROT_NONE, flags, -1, 0) }.is_ok()
}

/// Takes what is the arena's of a place off the device.
fn make_way(engine: &Engine, old: Part, new: usize, to: usize) -> Result<(), i32> {
    let overlaps = to < old.addr + old.len && old.addr < to.saturating_add(new);
    let is_beyond = to.checked_add(new).is_none_or(|end| end > USER_END);
    if !to.is_multiple_of(PAGE) || overlaps || is_beyond {
        return Err(libc::EINVAL);
    }
    let Some(part) = of_arena(engine, to, new) else {
        return Ok(());
    };
    if !part.is_whole {
        return Err(libc::ENOMEM);
    }
    claim(engine, part.addr, part.len);
    empty(engine, part.addr, part.len)?;
    engine.leave_device(part.addr, part.len);
    Ok(())
}

fn raw(addr: usize, old: usize, new: usize, flags: c_int, to: usize) -> Result<usize, i32> {
    // SAFETY: the program's own request, for memory of its own.
    unsafe { sys!(libc::SYS_mremap, addr, old, new, flags, to) }
}
