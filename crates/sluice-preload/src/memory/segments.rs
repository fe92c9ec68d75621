//! Segments of System V, which are memory of the kernel's, also where the program puts one over
//! memory of the device.

use crate::allocator::heap::{claim, empty, give, take_at};
use crate::bytes::buffers::set_errno;
use crate::device::engine;
use crate::memory::map::pointer;
use crate::memory::parts::{Part, of_arena, on_device_from};
use crate::next;
use crate::shared::{cut, mapped};
use core::ptr::null;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use libc::{c_int, c_void};
use sluice_region::{PAGE, errno};
use sluice_runtime::{Engine, shmem::client};

/// `shmat` over what is there (`linux/shm.h`).
const SHM_REMAP: c_int = 0o40000;
/// What an address that may be rounded is rounded to.
const LOWEST: usize = if cfg!(target_arch = "aarch64") {
    4 * PAGE
} else {
    PAGE
};
/// Segments over memory of the device at once.
const MOST: usize = 256;

/// Where a segment lies over memory of the device, and its bytes. Nobody has an entry at 0.
struct Attached {
    at: AtomicUsize,
    bytes: AtomicUsize,
}

static ATTACHED: [Attached; MOST] = [const {
    Attached {
        at: AtomicUsize::new(0),
        bytes: AtomicUsize::new(0),
    }
}; MOST];

impl Attached {
    /// An entry of nobody's, for a segment of so many bytes.
    fn new(bytes: usize) -> Option<&'static Attached> {
        let is_taken = |one: &&Attached| {
            let taken = one.bytes.compare_exchange(0, bytes, Acquire, Relaxed);
            taken.is_ok()
        };
        ATTACHED.iter().find(is_taken)
    }

    /// The segment at an address: the last that was put there.
    fn take(at: usize) -> Option<usize> {
        let is_it = |one: &&Attached| {
            let taken = one.at.compare_exchange(at, 0, Acquire, Relaxed);
            taken.is_ok()
        };
        let found = ATTACHED.iter().find(is_it)?;
        Some(found.bytes.swap(0, Release))
    }

    fn forget(&self) {
        self.bytes.store(0, Release);
    }
}

next!(next_shmat: c"shmat"(id: c_int, addr: *const c_void, flags: c_int) -> *mut c_void);
next!(next_shmdt: c"shmdt"(addr: *const c_void) -> c_int);

/// # Safety
/// C contract of `shmat`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shmat(id: c_int, addr: *const c_void, flags: c_int) -> *mut c_void {
    let from = match flags & libc::SHM_RND {
        0 => addr as usize,
        _ => addr as usize & !(LOWEST - 1),
    };
    let bytes = bytes_of(id);
    let over = engine().zip(bytes).and_then(|(engine, bytes)| {
        let part = of_arena(engine, from, bytes)?;
        Some(attach(engine, id, part, flags))
    });
    if let Some(attached) = over {
        return pointer(attached);
    }
    if flags & SHM_REMAP != 0
        && let Some(bytes) = bytes
    {
        cut(from, bytes);
    }
    // SAFETY: passed on.
    let at = unsafe { next_shmat(id, addr, flags) };
    if at != libc::MAP_FAILED {
        let before = errno();
        if let Some(bytes) = bytes {
            mapped(at as usize, bytes, -1, true, flags & libc::SHM_RDONLY == 0);
        }
        set_errno(before);
    }
    at
}

/// Puts a segment over memory of the device, or where the program has none of it any more.
fn attach(engine: &Engine, id: c_int, part: Part, flags: c_int) -> Result<usize, i32> {
    let Part { addr, len, .. } = part;
    // Behind the ends of the arena are its fences.
    if !part.is_whole {
        return Err(libc::EINVAL);
    }
    // What is there would be gone if the kernel refused the segment afterwards.
    let elsewhere = flags & !(SHM_REMAP | libc::SHM_RND);
    // SAFETY: passed on, at an address of the kernel's choice.
    let tried = unsafe { next_shmat(id, null(), elsewhere) };
    if tried == libc::MAP_FAILED {
        return Err(errno());
    }
    let done = attach_tried(engine, id, part, flags);
    // SAFETY: attached above, and nobody knows of it.
    unsafe { next_shmdt(tried) };
    if done.is_ok() {
        mapped(addr, len, -1, false, flags & libc::SHM_RDONLY == 0);
    }
    done
}

fn attach_tried(engine: &Engine, id: c_int, part: Part, flags: c_int) -> Result<usize, i32> {
    let Part { addr, len, .. } = part;
    let entry = Attached::new(len).ok_or(libc::ENOMEM)?;
    let is_given = match flags & SHM_REMAP {
        0 if take_at(addr, len) => Ok(()),
        0 => Err(libc::EINVAL),
        _ => {
            claim(engine, addr, len);
            empty(engine, addr, len)
        }
    };
    if let Err(errno) = is_given {
        entry.forget();
        return Err(errno);
    }
    engine.leave_device(addr, len);
    // To the kernel there is the arena.
    // SAFETY: a range that is the program's, for a segment of this length.
    let at = unsafe { next_shmat(id, addr as *const c_void, flags | SHM_REMAP) };
    if at == libc::MAP_FAILED {
        let refused = errno();
        entry.forget();
        if flags & SHM_REMAP == 0 {
            give(addr, len);
        }
        return Err(refused);
    }
    // One that was there before is gone.
    Attached::take(addr);
    entry.at.store(addr, Release);
    Ok(addr)
}

/// Size of a System V segment.
fn bytes_of(id: c_int) -> Option<usize> {
    // SAFETY: plain data, for which zeros are valid; the call fills it, or fails.
    unsafe {
        let mut told: libc::shmid_ds = core::mem::zeroed();
        (libc::shmctl(id, libc::IPC_STAT, &raw mut told) == 0).then_some(told.shm_segsz)
    }
}

/// # Safety
/// C contract of `shmdt`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shmdt(addr: *const c_void) -> c_int {
    let at = addr as usize;
    if let Some(engine) = engine()
        && let Some(len) = Attached::take(at)
        && detach(engine, at, at + len)
    {
        return 0;
    }
    let placed = client::mapping_of(at).filter(|(start, _)| *start == at);
    if let Some((start, len)) = placed {
        cut(start, len);
    }
    // SAFETY: passed on.
    unsafe { next_shmdt(addr) }
}

/// Makes memory of the device of it that nobody has: what is mapped over a segment ends it. Says
/// whether some of it was left.
fn detach(engine: &Engine, mut at: usize, end: usize) -> bool {
    let mut was_there = false;
    while at < end {
        let (to, is_on_device) = on_device_from(engine, at, end);
        if !is_on_device {
            give(at, to - at);
            was_there = true;
        }
        at = to;
    }
    was_there
}
