//! The functions behind our hooks, resolved once.

use crate::exports::of_c_library;
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use libc::{c_char, c_void};

/// `dlsym`.
pub type Lookup = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// `dlvsym`.
pub type VersionLookup =
    unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;

/// The C library's `dlsym`, past the hook.
pub fn lookup() -> Lookup {
    static FOUND: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: the C library has this function with this type.
    unsafe { core::mem::transmute::<usize, Lookup>(found(c"dlsym", &FOUND)) }
}

/// The C library's `dlvsym`, past the hook.
pub fn version_lookup() -> VersionLookup {
    static FOUND: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: as above.
    unsafe { core::mem::transmute::<usize, VersionLookup>(found(c"dlvsym", &FOUND)) }
}

/// Looking a name up twice finds the same address.
fn found(name: &CStr, known: &AtomicUsize) -> usize {
    if known.load(Relaxed) == 0 {
        known.store(of_c_library(name), Relaxed);
    }
    match known.load(Relaxed) {
        0 => sluice_region::fatal(format_args!("this C library has no {name:?}")),
        at => at,
    }
}

/// A function behind a hook: the next definition of its name after this library.
pub struct Next {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Next {
    /// A function still to be looked up.
    pub const fn new(name: &'static CStr) -> Next {
        Next {
            name,
            address: AtomicUsize::new(0),
        }
    }

    /// The address; 0 when no later library has the name.
    pub fn address(&self) -> usize {
        let known = self.address.load(Relaxed);
        if known != 0 {
            return known;
        }
        // SAFETY: a terminated name. Looking a name up twice finds the same address.
        let found = unsafe { lookup()(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        self.address.store(found, Relaxed);
        found
    }

    /// Whether the C library itself has the function, and no other library before it.
    pub fn is_libc(&self) -> bool {
        self.is_of(b"libc.so") || self.is_of(b"libc-")
    }

    /// Whether a file whose name begins so has the function. Of one that nobody knows, any.
    pub fn is_of(&self, file: &[u8]) -> bool {
        // SAFETY: plain data, for which zeros are valid.
        let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
        // SAFETY: the output is live.
        let found = unsafe { libc::dladdr(self.address() as *const _, &mut info) } != 0;
        if !found || info.dli_fname.is_null() {
            return true;
        }
        // SAFETY: the loader's terminated string.
        let path = unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes();
        let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
        name.starts_with(file)
    }
}

/// Declares a hooked function's successor: `next!(READ: read(fd: c_int, ..) -> ssize_t)`. One that
/// older C libraries do not have says what is done there: `.. -> c_int, or -1`.
#[macro_export]
macro_rules! next {
    ($fn:ident: $symbol:literal ($($arg:ident: $type:ty),*) -> $ret:ty $(, or $missing:expr)?) => {
        #[allow(clippy::too_many_arguments)]
        unsafe fn $fn($($arg: $type),*) -> $ret {
            static NEXT: $crate::next::Next = $crate::next::Next::new($symbol);
            $(if NEXT.address() == 0 {
                return $missing;
            })?
            // SAFETY: the C library has this function with this type; the arguments are the
            // caller's own.
            unsafe {
                let f: unsafe extern "C-unwind" fn($($type),*) -> $ret =
                    core::mem::transmute(NEXT.address());
                f($($arg),*)
            }
        }
    };
}
