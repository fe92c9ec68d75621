//! Block traces in the form of those of Microsoft Research in Cambridge.
//!
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, with times in units of 100 ns.

use super::columns::of_heading;
use super::pieces::{self, Pieces};
use super::{Clock, Format, Input, Options, Output, Part, Sink, Source, input::Text};
use crate::{Access, Error, Header, Kind};
use std::io::Write;

pub const FORMAT: Format = Format {
    name: "msr-csv",
    meaning: "block trace as those of MSR Cambridge, one disk",
    endings: &["csv"],
    parts: &[
        Part::Times,
        Part::Kinds,
        Part::Sizes,
        Part::Bytes,
        Part::Service,
    ],
    open,
    create,
};

const HEADING: &str = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";

/// Units of time in a second.
const UNITS: u64 = 10_000_000;
/// A request becomes an access for each page.
const PAGE_BYTES: u64 = 4096;

fn open(input: Input, options: &Options) -> Result<Box<dyn Source>, Error> {
    Ok(Box::new(Read {
        text: input.open()?,
        line: Vec::new(),
        clock: Clock::default(),
        per_second: options.per_second,
        form: options.request,
        disk: None,
        requests: 0,
        empty: 0,
    }))
}

struct Read {
    text: Text,
    line: Vec<u8>,
    clock: Clock,
    per_second: u64,
    form: super::RequestForm,
    /// Host and disk of the first request.
    disk: Option<String>,
    requests: u64,
    empty: u64,
}

/// What a line asks of the disk.
struct Request {
    time: u64,
    kind: Kind,
    offset: u64,
    size: u64,
}

impl Source for Read {
    fn read(&mut self, out: &mut Vec<Access>) -> Result<bool, Error> {
        if !self.text.line(&mut self.line)? {
            return Ok(false);
        }
        let first = self.requests == 0;
        let heading = first && self.line.to_ascii_lowercase().starts_with(b"timestamp,");
        if self.line.is_empty() || heading {
            return Ok(true);
        }
        let request = self.request()?;
        self.requests += 1;
        self.empty += u64::from(request.size == 0);
        let instructions = self.clock.at(request.time, UNITS, self.per_second);
        let pieces = Pieces {
            cpu: 0,
            instructions,
            kind: request.kind,
            address: request.offset,
            size: request.size,
        };
        pieces.push_to(self.form, out);
        Ok(true)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.clock.notes();
        let requests = self.requests;
        notes.push(format!("{requests} requests"));
        if self.empty > 0 {
            notes.push(format!("{} requests of 0 bytes left out", self.empty));
        }
        notes
    }
}

impl Read {
    /// Reads the request of the current line.
    fn request(&mut self) -> Result<Request, Error> {
        let wrong = |what: String| self.text.wrong("line", what);
        let line =
            std::str::from_utf8(&self.line).map_err(|_| wrong("it is no text".to_owned()))?;
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [time, host, disk, kind, offset, size, _] = fields[..] else {
            let found = fields.len();
            let names = match of_heading(line) {
                Some(names) => format!("; this heading's are --columns {names}"),
                None => String::new(),
            };
            return Err(wrong(format!(
                "{found} fields; expected the 7 of MSR Cambridge ({HEADING}), or others that \
                 --columns names{names}"
            )));
        };
        let number = |name: &str, text: &str| {
            let number = text.parse::<u64>();
            number.map_err(|_| wrong(format!("{name}: \"{text}\" is no whole number")))
        };
        let disk = format!("{host} {disk}");
        let known = self.disk.get_or_insert_with(|| disk.clone());
        if *known != disk {
            return Err(wrong(format!(
                "disk \"{disk}\", and \"{known}\" before; one disk is a trace"
            )));
        }
        let kind = match kind.to_ascii_lowercase().as_str() {
            "read" => Kind::Load,
            "write" => Kind::Store,
            _ => return Err(wrong(format!("Type: \"{kind}\"; expected Read or Write"))),
        };
        let (offset, size) = (number("Offset", offset)?, number("Size", size)?);
        if let Some(why) = pieces::refusal("Size", offset, size) {
            return Err(wrong(why));
        }
        Ok(Request {
            time: number("Timestamp", time)?,
            kind,
            offset,
            size,
        })
    }
}

fn create(output: Output, _: &Header, options: &Options) -> Result<Box<dyn Sink>, Error> {
    Ok(Box::new(Made {
        out: output.stream(),
        per_second: options.per_second,
        open: None,
        time: 0,
    }))
}

struct Made {
    out: Box<dyn Write>,
    per_second: u64,
    /// The first access of a request and its last so far, and the request's end so far.
    open: Option<(Access, Access, u64)>,
    time: u64,
}

impl Made {
    fn close(&mut self) -> Result<(), Error> {
        let Some((access, _, end)) = self.open.take() else {
            return Ok(());
        };
        let units = u128::from(access.instructions) * u128::from(UNITS);
        let time = units / u128::from(self.per_second);
        // CPUs count for themselves; a trace of a disk goes forward.
        self.time = self.time.max(u64::try_from(time).unwrap_or(u64::MAX));
        let kind = match access.kind {
            Kind::Store | Kind::BlockWrite => "Write",
            _ => "Read",
        };
        let (time, start) = (self.time, access.address);
        // Behind the last address there is 0 again.
        let size = end.wrapping_sub(start);
        let done = writeln!(self.out, "{time},sluice,0,{kind},{start},{size},0");
        done.map_err(Error::io("writing a trace"))
    }
}

impl Sink for Made {
    fn push(&mut self, access: &Access) -> Result<bool, Error> {
        let end = access.address.wrapping_add(u64::from(access.size));
        if let Some((open, last, open_end)) = &mut self.open
            && *open_end != 0
        {
            let next = Access {
                address: *open_end,
                size: access.size,
                ..*open
            };
            // Pages of one request follow each other from page to page, and its pieces likewise.
            let is_next = match access.kind.is_block() {
                true => access.goes_on(last, *open_end),
                false => next == *access && open_end.is_multiple_of(PAGE_BYTES),
            };
            if is_next {
                *last = *access;
                *open_end = end;
                return Ok(true);
            }
        }
        self.close()?;
        self.open = Some((*access, *access, end));
        Ok(true)
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<String>, Error> {
        self.close()?;
        self.out.flush().map_err(Error::io("writing a trace"))?;
        Ok(Vec::new())
    }
}
