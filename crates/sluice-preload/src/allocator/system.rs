//! Memory of the C library's own: off the device in signal mode.
//!
//! The C library makes system calls of its own, which no hook sees: the dynamic loader and
//! `setlocale` open files by names that they have allocated, and streams read and write their
//! buffers. In signal mode such a call fails on a page that is missing. So does the profiler's
//! handler, which holds all signals back.

use crate::bytes::buffers::signal_engine;
use crate::device::engine;
use crate::signals::altstack;
use crate::signals::mask::holds_bus_back;
use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use libc::{c_char, c_int, c_ulong, c_void, locale_t};

static LOADER_FROM: AtomicUsize = AtomicUsize::new(0);
static LOADER_BYTES: AtomicUsize = AtomicUsize::new(0);
/// The function of the C library that allocates the buffer of a stream; none in event mode.
static BUFFERS_FROM: AtomicUsize = AtomicUsize::new(0);
static BUFFERS_BYTES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Calls under way whose allocations are the system's.
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// Finds the dynamic loader.
pub fn find_loader() {
    // SAFETY: the kernel says where it mapped the loader, whose headers are its first bytes.
    unsafe {
        let base = libc::getauxval(libc::AT_BASE) as usize;
        if base == 0 {
            return;
        }
        let header = &*(base as *const libc::Elf64_Ehdr);
        let first = (base + header.e_phoff as usize) as *const libc::Elf64_Phdr;
        let parts = core::slice::from_raw_parts(first, usize::from(header.e_phnum));
        let loaded = parts.iter().filter(|part| part.p_type == libc::PT_LOAD);
        let end = loaded
            .map(|part| (part.p_vaddr + part.p_memsz) as usize)
            .max();
        LOADER_FROM.store(base, Relaxed);
        LOADER_BYTES.store(end.unwrap_or(0), Relaxed);
    }
}

/// Finds where the C library allocates the buffers of streams; false when it does not say.
pub fn find_stream_buffers() -> bool {
    const SYMBOL: c_int = 1;
    unsafe extern "C" {
        fn dladdr1(
            at: *const c_void,
            info: *mut libc::Dl_info,
            extra: *mut *const libc::Elf64_Sym,
            what: c_int,
        ) -> c_int;
    }
    // SAFETY: a terminated name; zeros are a valid Dl_info, and the outputs are live.
    unsafe {
        let function = libc::dlsym(libc::RTLD_DEFAULT, c"_IO_file_doallocate".as_ptr());
        let mut info: libc::Dl_info = core::mem::zeroed();
        let mut symbol: *const libc::Elf64_Sym = core::ptr::null();
        if function.is_null()
            || dladdr1(function, &mut info, &mut symbol, SYMBOL) == 0
            || symbol.is_null()
        {
            return false;
        }
        BUFFERS_FROM.store(function as usize, Relaxed);
        BUFFERS_BYTES.store((*symbol).st_size as usize, Relaxed);
    }
    true
}

/// Whether the calling thread cannot wait for a page: one of the C library's own, from which all
/// signals are held back.
fn cannot_wait() -> bool {
    signal_engine().is_some() && altstack::own().is_null() && holds_bus_back()
}

/// Whether an allocation by this caller is the system's.
pub fn asks(caller: usize) -> bool {
    let by = |from: &AtomicUsize, bytes: &AtomicUsize| {
        caller.wrapping_sub(from.load(Relaxed)) < bytes.load(Relaxed)
    };
    let asks = by(&LOADER_FROM, &LOADER_BYTES) || by(&BUFFERS_FROM, &BUFFERS_BYTES);
    engine().is_some() && (asks || CALLS.get() > 0 || cannot_wait())
}

/// Makes a call whose allocations are the system's, in signal mode.
pub fn in_signal_mode<T>(call: impl FnOnce() -> T) -> T {
    match signal_engine() {
        Some(_) => for_system(call),
        None => call(),
    }
}

/// Makes a call whose allocations are the system's.
pub fn for_system<T>(call: impl FnOnce() -> T) -> T {
    CALLS.set(CALLS.get() + 1);
    let result = call();
    CALLS.set(CALLS.get() - 1);
    result
}

/// Declares hooks of functions whose allocations the C library's own system calls read or fill.
#[macro_export]
macro_rules! off_device {
    ($($symbol:literal $name:ident = $next:ident
       ($($arg:ident: $type:ty),*) -> $ret:ty;)+) => {$(
        $crate::next!($next: $symbol($($arg: $type),*) -> $ret);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $ret {
            // SAFETY: passed on.
            $crate::allocator::system::in_signal_mode(|| unsafe { $next($($arg),*) })
        }
    )+};
}

// `newlocale` loads what a later `setlocale` takes into force. A program compiled with `-pg` calls
// `__monstartup` before its `main`. What is known of a file is in an allocation of `fts`,
// and what a shell is to do in one of `wordexp`.
off_device! {
    c"wordexp" wordexp = next_wordexp
        (words: *const c_char, to: *mut c_void, flags: c_int) -> c_int;
    c"fts_open" fts_open = next_fts_open
        (paths: *const *mut c_char, options: c_int, order: *const c_void) -> *mut c_void;
    c"fts_read" fts_read = next_fts_read(walk: *mut c_void) -> *mut c_void;
    c"fts_children" fts_children = next_fts_children
        (walk: *mut c_void, options: c_int) -> *mut c_void;
    c"setlocale" setlocale = next_setlocale
        (category: c_int, name: *const c_char) -> *mut c_char;
    c"newlocale" newlocale = next_newlocale
        (mask: c_int, name: *const c_char, base: locale_t) -> locale_t;
    c"__monstartup" __monstartup = next_monstartup(low: c_ulong, high: c_ulong) -> ();
}

/// `newlocale` by the name that the C++ library calls it.
///
/// # Safety
/// C contract of `newlocale`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __newlocale(
    mask: c_int,
    name: *const c_char,
    base: locale_t,
) -> locale_t {
    // SAFETY: passed on.
    unsafe { newlocale(mask, name, base) }
}
