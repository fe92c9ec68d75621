//! Mappings in the arena that are the kernel's, which moves them itself.
//!
//! Between a move away and the arena's own memory in its place somebody else could be given the
//! addresses. So the kernel leaves an empty mapping there each time, which the arena then replaces.

use crate::allocator::heap::{claim, empty, give, take_at};
use crate::memory::parts::{Part, USER_END, of_arena, whole};
use libc::c_int;
use sluice_region::{PAGE, raw_mmap, raw_munmap, sys};
use sluice_runtime::{Engine, is_alike};

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
        let all = addr..addr + len;
        let moved = engine.move_away(all.clone(), new, || raw(addr, len, new, flags, target));
        return match moved {
            Err(libc::EFAULT) if is_alike(all) => by_pieces(engine, old, new, to),
            moved => moved,
        };
    }
    let kept = len.min(new);
    if kept < len {
        give(addr + kept, len - kept);
    }
    let how = libc::MREMAP_MAYMOVE | libc::MREMAP_DONTUNMAP;
    let aside = match engine.move_away(addr..addr + kept, kept, || raw(addr, kept, kept, how, 0)) {
        Err(libc::EFAULT) if is_alike(addr..addr + kept) => {
            let moved = by_pieces(engine, Part { len: kept, ..old }, new, to);
            return moved.inspect(|_| give(addr, kept));
        }
        aside => aside?,
    };
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

/// Moves what the program knows as one mapping, and the kernel as several, of which it moves one
/// at a time. Where it was there is an empty mapping then.
fn by_pieces(engine: &Engine, old: Part, new: usize, to: Option<usize>) -> Result<usize, i32> {
    let Part { addr, len, .. } = old;
    let fixed = to.map_or(0, |_| libc::MAP_FIXED);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    // SAFETY: fresh memory, or what the program wants replaced.
    let at = unsafe { raw_mmap(to.unwrap_or(0), new, libc::PROT_NONE, flags, -1, 0)? };
    let whole = if new > len { len - PAGE } else { len };
    let mut done = 0;
    let moved = engine.move_away(addr..addr + len, new, || {
        shift(addr, at, whole, libc::MREMAP_DONTUNMAP, &mut done)?;
        if whole < len {
            let (last, to) = (addr + whole, at + whole);
            let how = libc::MREMAP_MAYMOVE | libc::MREMAP_DONTUNMAP;
            let aside = raw(last, PAGE, PAGE, how, 0)?;
            let how = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            if let Err(errno) = raw(aside, PAGE, new - whole, how, to) {
                raw(aside, PAGE, PAGE, how, last)?;
                return Err(errno);
            }
        }
        Ok(at)
    });
    moved.inspect_err(|_| {
        // The pages that have moved go back: nobody else can have been given their addresses.
        let back = shift(at, addr, done, 0, &mut 0);
        if back.is_err() {
            sluice_region::fatal(format_args!("memory that moved cannot go back: {back:?}"));
        }
        // SAFETY: made above, and empty again.
        let _ = unsafe { raw_munmap(at, new) };
    })
}

/// The answer for memory outside of the arena that the kernel has refused since it knows it as
/// several mappings: pieces that have come from the arena. Of what is one mapping to nobody, too.
pub fn outside(
    engine: &Engine,
    addr: usize,
    len: usize,
    new: usize,
    flags: c_int,
    to: Option<usize>,
) -> Result<usize, i32> {
    let (Some(old), Some(new)) = (whole(addr, len), new.checked_next_multiple_of(PAGE)) else {
        return Err(libc::EFAULT);
    };
    let (len, kept) = (old.len(), old.len().min(new));
    let is_longer = new > len;
    let may_move = flags & libc::MREMAP_MAYMOVE != 0;
    if kept == 0 || !(may_move || is_longer) || !is_alike(addr..addr + kept) {
        return Err(libc::EFAULT);
    }
    if !may_move {
        return raw(old.end - PAGE, PAGE, PAGE + new - len, 0, 0).map(|_| addr);
    }
    let part = Part {
        addr,
        len: kept,
        is_whole: true,
    };
    let at = by_pieces(engine, part, new, to)?;
    if flags & libc::MREMAP_DONTUNMAP == 0 {
        // SAFETY: the program's own memory, which is elsewhere now.
        unsafe { raw_munmap(addr, kept) }?;
    }
    Ok(at)
}

/// Moves all mappings of a range, each as far as the kernel takes it for one. `done` becomes how
/// far that came.
fn shift(from: usize, to: usize, len: usize, more: c_int, done: &mut usize) -> Result<(), i32> {
    let how = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | more;
    let mut step = len;
    while *done < len {
        match raw(from + *done, step, step, how, to + *done) {
            Ok(_) => {
                *done += step;
                step = len - *done;
            }
            Err(libc::EFAULT) if step > PAGE => step = step / PAGE / 2 * PAGE,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Has the kernel move one page, with all that is stored to it before, and even if it is pinned.
/// Both places are off the device, and the old one is empty.
pub fn page(engine: &Engine, from: usize, to: usize) -> Result<(), i32> {
    engine.leave_device(from, PAGE);
    if engine.in_arena(to) {
        engine.leave_device(to, PAGE);
    }
    let how = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;
    let call = || raw(from, PAGE, PAGE, how, to);
    engine.move_away(from..from + PAGE, PAGE, call).map(drop)
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
    let made = unsafe { raw_munmap(end, more) }.and_then(|()| match raw(addr, len, new, 0, 0) {
        // The last of several mappings grows.
        Err(libc::EFAULT) if is_alike(addr..end) => raw(end - PAGE, PAGE, PAGE + more, 0, 0),
        made => made,
    });
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
