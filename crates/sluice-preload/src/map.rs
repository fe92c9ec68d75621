//! Mappings: large anonymous ones become pages of the arena, and those of the device file become
//! windows of the device.
//!
//! Address space that a program reserves without access, to open it later piece by piece, is taken
//! from the arena as well, and closed. The heaps of virtual machines are made so.

use crate::heap::{claim, close, closed_in, empty, give, open, reserve, take};
use crate::init::engine;
use crate::wishes;
use libc::{c_int, c_void, off_t, size_t};
use sluice_abi::Counter;
use sluice_region::{PAGE, file_identity, raw_madvise, raw_mmap, raw_mprotect, raw_munmap};
use sluice_runtime::{Engine, Place, Trap};

const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;
/// Kinds of mapping that stay where they are: stacks, huge pages, pages that must not move.
const NOT_PLACED: c_int =
    libc::MAP_STACK | libc::MAP_GROWSDOWN | libc::MAP_HUGETLB | libc::MAP_32BIT | libc::MAP_LOCKED;

fn set_errno(errno: i32) {
    // SAFETY: this thread's errno.
    unsafe { *libc::__errno_location() = errno };
}

fn pointer(result: Result<usize, i32>) -> *mut c_void {
    match result {
        Ok(addr) => addr as *mut c_void,
        Err(errno) => {
            set_errno(errno);
            libc::MAP_FAILED
        }
    }
}

fn status(result: Result<(), i32>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(errno) => {
            set_errno(errno);
            -1
        }
    }
}

/// The part of a request that says what kind of mapping it is.
#[derive(Clone, Copy)]
struct Wanted {
    addr: usize,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
}

impl Wanted {
    fn has(&self, flag: c_int) -> bool {
        self.flags & flag == flag
    }

    fn is_fixed(&self) -> bool {
        self.has(libc::MAP_FIXED) || self.has(libc::MAP_FIXED_NOREPLACE)
    }

    /// Memory of the program's own, whatever access it has.
    fn is_memory(&self) -> bool {
        self.has(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) && self.flags & NOT_PLACED == 0
    }

    /// Whether it may be anywhere, and be placed on the device.
    fn is_heap(&self, engine: &Engine) -> bool {
        engine.arena().1 > 0
            && self.is_memory()
            && !self.is_fixed()
            && self.len >= engine.session.mmap_min
    }

    /// Whether it is address space to be opened later.
    ///
    /// It may be a stack that the program makes for itself. In signal mode a trap needs the stack
    /// of its thread, so there it must be said that most will not be used, which nobody says of a
    /// stack.
    fn is_reservation(&self, engine: &Engine) -> bool {
        let is_no_stack = engine.session.trap == Trap::Event || self.has(libc::MAP_NORESERVE);
        self.is_heap(engine) && self.prot == libc::PROT_NONE && is_no_stack
    }

    fn pass(&self) -> Result<usize, i32> {
        // SAFETY: what the program asked for.
        unsafe {
            raw_mmap(
                self.addr,
                self.len,
                self.prot,
                self.flags,
                self.fd,
                self.offset,
            )
        }
    }
}

fn map(wanted: Wanted) -> Result<usize, i32> {
    let Some(engine) = engine() else {
        return wanted.pass();
    };
    if wanted.is_heap(engine) && wanted.prot == READ_WRITE {
        return take(wanted.len).ok_or(libc::ENOMEM);
    }
    if wanted.is_reservation(engine)
        && !wishes::must_be(wanted.addr)
        && let Some(addr) = reserve(wanted.len)
    {
        wishes::passed_over(wanted.addr, addr, wanted.len.next_multiple_of(PAGE));
        return Ok(addr);
    }
    if wanted.is_fixed() && engine.in_arena(wanted.addr) {
        return map_over_arena(engine, wanted);
    }
    if wanted.fd >= 0 && matches!(engine.session.place, Place::Dax(_)) {
        return map_file(engine, wanted);
    }
    wanted.pass()
}

/// A fixed mapping on device memory: memory that can be read and written, or not at all, stays on
/// the device, empty; anything else takes its range off the device.
fn map_over_arena(engine: &Engine, wanted: Wanted) -> Result<usize, i32> {
    let len = wanted.len.next_multiple_of(PAGE);
    let (base, all) = engine.arena();
    if wanted.addr + len > base + all {
        return Err(libc::ENOMEM);
    }
    if wanted.has(libc::MAP_FIXED_NOREPLACE) {
        return Err(libc::EEXIST);
    }
    // First, so that nobody else is given what may be free of it.
    claim(engine, wanted.addr, len);
    empty(engine, wanted.addr, len)?;
    match wanted.prot {
        READ_WRITE if wanted.is_memory() => Ok(wanted.addr),
        libc::PROT_NONE if wanted.is_memory() => {
            close(engine, wanted.addr, len)?;
            Ok(wanted.addr)
        }
        _ => {
            engine.leave_device(wanted.addr, len);
            wanted.pass()
        }
    }
}

