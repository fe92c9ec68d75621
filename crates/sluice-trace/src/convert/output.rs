//! What is written: a file that has its name only once it is whole, or a pipe or device.

use crate::Error;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Names that promise a compression.
const COMPRESSED: [(&str, &str); 4] = [
    ("gz", "gzip"),
    ("zst", "zstd"),
    ("xz", "xz"),
    ("bz2", "bzip2"),
];

/// Links that lead from one to the next, as many as Linux follows.
const LINKS_MAX: u32 = 40;

/// A file or standard output.
pub struct Output {
    place: Place,
}

enum Place {
    Standard,
    /// What is there and no file: a FIFO, a terminal or another device.
    There(NamedFile),
    New(NamedFile),
}

struct NamedFile {
    file: File,
    name: String,
}

/// A file that does not have its name yet.
pub struct Pending {
    /// The file, which has no name at all, so that nothing stays of a command that is killed.
    file: File,
    /// The name that it has meanwhile, on a file system where every file must have one.
    part: Option<PathBuf>,
    path: PathBuf,
}

impl Output {
    /// A file at a path, which has that name when it is kept; `-` is standard output. What is at
    /// the path and no file stays, and is written to. A link stays too: what it names is replaced.
    ///
    /// # Errors
    /// When it cannot be made, or its name promises a compression.
    pub fn new(path: &Path) -> Result<(Output, Option<Pending>), Error> {
        if path == Path::new("-") {
            let place = Place::Standard;
            return Ok((Output { place }, None));
        }
        let name = path.display().to_string();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if let Some((_, program)) = COMPRESSED.iter().find(|(one, _)| Some(*one) == ending) {
            return Err(Error::Output(format!(
                "{name}: what is written is not compressed; write to - and pipe it to {program}"
            )));
        }
        let path = match std::fs::metadata(path) {
            Ok(there) if there.is_file() => path.canonicalize().map_err(Error::io(&name))?,
            Ok(_) => {
                let file = File::options().write(true).open(path);
                let file = file.map_err(Error::io(&name))?;
                let place = Place::There(NamedFile { file, name });
                return Ok((Output { place }, None));
            }
            Err(_) => named(path).map_err(Error::io(&name))?,
        };
        let (file, part) = make(&path).map_err(Error::io(&name))?;
        let to_write = file.try_clone().map_err(Error::io(&name))?;
        let place = Place::New(NamedFile {
            file: to_write,
            name,
        });
        Ok((Output { place }, Some(Pending { file, part, path })))
    }

    /// For a format that is written from its beginning to its end.
    pub(super) fn stream(self) -> Box<dyn Write> {
        match self.place {
            Place::There(place) | Place::New(place) => {
                Box::new(BufWriter::with_capacity(1 << 18, place.file))
            }
            Place::Standard => Box::new(BufWriter::with_capacity(1 << 18, io::stdout())),
        }
    }

    /// For a format that goes back.
    pub(super) fn file(self, format: &str) -> Result<(File, String), Error> {
        let refused = |name: &str| {
            Error::Output(format!(
                "{name}: {format} cannot be written to a pipe; name a file"
            ))
        };
        match self.place {
            Place::New(place) => Ok((place.file, place.name)),
            Place::There(place) => Err(refused(&place.name)),
            Place::Standard => Err(refused("-")),
        }
    }
}

impl Pending {
    /// Gives the file its name. A file that had the name before is replaced.
    ///
    /// # Errors
    /// When it cannot have it.
    pub fn keep(mut self) -> Result<(), Error> {
        let name = self.path.display().to_string();
        self.name_it().map_err(Error::io(name))
    }

    fn name_it(&mut self) -> io::Result<()> {
        let part = match self.part.take() {
            Some(part) => part,
            None => match self.link(&self.path) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                    let part = beside(&self.path);
                    self.link(&part)?;
                    part
                }
                done => return done,
            },
        };
        std::fs::rename(&part, &self.path).inspect_err(|_| {
            // The caller reports why the file cannot have its name; that the part stays would add
            // nothing.
            let _ = std::fs::remove_file(&part);
        })
    }

    fn link(&self, to: &Path) -> io::Result<()> {
        let open = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        Ok(linkat(CWD, open, CWD, to, AtFlags::SYMLINK_FOLLOW)?)
    }
}

impl Drop for Pending {
    /// What is not whole is not kept.
    fn drop(&mut self) {
        if let Some(part) = self.part.take() {
            // A file that stays cannot be reported from here.
            let _ = std::fs::remove_file(part);
        }
    }
}

/// What a link names that leads to nothing yet; a path that is no link is what it names.
fn named(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match std::fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(e) if [ErrorKind::InvalidInput, ErrorKind::NotFound].contains(&e.kind()) => {
                return Ok(path);
            }
            Err(e) => return Err(e),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

/// A file in the folder of `path`, without a name where that can be.
fn make(path: &Path) -> io::Result<(File, Option<PathBuf>)> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mode = Mode::from_raw_mode(0o666);
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match openat(CWD, folder, flags, mode) {
        Ok(file) => Ok((file.into(), None)),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR) => {
            let part = beside(path);
            let file = File::options()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&part)?;
            Ok((file, Some(part)))
        }
        Err(e) => Err(e.into()),
    }
}

/// A name in the folder of `path` that no other process takes.
fn beside(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    part.into()
}
