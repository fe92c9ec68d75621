//! The file of a shared object, before the loader has it: what the loader would wait for, die of,
//! or call a file that is not there.

use object::Endianness;
use object::elf::{EM_AARCH64, EM_X86_64, FileHeader64, Machine, PT_LOAD, ProgramHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use thiserror::Error;

/// Where the tables of an ELF file are looked for.
const HEAD_BYTES: u64 = 64 * 1024;
/// The machine of this process.
const MACHINE: Machine = match cfg!(target_arch = "aarch64") {
    true => EM_AARCH64,
    false => EM_X86_64,
};

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
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    let parsed = FileHeader64::<Endianness>::parse(&*head);
    let (Ok(_), Ok(elf)) = (read, parsed) else {
        return Ok(());
    };
    let endian = elf.endian().unwrap_or_default();
    let machine = elf.e_machine(endian);
    if machine != MACHINE {
        let [of, own] = [machine, MACHINE].map(name);
        return Err(FileError::Machine { of, own });
    }
    let (bytes, wanted) = (found.len(), end(elf, endian, &head));
    match wanted > bytes {
        true => Err(FileError::Cut { bytes, wanted }),
        false => Ok(()),
    }
}

/// Where the table of parts ends, or behind that the last part that is mapped.
fn end(elf: &FileHeader64<Endianness>, endian: Endianness, head: &[u8]) -> u64 {
    let table = u64::from(elf.e_phnum(endian)) * size_of::<ProgramHeader64<Endianness>>() as u64;
    let parts = elf.program_headers(endian, head).unwrap_or_default().iter();
    let mapped = parts.filter(|part| part.p_type(endian) == PT_LOAD);
    let ends = mapped.map(|part| part.p_offset(endian).saturating_add(part.p_filesz(endian)));
    ends.fold(elf.e_phoff(endian).saturating_add(table), u64::max)
}

fn name(machine: Machine) -> String {
    match machine {
        EM_X86_64 => "x86-64".to_owned(),
        EM_AARCH64 => "arm64".to_owned(),
        Machine(other) => format!("machine {other}"),
    }
}
