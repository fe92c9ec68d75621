//! Finds a function of the C library without one that looks up names: all of those are hooked.
//!
//! It reads the loader's list of objects and their tables of names. It calls nothing, since a
//! program may have a hook of its own on whatever lists objects, which looks up the next.

use core::ffi::CStr;
use core::ptr::null;
use libc::{Elf64_Sym, c_char, c_int};

/// The beginning of the loader's `struct link_map` (`link.h`).
#[repr(C)]
struct Object {
    base: usize,
    name: *const c_char,
    dynamic: *const Entry,
    next: *const Object,
}

/// The beginning of `struct r_debug`.
#[repr(C)]
struct Objects {
    version: c_int,
    first: *const Object,
}

/// An entry of an object's dynamic section.
#[repr(C)]
struct Entry {
    tag: usize,
    value: usize,
}

const END: usize = 0;
const STRINGS: usize = 5;
const SYMBOLS: usize = 6;
const GNU_HASH: usize = 0x6fff_fef5;

unsafe extern "C" {
    static _r_debug: Objects;
}

/// The address of a function that the C library exports; 0 if it has none of this name.
pub fn of_c_library(name: &CStr) -> usize {
    // SAFETY: the loader's own list. The C library is near its beginning, and never goes.
    unsafe {
        let mut object = _r_debug.first;
        while let Some(this) = object.as_ref() {
            let found = match is_c_library(this) {
                true => exported(this, name),
                false => 0,
            };
            if found != 0 {
                return found;
            }
            object = this.next;
        }
    }
    0
}

/// Whether an object is the C library, or the part of an older one that looks up names.
unsafe fn is_c_library(object: &Object) -> bool {
    const BEGINNINGS: [&[u8]; 3] = [b"libc.so", b"libc-", b"libdl"];
    if object.name.is_null() {
        return false;
    }
    // SAFETY: the loader's terminated string.
    let path = unsafe { CStr::from_ptr(object.name) }.to_bytes();
    let file = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    BEGINNINGS.iter().any(|these| file.starts_with(these))
}

unsafe fn exported(object: &Object, name: &CStr) -> usize {
    let (mut strings, mut symbols, mut table) = (null::<c_char>(), null::<Elf64_Sym>(), null());
    // SAFETY: a list up to its end; the loader has made its addresses absolute.
    unsafe {
        let mut entry = object.dynamic;
        while (*entry).tag != END {
            let value = (*entry).value;
            match (*entry).tag {
                STRINGS => strings = value as *const c_char,
                SYMBOLS => symbols = value as *const Elf64_Sym,
                GNU_HASH => table = value as *const u32,
                _ => {}
            }
            entry = entry.add(1);
        }
        if strings.is_null() || symbols.is_null() || table.is_null() {
            return 0;
        }
        let is_it = |symbol: &Elf64_Sym| {
            symbol.st_shndx != 0 && CStr::from_ptr(strings.add(symbol.st_name as usize)) == name
        };
        let found = with_hash(table, hash(name)).find(|&at| is_it(&*symbols.add(at)));
        found.map_or(0, |at| object.base + (*symbols.add(at)).st_value as usize)
    }
}

fn hash(name: &CStr) -> u32 {
    let add = |hash: u32, &byte: &u8| hash.wrapping_mul(33).wrapping_add(byte.into());
    name.to_bytes().iter().fold(5381, add)
}

/// The numbers of the symbols with a hash, by a table of the kind `DT_GNU_HASH`.
unsafe fn with_hash(table: *const u32, hash: u32) -> impl Iterator<Item = usize> {
    const HEADER: usize = 4;
    /// Words of 32 bits in one of the filter before the buckets.
    const WORDS: usize = 2;
    // SAFETY: as the format says; a chain ends with an odd word.
    unsafe {
        let (count, first, filter) = (*table, *table.add(1) as usize, *table.add(2) as usize);
        let buckets = table.add(HEADER + WORDS * filter);
        let chains = buckets.add(count as usize);
        let begin = *buckets.add((hash % count) as usize) as usize;
        let mut next = (begin >= first).then_some(begin);
        let all = core::iter::from_fn(move || {
            let at = next?;
            let word = *chains.add(at - first);
            next = (word & 1 == 0).then_some(at + 1);
            Some((at, word))
        });
        all.filter(move |(_, word)| word | 1 == hash | 1)
            .map(|(at, _)| at)
    }
}
