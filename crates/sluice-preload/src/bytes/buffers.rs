//! Buffers that the program hands to the kernel, for signal mode.
//!
//! There the kernel cannot wait for a page: its own access to a missing one fails with `EFAULT`.
//! Hooks touch such a buffer, which traps as any access of the program does, and try again.

use crate::device::engine;
use libc::{c_char, c_int, c_long, c_void, iovec, size_t, socklen_t};
use sluice_abi::Counter;
use sluice_region::{PAGE, errno, sys};
use sluice_runtime::{Engine, Trap, is_calm};

/// Other threads may evict a page between touch and call; so often in a row they do not.
pub const MAX_TRIES: usize = 256;
/// Pages of a buffer touched before a try. A buffer may be larger than the cache.
const MAX_PAGES: usize = 64;

/// The device, in signal mode. What the runtime itself does is not the program's.
pub fn signal_engine() -> Option<&'static Engine> {
    engine().filter(|e| e.session.trap == Trap::Signal && !is_calm())
}

/// Whether an address is one of the device's.
pub fn on_device(engine: &Engine, at: usize) -> bool {
    engine.is_placed(at)
}

/// Whether an address is one that the device serves. Of others the program may have taken its own
/// access away: they are the kernel's to refuse.
pub fn is_served(engine: &Engine, at: usize) -> bool {
    engine.next_served(at, at + 1).is_some()
}

/// Buffers of one call.
pub trait Buffers {
    /// Touches what of each buffer lies on the device; false when nothing does.
    fn touch(&self, engine: &Engine) -> bool;
}

impl Buffers for (*const c_void, size_t) {
    fn touch(&self, engine: &Engine) -> bool {
        touch_all(engine, self.0 as usize, self.1.min(MAX_PAGES * PAGE))
    }
}

/// Touches pages in order, as the kernel would, until the first one of them has to leave for those
/// that follow. It is there at the end, so that every try gets further. False if the device serves
/// none of them.
pub fn touch_all(engine: &Engine, start: usize, bytes: usize) -> bool {
    let end = start.saturating_add(bytes);
    let mut next = start;
    let pages = core::iter::from_fn(|| {
        let page = engine.next_served(next, end)?;
        next = page + PAGE;
        Some(page.max(start))
    });
    let mut first = None;
    for at in pages {
        if is_behind_end(engine, at) {
            break;
        }
        touch_byte(at);
        let first = *first.get_or_insert(at);
        if is_missing(first) {
            touch_byte(first);
            break;
        }
    }
    first.is_some()
}

fn touch_byte(at: usize) {
    // SAFETY: the program named this memory as its buffer.
    unsafe { core::ptr::read_volatile(at as *const u8) };
}

/// Whether a page is a file's that ends before it: the kernel refuses it, and a load there is an
/// error of the bus.
pub fn is_behind_end(engine: &Engine, at: usize) -> bool {
    engine.to_come_from(at).is_some_and(is_missing)
}

/// Whether the kernel would find no page at an address.
pub fn is_missing(at: usize) -> bool {
    let mut byte = 0u8;
    let to = iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    let from = iovec {
        iov_base: at as *mut c_void,
        iov_len: 1,
    };
    // SAFETY: the kernel checks the address that it reads from; the other is live.
    let read = unsafe {
        let (to, from) = (&raw const to, &raw const from);
        sys!(
            libc::SYS_process_vm_readv,
            libc::getpid(),
            to,
            1,
            from,
            1,
            0
        )
    };
    read == Err(libc::EFAULT)
}

/// Whether the program could read at an address. A call may have been given any.
pub fn is_readable(engine: &Engine, at: usize) -> bool {
    at != 0 && (is_served(engine, at) && !is_behind_end(engine, at) || !is_missing(at))
}

/// Whether the program could read all of so many bytes. Those beside the caller's own variables it
/// could: that saves most calls a question.
pub fn are_readable(engine: &Engine, at: *const c_void, bytes: usize) -> bool {
    const NEAR: usize = 4 * PAGE;
    let (at, own) = (at as usize, (&raw const at) as usize);
    if bytes == 0 || at >= own && at.saturating_add(bytes) <= own.saturating_add(NEAR) {
        return true;
    }
    at.checked_add(bytes).is_some_and(|end| {
        let mut pages = (at & !(PAGE - 1)..end).step_by(PAGE);
        pages.all(|page| is_readable(engine, page.max(at)))
    })
}

/// One value, null or live.
pub struct One<T>(pub *const T);

impl<T> Buffers for One<T> {
    fn touch(&self, engine: &Engine) -> bool {
        (self.0.cast::<c_void>(), size_of::<T>()).touch(engine)
    }
}

/// A string that ends with a zero byte, null or live.
pub struct Text(pub *const c_char);

impl Buffers for Text {
    fn touch(&self, engine: &Engine) -> bool {
        if !is_readable(engine, self.0 as usize) {
            return false;
        }
        // SAFETY: the program's string.
        let bytes = unsafe { libc::strlen(self.0) } + 1;
        (self.0.cast::<c_void>(), bytes).touch(engine)
    }
}

