//! Whether the preload library can enter a program.
//!
//! The dynamic loader brings the library in. So the program must have the loader of the library's
//! own C library, and one that heeds `LD_PRELOAD`.

use super::{head, is_program};
use crate::error::NoEntry;
use object::elf::{EM_AARCH64, EM_X86_64, FileHeader64, Machine};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind};
use rustix::fs::{StatVfsMountFlags, getxattr_query, statvfs};
use rustix::process::{getegid, geteuid};
use rustix::thread::no_new_privs;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Interpreters of interpreters that the kernel follows.
const MAX_SCRIPTS: usize = 5;
/// The first line of a script, of which the kernel reads no more.
const MAX_LINE: usize = 256;
/// Where the tables of an ELF file are looked for.
const HEAD_BYTES: u64 = 64 * 1024;

const MACHINE: Machine = match cfg!(target_arch = "aarch64") {
    true => EM_AARCH64,
    false => EM_X86_64,
};

/// Says why the library cannot enter a program, if so. Of files that are neither scripts nor ELF
/// the kernel says what they are.
pub fn check(program: &Path) -> Result<(), NoEntry> {
    check_script(program, MAX_SCRIPTS)
}

/// Follows interpreters, at most so many.
fn check_script(path: &Path, left: usize) -> Result<(), NoEntry> {
    let found = head(path, HEAD_BYTES);
    let Some(interpreter) = interpreter(&found) else {
        return check_elf(path, &found);
    };
    let checked = match (left, is_program(&interpreter)) {
        (0, _) => Ok(()),
        (_, true) => check_script(&interpreter, left - 1),
        (_, false) => Err(NoEntry::Missing),
    };
    checked.map_err(|source| NoEntry::Interpreter {
        interpreter,
        source: Box::new(source),
    })
}

/// Whether a file names its interpreter on its first line.
pub fn is_script(path: &Path) -> bool {
    head(path, 2) == b"#!"
}

/// The interpreter that a script names.
fn interpreter(script: &[u8]) -> Option<PathBuf> {
    let line = script.strip_prefix(b"#!")?;
    let line = line[..line.len().min(MAX_LINE)]
        .split(|b| *b == b'\n')
        .next()?;
    let mut words = line
        .split(|b| b" \t\r".contains(b))
        .filter(|word| !word.is_empty());
    words
        .next()
        .map(|word| PathBuf::from(OsStr::from_bytes(word)))
}

fn check_elf(path: &Path, head: &[u8]) -> Result<(), NoEntry> {
    let kind = match FileKind::parse(head) {
        Ok(FileKind::Elf32) => Err("a 32-bit program"),
        Ok(FileKind::Elf64) => Ok(()),
        _ => return Ok(()),
    };
    kind.map_err(NoEntry::Kind)?;
    let Ok(elf) = FileHeader64::<Endianness>::parse(head) else {
        return Ok(());
    };
    if machine_of(elf) != MACHINE {
        return Err(NoEntry::Kind("a program for another machine"));
    }
    match loader(elf, head) {
        None if is_loader(path) => Err(NoEntry::Loader),
        None => Err(NoEntry::Kind("statically linked")),
        Some(loader) if loader.windows(8).any(|part| part == b"/ld-musl") => Err(NoEntry::Kind(
            "linked with musl and not with the GNU C library",
        )),
        Some(_) if has_other_rights(path) => Err(NoEntry::Kind(
            "set-user-ID, set-group-ID or with capabilities of its own; run it as its owner, or a \
             copy without that",
        )),
        Some(_) => Ok(()),
    }
}

/// The machine that a 64-bit ELF program is for, none for another file.
pub fn machine(path: &Path) -> Option<Machine> {
    let head = head(path, HEAD_BYTES);
    FileHeader64::parse(&*head).ok().map(machine_of)
}

fn machine_of(elf: &FileHeader64<Endianness>) -> Machine {
    elf.e_machine(elf.endian().unwrap_or_default())
}

