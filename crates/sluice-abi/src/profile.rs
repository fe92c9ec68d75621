//! The profile of a process: which allocations and which threads its misses belong to.
//!
//! The file of a profile begins with a [`ProfileBlock`]. Behind it stands a `u16` for each page of
//! the device ([`profile_pages_at`]): the site that has allocated it.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// First word of a profile: "SLUICEPF".
pub const PROFILE_MAGIC: u64 = u64::from_le_bytes(*b"SLUICEPF");
/// Raised with every change of the layout.
pub const PROFILE_VERSION: u64 = 2;
/// Sites that a process can have. The first has all pages that belong to no other.
pub const PROFILE_SITES: usize = 1024;
/// Threads whose misses are counted apart.
pub const PROFILE_THREADS: usize = 256;
/// Programs and libraries that frames can be in.
pub const PROFILE_MODULES: usize = 256;
/// Calls of a stack that are kept, the innermost first.
pub const PROFILE_FRAMES: usize = 12;
/// Words of a module's path.
const PATH_WORDS: usize = 64;
/// Words of a thread's name.
const NAME_WORDS: usize = 2;
/// A frame has its module above this bit, and below it the address within.
const MODULE_SHIFT: u32 = 48;

/// Misses, and the time that the program waited for them.
#[repr(C)]
#[derive(Debug)]
pub struct Missed {
    /// Misses.
    pub misses: AtomicU64,
    /// Time that the program waited for them, ns.
    pub waited_ns: AtomicU64,
}

/// A place in the program that allocates memory: a stack of calls.
#[repr(C)]
#[derive(Debug)]
pub struct Site {
    /// Misses on pages that it has allocated.
    pub missed: Missed,
    /// How often it allocated.
    pub allocations: AtomicU64,
    /// Bytes that it allocated, all together.
    pub bytes: AtomicU64,
    /// Frames that are known, written last.
    pub depth: AtomicU64,
    /// Where the calls return to; see [`frame`].
    pub frames: [AtomicU64; PROFILE_FRAMES],
}

/// A thread that has missed.
#[repr(C)]
#[derive(Debug)]
pub struct ProfiledThread {
    /// Its number in the system; 0 for none.
    pub id: AtomicU64,
    /// What it missed.
    pub missed: Missed,
    /// Its name, as it was at a miss.
    pub name: [AtomicU64; NAME_WORDS],
}

/// A program or library that is loaded.
#[repr(C)]
#[derive(Debug)]
pub struct Module {
    /// Its path, ended by a zero; one that is longer is cut.
    pub path: [AtomicU64; PATH_WORDS],
}

/// The beginning of a profile's file.
#[repr(C)]
#[derive(Debug)]
pub struct ProfileBlock {
    /// [`PROFILE_MAGIC`], written last.
    pub magic: AtomicU64,
    /// [`PROFILE_VERSION`].
    pub version: AtomicU64,
    /// Sites in use, the first one among them.
    pub sites: AtomicU64,
    /// Modules in use.
    pub modules: AtomicU64,
    /// Allocations that no site was left for.
    pub lost: AtomicU64,
    /// Threads that are not known, and those for which there was no place.
    pub others: Missed,
    /// By number.
    pub site: [Site; PROFILE_SITES],
    /// In the order of their first misses.
    pub thread: [ProfiledThread; PROFILE_THREADS],
    /// By number.
    pub module: [Module; PROFILE_MODULES],
}

/// A frame: a module and an address within, which both fit.
pub fn frame(module: usize, address: u64) -> u64 {
    (module as u64) << MODULE_SHIFT | address & ((1 << MODULE_SHIFT) - 1)
}

/// Module and address of a [`frame`].
pub fn parts_of_frame(frame: u64) -> (usize, u64) {
    let address = frame & ((1 << MODULE_SHIFT) - 1);
    ((frame >> MODULE_SHIFT) as usize, address)
}

/// Where the sites of pages begin.
pub const fn profile_pages_at() -> usize {
    size_of::<ProfileBlock>().next_multiple_of(4096)
}

/// Bytes of the file of a profile.
pub const fn profile_bytes(pages: u64) -> usize {
    profile_pages_at() + (pages as usize * size_of::<u16>()).next_multiple_of(4096)
}

/// Writes a text into words: what does not fit, with the zero behind it, is left out.
pub fn write_words(words: &[AtomicU64], text: &[u8]) {
    let most = words.len() * 8 - 1;
    let text = &text[..text.len().min(most)];
    for (at, word) in words.iter().enumerate() {
        let mut bytes = [0; 8];
        let part = text.get(at * 8..).unwrap_or_default();
        let part = &part[..part.len().min(8)];
        bytes[..part.len()].copy_from_slice(part);
        word.store(u64::from_ne_bytes(bytes), Relaxed);
    }
}

/// The text that [`write_words`] wrote.
pub fn read_words(words: &[AtomicU64]) -> Vec<u8> {
    let bytes = words
        .iter()
        .flat_map(|word| word.load(Relaxed).to_ne_bytes());
    bytes.take_while(|byte| *byte != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_as_far_as_it_fits() {
        for (len, kept) in [(0, 0), (7, 7), (8, 8), (15, 15), (16, 15), (40, 15)] {
            let words = [const { AtomicU64::new(u64::MAX) }; 2];
            let text: Vec<u8> = (0..len).map(|at| b'a' + at % 26).collect();
            write_words(&words, &text);
            assert_eq!(read_words(&words), text[..kept], "{len} bytes");
        }
    }

    #[test]
    fn a_frame_has_its_module_and_its_address() {
        for (module, address) in [(0, 0), (255, (1 << 48) - 1), (3, 0x1234)] {
            assert_eq!(parts_of_frame(frame(module, address)), (module, address));
        }
    }
}
