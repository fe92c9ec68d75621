//! The file of a shared object, before the loader has it: what the loader would wait for, die of,
//! or call a file that is not there.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use thiserror::Error;

/// How a file of 64 bits begins that has the lowest byte of a number first.
const ELF: &[u8] = b"\x7fELF\x02\x01";
/// Bytes of its header, and of the entry of a part.
const HEAD: usize = 64;
const PART: usize = 56;
/// The part is mapped (`PT_LOAD`).
const MAPPED: u32 = 1;
/// The machine of this process.
const MACHINE: u16 = if cfg!(target_arch = "aarch64") {
    ARM64
} else {
    X86_64
};
const X86_64: u16 = 62;
const ARM64: u16 = 183;

/// Why a file is not given to the loader.
#[derive(Debug, Error)]
pub enum FileError {
    /// It is a folder, a pipe or a device.
    #[error("is no regular file")]
    Kind,
    /// Another processor executes it.
    #[error("is built for {of}, and this Sluice for {own}")]
    Machine {
        /// The processor that the object is for.
        of: String,
        /// This one.
        own: String,
    },
    /// It has been cut.
    #[error("is cut: it has {bytes} bytes, and by its header {wanted} at least")]
    Cut {
        /// How long it is.
        bytes: u64,
        /// How long the loader would take it for.
        wanted: u64,
    },
}

/// Refuses what is no regular file, an object for another machine, and one that has been cut. Of
/// all else the loader says what is wrong with it.
pub fn check(path: &Path) -> Result<(), FileError> {
    let Ok(found) = path.metadata() else {
        return Ok(());
    };
    if !found.is_file() {
        return Err(FileError::Kind);
    }
    let mut head = [0; HEAD];
    let file = File::open(path).ok().filter(|file| {
        let read = file.read_exact_at(&mut head, 0);
        read.is_ok() && head.starts_with(ELF)
    });
    let Some(file) = file else {
        return Ok(());
    };
    let machine = u16::from_le_bytes(number(&head, 18));
    if machine != MACHINE {
        let [of, own] = [machine, MACHINE].map(name);
        return Err(FileError::Machine { of, own });
    }
    let (bytes, wanted) = (found.len(), end(&file, &head));
    match wanted > bytes {
        true => Err(FileError::Cut { bytes, wanted }),
        false => Ok(()),
    }
}

/// Where the last part ends that is mapped.
fn end(file: &File, head: &[u8; HEAD]) -> u64 {
    let first = u64::from_le_bytes(number(head, 32));
    let count = u64::from(u16::from_le_bytes(number(head, 56)));
    let mut end = first.saturating_add(count * PART as u64);
    for at in (first..end).step_by(PART) {
        let mut part = [0; PART];
        let is_there = file.read_exact_at(&mut part, at).is_ok();
        if is_there && u32::from_le_bytes(number(&part, 0)) == MAPPED {
            let [from, len] = [8, 32].map(|at| u64::from_le_bytes(number(&part, at)));
            end = end.max(from.saturating_add(len));
        }
    }
    end
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    core::array::from_fn(|byte| bytes[at + byte])
}

fn name(machine: u16) -> String {
    match machine {
        X86_64 => "x86-64".to_owned(),
        ARM64 => "arm64".to_owned(),
        other => format!("machine {other}"),
    }
}
