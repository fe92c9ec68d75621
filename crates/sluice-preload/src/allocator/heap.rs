//! The program's heap: pages of the arena, cut by dlmalloc.

use crate::allocator::{deferred, limits, profile};
use crate::device::engine;
use core::cell::Cell;
use core::ops::Range;
use core::ptr::null_mut;
use dlmalloc::{Allocator, Dlmalloc};
use sluice_abi::Counter;
use sluice_region::{PAGE, raw_mmap, raw_mprotect, thread_id};
use sluice_runtime::{Engine, Guard, Lock, Space, calm};

/// The program's allocations.
static HEAP: Lock<Dlmalloc<Arena>> = Lock::new(Dlmalloc::new_with_allocator(Arena));
/// Which pages of the arena are handed out; `None` before there is a device.
pub static SPACE: Lock<Option<Space>> = Lock::new(None);

std::thread_local! {
    /// The calling thread, as the heap's lock knows it; 0 until it is asked.
    static HOLDER: Cell<u32> = const { Cell::new(0) };
}

/// The number of the calling thread, asked once.
#[inline(always)]
pub fn holder() -> u32 {
    if HOLDER.get() == 0 {
        HOLDER.set(thread_id());
    }
    HOLDER.get()
}

/// The program's allocations, for the calling thread alone. `None` if it has them already: a
/// handler of a signal, which came in the midst of an allocation, would wait for itself.
#[inline(always)]
pub fn allocations() -> Option<Guard<'static, Dlmalloc<Arena>>> {
    HEAP.lock_as(holder())
}

/// As [`allocations`], for a thread that takes memory: what handlers have given back is there
/// again.
#[inline(always)]
pub fn allocations_to_take() -> Option<Guard<'static, Dlmalloc<Arena>>> {
    let mut heap = allocations()?;
    // SAFETY: chunks of this heap, each of which was given back once.
    deferred::free_all(|chunk| unsafe { heap.c_free(chunk) });
    Some(heap)
}

/// Takes the heap's lock for a fork. False if the calling thread has it: a handler of a signal
/// forks, which came in the midst of an allocation.
pub fn hold() -> bool {
    let is_free = !HEAP.is_held_by(holder());
    if is_free {
        HEAP.acquire_as(holder());
    }
    is_free
}

/// Gives back what [`hold`] took.
pub fn let_go() {
    HEAP.release();
}

/// Touches this library's variables of the calling thread, and what leads there: the table of a
/// thread's modules lies on the heap. A child looks for them before its faults are served.
///
/// Not inlined: the way there, once known, would not be gone again.
#[inline(never)]
pub fn touch_own() {
    // SAFETY: a live variable of this thread.
    HOLDER.with(|holder| unsafe { holder.as_ptr().read_volatile() });
}

/// In the child of a fork, whose thread has another number than its parent's.
pub fn hold_in_child() {
    HOLDER.set(thread_id());
    HEAP.hand_to(holder());
}

/// Source of dlmalloc's memory.
pub struct Arena;

/// The C library maps allocations from so many bytes on. Smaller ones come from its break, and so
/// never lie where the program has unmapped something and may map again.
const MAPPED: usize = 128 << 10;

/// Whether the program may have so many bytes more of the device, or of the kernel. Without a limit
/// of its own it may.
#[inline]
pub fn allow(bytes: usize, is_data: bool) -> bool {
    let have_room = |used| limits::have_room(bytes as u64, is_data, used);
    !limits::is_any() || bytes_used().is_none_or(have_room)
}

/// Takes pages of the arena; `None` when the device is full.
pub fn take(len: usize) -> Option<usize> {
    take_by(len, Space::take)
}

fn take_by(len: usize, how: fn(&mut Space, usize) -> Option<usize>) -> Option<usize> {
    let engine = engine().filter(|_| allow(len, true))?;
    calm(|| {
        let first = with_space(engine, |space| how(space, len.div_ceil(PAGE))).flatten();
        if first.is_none() {
            engine.count(Counter::DeviceFull, 1);
        }
        let addr = engine.arena().0 + first? * PAGE;
        open_taken(engine, addr, len.next_multiple_of(PAGE)).then_some(addr)
    })
}

/// Gives the program access to pages that were just taken. False if the kernel does not, because
/// the program has too many mappings: then they are free again.
fn open_taken(engine: &Engine, addr: usize, len: usize) -> bool {
    let is_open = open(engine, addr, len).is_ok();
    if !is_open {
        let (first, count) = pages(engine, addr, len);
        with_space(engine, |space| space.shut(first, count));
    }
    is_open
}

