//! Text with a request in each line, in columns that its user names.

use super::pieces::{self, Pieces};
use super::{Clock, Format, Input, Options, Output, Part, RequestForm, Sink, Source, input::Text};
use crate::{Access, CPUS_MAX, Error, Header, Kind};
use sluice_units::LINE_BYTES;
use std::fmt;
use std::io::Write;
use std::str::FromStr;

pub const FORMAT: Format = Format {
    name: "csv",
    meaning: "lines of columns that --columns names",
    endings: &[],
    parts: &[
        Part::Cpus,
        Part::Times,
        Part::Kinds,
        Part::Sizes,
        Part::Bytes,
    ],
    open,
    create,
};

/// Columns of a line, at most.
const COLUMNS_MAX: usize = 32;
/// Nanoseconds of a second.
const UNITS: u64 = 1_000_000_000;
/// Nanoseconds of each unit of time.
const NS: [(&str, u64); 4] = [("s", UNITS), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// What a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// A time in a unit; in nanoseconds where none is named.
    Time(&'static str),
    Op,
    Address,
    Size,
    Cpu,
    /// Nothing that is wanted.
    Other,
}

const NAMES: [(&str, Column); 10] = [
    ("time", Column::Time("")),
    ("time_s", Column::Time("s")),
    ("time_ms", Column::Time("ms")),
    ("time_us", Column::Time("us")),
    ("time_ns", Column::Time("ns")),
    ("op", Column::Op),
    ("address", Column::Address),
    ("size", Column::Size),
    ("cpu", Column::Cpu),
    ("-", Column::Other),
];

/// What is in each column of a line, one of them an address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    columns: [Column; COLUMNS_MAX],
    count: usize,
}

/// Why a text names no columns.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected names with commas between, address among them and none twice: time (of ns; or \
     time_us, time_ms, time_s), op, address, size, cpu, and - for what is not wanted"
)]
pub struct ColumnsError;

impl FromStr for Columns {
    type Err = ColumnsError;

    fn from_str(text: &str) -> Result<Columns, ColumnsError> {
        let mut columns = [Column::Other; COLUMNS_MAX];
        let mut count = 0;
        for name in text.split(',').map(str::trim) {
            let found = NAMES.iter().find(|(known, _)| *known == name);
            let (_, column) = found.filter(|_| count < COLUMNS_MAX).ok_or(ColumnsError)?;
            let same =
                |other: &Column| std::mem::discriminant(other) == std::mem::discriminant(column);
            if *column != Column::Other && columns[..count].iter().any(same) {
                return Err(ColumnsError);
            }
            columns[count] = *column;
            count += 1;
        }
        match columns.contains(&Column::Address) {
            true => Ok(Columns { columns, count }),
            false => Err(ColumnsError),
        }
    }
}

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.columns[..self.count]).finish()
    }
}

/// What `--columns` has to say of a text whose first line names its columns, an address among them.
/// Whether a bare `time` is of nanoseconds is for the user to know.
pub fn of_heading(line: &str) -> Option<String> {
    let known = |name: &&str| NAMES.iter().any(|(known, _)| known == name);
    let names = line.split(',').map(|name| name.trim().to_ascii_lowercase());
    let names: Vec<String> = names
        .map(|name| Some(name.as_str()).filter(known).unwrap_or("-").to_owned())
        .collect();
    let text = names.join(",");
    Columns::from_str(&text).is_ok().then_some(text)
}

fn open(input: Input, options: &Options) -> Result<Box<dyn Source>, Error> {
    let columns = options.columns.ok_or_else(|| Error::Input {
        place: input.name().to_owned(),
        what: "its columns are not known; give --columns, such as time,op,address,size".to_owned(),
    })?;
    Ok(Box::new(Read {
        text: input.open()?,
        line: Vec::new(),
        columns,
        clock: Clock::default(),
        per_second: options.per_second,
        form: options.request,
        is_begun: false,
        empty: 0,
    }))
}

