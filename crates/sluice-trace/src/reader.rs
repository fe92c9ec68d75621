//! Reads a trace.

use crate::block::{self, Decoder, Head};
use crate::header::PREFIX_BYTES;
use crate::index::{self, Entry, Index};
use crate::{Access, Error, Header};
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// Reads accesses in the order of the file. An iterator of them; after an error it ends.
pub struct Reader<R> {
    input: R,
    header: Header,
    index: Index,
    unfinished: Option<Unfinished>,
    decoder: Decoder,
    /// The block that is read next.
    next: usize,
    /// The access that comes next, of the block that was read last.
    at: usize,
    bytes: Vec<u8>,
    end: u64,
}

/// The writer was stopped before it could finish the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Accesses in whole blocks.
    pub accesses: u64,
    /// Bytes of a block that is not whole.
    pub left_over: u64,
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the trace was not finished: its first {} accesses are read, {} bytes of an unfinished \
             block are left out",
            self.accesses, self.left_over
        )
    }
}

impl Reader<BufReader<File>> {
    /// Opens a file.
    ///
    /// # Errors
    /// When it cannot be read, is no trace, or is damaged where it is read now: header and index.
    pub fn open(path: impl AsRef<Path>) -> Result<Reader<BufReader<File>>, Error> {
        let path = path.as_ref();
        let named = |error| Error::io(path.display().to_string())(error);
        let file = File::open(path).map_err(named)?;
        if file.metadata().map_err(named)?.is_dir() {
            return Err(named(io::ErrorKind::IsADirectory.into()));
        }
        Reader::new(BufReader::new(file))
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Reads header and index.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn new(mut input: R) -> Result<Reader<R>, Error> {
        let end = input.seek(SeekFrom::End(0)).map_err(Error::io(READING))?;
        let mut prefix = [0; PREFIX_BYTES];
        fetch(&mut input, 0, end.min(prefix.len() as u64), &mut prefix)?;
        if end < PREFIX_BYTES as u64 {
            return Err(match prefix[..8] == crate::header::MAGIC {
                true => Error::damaged(end, "the file ends within its header"),
                false => Error::NotATrace,
            });
        }
        let (length, index_at) = Header::read_prefix(&prefix)?;
        let blocks_at = (PREFIX_BYTES + length) as u64;
        if end < blocks_at {
            return Err(Error::damaged(end, "the file ends within its header"));
        }
        let mut text = vec![0; length];
        fetch(&mut input, PREFIX_BYTES as u64, length as u64, &mut text)?;
        let header = Header::read_text(&prefix, &text)?;
        let mut reader = Reader {
            input,
            decoder: Decoder::new(&header)?,
            header,
            index: Index::default(),
            unfinished: None,
            next: 0,
            at: 0,
            bytes: Vec::new(),
            end,
        };
        match index_at {
            0 => reader.find_blocks(blocks_at)?,
            at => reader.read_index(at, blocks_at)?,
        }
        Ok(reader)
    }

    /// How the trace was made.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Accesses in all.
    pub fn accesses(&self) -> u64 {
        self.index.accesses
    }

    /// Instructions that each CPU executed.
    pub fn cpus(&self) -> &[u64] {
        &self.index.cpus
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.end
    }

    /// Blocks of the file.
    pub fn blocks(&self) -> usize {
        self.index.blocks.len()
    }

    /// Says so if the writer was stopped before it could finish the file.
    pub fn unfinished(&self) -> Option<Unfinished> {
        self.unfinished
    }

    /// The next accesses, those left of a block; nothing at the end.
    ///
    /// # Errors
    /// When a block cannot be read or is damaged.
    pub fn next_block(&mut self) -> Result<Option<&[Access]>, Error> {
        if self.at == self.decoder.accesses().len() && !self.load_next()? {
            return Ok(None);
        }
        let rest = &self.decoder.accesses()[self.at..];
        self.at += rest.len();
        Ok(Some(rest))
    }

    /// The accesses of the block of this number, from 0. Those behind the block come next.
    ///
    /// # Errors
    /// When it cannot be read or is damaged.
    ///
    /// # Panics
    /// If the trace has not so many blocks.
    pub fn read_block(&mut self, number: usize) -> Result<&[Access], Error> {
        assert!(
            number < self.blocks(),
            "block {number} of {}",
            self.blocks()
        );
        self.go_to(number)?;
        self.at = self.decoder.accesses().len();
        Ok(self.decoder.accesses())
    }

    /// Goes to the access of this number, from 0; its end is a place as well.
    ///
    /// # Errors
    /// When the trace has fewer, or the block cannot be read.
    pub fn seek_access(&mut self, number: u64) -> Result<(), Error> {
        let end = self.index.accesses;
        if number > end {
            return Err(Error::Seek {
                what: "access",
                wanted: number,
                end,
            });
        }
        let after = self
            .index
            .blocks
            .partition_point(|block| block.first <= number);
        self.go_to(after.saturating_sub(1))?;
        let first = after
            .checked_sub(1)
            .map_or(0, |n| self.index.blocks[n].first);
        self.at = (number - first) as usize;
        Ok(())
    }

    /// Goes to the first access before which all CPUs together had executed so many instructions,
    /// each counted at its accesses: with one CPU, the first access at this instruction or after.
    /// Without such an access, to the end. Says which access that is.
    ///
    /// # Errors
    /// When a block cannot be read.
    pub fn seek_instructions(&mut self, instructions: u64) -> Result<u64, Error> {
        let blocks = &self.index.blocks;
        // The block's first access may have executed much itself: it may be the one, from a block
        // that began with less.
        let after = blocks.partition_point(|block| block.instructions < instructions);
        let block = after.saturating_sub(1);
        let Some(entry) = blocks.get(block).copied() else {
            return Ok(0);
        };
        self.go_to(block)?;
        let mut counts = self.decoder.starts().to_vec();
        counts.resize(self.decoder.counts().len(), 0);
        let mut all = entry.instructions;
        let reached = self.decoder.accesses().iter().position(|access| {
            let count = &mut counts[access.cpu as usize];
            all = all.saturating_add(access.instructions - *count);
            *count = access.instructions;
            all >= instructions
        });
        self.at = reached.unwrap_or(self.decoder.accesses().len());
        Ok(entry.first + self.at as u64)
    }

    /// Reads a block and stands at its beginning; nowhere in a trace without any.
    fn go_to(&mut self, block: usize) -> Result<(), Error> {
        self.next = block;
        self.load_next().map(|_| ())
    }

    /// Reads the next block, if there is one. After an error there is none.
    fn load_next(&mut self) -> Result<bool, Error> {
        let done = self.load(self.next);
        self.at = 0;
        match done {
            Ok(true) => self.next += 1,
            Ok(false) | Err(_) => {
                self.decoder.forget();
                self.next = self.index.blocks.len();
            }
        }
        done
    }

    /// Reads a block, whose CPUs must be those of the index.
    fn load(&mut self, block: usize) -> Result<bool, Error> {
        if !self.decode(block)? {
            return Ok(false);
        }
        let (counts, cpus) = (self.decoder.counts(), &self.index.cpus);
        if counts.len() > cpus.len() || counts.iter().zip(cpus).any(|(count, all)| count > all) {
            return Err(Error::damaged(
                self.index.blocks[block].offset,
                "the block has more CPUs or instructions than the index",
            ));
        }
        Ok(true)
    }

    fn decode(&mut self, block: usize) -> Result<bool, Error> {
        let Some(entry) = self.index.blocks.get(block).copied() else {
            return Ok(false);
        };
        let (head, head_bytes) = self.read_head(entry.offset)?;
        self.read_rest(&head)?;
        Decoder::check(&head, &head_bytes, &self.bytes)?;
        let after = self.index.blocks.get(block + 1);
        let due = after.map_or(self.index.accesses, |block| block.first) - entry.first;
        let found = (u64::from(head.accesses), head.first, head.instructions);
        if found != (due, entry.first, entry.instructions) {
            return Err(Error::damaged(
                entry.offset,
                "the block is not the one of the index",
            ));
        }
        self.decoder.read(&head, &self.bytes)?;
        Ok(true)
    }

    fn read_head(&mut self, offset: u64) -> Result<(Head, [u8; block::HEAD_BYTES]), Error> {
        let mut bytes = [0; block::HEAD_BYTES];
        let length = bytes.len() as u64;
        fetch(&mut self.input, offset, length, &mut bytes)?;
        Ok((Head::read(offset, &bytes)?, bytes))
    }

    /// What follows a head.
    fn read_rest(&mut self, head: &Head) -> Result<(), Error> {
        if head.end() > self.end {
            return Err(Error::damaged(
                head.offset,
                "the file ends within this block",
            ));
        }
        self.bytes.resize(head.rest_bytes(), 0);
        let done = self.input.read_exact(&mut self.bytes);
        done.map_err(Error::io(READING))
    }

    /// The index of a finished file.
    fn read_index(&mut self, offset: u64, blocks_at: u64) -> Result<(), Error> {
        let head_end = offset.saturating_add(index::HEAD_BYTES as u64);
        let truncated = Error::Truncated {
            end: self.end,
            index: offset,
        };
        if offset < blocks_at {
            return Err(Error::damaged(
                crate::header::INDEX_AT,
                "the index is in the header",
            ));
        }
        if head_end > self.end {
            return Err(truncated);
        }
        let mut head = [0; index::HEAD_BYTES];
        fetch(&mut self.input, offset, head.len() as u64, &mut head)?;
        let length = Index::length(offset, &head)?;
        match (offset + length as u64).cmp(&self.end) {
            std::cmp::Ordering::Greater => return Err(truncated),
            std::cmp::Ordering::Less => {
                let what = "bytes follow the index";
                return Err(Error::damaged(offset + length as u64, what));
            }
            std::cmp::Ordering::Equal => {}
        }
        let mut bytes = vec![0; length];
        fetch(&mut self.input, offset, length as u64, &mut bytes)?;
        self.index = Index::read(offset, &bytes)?;
        self.check_index(offset, blocks_at)
    }

    /// Blocks follow one another, between the header and the index.
    fn check_index(&self, offset: u64, blocks_at: u64) -> Result<(), Error> {
        let Index {
            blocks, accesses, ..
        } = &self.index;
        let end = Entry {
            offset,
            first: *accesses,
            instructions: u64::MAX,
        };
        let mut follow = blocks.iter().zip(blocks.iter().skip(1).chain([&end]));
        let ordered = follow.all(|(one, next)| one.offset < next.offset && one.first < next.first);
        let first = blocks
            .first()
            .map_or((offset, 0), |block| (block.offset, block.first));
        let empty = !blocks.is_empty() || *accesses == 0;
        match ordered && empty && first == (blocks_at, 0) {
            true => Ok(()),
            false => Err(Error::damaged(offset, "the index contradicts itself")),
        }
    }

    /// Finds the whole blocks of a file that was not finished, and checks them.
    fn find_blocks(&mut self, blocks_at: u64) -> Result<(), Error> {
        let mut offset = blocks_at;
        while offset < self.end {
            match self.index_at(offset, blocks_at)? {
                Some(true) => return Ok(()),
                Some(false) => break,
                None => {}
            }
            if offset + block::HEAD_BYTES as u64 > self.end {
                break;
            }
            let (head, head_bytes) = self.read_head(offset)?;
            if head.end() > self.end {
                break;
            }
            self.read_rest(&head)?;
            Decoder::check(&head, &head_bytes, &self.bytes)?;
            if head.first != self.index.accesses {
                return Err(Error::damaged(
                    offset,
                    "the block is not the one that follows",
                ));
            }
            let (first, instructions) = (head.first, head.instructions);
            self.index.blocks.push(Entry {
                offset,
                first,
                instructions,
            });
            self.index.accesses += u64::from(head.accesses);
            offset = head.end();
        }
        if let Some(last) = self.index.blocks.len().checked_sub(1) {
            self.decode(last)?;
            self.index.cpus = self.decoder.counts().to_vec();
        }
        self.decoder.forget();
        (self.next, self.at) = (0, 0);
        self.unfinished = Some(Unfinished {
            accesses: self.index.accesses,
            left_over: self.end - offset,
        });
        Ok(())
    }

    /// Whether the index begins here, and is whole: then only its place was not written.
    fn index_at(&mut self, offset: u64, blocks_at: u64) -> Result<Option<bool>, Error> {
        let mut magic = [0; index::MAGIC.len()];
        let length = (self.end - offset).min(magic.len() as u64);
        fetch(&mut self.input, offset, length, &mut magic)?;
        if magic != index::MAGIC {
            return Ok(None);
        }
        match self.read_index(offset, blocks_at) {
            Ok(()) => Ok(Some(true)),
            Err(Error::Truncated { .. }) => Ok(Some(false)),
            Err(error) => Err(error),
        }
    }
}

impl<R: Read + Seek> Iterator for Reader<R> {
    type Item = Result<Access, Error>;

    #[inline]
    fn next(&mut self) -> Option<Result<Access, Error>> {
        if let Some(access) = self.decoder.accesses().get(self.at) {
            self.at += 1;
            return Some(Ok(*access));
        }
        self.next_of_next_block()
    }
}

impl<R: Read + Seek> Reader<R> {
    #[cold]
    fn next_of_next_block(&mut self) -> Option<Result<Access, Error>> {
        match self.load_next() {
            Ok(true) => {
                self.at = 1;
                self.decoder.accesses().first().copied().map(Ok)
            }
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

const READING: &str = "reading a trace";

/// Reads `length` bytes at a place into the beginning of `bytes`.
fn fetch(
    input: &mut (impl Read + Seek),
    offset: u64,
    length: u64,
    bytes: &mut [u8],
) -> Result<(), Error> {
    input
        .seek(SeekFrom::Start(offset))
        .and_then(|_| input.read_exact(&mut bytes[..length as usize]))
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Error::damaged(offset, "the file ends here"),
            _ => Error::io(READING)(error),
        })
}