/// Memory for an answer, and where the program keeps its length.
pub struct Room(pub *mut c_void, pub *const socklen_t);

impl Buffers for Room {
    fn touch(&self, engine: &Engine) -> bool {
        if !is_readable(engine, self.1 as usize) {
            return false;
        }
        // SAFETY: the program's length, which can be read.
        let bytes = unsafe { *self.1 } as size_t;
        One(self.1).touch(engine) | (self.0.cast_const(), bytes).touch(engine)
    }
}

/// Strings, and the list of them that ends with a null pointer; null or live.
pub struct Texts(pub *const *const c_char);

impl Buffers for Texts {
    fn touch(&self, engine: &Engine) -> bool {
        let mut touched = false;
        let mut at = self.0;
        // SAFETY: of the program's list, which can be read.
        while is_readable(engine, at as usize) && !unsafe { *at }.is_null() {
            touched |= One(at).touch(engine);
            // SAFETY: as above; not its end.
            unsafe {
                touched |= Text(*at).touch(engine);
                at = at.add(1);
            }
        }
        touched
    }
}

impl Buffers for (*const iovec, c_int) {
    fn touch(&self, engine: &Engine) -> bool {
        let bytes = self.1.max(0) as usize * size_of::<iovec>();
        if !are_readable(engine, self.0.cast(), bytes) {
            return false;
        }
        // SAFETY: the program's vector, of the length it gave.
        let vector = unsafe { core::slice::from_raw_parts(self.0, self.1.max(0) as usize) };
        let mut touched = (self.0.cast::<c_void>(), size_of_val(vector)).touch(engine);
        for part in vector {
            touched |= (part.iov_base.cast_const(), part.iov_len).touch(engine);
        }
        touched
    }
}

impl Buffers for () {
    fn touch(&self, _: &Engine) -> bool {
        false
    }
}

impl<A: Buffers, B: Buffers> Buffers for (A, B) {
    fn touch(&self, engine: &Engine) -> bool {
        self.0.touch(engine) | self.1.touch(engine)
    }
}

impl<A: Buffers, B: Buffers, C: Buffers> Buffers for (A, B, C) {
    fn touch(&self, engine: &Engine) -> bool {
        self.0.touch(engine) | self.1.touch(engine) | self.2.touch(engine)
    }
}

/// Touches buffers and counts it; false outside signal mode and when none is on the device. The
/// program's `errno` stays.
pub fn bring(buffers: &impl Buffers) -> bool {
    let Some(engine) = signal_engine() else {
        return false;
    };
    let before = errno();
    let touched = buffers.touch(engine);
    if touched {
        engine.count(Counter::KernelFaults, 1);
    }
    set_errno(before);
    touched
}

/// Sets this thread's `errno`.
pub fn set_errno(value: c_int) {
    // SAFETY: this thread's own.
    unsafe { *libc::__errno_location() = value };
}

/// What a call returns, and which of its values means that it failed by `EFAULT`.
pub trait Answer {
    /// Whether the kernel met memory that it could not reach.
    fn met_missing_page(&self) -> bool;
}

macro_rules! answers {
    ($($type:ty, $failed:expr);+) => {$(
        impl Answer for $type {
            fn met_missing_page(&self) -> bool {
                let failed: fn(&$type) -> bool = $failed;
                failed(self) && errno() == libc::EFAULT
            }
        }
    )+};
}

answers! {
    isize, |r| *r == -1;
    c_int, |r| *r == -1;
    c_long, |r| *r == -1;
    *mut c_char, |r| r.is_null();
    *mut libc::FILE, |r| r.is_null();
    *mut libc::DIR, |r| r.is_null()
}

/// What functions of threads return: 0 or an error.
#[derive(Clone, Copy)]
pub struct Code(pub c_int);

impl Answer for Code {
    fn met_missing_page(&self) -> bool {
        self.0 == libc::EFAULT
    }
}

/// Makes a call, again while it meets pages of its buffers that are missing.
pub fn with_pages<R: Answer>(buffers: impl Buffers, mut call: impl FnMut() -> R) -> R {
    let mut result = call();
    for _ in 0..MAX_TRIES {
        if !result.met_missing_page() || !bring(&buffers) {
            break;
        }
        result = call();
    }
    result
}

/// Declares hooks of calls that are made [again](with_pages) while pages of their buffers are
/// missing: `c"chown" chown = next_chown(path: ..) -> c_int, Text(path);`. Behind `or` is what one
/// answers that older C libraries do not have.
#[macro_export]
macro_rules! tried_again {
    ($($symbol:literal $name:ident = $next:ident $(or $missing:ident)?
       ($($arg:ident: $type:ty),*) -> $ret:ty, $buffers:expr;)+) => {$(
        $crate::next!($next: $symbol($($arg: $type),*) -> $ret $(, or $missing())?);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $ret {
            // SAFETY: passed on.
            $crate::bytes::buffers::with_pages($buffers, || unsafe { $next($($arg),*) })
        }
    )+};
}