/// Whether a piece that was just taken may be the program's, which may want all its memory locked;
/// if not, it is given back.
pub fn is_lockable(addr: usize, len: usize) -> bool {
    let may_have =
        engine().is_none_or(|engine| engine.lock_if_wanted(addr, len.next_multiple_of(PAGE)));
    if !may_have {
        give(addr, len);
    }
    may_have
}

/// Takes pages where they are wanted, as behind a piece that grows, if nobody has them.
pub fn take_at(addr: usize, len: usize) -> bool {
    engine().is_some_and(|engine| {
        if !allow(len, true) {
            return false;
        }
        let (first, count) = pages(engine, addr, len);
        with_space(engine, |space| space.take_at(first, count)).unwrap_or(false)
            && open_taken(engine, addr, len)
    })
}

/// Takes pages that the program cannot access yet; `None` when it has to do without the device.
pub fn reserve(len: usize) -> Option<usize> {
    let engine = engine().filter(|_| allow(len, false))?;
    let first = with_space(engine, |space| space.reserve(len.div_ceil(PAGE)))??;
    let addr = engine.arena().0 + first * PAGE;
    if engine.close(addr, len.next_multiple_of(PAGE)).is_err() {
        give(addr, len);
        return None;
    }
    Some(addr)
}

/// Gives pages of the arena back. Contents are dropped, and an access there ends the program as
/// natively.
pub fn give(addr: usize, len: usize) {
    give_by(addr, len, Space::shut);
}

/// The same for pages that the program unmaps.
pub fn leave(addr: usize, len: usize) {
    give_by(addr, len, Space::leave);
}

fn give_by(addr: usize, len: usize, how: fn(&mut Space, usize, usize) -> usize) {
    let Some(engine) = engine() else { return };
    let len = len.next_multiple_of(PAGE);
    // A piece may be what is left of a larger one: its size does not matter.
    if profile::is_on() {
        engine.freed(addr, len);
    }
    calm(|| {
        // What is still a file's or the kernel's is not handed out again.
        if come_back(engine, addr, len).is_ok() {
            engine.forget_hints(addr, len);
            engine.shut(addr, len);
            let (first, count) = pages(engine, addr, len);
            with_space(engine, |space| how(space, first, count));
        }
    });
}

/// Makes a range of the arena the device's again, whatever it was.
fn come_back(engine: &Engine, addr: usize, len: usize) -> Result<(), i32> {
    engine.cut_files(addr, len)?;
    if engine.any_off_device(addr, len) {
        map_afresh(engine, addr, len)?;
        note_open(engine, addr, len);
    }
    Ok(())
}

/// Makes a range of the arena what it was at the start: on the device, open, and empty.
pub fn empty(engine: &Engine, addr: usize, len: usize) -> Result<(), i32> {
    come_back(engine, addr, len)?;
    open(engine, addr, len)?;
    engine.forget_hints(addr, len);
    engine.discard(addr, len);
    Ok(())
}

/// Replaces a range of the arena by fresh memory of the device.
fn map_afresh(engine: &Engine, addr: usize, len: usize) -> Result<(), i32> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a range of the arena that the program gave up.
    unsafe { raw_mmap(addr, len, prot, flags, -1, 0)? };
    engine.rejoin_device(addr, len);
    Ok(())
}

/// Gives the program access to what is closed of a range.
pub fn open(engine: &Engine, addr: usize, len: usize) -> Result<(), i32> {
    if closed_in(engine, addr, len) > 0 {
        // SAFETY: a range of the arena, on behalf of the program.
        unsafe { raw_mprotect(addr, len, libc::PROT_READ | libc::PROT_WRITE)? };
        note_open(engine, addr, len);
    }
    Ok(())
}

/// Notes that the program has access to a range.
pub fn note_open(engine: &Engine, addr: usize, len: usize) {
    let (first, count) = pages(engine, addr, len);
    with_space(engine, |space| space.open(first, count));
    engine.opened(addr, len);
}

/// Takes the program's access to a range; contents stay.
pub fn close(engine: &Engine, addr: usize, len: usize) -> Result<(), i32> {
    engine.close(addr, len)?;
    let (first, count) = pages(engine, addr, len);
    with_space(engine, |space| space.close(first, count));
    Ok(())
}

/// Marks a range as the program's.
pub fn claim(engine: &Engine, addr: usize, len: usize) {
    let (first, count) = pages(engine, addr, len);
    with_space(engine, |space| space.claim(first, count));
}