/// The dynamic loader that a program names; empty if its name is behind the head.
fn loader<'a>(elf: &FileHeader64<Endianness>, head: &'a [u8]) -> Option<&'a [u8]> {
    let endian = elf.endian().ok()?;
    let parts = elf.program_headers(endian, head).ok()?.iter();
    let mut named = parts.map(|part| part.interpreter(endian, head));
    named.find_map(|name| name.map_or(Some(&b""[..]), |name| name))
}

fn is_loader(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    name.starts_with(b"ld-linux") || name.starts_with(b"ld.so")
}

/// Whether the program gets rights that its caller has not: then the loader heeds no
/// `LD_PRELOAD`.
fn has_other_rights(path: &Path) -> bool {
    let Ok(file) = path.metadata() else {
        return false;
    };
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let by_group = libc::S_ISGID | libc::S_IXGRP;
    let is_other_user = file.mode() & libc::S_ISUID != 0 && file.uid() != user;
    let is_other_group = file.mode() & by_group == by_group && file.gid() != group;
    let has_capabilities = getxattr_query(path, "security.capability").is_ok_and(|len| len > 0);
    let has_more = user != 0 && has_capabilities;
    // Neither a process that gave up new rights nor a file system without them gives any.
    let gives_none = || statvfs(path).is_ok_and(|fs| fs.f_flag.contains(StatVfsMountFlags::NOSUID));
    (is_other_user || is_other_group || has_more)
        && !no_new_privs().unwrap_or(false)
        && !gives_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::find;
    use object::elf::{EM_386, EM_RISCV};

    #[test]
    fn a_dynamic_program_passes_and_so_do_scripts_of_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script");
        assert_eq!(check(&find("sh").unwrap()), Ok(()));
        assert_eq!(check(Path::new("/etc/passwd")), Ok(()));
        for (line, passes) in [("#! /bin/sh -e\n", true), ("#!/no/such/shell", false)] {
            std::fs::write(&path, line).unwrap();
            assert!(is_script(&path));
            assert_eq!(check(&path).is_ok(), passes, "{line}");
        }
    }

    /// An ELF file that names a loader, of a class and for a machine.
    fn elf(class: u8, machine: Machine, loader: &[u8]) -> Vec<u8> {
        let mut file = vec![0u8; 64 + 56];
        file[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
        file[18..20].copy_from_slice(&machine.0.to_le_bytes());
        file[32] = 64;
        (file[54], file[56]) = (56, u8::from(!loader.is_empty()));
        (file[64], file[64 + 8], file[64 + 32]) = (3, 64 + 56, loader.len() as u8 + 1);
        file.extend_from_slice(loader);
        file.push(0);
        file
    }

    #[test]
    fn why_others_do_not_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let cases = [
            (elf(2, MACHINE, b"/lib64/ld-linux-x86-64.so.2"), None),
            (elf(2, MACHINE, b""), Some("statically linked")),
            (elf(1, EM_386, b"/lib/ld-linux.so.2"), Some("32-bit")),
            (
                elf(2, EM_RISCV, b"/lib/ld-linux-riscv64.so.1"),
                Some("machine"),
            ),
            (elf(2, MACHINE, b"/lib/ld-musl-x86_64.so.1"), Some("musl")),
        ];
        for (file, why) in cases {
            let path = folder.path().join("program");
            std::fs::write(&path, file).unwrap();
            let found = check(&path).err().map(|why| why.to_string());
            let found = found.unwrap_or_default();
            assert!(
                why.map_or(found.is_empty(), |why| found.contains(why)),
                "{why:?}: {found}"
            );
        }
        let loader = folder.path().join("ld-linux-x86-64.so.2");
        std::fs::write(&loader, elf(2, MACHINE, b"")).unwrap();
        assert_eq!(check(&loader), Err(NoEntry::Loader));
    }
}
