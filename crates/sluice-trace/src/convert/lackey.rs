//! The text of valgrind's lackey (`--tool=lackey --trace-mem=yes`).
//!
//! `I  04016b80,3` is an instruction, ` L 1ffefff9c0,8` a load, ` S` a store, ` M` a load and a
//! store of the same bytes; addresses in hexadecimal, sizes in decimal. Accesses follow their
//! instruction.

use super::{Format, Input, Options, Output, Part, Sink, Source, input::Text};
use crate::{Access, Error, Header, Kind};
use std::io::Write;

pub const FORMAT: Format = Format {
    name: "lackey",
    meaning: "text of valgrind --tool=lackey --trace-mem=yes, one CPU",
    endings: &["lackey"],
    parts: &[
        Part::Instructions,
        Part::Kinds,
        Part::Sizes,
        Part::Bytes,
        Part::Fetches,
    ],
    open,
    create,
};

/// Lines read at a time.
const BATCH: usize = 4096;

fn open(input: Input, _: &Options) -> Result<Box<dyn Source>, Error> {
    Ok(Box::new(Read {
        text: input.open()?,
        line: Vec::new(),
        begun: 0,
    }))
}

struct Read {
    text: Text,
    line: Vec<u8>,
    /// Instructions that have begun.
    begun: u64,
}

impl Source for Read {
    fn read(&mut self, out: &mut Vec<Access>) -> Result<bool, Error> {
        for _ in 0..BATCH {
            if !self.text.line(&mut self.line)? {
                return Ok(false);
            }
            // What valgrind and the program say besides.
            if self.line.is_empty() || self.line.starts_with(b"==") || self.line.starts_with(b"--")
            {
                continue;
            }
            let kinds: &[Kind] = match self.line.get(..3) {
                Some(b"I  ") => &[Kind::Fetch],
                Some(b" L ") => &[Kind::Load],
                Some(b" S ") => &[Kind::Store],
                Some(b" M ") => &[Kind::Load, Kind::Store],
                _ => return Err(self.wrong()),
            };
            let place = address_and_size(&self.line[3..]);
            let (address, size) = place.ok_or_else(|| self.wrong())?;
            self.begun += u64::from(kinds == [Kind::Fetch]);
            let access = |kind: &Kind| Access {
                cpu: 0,
                instructions: self.begun.saturating_sub(1),
                address,
                size,
                kind: *kind,
            };
            out.extend(kinds.iter().map(access));
        }
        Ok(true)
    }

    fn executed(&self) -> &[u64] {
        core::slice::from_ref(&self.begun)
    }
}

impl Read {
    fn wrong(&self) -> Error {
        let line = String::from_utf8_lossy(&self.line);
        let start: String = line.chars().take(60).collect();
        let expected = "expected \"I  ADDR,SIZE\", \" L ADDR,SIZE\", \" S ADDR,SIZE\" or \
                        \" M ADDR,SIZE\"";
        self.text
            .wrong("line", format!("\"{start}\" is not lackey's; {expected}"))
    }
}

fn address_and_size(text: &[u8]) -> Option<(u64, u16)> {
    let comma = text.iter().position(|byte| *byte == b',')?;
    let digits = |text: &[u8], base: u32| {
        let mut value = 0u64;
        for byte in text {
            let digit = u64::from(char::from(*byte).to_digit(base)?);
            value = value.checked_mul(u64::from(base))?.checked_add(digit)?;
        }
        (!text.is_empty()).then_some(value)
    };
    let size = u16::try_from(digits(&text[comma + 1..], 10)?).ok()?;
    let address = digits(&text[..comma], 16)?;
    (size > 0).then_some((address, size))
}

fn create(output: Output, _: &Header, _: &Options) -> Result<Box<dyn Sink>, Error> {
    let out = output.stream();
    Ok(Box::new(Made { out, load: None }))
}

struct Made {
    out: Box<dyn Write>,
    /// A load, of which a store may follow.
    load: Option<Access>,
}

impl Made {
    fn line(&mut self, mark: &str, access: &Access) -> Result<(), Error> {
        let done = writeln!(self.out, "{mark} {:08x},{}", access.address, access.size);
        done.map_err(Error::io("writing a trace"))
    }

    fn close(&mut self) -> Result<(), Error> {
        let load = self.load.take();
        load.map_or(Ok(()), |load| self.line(" L", &load))
    }
}

impl Sink for Made {
    fn push(&mut self, access: &Access) -> Result<bool, Error> {
        let kind = Kind::Store;
        if self.load.map(|load| Access { kind, ..load }) == Some(*access) {
            self.load = None;
            self.line(" M", access)?;
            return Ok(true);
        }
        self.close()?;
        match access.kind {
            Kind::Load => self.load = Some(*access),
            Kind::Store => self.line(" S", access)?,
            Kind::Fetch => self.line("I ", access)?,
            // `Format::takes` lets none through.
            _ => {}
        }
        Ok(true)
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<String>, Error> {
        self.close()?;
        self.out.flush().map_err(Error::io("writing a trace"))?;
        Ok(Vec::new())
    }
}
