//! The clock, read where the kernel has put it into the process.
//!
//! The C library's function may be another: a program may have one of this name, and `faketime`
//! loads one whose time stands still or goes back. A wait by that clock might last for ever.

use crate::sys;
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use libc::{Elf64_Ehdr, Elf64_Phdr, Elf64_Sym, c_int, clockid_t, timespec};

type Read = unsafe extern "C" fn(clockid_t, *mut timespec) -> c_int;

#[cfg(target_arch = "x86_64")]
const NAME: &CStr = c"__vdso_clock_gettime";
#[cfg(target_arch = "aarch64")]
const NAME: &CStr = c"__kernel_clock_gettime";

/// Entries of the table of what the kernel's object has.
const STRINGS: usize = 5;
const SYMBOLS: usize = 6;

/// Address of the function; [`NONE`] where there is none, 0 before it is looked for.
static FUNCTION: AtomicUsize = AtomicUsize::new(0);
const NONE: usize = 1;

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic_ns() -> u64 {
    let mut t = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let clock = libc::CLOCK_MONOTONIC;
    let is_read = match function() {
        NONE => false,
        // SAFETY: the kernel's function has this type; the timespec is live.
        at => unsafe { core::mem::transmute::<usize, Read>(at)(clock, &raw mut t) == 0 },
    };
    if !is_read {
        // SAFETY: as above. This clock always exists.
        let _ = unsafe { sys!(libc::SYS_clock_gettime, clock, &raw mut t) };
    }
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

fn function() -> usize {
    match FUNCTION.load(Relaxed) {
        0 => {
            // SAFETY: the kernel says where it has mapped its object, which stays.
            let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
            let found = match base {
                0 => None,
                // SAFETY: as above.
                _ => unsafe { find(base) },
            };
            let found = found.unwrap_or(NONE);
            FUNCTION.store(found, Relaxed);
            found
        }
        found => found,
    }
}

/// Looks the function up in the object at an address. None if that is not laid out as known.
///
/// # Safety
/// A mapped object of the kernel's is there.
unsafe fn find(base: usize) -> Option<usize> {
    // SAFETY: headers, tables and names of the object, at the places that it gives.
    unsafe {
        let header = &*(base as *const Elf64_Ehdr);
        let parts = (base + header.e_phoff as usize) as *const Elf64_Phdr;
        let parts = core::slice::from_raw_parts(parts, usize::from(header.e_phnum));
        let of = |kind| parts.iter().find(|part| part.p_type == kind);
        let load = of(libc::PT_LOAD)?;
        let moved = base
            .wrapping_add(load.p_offset as usize)
            .wrapping_sub(load.p_vaddr as usize);
        let at = |address: usize| moved.wrapping_add(address);
        let table = at(of(libc::PT_DYNAMIC)?.p_vaddr as usize) as *const [usize; 2];
        let (mut strings, mut symbols, mut next) = (0, 0, table);
        while (*next)[0] != 0 {
            match *next {
                [STRINGS, value] => strings = at(value),
                [SYMBOLS, value] => symbols = at(value),
                _ => {}
            }
            next = next.add(1);
        }
        // The kernel's linker scripts put the names behind the symbols.
        let count = strings.checked_sub(symbols)? / size_of::<Elf64_Sym>();
        if symbols == 0 {
            return None;
        }
        let symbols = core::slice::from_raw_parts(symbols as *const Elf64_Sym, count);
        let is_it = |symbol: &&Elf64_Sym| {
            let name = (strings + symbol.st_name as usize) as *const libc::c_char;
            symbol.st_shndx != 0 && CStr::from_ptr(name) == NAME
        };
        Some(at(symbols.iter().find(is_it)?.st_value as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_function_is_found_and_is_the_clock() {
        let libcs = || {
            let (tv_sec, tv_nsec) = (0, 0);
            let mut t = timespec { tv_sec, tv_nsec };
            // SAFETY: the timespec is live.
            let asked = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
            assert_eq!(asked, 0);
            t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
        };
        let times = [libcs(), monotonic_ns(), libcs(), monotonic_ns()];
        assert!(times.is_sorted(), "{times:?}");
        assert_ne!(function(), NONE);
        FUNCTION.store(NONE, Relaxed);
        let by_call = [monotonic_ns(), libcs(), monotonic_ns()];
        FUNCTION.store(0, Relaxed);
        assert!(by_call.is_sorted() && times[3] <= by_call[0]);
    }
}
