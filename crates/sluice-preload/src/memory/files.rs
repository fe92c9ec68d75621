//! Files that the program maps (`--place files`): pages of the arena that begin as the file's.
//!
//! Placed are mappings that nobody can distinguish from the kernel's own: private ones, and shared
//! ones that can only be read, as long as a lease guards the file against changes. The rest stays
//! with the kernel, and is counted by its reason.

use crate::allocator::heap::{give, is_lockable, take};
use crate::memory::wanted::{READ_WRITE, Wanted};
use libc::c_int;
use sluice_abi::Counter;
use sluice_region::{PAGE, is_plain_file, map_view, sys};
use sluice_runtime::{Engine, FilePart, calm, drop_view};

/// Kinds of file mappings that stay where they are.
const MAP_SYNC: c_int = 0x80000;

/// What becomes of a mapping of a file that is to be placed.
enum Verdict {
    /// It is placed. The program sees what others write to the file.
    Placed { is_shared: bool },
    /// It stays with the kernel, and counts here.
    Stays(Counter),
}

/// Maps a file on the device, anywhere; `None` if the kernel is to map it.
pub fn map(engine: &'static Engine, wanted: &Wanted) -> Option<Result<usize, i32>> {
    let is_shared = is_placed(engine, wanted)?;
    let part = match part(wanted, is_shared) {
        Ok(part) => part,
        Err(errno) => return Some(Err(errno)),
    };
    let len = wanted.len.next_multiple_of(PAGE);
    let Some(addr) = take(len) else {
        drop_view(part.view, len);
        return Some(Err(libc::ENOMEM));
    };
    let put = put(engine, addr, len, part);
    if put != Some(Ok(addr)) {
        give(addr, len);
    }
    put
}

/// Maps a file on pages of the arena that are the program's and empty; `None` if the kernel is to
/// map it there.
pub fn map_over(
    engine: &'static Engine,
    wanted: &Wanted,
    addr: usize,
    len: usize,
) -> Option<Result<usize, i32>> {
    let is_shared = is_placed(engine, wanted)?;
    match part(wanted, is_shared) {
        Ok(part) => put(engine, addr, len, part),
        Err(errno) => Some(Err(errno)),
    }
}

/// Whether a mapping is of a file that is to be placed, and can be; and then, whether it is shared.
fn is_placed(engine: &Engine, wanted: &Wanted) -> Option<bool> {
    let is_file = wanted.fd >= 0 && !wanted.has(libc::MAP_ANONYMOUS);
    let is_named = is_file
        && !engine.session.kinds.files.is_empty()
        && wanted.len >= engine.session.mmap_min.max(1)
        && !engine.is_off()
        && calm(|| is_named(engine, wanted.fd));
    match is_named.then(|| verdict(engine, wanted))? {
        Verdict::Placed { is_shared } => Some(is_shared),
        Verdict::Stays(counter) => {
            engine.count(counter, wanted.len as u64);
            None
        }
    }
}

fn verdict(engine: &Engine, wanted: &Wanted) -> Verdict {
    let kind = wanted.flags & libc::MAP_TYPE;
    let is_shared = kind != libc::MAP_PRIVATE;
    let is_elsewhere = wanted.is_fixed() && !engine.in_arena(wanted.addr);
    let is_odd = wanted.is_unplaceable()
        || wanted.has(MAP_SYNC)
        || ![libc::PROT_READ, READ_WRITE].contains(&wanted.prot);
    if is_odd || is_elsewhere || !is_plain_file(wanted.fd) {
        Verdict::Stays(Counter::FilesOther)
    } else if is_shared && wanted.prot == READ_WRITE {
        Verdict::Stays(Counter::FilesWritable)
    } else {
        Verdict::Placed { is_shared }
    }
}

fn part(wanted: &Wanted, is_shared: bool) -> Result<FilePart, i32> {
    let len = wanted.len.next_multiple_of(PAGE);
    // What is wrong with the request the kernel says here.
    let view = map_view(len, is_shared, wanted.fd, wanted.offset)?;
    Ok(FilePart {
        view,
        fd: wanted.fd,
        is_shared,
        is_writable: wanted.prot == READ_WRITE,
    })
}

fn put(
    engine: &'static Engine,
    addr: usize,
    len: usize,
    part: FilePart,
) -> Option<Result<usize, i32>> {
    if let Err(errno) = engine.place_file(addr, len, part) {
        drop_view(part.view, len);
        if part.is_shared {
            engine.count(Counter::FilesUnleased, len as u64);
            return None;
        }
        return Some(Err(errno));
    }
    if !is_lockable(addr, len) {
        return Some(Err(libc::EAGAIN));
    }
    engine.count(Counter::FileBytes, len as u64);
    Some(Ok(addr))
}

/// Whether the patterns of `--place files` fit an open file's path.
fn is_named(engine: &Engine, fd: c_int) -> bool {
    const GONE: &[u8] = b" (deleted)";
    let mut at = [0u8; 32];
    let mut path = [0u8; libc::PATH_MAX as usize];
    {
        use std::io::Write;
        // There is room for any number.
        let _ = write!(&mut at[..], "/proc/self/fd/{fd}\0");
    }
    // SAFETY: a terminated path, and room for the answer.
    let read = unsafe {
        let (at, to) = (at.as_ptr(), path.as_mut_ptr());
        sys!(libc::SYS_readlinkat, libc::AT_FDCWD, at, to, path.len())
    };
    let Ok(bytes) = read else {
        return false;
    };
    let path = &path[..bytes];
    let path = path.strip_suffix(GONE).unwrap_or(path);
    engine.session.kinds.has_file(path)
}
