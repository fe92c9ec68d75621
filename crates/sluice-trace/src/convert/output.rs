//! What is written: a file that has its name only once it is whole, or a pipe.

use crate::Error;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Names that promise a compression.
const COMPRESSED: [(&str, &str); 4] = [
    ("gz", "gzip"),
    ("zst", "zstd"),
    ("xz", "xz"),
    ("bz2", "bzip2"),
];

/// A file or standard output.
pub struct Output {
    place: Option<Place>,
}

struct Place {
    file: File,
    name: String,
}

/// A file that is made under another name.
pub struct Pending {
    part: PathBuf,
    path: PathBuf,
}

impl Output {
    /// A file at a path, which has that name when it is kept; `-` is standard output.
    ///
    /// # Errors
    /// When it cannot be made, or its name promises a compression.
    pub fn new(path: &Path) -> Result<(Output, Option<Pending>), Error> {
        if path == Path::new("-") {
            return Ok((Output { place: None }, None));
        }
        let name = path.display().to_string();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if let Some((_, program)) = COMPRESSED.iter().find(|(one, _)| Some(*one) == ending) {
            return Err(Error::Output(format!(
                "{name}: what is written is not compressed; write to - and pipe it to {program}"
            )));
        }
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&part)
            .map_err(Error::io(&name))?;
        let place = Some(Place { file, name });
        let path = path.to_owned();
        Ok((Output { place }, Some(Pending { part, path })))
    }

    /// For a format that is written from its beginning to its end.
    pub(super) fn stream(self) -> Box<dyn Write> {
        match self.place {
            Some(place) => Box::new(BufWriter::with_capacity(1 << 18, place.file)),
            None => Box::new(BufWriter::with_capacity(1 << 18, io::stdout())),
        }
    }

    /// For a format that goes back.
    pub(super) fn file(self, format: &str) -> Result<(File, String), Error> {
        let place = self.place.ok_or_else(|| {
            Error::Output(format!(
                "-: {format} cannot be written to a pipe; name a file"
            ))
        })?;
        Ok((place.file, place.name))
    }
}

impl Pending {
    /// Gives the file its name.
    ///
    /// # Errors
    /// When it cannot have it.
    pub fn keep(mut self) -> Result<(), Error> {
        let name = self.path.display().to_string();
        std::fs::rename(&self.part, &self.path).map_err(Error::io(name))?;
        self.part.clear();
        Ok(())
    }
}

impl Drop for Pending {
    /// What is not whole is not kept.
    fn drop(&mut self) {
        if !self.part.as_os_str().is_empty() {
            // Nobody is left to be told that it stays.
            let _ = std::fs::remove_file(&self.part);
        }
    }
}
