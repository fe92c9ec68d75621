//! A file of metrics, replaced as a whole.

use crate::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The first line of our files.
const MARK: &str = "# Written by sluice --metrics.";

/// A file that a collector reads.
pub struct MetricsFile {
    path: PathBuf,
    /// Written first, and then renamed, so that nobody reads half of it.
    draft: PathBuf,
    has_failed: bool,
}

impl MetricsFile {
    /// Makes the file, or takes one that an earlier run has made. Nothing else is replaced.
    pub fn open(path: &Path) -> Result<MetricsFile, Error> {
        let value = |why: &str| Err(Error::value("--metrics", path.display(), why));
        match std::fs::symlink_metadata(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(Error::system(path.display())(e)),
            Ok(found) if found.is_file() && is_ours(path) => {}
            Ok(_) => return value("it is there and no file of --metrics: it is not replaced"),
        }
        let Some(name) = path.file_name() else {
            return value("expected a file ending in .prom");
        };
        let mut draft = std::ffi::OsString::from(".");
        draft.push(name);
        draft.push(format!(".{}", std::process::id()));
        let mut file = MetricsFile {
            path: path.to_owned(),
            draft: path.with_file_name(draft),
            has_failed: false,
        };
        match file.try_write("") {
            Ok(()) => Ok(file),
            Err(e) => {
                let why = format!("{e}; expected a folder that exists and may be written to");
                value(&why)
            }
        }
    }

    /// Replaces what the file has. The first failure is printed; later ones may succeed again.
    pub fn write(&mut self, text: &std::io::Result<String>) {
        let written = match text {
            Ok(text) => self.try_write(text),
            Err(e) => Err(std::io::Error::other(e.to_string())),
        };
        if let Err(e) = &written
            && !self.has_failed
        {
            let path = self.path.display();
            errln!("sluice: {path}: {e}; it has the metrics of an earlier moment");
        }
        self.has_failed = written.is_err();
    }

    fn try_write(&mut self, text: &str) -> std::io::Result<()> {
        // A link that somebody has put there is not followed.
        let _ = std::fs::remove_file(&self.draft);
        let written = File::create_new(&self.draft)
            .and_then(|mut draft| write!(draft, "{MARK}\n{text}"))
            .and_then(|()| std::fs::rename(&self.draft, &self.path));
        if written.is_err() {
            let _ = std::fs::remove_file(&self.draft);
        }
        written
    }
}

fn is_ours(path: &Path) -> bool {
    let first = File::open(path).map(|file| BufReader::new(file).lines().next());
    matches!(first, Ok(Some(Ok(line))) if line == MARK)
}
