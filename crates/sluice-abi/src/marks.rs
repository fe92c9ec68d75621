//! Marks: the statistics of one moment, kept under a name in a file of their own.

use crate::stats::StatsBlock;
use core::sync::atomic::{AtomicU64, Ordering::*};

/// Marks of one program image, at most.
pub const MARKS_MAX: u32 = 64;
/// Bytes of a mark's name, at most.
pub const MARK_NAME_MAX: usize = 64;
/// The mark after which a run's figures count anew.
pub const MARK_RESET: &str = "reset";

/// What is added to the address of [`MARK_LOAD`].
pub const MARK_LOAD_AT: u32 = 0x4955_4c53;
/// The instruction by which a simulated program or guest sets a mark, as it is in memory. It loads
/// a byte of a table of 256 at a multiple of 256: of the address `rdi + rax + MARK_LOAD_AT`, the
/// last eight bits are one byte of the mark, for a simulator that watches the addresses. Compilers
/// write no such prefixes, and nobody needs a right for a load.
pub const MARK_LOAD: [u8; 10] = {
    let [a, b, c, d] = MARK_LOAD_AT.to_le_bytes();
    [0x3e, 0x3e, 0x0f, 0xb6, 0x84, 0x07, a, b, c, d]
};
/// The byte before a mark's name.
pub const MARK_BEGINS: u8 = 2;
/// The byte behind it.
pub const MARK_ENDS: u8 = 3;
/// How the CPU's name begins where such marks are heard.
pub const SIMULATED_CPU: &str = "Sluice simulated CPU";

/// `sluice_mark`: the mark is kept.
pub const MARK_DONE: i32 = 0;
/// This program has no device of its own.
pub const MARK_NOT_HERE: i32 = -1;
/// The name cannot be one.
pub const MARK_INVALID: i32 = -6;
/// There is no room for it.
pub const MARK_FAILED: i32 = -7;

/// Whether a name can be a mark's: letters, digits, `-`, `_` and `.`.
pub fn is_mark_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=MARK_NAME_MAX).contains(&name.len()) && name.bytes().all(is_plain)
}

/// A mark as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark<'a> {
    /// The words of the statistics.
    pub words: &'a [u64],
    /// When it was set, ns of CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Traps that the record had then; 0 without a record.
    pub recorded: u64,
    /// Its name.
    pub name: String,
}

impl Mark<'_> {
    /// The statistics as they were.
    pub fn stats(&self) -> Box<StatsBlock> {
        // SAFETY: all fields are atomics of integers, for which zeros are valid.
        let mut block: Box<StatsBlock> = Box::new(unsafe { core::mem::zeroed() });
        assert_eq!(self.words.len(), WORDS);
        // SAFETY: the block is as many words, and nobody else has it yet.
        unsafe {
            let to = core::ptr::from_mut(&mut *block).cast::<u64>();
            core::ptr::copy_nonoverlapping(self.words.as_ptr(), to, WORDS);
        }
        block
    }
}

const WORDS: usize = size_of::<StatsBlock>() / 8;

/// The words of a mark's file: the statistics, when, traps in the record, length of the name, name.
/// The caller makes sure that nobody writes to the block, or checks whether somebody has.
pub fn mark_words(block: &StatsBlock, at_ns: u64, recorded: u64, name: &str) -> Vec<u64> {
    let mut words = Vec::with_capacity(WORDS + 3 + MARK_NAME_MAX / 8);
    // SAFETY: the block is as many words, all of them atomics.
    let of_block = unsafe {
        core::slice::from_raw_parts(core::ptr::from_ref(block).cast::<AtomicU64>(), WORDS)
    };
    words.extend(of_block.iter().map(|word| word.load(Relaxed)));
    words.extend([at_ns, recorded, name.len() as u64]);
    let mut padded = [0; MARK_NAME_MAX];
    let len = name.len().min(MARK_NAME_MAX);
    padded[..len].copy_from_slice(&name.as_bytes()[..len]);
    let of_name = padded.as_chunks().0.iter();
    words.extend(of_name.map(|bytes| u64::from_ne_bytes(*bytes)));
    words
}

/// Reads the words of a mark's file; nothing if they are no mark, as of a writer that was killed.
pub fn read_mark(words: &[u64]) -> Option<Mark<'_>> {
    let (of_block, rest) = words.split_at_checked(WORDS)?;
    let (&[at_ns, recorded, len], rest) = rest.split_first_chunk()?;
    let bytes: Vec<u8> = rest.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = bytes.get(..usize::try_from(len).ok()?)?;
    let name = core::str::from_utf8(name).ok()?;
    (rest.len() == MARK_NAME_MAX / 8 && is_mark_name(name)).then(|| Mark {
        words: of_block,
        at_ns,
        recorded,
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written_and_a_part_of_it_is_none() {
        // SAFETY: all fields are atomics of integers, for which zeros are valid.
        let block: Box<StatsBlock> = Box::new(unsafe { core::mem::zeroed() });
        block.pid.store(7, Relaxed);
        for name in ["a", "loaded-2.of_3", &"x".repeat(MARK_NAME_MAX)] {
            let words = mark_words(&block, 5, 9, name);
            let mark = read_mark(&words).expect("a mark");
            assert_eq!((mark.at_ns, mark.recorded, &mark.name[..]), (5, 9, name));
            assert_eq!(mark.words[2], 7);
            assert_eq!(mark.stats().pid.load(Relaxed), 7);
            assert_eq!(read_mark(&words[..words.len() - 1]), None);
        }
        for name in ["", "a b", "ä", "a/b", &"x".repeat(MARK_NAME_MAX + 1)] {
            assert!(!is_mark_name(name), "{name:?}");
        }
    }
}