/// Bytes of the arena that the program has, those of them that it cannot access, and those that are
/// free and that nobody can.
fn bytes_used() -> Option<[u64; 3]> {
    calm(|| {
        let space = SPACE.lock();
        let space = space.as_ref()?;
        let pages = [space.in_use(), space.closed(), space.shut_pages()];
        Some(pages.map(|pages| (pages * PAGE) as u64))
    })
}

/// Pages of a range to which the program has no access.
pub fn closed_in(engine: &Engine, addr: usize, len: usize) -> usize {
    let (first, count) = pages(engine, addr, len);
    calm(|| {
        let space = SPACE.lock();
        space
            .as_ref()
            .map_or(0, |space| space.closed_in(first, count))
    })
}

/// Whether all pages of a range are the program's.
pub fn is_in_use(engine: &Engine, addr: usize, len: usize) -> bool {
    let (first, count) = pages(engine, addr, len);
    calm(|| {
        let space = SPACE.lock();
        space
            .as_ref()
            .is_some_and(|space| space.used_in(first, count) == count)
    })
}

/// The first piece of a range of the arena that is the program's, as addresses.
pub fn next_run(engine: &Engine, start: usize, end: usize) -> Option<Range<usize>> {
    let base = engine.arena().0;
    let (first, count) = pages(engine, start, end.saturating_sub(start));
    calm(|| {
        let space = SPACE.lock();
        let run = space.as_ref()?.run(first, first + count)?;
        Some(base + run.start * PAGE..base + run.end * PAGE)
    })
}

/// Bytes from the start of a range on that are the program's, without a gap.
pub fn in_use_from(engine: &Engine, addr: usize, len: usize) -> usize {
    let (first, count) = pages(engine, addr, len);
    calm(|| {
        let space = SPACE.lock();
        space.as_ref().map_or(0, |space| {
            let run = (0..count).take_while(|n| space.used_in(first + n, 1) == 1);
            run.count() * PAGE
        })
    })
}

/// Bytes below an address that nobody has, without a gap and as far as `most`.
pub fn free_below(engine: &Engine, addr: usize, most: usize) -> usize {
    let end = (addr - engine.arena().0) / PAGE;
    calm(|| {
        let space = SPACE.lock();
        space.as_ref().map_or(0, |space| {
            let pages = (1..=end.min(most / PAGE)).take_while(|n| space.used_in(end - n, 1) == 0);
            pages.count() * PAGE
        })
    })
}

/// The first page of a range of the arena, and how many it has.
fn pages(engine: &Engine, addr: usize, len: usize) -> (usize, usize) {
    ((addr - engine.arena().0) / PAGE, len / PAGE)
}

/// Changes which pages are handed out, and publishes how many there are now.
fn with_space<T>(engine: &Engine, change: impl FnOnce(&mut Space) -> T) -> Option<T> {
    calm(|| {
        let (changed, in_use, closed) = {
            let mut space = SPACE.lock();
            let space = space.as_mut()?;
            (change(space), space.in_use(), space.closed())
        };
        let open = in_use.saturating_sub(closed);
        engine.set_count(Counter::PlacedBytes, (open * PAGE) as u64);
        engine.set_count(Counter::ReservedBytes, (closed * PAGE) as u64);
        Some(changed)
    })
}

// SAFETY: `take` hands out distinct ranges of zeros: fresh pages, or pages dropped by `give`.
unsafe impl Allocator for Arena {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let size = size.next_multiple_of(PAGE);
        let how = match size < MAPPED {
            true => Space::take_beside,
            false => Space::take,
        };
        let taken = take_by(size, how).filter(|addr| is_lockable(*addr, size));
        taken.map_or((null_mut(), 0, 0), |addr| (addr as *mut u8, size, 0))
    }
    fn remap(&self, start: *mut u8, old: usize, new: usize, _: bool) -> *mut u8 {
        if new < old {
            give(start as usize + new, old - new);
        } else if new > old {
            let (end, more) = (start as usize + old, new - old);
            if !take_at(end, more) || !is_lockable(end, more) {
                return null_mut();
            }
        }
        start
    }
    fn free_part(&self, start: *mut u8, old: usize, new: usize) -> bool {
        give(start as usize + new, old - new);
        true
    }
    fn free(&self, start: *mut u8, size: usize) -> bool {
        give(start as usize, size);
        true
    }
    fn can_release_part(&self, _: u32) -> bool {
        true
    }
    fn allocates_zeros(&self) -> bool {
        true
    }
    fn page_size(&self) -> usize {
        PAGE
    }
}
