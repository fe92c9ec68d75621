//! Thread-local storage for a thread that the C library does not know.
//!
//! Such a thread needs an `errno` of its own, and so do the thread-local variables of libraries
//! that were loaded at the start. The layout is the one that the ELF specification for thread-local
//! storage prescribes, with the C library's table of modules (glibc's `dtv`) beside it.

use crate::{Mapping, PAGE, dont_need};
use core::ffi::c_void;
use core::ptr::{copy_nonoverlapping, null_mut};

/// Room for the C library's own record of a thread (2,304 bytes in glibc 2.36).
const RECORD: usize = 2 * PAGE;
/// Modules whose variables a thread can have.
const MAX_MODULES: usize = 256;
/// A block further away from the thread pointer is not one that was made with the thread.
const STATIC_WITHIN: usize = 1 << 24;

/// An entry of the table of modules.
#[repr(C)]
#[derive(Clone, Copy)]
struct Entry {
    value: usize,
    to_free: usize,
}

/// The value of a module whose block is made at its first use.
const UNALLOCATED: usize = usize::MAX;

/// A module's variables: where they are in the thread that looks, and how they begin.
#[derive(Clone, Copy, Default)]
struct Module {
    id: usize,
    at: usize,
    image: usize,
    image_bytes: usize,
    bytes: usize,
}

/// The modules that have variables in each thread from its start.
pub struct Modules {
    found: [Module; MAX_MODULES],
    count: usize,
    highest: usize,
    pointer: usize,
}

impl Modules {
    /// Looks at the modules that are loaded. For a thread that the C library made.
    pub fn find() -> Modules {
        let mut modules = Modules {
            found: [Module::default(); MAX_MODULES],
            count: 0,
            highest: 0,
            pointer: pointer(),
        };
        // SAFETY: the callback gets the value back for the time of the call.
        unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut modules).cast()) };
        modules
    }

    /// Storage for one thread.
    ///
    /// # Errors
    /// The kernel's, if there is no memory.
    pub fn storage(&self) -> Result<Storage, i32> {
        let (low, high) = self.found[..self.count]
            .iter()
            .fold((self.pointer, self.pointer), |(low, high), module| {
                (low.min(module.at), high.max(module.at + module.bytes))
            });
        let table = (self.highest + 2) * size_of::<Entry>();
        // The blocks keep their places relative to the pointer, and so their alignment.
        let below = (self.pointer - low).max(RECORD).next_multiple_of(PAGE) + PAGE;
        let above = (high - self.pointer).max(RECORD).next_multiple_of(PAGE) + PAGE;
        let memory = Mapping::anonymous(below + above + table)?;
        let pointer = memory.addr() + below + self.pointer % PAGE;
        let storage = Storage {
            table: memory.addr() + below + above,
            memory,
            pointer,
        };
        self.fill(&storage);
        Ok(storage)
    }

    /// Gives storage the values that a new thread finds there.
    pub fn fill(&self, storage: &Storage) {
        let offset = storage.pointer.wrapping_sub(self.pointer);
        let table = storage.table as *mut Entry;
        // SAFETY: the storage is ours, was made for these modules, and no thread has it yet. The
        // image is the module's own, which stays loaded.
        unsafe {
            let (start, len) = (storage.memory.addr(), storage.memory.len());
            // In a forked child a store of zeros would copy each page first.
            if dont_need(start, len).is_err() {
                (start as *mut u8).write_bytes(0, len);
            }
            let (entries, unset) = (table.add(1), UNALLOCATED);
            for id in 1..=self.highest {
                entries.add(id).write(Entry {
                    value: unset,
                    to_free: 0,
                });
            }
            for module in &self.found[..self.count] {
                let block = module.at.wrapping_add(offset);
                copy_nonoverlapping(
                    module.image as *const u8,
                    block as *mut u8,
                    module.image_bytes,
                );
                (*entries.add(module.id)).value = block;
            }
            record(storage.pointer, self.pointer, table, self.highest);
        }
    }
}

/// The thread-local storage of one thread.
#[derive(Debug)]
pub struct Storage {
    memory: Mapping,
    table: usize,
    pointer: usize,
}

impl Storage {
    /// The thread pointer.
    pub fn pointer(&self) -> usize {
        self.pointer
    }
}

unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> i32 {
    // SAFETY: the loader's record, and the value that `find` passes.
    unsafe {
        let (info, modules) = (&*info, &mut *to.cast::<Modules>());
        let at = info.dlpi_tls_data as usize;
        let is_static = at != 0 && at.abs_diff(modules.pointer) < STATIC_WITHIN;
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        let header = headers.iter().find(|part| part.p_type == libc::PT_TLS);
        modules.highest = modules.highest.max(info.dlpi_tls_modid);
        if let Some(header) = header.filter(|_| is_static && modules.count < MAX_MODULES) {
            modules.found[modules.count] = Module {
                id: info.dlpi_tls_modid,
                at,
                image: info.dlpi_addr as usize + header.p_vaddr as usize,
                image_bytes: header.p_filesz as usize,
                bytes: header.p_memsz as usize,
            };
            modules.count += 1;
        }
    }
    0
}

/// The calling thread's pointer.
#[cfg(target_arch = "x86_64")]
pub(crate) fn pointer() -> usize {
    let pointer;
    // SAFETY: the first word behind the pointer holds the pointer itself.
    unsafe { core::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, readonly)) };
    pointer
}

#[cfg(target_arch = "aarch64")]
pub(crate) fn pointer() -> usize {
    let pointer;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, nomem)) };
    pointer
}

/// Writes the head of the C library's record: the table of modules, which begins with its length,
/// the pointer itself, and the values against which stacks and pointers are guarded.
#[cfg(target_arch = "x86_64")]
unsafe fn record(to: usize, from: usize, table: *mut Entry, highest: usize) {
    const SELF: [usize; 2] = [0, 2];
    const TABLE: usize = 1;
    const GUARDS: [usize; 2] = [5, 6];
    let (to, from) = (to as *mut usize, from as *const usize);
    // SAFETY: both records are live; the words are those of the C library's binary interface.
    unsafe {
        SELF.iter()
            .for_each(|&word| to.add(word).write(to as usize));
        GUARDS
            .iter()
            .for_each(|&word| to.add(word).write(from.add(word).read()));
        let theirs = *from.add(TABLE) as *const Entry;
        head(table, theirs, highest);
        to.add(TABLE).write(table.add(1) as usize);
    }
}

#[cfg(target_arch = "aarch64")]
unsafe fn record(to: usize, from: usize, table: *mut Entry, highest: usize) {
    let (to, from) = (to as *mut usize, from as *const usize);
    // SAFETY: both records are live; the first word is the table.
    unsafe {
        head(table, *from as *const Entry, highest);
        to.write(table.add(1) as usize);
    }
}

/// The first two entries: how many modules there is room for, and the generation of the table.
unsafe fn head(table: *mut Entry, theirs: *const Entry, highest: usize) {
    // SAFETY: the table is ours; `theirs` is the C library's.
    unsafe {
        (*table).value = highest;
        *table.add(1) = *theirs;
        (*table.add(1)).to_free = null_mut::<u8>() as usize;
    }
}
