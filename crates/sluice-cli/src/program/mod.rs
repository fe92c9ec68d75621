//! Finding programs and libraries.

pub mod entry;

use crate::error::Error;
use crate::told;
use sluice_results::Folder;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The variable that names the preload library.
pub const PRELOAD_VAR: &str = "SLUICE_PRELOAD";

/// The preload library: beside this command, or where `SLUICE_PRELOAD` says.
pub fn preload_library() -> Result<PathBuf, Error> {
    library("libsluice_preload.so", PRELOAD_VAR)
}

/// A library of ours: beside this command, or where a variable says.
pub fn library(name: &str, variable: &str) -> Result<PathBuf, Error> {
    if let Some(path) = std::env::var_os(variable) {
        let path = PathBuf::from(path);
        return if path.is_file() {
            Ok(path)
        } else {
            let why = format!("no such file (from {variable})");
            Err(Error::unfit(path.display(), why))
        };
    }
    let own = std::env::current_exe().map_err(Error::system("finding this command"))?;
    let own = own.canonicalize().unwrap_or(own);
    let beside = own.with_file_name(name);
    let installed = own.parent().map(|p| p.join("../lib").join(name));
    [Some(beside.clone()), installed]
        .into_iter()
        .flatten()
        .find(|p| p.is_file())
        .ok_or_else(|| {
            let why = format!(
                "missing, and what is live needs it; the wheel has it (`pip install .` in the \
                 checkout), or `cargo build --release --workspace` makes it; {variable} names it \
                 elsewhere"
            );
            Error::unfit(beside.display(), why)
        })
}

/// A program by name or path, as a shell would find it.
pub fn find(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    let name = name.as_ref();
    if is_path(name) {
        return Some(PathBuf::from(name)).filter(|p| is_program(p));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|p| is_program(p))
}

/// Whether a file can be executed.
pub fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Whether a program was built with AddressSanitizer, whose library insists on being the first.
pub fn has_address_sanitizer(path: &Path) -> bool {
    const START: &[u8] = b"__asan_init";
    std::fs::read(path).is_ok_and(|bytes| bytes.windows(START.len()).any(|name| name == START))
}

/// A program by name or path, or why there is none.
pub fn find_or_say(name: &OsStr) -> Result<PathBuf, Error> {
    let shown = || name.display();
    find(name).ok_or_else(|| match is_path(name) {
        _ if name.is_empty() => Error::unfit("the program's name is empty", "give a name or path"),
        true if Path::new(name).is_dir() => Error::unfit(
            shown(),
            "not an executable file but a folder; give the program in it",
        ),
        true if Path::new(name).exists() => Error::unfit(
            shown(),
            "not an executable file; `chmod +x` makes it one, or put its interpreter before it",
        ),
        false if Path::new(name).is_dir() => Error::unfit(
            shown(),
            "no such program in PATH, and a folder here; give the program in it",
        ),
        false if is_program(Path::new(name)) => Error::unfit(
            shown(),
            format!("no such program in PATH; give ./{}", shown()),
        ),
        true => Error::unfit(shown(), "no such program; expected a path that exists"),
        false => Error::unfit(
            shown(),
            "no such program in PATH; install it, or give its path",
        ),
    })
}

/// Whether a shell would not look for this name in `PATH`.
fn is_path(name: &OsStr) -> bool {
    name.as_encoded_bytes().contains(&b'/')
}

/// A command line as results have it.
pub fn words_of(words: &[OsString]) -> Vec<String> {
    let told = words.iter().map(|word| word.to_string_lossy().into_owned());
    told.collect()
}

/// The folder that `--out` names, for the result of this command. What is there is replaced by it
/// if that was asked for.
pub fn out_folder(path: &Path, replaces: bool) -> Result<Folder, Error> {
    let what = format!("--out {}", path.display());
    if path.exists() && !path.is_dir() {
        return Err(Error::unfit(what, "it is a file; name a folder"));
    }
    if let Some(file) = path.ancestors().find(|above| above.is_file()) {
        let why = format!("{} is a file; name a folder", file.display());
        return Err(Error::unfit(what, why));
    }
    Folder::create(path, replaces, &told::now()).map_err(Error::system(what))
}

/// A program that the preload library can enter, or why not.
pub fn check(name: &OsStr) -> Result<PathBuf, Error> {
    let path = find_or_say(name)?;
    match entry::check(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(Error::NoEntry { path, source }),
    }
}

/// The first bytes of a file; none if it cannot be read.
pub fn head(path: &Path, bytes: u64) -> Vec<u8> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|f| f.take(bytes).read_to_end(&mut head));
    read.map(|_| head).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        assert!(find("sh").is_some());
        assert!(find("/bin/sh").is_some());
        assert!(find("no-such-program-anywhere").is_none());
        assert!(find("/etc/passwd").is_none(), "not executable");
        assert!(find("/tmp").is_none(), "a directory");
    }
}
