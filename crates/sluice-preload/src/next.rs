//! The functions behind our hooks, resolved once.

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering::*};

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
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        self.address.store(found, Relaxed);
        found
    }

    /// Whether the C library itself has the function, and no other library before it.
    pub fn is_libc(&self) -> bool {
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
        name.starts_with(b"libc.so") || name.starts_with(b"libc-")
    }
}

/// Declares a hooked function's successor: `next!(READ: read(fd: c_int, ..) -> ssize_t)`.
#[macro_export]
macro_rules! next {
    ($fn:ident: $symbol:literal ($($arg:ident: $type:ty),*) -> $ret:ty) => {
        #[allow(clippy::too_many_arguments)]
        unsafe fn $fn($($arg: $type),*) -> $ret {
            static NEXT: $crate::next::Next = $crate::next::Next::new($symbol);
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