struct Read {
    text: Text,
    line: Vec<u8>,
    columns: Columns,
    clock: Clock,
    per_second: u64,
    form: RequestForm,
    is_begun: bool,
    /// Requests for nothing.
    empty: u64,
}

/// What a line asks for.
struct Request {
    time_ns: u64,
    kind: Kind,
    address: u64,
    size: u64,
    cpu: u32,
}

impl Source for Read {
    fn read(&mut self, out: &mut Vec<Access>) -> Result<bool, Error> {
        if !self.text.line(&mut self.line)? {
            return Ok(false);
        }
        // A heading may stand behind comments.
        if self.line.is_empty() || self.line.starts_with(b"#") {
            return Ok(true);
        }
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        if is_first && self.is_heading() {
            return Ok(true);
        }
        let request = self.request()?;
        self.empty += u64::from(request.size == 0 && request.kind != Kind::BlockFlush);
        let instructions = self.clock.at(request.time_ns, UNITS, self.per_second);
        let pieces = Pieces {
            cpu: request.cpu,
            instructions,
            kind: request.kind,
            address: request.address,
            size: request.size,
        };
        pieces.push_to(self.form, out);
        Ok(true)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.clock.notes();
        if self.empty > 0 {
            notes.push(format!("{} requests of 0 bytes left out", self.empty));
        }
        notes
    }
}

/// A whole number, decimal or behind `0x`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Read {
    /// What stands in a column of the current line.
    fn field(&self, wanted: Column) -> Option<&str> {
        let columns = &self.columns.columns[..self.columns.count];
        let at = columns
            .iter()
            .position(|column| std::mem::discriminant(column) == std::mem::discriminant(&wanted))?;
        let line = std::str::from_utf8(&self.line).ok()?;
        line.split(',').nth(at).map(str::trim)
    }

    /// Whether the current line names its columns: none of those that have numbers begins as one,
    /// be it a wrong one.
    fn is_heading(&self) -> bool {
        let of_numbers = [Column::Address, Column::Time(""), Column::Size, Column::Cpu];
        let begins =
            |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
        let mut fields = of_numbers.into_iter().filter_map(|it| self.field(it));
        std::str::from_utf8(&self.line).is_ok() && !fields.any(begins)
    }

    /// The number of a column, or what it is where there is no such column.
    fn number(&self, column: Column, name: &str, default: u64) -> Result<u64, Error> {
        match self.field(column) {
            None => Ok(default),
            Some(text) => number(text)
                .ok_or_else(|| self.wrong(format!("{name}: \"{text}\" is no whole number"))),
        }
    }

    fn wrong(&self, what: String) -> Error {
        self.text.wrong("line", what)
    }

    /// Reads the request of the current line.
    fn request(&self) -> Result<Request, Error> {
        let found = self.line.split(|byte| *byte == b',').count();
        if found != self.columns.count || std::str::from_utf8(&self.line).is_err() {
            let expected = self.columns.count;
            return Err(self.wrong(format!(
                "{found} fields; expected the {expected} of --columns"
            )));
        }
        let address = self.number(Column::Address, "address", 0)?;
        let size = self.number(Column::Size, "size", LINE_BYTES)?;
        if let Some(why) = pieces::refusal("size", address, size) {
            return Err(self.wrong(why));
        }
        let cpu = self.number(Column::Cpu, "cpu", 0)?;
        let known = u32::try_from(cpu).ok().filter(|cpu| *cpu < CPUS_MAX);
        let cpu = known
            .ok_or_else(|| self.wrong(format!("cpu: {cpu}; expected less than {CPUS_MAX}")))?;
        Ok(Request {
            time_ns: self.time_ns()?,
            kind: self.kind()?,
            address,
            size,
            cpu,
        })
    }

    fn time_ns(&self) -> Result<u64, Error> {
        let columns = &self.columns.columns[..self.columns.count];
        let unit = columns.iter().find_map(|column| match column {
            Column::Time(unit) => Some(*unit),
            _ => None,
        });
        let (Some(unit), Some(text)) = (unit, self.field(Column::Time(""))) else {
            return Ok(0);
        };
        // Seconds are mostly written so; as nanoseconds nearly all of them would be 0.
        if unit.is_empty() && text.contains('.') {
            return Err(self.wrong(format!(
                "time: \"{text}\" has a fraction; name its unit by time_s, time_ms, time_us or \
                 time_ns"
            )));
        }
        let unit = if unit.is_empty() { "ns" } else { unit };
        // Picoseconds do not reach far enough for times since 1970.
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let scale = NS
            .iter()
            .find(|(name, _)| *name == unit)
            .map_or(1, |(_, ns)| *ns);
        let nanos = || {
            let whole = whole.parse::<u64>().ok()?.checked_mul(scale)?;
            let part = match part {
                "" => 0,
                digits => {
                    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
                    let digits = digits.get(..digits.len().min(9)).filter(|_| is_number)?;
                    digits.parse::<u64>().ok()? * scale / 10u64.pow(digits.len() as u32)
                }
            };
            whole.checked_add(part)
        };
        nanos().ok_or_else(|| self.wrong(format!("time: \"{text}\" is no number of {unit}")))
    }

    fn kind(&self) -> Result<Kind, Error> {
        let Some(text) = self.field(Column::Op) else {
            return Ok(Kind::Load);
        };
        match text.to_ascii_lowercase().as_str() {
            "r" | "read" | "l" | "load" | "0" => Ok(Kind::Load),
            "w" | "write" | "s" | "store" | "1" => Ok(Kind::Store),
            "t" | "trim" | "discard" if self.form == RequestForm::Block => Ok(Kind::BlockTrim),
            "f" | "flush" if self.form == RequestForm::Block => Ok(Kind::BlockFlush),
            _ => Err(self.wrong(format!(
                "op: \"{text}\"; expected read or write, r or w, load or store, 0 or 1; with \
                 --request block also trim or flush, t or f"
            ))),
        }
    }
}

