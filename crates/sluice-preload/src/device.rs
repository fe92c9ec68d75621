//! The device of this process, as the hooks find it.

use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering::*};
use sluice_region::{Mapping, PAGE, raw_madvise};
use sluice_runtime::Engine;

static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(core::ptr::null_mut());
static SOURCE: AtomicU8 = AtomicU8::new(Heap::Early as u8);

/// Where the malloc family takes memory from.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Heap {
    /// Before the constructor ran: the library's own range.
    Early = 0,
    /// The device.
    Device = 1,
    /// The allocator after us.
    Next = 2,
}

/// The source in force.
pub fn heap() -> Heap {
    match SOURCE.load(Relaxed) {
        1 => Heap::Device,
        2 => Heap::Next,
        _ => Heap::Early,
    }
}

/// Makes a device the one of this process.
pub fn publish(engine: &'static Engine) {
    ENGINE.store(core::ptr::from_ref(engine).cast_mut(), Release);
}

/// Has the malloc family take memory from this source from now on.
pub fn take_from(heap: Heap) {
    SOURCE.store(heap as u8, Release);
}

/// The device, once there is one.
pub fn engine() -> Option<&'static Engine> {
    check();
    engine_in_any_child()
}

/// The device, also between a fork and the end of its handlers.
pub fn engine_in_any_child() -> Option<&'static Engine> {
    // SAFETY: leaked at start, never freed.
    unsafe { ENGINE.load(Acquire).as_ref() }
}

/// The device of the calling process alone: it is no child of `vfork`, and none that was made past
/// all hooks.
pub fn own_engine() -> Option<&'static Engine> {
    let engine = (!is_unknown()).then(engine_in_any_child).flatten();
    engine.filter(|engine| engine.is_callers())
}

/// Ends a program that cannot get its device: running it without would measure something else.
pub fn refuse(why: &str) -> ! {
    sluice_region::fatal(format_args!("{why}"))
}

/// A word that the kernel clears in every child with a memory of its own.
static KNOWN: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());

/// Makes children that nobody announces notice what they are.
pub fn mark() -> Result<(), i32> {
    let page = core::mem::ManuallyDrop::new(Mapping::anonymous(PAGE)?);
    // The program's first mappings come to lie below it, and may be written to past their ends.
    page.fence_below();
    // SAFETY: our own page, which holds nothing yet.
    unsafe { raw_madvise(page.addr(), PAGE, libc::MADV_WIPEONFORK)? };
    KNOWN.store(page.addr() as *mut AtomicU32, Release);
    know();
    Ok(())
}

/// This process is served.
pub fn know() {
    // SAFETY: null, or the page of `mark`, which stays.
    if let Some(word) = unsafe { KNOWN.load(Acquire).as_ref() } {
        word.store(1, Release);
    }
}

/// This process is off the device, and so are all of its children: none of them lacks anything.
pub fn know_all() {
    KNOWN.store(core::ptr::null_mut(), Release);
}

/// Whether this is a child that was made past all hooks.
#[inline]
fn is_unknown() -> bool {
    // SAFETY: as above.
    let word = unsafe { KNOWN.load(Relaxed).as_ref() };
    word.is_some_and(|word| word.load(Relaxed) == 0)
}

/// Ends a child that was made past all hooks.
#[inline]
pub fn check() {
    if is_unknown() {
        sluice_region::fatal(format_args!(
            "the program has made a child by a system call of its own (fork or clone, past the C \
             library); the child cannot have the device, and its memory is not there"
        ));
    }
}
