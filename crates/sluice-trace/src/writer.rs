//! Writes a trace.

use crate::block::Encoder;
use crate::header::INDEX_AT;
use crate::index::{Entry, Index};
use crate::{Access, Error, Header};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

/// Writes accesses block by block; a block is in the file as soon as it is full.
///
/// A file whose writer ends without [`Writer::finish`] is read up to its last whole block. A writer
/// belongs to one thread at a time: recorders with several threads keep a buffer for each and push
/// one after another.
pub struct Writer<W: Write + Seek> {
    out: W,
    encoder: Encoder,
    index: Index,
    /// Where the next block begins: bytes written so far.
    offset: u64,
}

/// What a finished file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Accesses.
    pub accesses: u64,
    /// Instructions that each CPU executed, as far as the writer knows.
    pub cpus: Vec<u64>,
    /// Bytes of the file.
    pub bytes: u64,
}

impl Writer<File> {
    /// Makes a file, or empties it.
    ///
    /// # Errors
    /// When it cannot be made, or the header says what cannot be.
    pub fn create(path: impl AsRef<Path>, header: &Header) -> Result<Writer<File>, Error> {
        let path = path.as_ref();
        let header_bytes = header.to_bytes()?;
        let file = File::create(path).map_err(Error::io(path.display().to_string()))?;
        Writer::with_bytes(file, header, &header_bytes)
    }
}

impl<W: Write + Seek> Writer<W> {
    /// Writes to something that is empty.
    ///
    /// # Errors
    /// When it cannot be written, or the header says what cannot be.
    pub fn new(out: W, header: &Header) -> Result<Writer<W>, Error> {
        Writer::with_bytes(out, header, &header.to_bytes()?)
    }

    fn with_bytes(out: W, header: &Header, bytes: &[u8]) -> Result<Writer<W>, Error> {
        let mut writer = Writer {
            out,
            encoder: Encoder::new(header)?,
            index: Index::default(),
            offset: 0,
        };
        writer.write(bytes)?;
        Ok(writer)
    }

    /// Appends an access. Allocates nothing, but for a CPU that is seen for the first time.
    ///
    /// # Errors
    /// [`Error::Access`] if a trace cannot hold it; the trace is as before. When a full block
    /// cannot be written, the file ends with the one before.
    #[inline]
    pub fn push(&mut self, access: &Access) -> Result<(), Error> {
        if self.encoder.is_full() {
            self.flush()?;
        }
        self.encoder.push(access)
    }

    /// Writes what was pushed as a block, however small: it is then in the file, whatever happens
    /// to the writer.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> Result<(), Error> {
        let (accesses, first) = self.encoder.current();
        if accesses == 0 {
            return Ok(());
        }
        self.index.blocks.push(Entry {
            offset: self.offset,
            first,
            instructions: self.encoder.instructions_before(),
        });
        let block = self.encoder.finish()?;
        self.out
            .write_all(block)
            .map_err(Error::io("writing a trace"))?;
        self.offset += block.len() as u64;
        Ok(())
    }

    /// Accesses so far.
    pub fn accesses(&self) -> u64 {
        self.encoder.total()
    }

    /// Writes the last block and the index. `executed` has the instructions of each CPU at its
    /// end, with those after its last access; a CPU that it does not reach, or says less of, ended
    /// with its last access.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self, executed: &[u64]) -> Result<Summary, Error> {
        self.flush()?;
        let counts = self.encoder.counts();
        let of = |list: &[u64], cpu: usize| list.get(cpu).copied().unwrap_or(0);
        let last = executed.iter().rposition(|count| *count > 0);
        let all = counts.len().max(last.map_or(0, |cpu| cpu + 1));
        let cpus = (0..all).map(|cpu| of(counts, cpu).max(of(executed, cpu)));
        self.index.cpus = cpus.collect();
        self.index.accesses = self.encoder.total();
        let at = self.offset;
        let index = self.index.to_bytes()?;
        self.write(&index)?;
        let place = Error::io("writing a trace");
        self.out
            .seek(SeekFrom::Start(INDEX_AT))
            .and_then(|_| self.out.write_all(&at.to_le_bytes()))
            .and_then(|()| self.out.flush())
            .map_err(place)?;
        Ok(Summary {
            accesses: self.index.accesses,
            cpus: self.index.cpus,
            bytes: self.offset,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.out
            .write_all(bytes)
            .map_err(Error::io("writing a trace"))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}