fn create(output: Output, _: &Header, options: &Options) -> Result<Box<dyn Sink>, Error> {
    Ok(Box::new(Made {
        out: output.stream(),
        per_second: options.per_second,
        is_begun: false,
        open: None,
    }))
}

struct Made {
    out: Box<dyn Write>,
    per_second: u64,
    is_begun: bool,
    /// The first access of a request and its last so far, and the request's end so far.
    open: Option<(Access, Access, u64)>,
}

impl Made {
    fn close(&mut self) -> Result<(), Error> {
        let Some((access, _, end)) = self.open.take() else {
            return Ok(());
        };
        let ns = u128::from(access.instructions) * u128::from(UNITS) / u128::from(self.per_second);
        let op = match access.kind {
            Kind::Store | Kind::BlockWrite => "write",
            Kind::BlockTrim => "trim",
            Kind::BlockFlush => "flush",
            Kind::Load | Kind::Fetch | Kind::BlockRead => "read",
        };
        let heading = match std::mem::replace(&mut self.is_begun, true) {
            true => "",
            false => "time_ns,op,address,size,cpu\n",
        };
        let Access { address, cpu, .. } = access;
        // Behind the last address there is 0 again.
        let size = end.wrapping_sub(address);
        let done = writeln!(self.out, "{heading}{ns},{op},{address},{size},{cpu}");
        done.map_err(Error::io("writing a trace"))
    }
}

impl Sink for Made {
    fn push(&mut self, access: &Access) -> Result<bool, Error> {
        let end = access.address.wrapping_add(u64::from(access.size));
        if let Some((_, last, open_end)) = &mut self.open
            && *open_end != 0
            && access.goes_on(last, *open_end)
        {
            (*last, *open_end) = (*access, end);
            return Ok(true);
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