fn map_file(engine: &Engine, wanted: Wanted) -> Result<usize, i32> {
    if file_identity(wanted.fd) != engine.dax_identity() {
        return wanted.pass();
    }
    if !wanted.has(libc::MAP_SHARED) {
        engine.count(Counter::PrivateDax, 1);
        return wanted.pass();
    }
    let addr = wanted.pass()?;
    let len = wanted.len.next_multiple_of(PAGE);
    match engine.add_window(addr, len, wanted.offset as u64) {
        Ok(()) => Ok(addr),
        Err(errno) => {
            // SAFETY: mapped just now, and nobody knows of it.
            let _ = unsafe { raw_munmap(addr, len) };
            Err(errno)
        }
    }
}

/// Replaces a range of the arena by fresh memory of the device.
pub fn map_afresh(engine: &Engine, addr: usize, len: usize) -> Result<(), i32> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: a range of the arena that the program gave up.
    unsafe { raw_mmap(addr, len, READ_WRITE, flags, -1, 0)? };
    engine.rejoin_device(addr, len);
    Ok(())
}

/// # Safety
/// C contract of `mmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    addr: *mut c_void,
    len: size_t,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    pointer(map(Wanted {
        addr: addr as usize,
        len,
        prot,
        flags,
        fd,
        offset,
    }))
}

/// # Safety
/// C contract of `mmap64`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    addr: *mut c_void,
    len: size_t,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    pointer(map(Wanted {
        addr: addr as usize,
        len,
        prot,
        flags,
        fd,
        offset,
    }))
}

/// # Safety
/// C contract of `munmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(addr: *mut c_void, len: size_t) -> c_int {
    let (addr, len) = (addr as usize, len.next_multiple_of(PAGE));
    let Some(engine) = engine() else {
        // SAFETY: the program's own request.
        return status(unsafe { raw_munmap(addr, len) });
    };
    if engine.in_arena(addr) {
        if !addr.is_multiple_of(PAGE) || len == 0 || !engine.in_arena(addr + len - 1) {
            return status(Err(libc::EINVAL));
        }
        if closed_in(engine, addr, len) == len / PAGE {
            wishes::gone(addr, len);
        }
        give(addr, len);
        return 0;
    }
    if let Err(errno) = engine.cut_windows(addr, len) {
        return status(Err(errno));
    }
    // SAFETY: the program's own request.
    status(unsafe { raw_munmap(addr, len) })
}

/// # Safety
/// C contract of `madvise`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn madvise(addr: *mut c_void, len: size_t, advice: c_int) -> c_int {
    let (addr, len) = (addr as usize, len.next_multiple_of(PAGE));
    if let Some(engine) = engine().filter(|e| e.in_arena(addr)) {
        match advice {
            libc::MADV_DONTNEED if addr.is_multiple_of(PAGE) => {
                engine.discard(addr, len);
                return 0;
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
            | libc::MADV_DOFORK => return 0,
            _ => {}
        }
    }
    // SAFETY: the program's own request.
    status(unsafe { raw_madvise(addr, len, advice) })
}

/// # Safety
/// C contract of `mprotect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mprotect(addr: *mut c_void, len: size_t, prot: c_int) -> c_int {
    let (addr, len) = (addr as usize, len.next_multiple_of(PAGE));
    let inside = engine().filter(|e| e.in_arena(addr) && addr.is_multiple_of(PAGE));
    status(match inside {
        Some(engine) => protect_in_arena(engine, addr, len, prot),
        // SAFETY: the program's own request.
        None => unsafe { raw_mprotect(addr, len, prot) },
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
    let inside = engine().is_some_and(|e| e.in_arena(addr as usize));
    if inside {
        return pointer(remap_in_arena(addr as usize, old, new, flags));
    }
    // Windows of the device file are cut, not moved: a moved one would lose its traps.
    let dax = engine().filter(|e| matches!(e.session.place, Place::Dax(_)));
    if dax.is_some_and(|e| e.core().host.lpn(addr as usize).is_some()) {
        return pointer(Err(libc::ENOMEM));
    }
    // SAFETY: the program's own request.
    let rc = unsafe { libc::syscall(libc::SYS_mremap, addr, old, new, flags, fixed) };
    rc as *mut c_void
}

fn remap_in_arena(addr: usize, old: usize, new: usize, flags: c_int) -> Result<usize, i32> {
    let (old, new) = (old.next_multiple_of(PAGE), new.next_multiple_of(PAGE));
    if new == 0 || old == 0 || flags & !libc::MREMAP_MAYMOVE != 0 {
        return Err(libc::EINVAL);
    }
    if new <= old {
        if new < old {
            give(addr + new, old - new);
        }
        return Ok(addr);
    }
    let is_closed = engine().is_some_and(|engine| closed_in(engine, addr, old) > 0);
    if flags & libc::MREMAP_MAYMOVE == 0 || is_closed {
        return Err(libc::ENOMEM);
    }
    let to = take(new).ok_or(libc::ENOMEM)?;
    // SAFETY: both ranges are the program's, readable and writable; the new one is unused.
    unsafe { core::ptr::copy_nonoverlapping(addr as *const u8, to as *mut u8, old) };
    give(addr, old);
    Ok(to)
}
