//! What of a program's own memory lives on the device.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Kinds of memory, each named by a `--place` of its own. What is allocated explicitly is always
/// placed, where memory of the program's own is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kinds {
    /// The malloc family and large anonymous mappings.
    pub heap: bool,
    /// Memory that processes share.
    pub shared: bool,
    /// Mappings of files whose paths one of these patterns fits.
    pub files: Vec<FilePattern>,
}

/// Which files are meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilePattern {
    text: OsString,
    pattern: glob::Pattern,
}

/// Why a text names no kind of memory.
#[derive(Debug, thiserror::Error)]
pub enum KindError {
    /// No kind has this name.
    #[error("expected heap, shared, files, files:GLOB, explicit or dax:PATH")]
    Unknown,
    /// There is no pattern, or it is no text.
    #[error("the pattern of file names must be text, and not empty")]
    NoPattern,
    /// The pattern has a mistake.
    #[error("the pattern cannot be read: {0}")]
    Pattern(#[from] glob::PatternError),
}

/// Names of kinds.
const HEAP: &[u8] = b"heap";
const SHARED: &[u8] = b"shared";
const EXPLICIT: &[u8] = b"explicit";
const FILES: &[u8] = b"files";

impl Default for Kinds {
    fn default() -> Kinds {
        Kinds {
            heap: true,
            shared: false,
            files: Vec::new(),
        }
    }
}

impl Kinds {
    /// None but what is allocated explicitly.
    pub fn none() -> Kinds {
        Kinds {
            heap: false,
            shared: false,
            files: Vec::new(),
        }
    }

    /// Adds the kind that a text names.
    ///
    /// # Errors
    /// Why it names none.
    pub fn add(&mut self, text: &OsStr) -> Result<(), KindError> {
        match text.as_bytes() {
            HEAP => self.heap = true,
            SHARED => self.shared = true,
            EXPLICIT => {}
            FILES => self.files.push(FilePattern::new(OsStr::new("*"))?),
            text => match text.strip_prefix(b"files:") {
                Some(pattern) => self
                    .files
                    .push(FilePattern::new(OsStr::from_bytes(pattern))?),
                None => return Err(KindError::Unknown),
            },
        }
        Ok(())
    }

    /// The texts that name them.
    pub fn names(&self) -> Vec<OsString> {
        let files = self.files.iter().map(|file| {
            let mut name = OsString::from("files:");
            name.push(&file.text);
            name
        });
        let heap = self.heap.then(|| OsString::from("heap"));
        let shared = self.shared.then(|| OsString::from("shared"));
        heap.into_iter().chain(shared).chain(files).collect()
    }

    /// Whether a file is to be placed.
    pub fn has_file(&self, path: &[u8]) -> bool {
        self.files.iter().any(|file| file.fits(path))
    }
}

impl FilePattern {
    /// A shell's pattern of file names, or of whole paths if there is a `/` in it: `*` and `?` do
    /// not stand for a `/`, `**` stands for any folders.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(text: &OsStr) -> Result<FilePattern, KindError> {
        let Some(pattern) = text.to_str().filter(|text| !text.is_empty()) else {
            return Err(KindError::NoPattern);
        };
        let pattern = glob::Pattern::new(pattern)?;
        Ok(FilePattern {
            text: text.to_owned(),
            pattern,
        })
    }

    fn fits(&self, path: &[u8]) -> bool {
        let is_of_paths = self.pattern.as_str().contains('/');
        let name = match (is_of_paths, path.iter().rposition(|byte| *byte == b'/')) {
            (false, Some(at)) => &path[at + 1..],
            _ => path,
        };
        let options = glob::MatchOptions {
            require_literal_separator: true,
            ..glob::MatchOptions::new()
        };
        self.pattern
            .matches_with(&String::from_utf8_lossy(name), options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(names: &[&str]) -> Result<Kinds, KindError> {
        let mut kinds = Kinds::none();
        names
            .iter()
            .try_for_each(|name| kinds.add(OsStr::new(name)))?;
        Ok(kinds)
    }

    #[test]
    fn a_pattern_fits_names_or_whole_paths() {
        for (pattern, path, fits) in [
            ("files", "/a/b.gguf", true),
            ("files:*.gguf", "/a/b.gguf", true),
            ("files:*.gguf", "/a/b.gguf.old", false),
            ("files:b*", "/a/b/c", false),
            ("files:/a/*.gguf", "/a/b.gguf", true),
            ("files:/a/*.gguf", "/a/b/c.gguf", false),
            ("files:/a/**/*.gguf", "/a/b/c/d.gguf", true),
            ("files:data-[0-9].db", "/data-7.db", true),
            ("heap", "/a", false),
        ] {
            let kinds = kinds(&[pattern]).unwrap();
            assert_eq!(kinds.has_file(path.as_bytes()), fits, "{pattern} {path}");
        }
        assert!(kinds(&["files:*"]).unwrap().has_file(b"/a/\xff"));
    }

    #[test]
    fn names_and_kinds_are_the_same() {
        let names = ["heap", "shared", "files:*.gguf", "files:/a/**"];
        assert_eq!(kinds(&names).unwrap().names(), names);
        assert_eq!(kinds(&["explicit"]).unwrap(), Kinds::none());
        for wrong in ["files:", "files:[a", "files:***", "heaps", ""] {
            assert!(kinds(&[wrong]).is_err(), "{wrong}");
        }
    }
}
