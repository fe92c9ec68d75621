//! Which program or library an address of code is in.

use core::ffi::{CStr, c_char, c_void};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

/// Bytes of a path that are kept.
const PATH: usize = 256;

/// A program or library that is loaded.
///
/// What the loader knows of it is copied. In event mode the loader's memory can be on the device: a
/// thread may not read it while it holds a lock that a fault needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded {
    /// Where it is mapped; 0 for none.
    pub start: usize,
    /// What the loader has added to its addresses.
    pub base: usize,
    path: [u8; PATH],
    len: usize,
}

/// Code that no file has.
const NONE: Loaded = Loaded {
    start: 0,
    base: 0,
    path: [0; PATH],
    len: 0,
};

/// What the C library finds without a lock, from version 2.35 on (`struct dl_find_object`).
#[repr(C)]
struct Found {
    flags: u64,
    map_start: *mut c_void,
    map_end: *mut c_void,
    link_map: *const LinkMap,
    unwind: *mut c_void,
    reserved: [u64; 10],
}

/// The beginning of the loader's `struct link_map`.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
}

/// The output of `dladdr1` that is asked for: the loader's record.
const RTLD_DL_LINKMAP: i32 = 2;

type FindObject = unsafe extern "C" fn(*mut c_void, *mut Found) -> i32;

impl Loaded {
    /// What an address is in; nothing if it is in code that no file has.
    pub fn at(address: usize) -> Loaded {
        match find_object() {
            _ if address == 0 => NONE,
            // SAFETY: the function of that name takes any address, and has an output of its own.
            Some(find) => unsafe { Loaded::found(find, address) },
            None => Loaded::searched(address),
        }
    }

    unsafe fn found(find: FindObject, address: usize) -> Loaded {
        // SAFETY: zeros are valid for plain data.
        let mut found: Found = unsafe { core::mem::zeroed() };
        // SAFETY: see `at`.
        let is_found = unsafe { find(address as *mut c_void, &raw mut found) } == 0;
        // SAFETY: the loader's own record of what is loaded, which is not unloaded while its code
        // is on the caller's stack.
        let Some(map) = (unsafe { found.link_map.as_ref() }).filter(|_| is_found) else {
            return NONE;
        };
        Loaded::of(found.map_start as usize, map)
    }

    fn of(start: usize, map: &LinkMap) -> Loaded {
        // SAFETY: the loader's terminated string, of code that is on the caller's stack.
        let name = (!map.name.is_null()).then(|| unsafe { CStr::from_ptr(map.name) }.to_bytes());
        // The program itself has no name there.
        let name = match name {
            None | Some(b"") => PROGRAM.get().map_or(&b""[..], |path| path.as_bytes()),
            Some(name) => name,
        };
        let mut loaded = Loaded {
            start,
            base: map.base,
            ..NONE
        };
        loaded.len = name.len().min(PATH);
        loaded.path[..loaded.len].copy_from_slice(&name[..loaded.len]);
        loaded
    }

    /// By the loader's search, which goes through all names.
    fn searched(address: usize) -> Loaded {
        // SAFETY: zeros are a valid Dl_info.
        let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
        let mut map: *const LinkMap = core::ptr::null();
        let (info_to, map_to) = (&raw mut info, (&raw mut map).cast::<*mut c_void>());
        // SAFETY: both outputs are live.
        let found =
            unsafe { libc::dladdr1(address as *const c_void, info_to, map_to, RTLD_DL_LINKMAP) };
        // SAFETY: the loader's own record, as above.
        let Some(map) = (unsafe { map.as_ref() }).filter(|_| found != 0) else {
            return NONE;
        };
        Loaded::of(info.dli_fbase as usize, map)
    }
}

fn find_object() -> Option<FindObject> {
    static FOUND: OnceLock<Option<FindObject>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        // SAFETY: a terminated name.
        let at = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
        // SAFETY: the C library's function of that name has this type.
        (!at.is_null()).then(|| unsafe { core::mem::transmute::<*mut c_void, FindObject>(at) })
    })
}

/// The program's own file.
static PROGRAM: OnceLock<OsString> = OnceLock::new();
/// Where this library is mapped.
static OWN: OnceLock<usize> = OnceLock::new();

/// Learns what must be known before the first allocation that is looked at, if there will be any.
pub(crate) fn prepare(is_wanted: bool) {
    if !is_wanted {
        return;
    }
    OWN.get_or_init(|| Loaded::at(prepare as *const () as usize).start);
    PROGRAM.get_or_init(|| std::env::current_exe().unwrap_or_default().into_os_string());
}

impl Loaded {
    /// Whether it is this library.
    pub fn is_own(&self) -> bool {
        self.start != 0 && OWN.get() == Some(&self.start)
    }

    /// Its path; a long one is cut.
    pub fn path(&self) -> &[u8] {
        &self.path[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_in_the_file_that_has_it() {
        prepare(true);
        let own = Loaded::at(code_is_in_the_file_that_has_it as *const () as usize);
        let exe = std::env::current_exe().expect("a file");
        assert_eq!(own.path(), exe.as_os_str().as_bytes());
        let of_libc = Loaded::at(libc::getpid as *const () as usize);
        assert!(of_libc.path().windows(4).any(|part| part == b"libc"));
        assert_ne!(own.start, of_libc.start);
        let on_heap = Box::new(7);
        assert_eq!(Loaded::at(&raw const *on_heap as usize).start, 0);
        assert_eq!(Loaded::at(0).start, 0);
    }

    /// The two ways of the C library to answer agree.
    #[test]
    fn the_search_finds_what_is_found_without_a_lock() {
        for address in [
            libc::getpid as *const () as usize,
            code_is_in_the_file_that_has_it as *const () as usize,
        ] {
            let (found, searched) = (Loaded::at(address), Loaded::searched(address));
            assert_eq!((found.start, found.base), (searched.start, searched.base));
        }
    }
}
