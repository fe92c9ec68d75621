//! libCacheSim's oracleGeneral: 24 bytes a request.
//!
//! Time in seconds (4), object (8), its size (4), and when the object is requested next (8): the
//! number of that request, the first being 1; -1 if never.

use super::pieces::Pieces;
use super::{Clock, Format, Input, Options, Output, Part, RequestForm, Sink, Source, input::Text};
use crate::header::{u32_at, u64_at};
use crate::{Access, Error, Header, Kind};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Read as _, Seek, SeekFrom, Write};

pub const FORMAT: Format = Format {
    name: "oracle-general",
    meaning: "libCacheSim's oracleGeneral: 24 bytes a request for an object",
    endings: &["oracleGeneral", "oracleGeneral.bin"],
    parts: &[Part::Times],
    open,
    create,
};

const RECORD_BYTES: usize = 24;
const NEXT_AT: usize = 16;
const NEVER: i64 = -1;
/// Bytes of an access to an object that one alone cannot have.
const PIECE: u16 = 1 << 15;
/// Requests read at a time, and patched at a time.
const BATCH: usize = 4096;

fn open(input: Input, options: &Options) -> Result<Box<dyn Source>, Error> {
    Ok(Box::new(Read {
        text: input.open()?,
        clock: Clock::default(),
        options: *options,
        numbers: HashMap::new(),
        cut: 0,
        empty: 0,
    }))
}

struct Read {
    text: Text,
    clock: Clock,
    options: Options,
    /// Numbers of objects that are numbered as they come first.
    numbers: HashMap<u64, u64>,
    /// Objects larger than the size that stands for one.
    cut: u64,
    /// Requests for nothing.
    empty: u64,
}

impl Read {
    /// Where an object is.
    fn address(&mut self, id: u64) -> Result<u64, Error> {
        let object = self.options.object;
        let number = match self.options.number_objects {
            true => {
                let next = self.numbers.len() as u64;
                *self.numbers.entry(id).or_insert(next)
            }
            false => id,
        };
        let address = number.checked_mul(object);
        let whole = address.filter(|address| address.checked_add(object - 1).is_some());
        whole.ok_or_else(|| {
            let what = format!(
                "object {id} has no address in steps of {object} bytes; objects can be numbered \
                 as they come first (--number-objects)"
            );
            self.text.wrong("request", what)
        })
    }
}

impl Source for Read {
    fn read(&mut self, out: &mut Vec<Access>) -> Result<bool, Error> {
        let object = self.options.object;
        let mut record = [0; RECORD_BYTES];
        for _ in 0..BATCH {
            if !self.text.record(&mut record)? {
                return Ok(false);
            }
            let (id, size) = (u64_at(&record, 4), u32_at(&record, 12));
            // libCacheSim passes over these as well.
            if size == 0 {
                self.empty += 1;
                continue;
            }
            let address = self.address(id)?;
            self.cut += u64::from(u64::from(size) > object);
            let time = u64::from(u32_at(&record, 0));
            let (instructions, size) = (
                self.clock.at(time, 1, self.options.per_second),
                u64::from(size).min(object),
            );
            if self.options.request != RequestForm::Lines {
                let pieces = Pieces {
                    cpu: 0,
                    instructions,
                    kind: Kind::Load,
                    address,
                    size,
                };
                pieces.push_to(self.options.request, out);
                continue;
            }
            // An object may lie across pages, and is one access all the same; a large one is more.
            let (mut at, mut left) = (address, size);
            while left > 0 {
                let taken = match u16::try_from(left) {
                    Ok(whole) => whole,
                    Err(_) => PIECE,
                };
                out.push(Access {
                    cpu: 0,
                    instructions,
                    address: at,
                    size: taken,
                    kind: Kind::Load,
                });
                at = at.wrapping_add(taken.into());
                left -= u64::from(taken);
            }
        }
        Ok(true)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.clock.notes();
        let object = self.options.object;
        notes.push(format!(
            "each object is {object} bytes of memory; every request is a load"
        ));
        if self.options.number_objects {
            let objects = self.numbers.len();
            notes.push(format!("{objects} objects, numbered as they come first"));
        }
        if self.empty > 0 {
            notes.push(format!("{} requests of 0 bytes left out", self.empty));
        }
        if self.cut > 0 {
            notes.push(format!("{} requests of more than that were cut", self.cut));
        }
        notes
    }
}

fn create(output: Output, _: &Header, options: &Options) -> Result<Box<dyn Sink>, Error> {
    let (file, name) = output.file(FORMAT.name)?;
    Ok(Box::new(Made {
        out: BufWriter::with_capacity(1 << 18, file),
        name,
        options: *options,
        requests: 0,
        seconds: 0,
    }))
}

struct Made {
    out: BufWriter<File>,
    name: String,
    options: Options,
    requests: u64,
    seconds: u32,
}

impl Sink for Made {
    fn push(&mut self, access: &Access) -> Result<bool, Error> {
        let object = self.options.object;
        let last = access.address.saturating_add(u64::from(access.size) - 1) / object;
        let seconds = access.instructions / self.options.per_second;
        // CPUs count for themselves; a cache trace goes forward.
        self.seconds = self.seconds.max(u32::try_from(seconds).unwrap_or(u32::MAX));
        for id in access.address / object..=last {
            let mut record = [0; RECORD_BYTES];
            record[..4].copy_from_slice(&self.seconds.to_le_bytes());
            record[4..12].copy_from_slice(&id.to_le_bytes());
            record[12..16].copy_from_slice(&(object as u32).to_le_bytes());
            record[NEXT_AT..].copy_from_slice(&NEVER.to_le_bytes());
            self.out.write_all(&record).map_err(Error::io(&self.name))?;
            self.requests += 1;
        }
        Ok(true)
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>, Error> {
        let Made {
            out,
            name,
            requests,
            options,
            ..
        } = *self;
        let file = out.into_inner().map_err(|error| error.into_error());
        let objects = file
            .and_then(|mut file| write_next(&mut file, requests))
            .map_err(Error::io(name))?;
        let object = options.object;
        Ok(vec![format!(
            "{requests} requests for {objects} objects of {object} bytes"
        )])
    }
}

/// From the last request to the first, writes when each object is requested next. How many objects
/// there are.
fn write_next(file: &mut File, requests: u64) -> std::io::Result<usize> {
    let mut next: HashMap<u64, u64> = HashMap::new();
    let mut bytes = Vec::new();
    let mut end = requests;
    while end > 0 {
        let start = end.saturating_sub(BATCH as u64);
        bytes.resize((end - start) as usize * RECORD_BYTES, 0);
        file.seek(SeekFrom::Start(start * RECORD_BYTES as u64))?;
        file.read_exact(&mut bytes)?;
        for number in (start..end).rev() {
            let at = (number - start) as usize * RECORD_BYTES;
            let after = next.insert(u64_at(&bytes, at + 4), number + 1);
            let after = after.map_or(NEVER, |after| after as i64);
            bytes[at + NEXT_AT..at + RECORD_BYTES].copy_from_slice(&after.to_le_bytes());
        }
        file.seek(SeekFrom::Start(start * RECORD_BYTES as u64))?;
        file.write_all(&bytes)?;
        end = start;
    }
    Ok(next.len())
}
