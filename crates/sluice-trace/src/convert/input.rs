//! What is read: a file or a pipe, plain or compressed.

use crate::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// First bytes of files that gzip, zstd and xz make. The third of gzip's is its only method: two
/// bytes alone are those of an instruction at 0x408b1f, too.
const GZIP: &[u8] = &[0x1f, 0x8b, 8];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];

/// Bytes of a line at most. More are no text of lines, and may be all that a small file unpacks to.
const LINE_BYTES_MAX: u64 = 1 << 16;

/// What some editors put before a text.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// A file, or standard input.
pub struct Input {
    path: Option<PathBuf>,
    name: String,
}

impl Input {
    /// The file at a path; `-` is standard input.
    pub fn new(path: &Path) -> Input {
        let is_file = path != Path::new("-");
        Input {
            path: is_file.then(|| path.to_owned()),
            name: match is_file {
                true => path.display().to_string(),
                false => "standard input".to_owned(),
            },
        }
    }

    /// What errors call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its path, if it is a file.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Its bytes; those of gzip, zstd and xz are decompressed.
    pub(super) fn open(self) -> Result<Text, Error> {
        let raw: Box<dyn Read> = match &self.path {
            Some(path) => Box::new(File::open(path).map_err(Error::io(&self.name))?),
            None => Box::new(io::stdin()),
        };
        let mut raw = BufReader::with_capacity(1 << 16, raw);
        let mut first = Vec::new();
        let length = XZ.len() as u64;
        let taken = raw.by_ref().take(length).read_to_end(&mut first);
        taken.map_err(Error::io(&self.name))?;
        let whole = BufReader::new(io::Cursor::new(first.clone()).chain(raw));
        let plain: Box<dyn Read> = if first.starts_with(GZIP) {
            Box::new(flate2::bufread::MultiGzDecoder::new(whole))
        } else if first.starts_with(ZSTD) {
            let decoder = zstd::stream::read::Decoder::with_buffer(whole);
            Box::new(decoder.map_err(Error::io(&self.name))?)
        } else if first.starts_with(XZ) {
            Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(whole))
        } else {
            Box::new(whole)
        };
        Ok(Text {
            bytes: BufReader::with_capacity(1 << 18, plain),
            name: self.name,
            line: 0,
        })
    }
}

/// Bytes with a name for errors.
pub(super) struct Text {
    bytes: BufReader<Box<dyn Read>>,
    name: String,
    line: u64,
}

impl Text {
    /// Reads a line without its end, and without a mark of the bytes' order before the first; false
    /// behind the last.
    pub fn line(&mut self, line: &mut Vec<u8>) -> Result<bool, Error> {
        line.clear();
        let mut bytes = self.bytes.by_ref().take(LINE_BYTES_MAX);
        let read = bytes.read_until(b'\n', line);
        let read = read.map_err(Error::io(&self.name))? as u64;
        if read == 0 {
            return Ok(false);
        }
        self.line += 1;
        if read == LINE_BYTES_MAX && line.last() != Some(&b'\n') {
            let what =
                format!("it has {LINE_BYTES_MAX} bytes and no end: this is no text of lines");
            return Err(self.wrong("line", what));
        }
        if self.line == 1 && line.starts_with(MARK) {
            line.drain(..MARK.len());
        }
        while line.last().is_some_and(|byte| b"\r\n".contains(byte)) {
            line.pop();
        }
        Ok(true)
    }

    /// Reads a record of a fixed size; false behind the last.
    pub fn record(&mut self, record: &mut [u8]) -> Result<bool, Error> {
        let mut filled = 0;
        while filled < record.len() {
            match self.bytes.read(&mut record[filled..]) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(&self.name)(error)),
            }
        }
        self.line += 1;
        match filled {
            0 => Ok(false),
            n if n == record.len() => Ok(true),
            n => {
                let what = format!(
                    "{n} bytes of a record of {}; the file is cut off, or of another format",
                    record.len()
                );
                Err(self.wrong("record", what))
            }
        }
    }

    /// An error in the current line (or record).
    pub fn wrong(&self, unit: &str, what: impl Into<String>) -> Error {
        Error::Input {
            place: format!("{}, {unit} {}", self.name, self.line),
            what: what.into(),
        }
    }
}
