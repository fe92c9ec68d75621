//! Other formats of traces, to and from accesses.

mod champsim;
mod columns;
mod csv;
mod input;
mod lackey;
mod native;
mod oracle;
mod output;
mod pieces;

pub use columns::{Columns, ColumnsError};
pub use input::Input;
pub use output::Output;

use crate::{Access, Error, Header, Kind};
use sluice_units::LINE_BYTES;
use std::path::Path;

/// Something that a format can hold of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Which CPU made an access.
    Cpus,
    /// How many instructions were executed before an access.
    Instructions,
    /// When a request was made.
    Times,
    /// Stores apart from loads.
    Kinds,
    /// How many bytes an access has.
    Sizes,
    /// Addresses to the byte.
    Bytes,
    /// Addresses of instructions, as fetches.
    Fetches,
    /// Branches and registers.
    Registers,
    /// The host, the disk and how long a request took.
    Service,
}

impl Part {
    /// In words, as what was lost.
    pub fn words(self) -> &'static str {
        match self {
            Part::Cpus => "which CPU made an access",
            Part::Instructions => "instruction counts",
            Part::Times => "times of requests",
            Part::Kinds => "which accesses are stores",
            Part::Sizes => "sizes of accesses",
            Part::Bytes => "addresses within an object",
            Part::Fetches => "addresses of instructions",
            Part::Registers => "branches and registers",
            Part::Service => "host, disk and response time",
        }
    }
}

/// What a request for bytes or for an object becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestForm {
    /// One access of at most a line for each page: a cache of pages is asked once, as the caches
    /// of a simulator of requests are.
    Page,
    /// All its bytes: a device is asked for each of its lines.
    #[default]
    Lines,
    /// A request by the block door, as a disk gets it.
    Block,
}

impl RequestForm {
    /// What a user should know of it.
    fn note(self) -> String {
        match self {
            RequestForm::Page => "each page of a request is one access, of a line at most",
            RequestForm::Block => "each request is one by the block door, of whole pages",
            RequestForm::Lines => {
                "each page of a request is an access of all its lines: one of 4 KiB asks a device \
                 64 times, so that a policy sees 63 hits behind each miss; --request page makes it \
                 one"
            }
        }
        .to_owned()
    }
}

/// How to convert where formats differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether instruction fetches are kept.
    pub fetches: bool,
    /// Only the accesses of this CPU.
    pub cpu: Option<u32>,
    /// Bytes of an object of a cache trace.
    pub object: u64,
    /// Number the objects of a cache trace as they come first: identifiers may be hashes, which are
    /// no addresses.
    pub number_objects: bool,
    /// Instructions that stand for a second, between formats that count and formats that have
    /// times.
    pub per_second: u64,
    /// Most instructions without memory for each access, where each takes room in the result.
    pub max_fill: u64,
    /// What is in each column of text whose user names them.
    pub columns: Option<Columns>,
    /// What a request of a trace of requests becomes.
    pub request: RequestForm,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            fetches: false,
            cpu: None,
            object: 4096,
            number_objects: false,
            per_second: 1_000_000_000,
            max_fill: 1000,
            columns: None,
            request: RequestForm::default(),
        }
    }
}

/// A trace that is read.
pub trait Source {
    /// Appends the next accesses, some or none; says whether there may be more.
    ///
    /// # Errors
    /// What cannot be read, with its place.
    fn read(&mut self, out: &mut Vec<Access>) -> Result<bool, Error>;

    /// How the trace was made, if it says so.
    fn header(&self) -> Option<&Header> {
        None
    }

    /// Instructions that each CPU has executed at its end, with those after its last access, as far
    /// as the trace says so.
    fn executed(&self) -> &[u64] {
        &[]
    }

    /// What a user should know, at the end.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A trace that is written.
pub trait Sink {
    /// The next access. Says whether the trace has it: a format may have no place for one.
    ///
    /// # Errors
    /// What cannot be written.
    fn push(&mut self, access: &Access) -> Result<bool, Error>;

    /// Instructions that each CPU has executed at its end; most formats have no place for those
    /// after its last access.
    fn executed(&mut self, _cpus: &[u64]) {}

    /// The end. What a user should know.
    ///
    /// # Errors
    /// What cannot be written.
    fn finish(self: Box<Self>) -> Result<Vec<String>, Error>;
}

/// How a format is read.
type Open = fn(Input, &Options) -> Result<Box<dyn Source>, Error>;
/// How a format is written.
type Create = fn(Output, &Header, &Options) -> Result<Box<dyn Sink>, Error>;

/// A format of traces: its name, what it holds, and its two functions.
#[derive(Debug)]
pub struct Format {
    /// The name used to ask for it.
    pub name: &'static str,
    /// What it is, in one line.
    pub meaning: &'static str,
    /// How the names of its files end, behind a dot.
    pub endings: &'static [&'static str],
    /// What it holds.
    pub parts: &'static [Part],
    /// Opens a trace of this format.
    pub open: Open,
    /// Begins a trace of this format.
    pub create: Create,
}

/// Every format, this crate's own first.
pub static FORMATS: &[Format] = &[
    native::FORMAT,
    champsim::FORMAT,
    oracle::FORMAT,
    csv::FORMAT,
    columns::FORMAT,
    lackey::FORMAT,
];

impl Format {
    /// Whether it is a trace of requests to a disk or a cache, not of a program's accesses.
    pub fn has_requests(&self) -> bool {
        let own = [oracle::FORMAT.name, csv::FORMAT.name, columns::FORMAT.name];
        own.contains(&self.name)
    }

    /// Whether it has accesses of this kind.
    fn takes(&self, kind: Kind) -> bool {
        match kind {
            Kind::Load | Kind::Store | Kind::Fetch => true,
            Kind::BlockRead | Kind::BlockWrite => {
                [native::FORMAT.name, csv::FORMAT.name, columns::FORMAT.name].contains(&self.name)
            }
            Kind::BlockTrim | Kind::BlockFlush => {
                [native::FORMAT.name, columns::FORMAT.name].contains(&self.name)
            }
        }
    }

    /// The format by a file's name, and whether the name says that it is compressed.
    pub fn of_name(path: &Path) -> Option<(&'static Format, bool)> {
        // Of a name that is no text its ending may be.
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let packed = ["gz", "xz", "zst"];
        let bare = name
            .rsplit_once('.')
            .filter(|(_, end)| packed.contains(end));
        let (bare, is_packed) = bare.map_or((name.as_str(), false), |(bare, _)| (bare, true));
        let ends = |ending: &&str| {
            let stem = bare.strip_suffix(&ending.to_ascii_lowercase());
            stem.is_some_and(|stem| stem.ends_with('.'))
        };
        let mut formats = FORMATS.iter();
        let found = formats.find(|format| format.endings.iter().any(ends))?;
        Some((found, is_packed))
    }
}

/// What a conversion did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Accesses written.
    pub accesses: u64,
    /// Instruction fetches left out.
    pub fetches: u64,
    /// What the source has and the result has not.
    pub lost: Vec<Part>,
    /// What else is different.
    pub notes: Vec<String>,
}

/// Converts. Now and then `go_on` gets how many accesses were written, and may end it. Then there
/// is no report, and the output is useless.
///
/// # Errors
/// What cannot be read or written.
pub fn convert(
    from: &Format,
    input: Input,
    to: &Format,
    output: Output,
    options: &Options,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<Report>, Error> {
    let command = input.name().to_owned();
    let mut source = (from.open)(input, options)?;
    let header = source.header().cloned();
    let mut header = header.unwrap_or_else(|| Header::new(command));
    header.block_requests |= from.has_requests() && options.request == RequestForm::Block;
    let mut sink = (to.create)(output, &header, options)?;
    let mut report = Report::default();
    let mut some = Vec::new();
    let (mut more, mut held) = (true, Held::default());
    while more {
        some.clear();
        more = source.read(&mut some)?;
        for access in &some {
            if options.cpu.is_some_and(|cpu| cpu != access.cpu) {
                continue;
            }
            if access.kind == Kind::Fetch && !options.fetches {
                report.fetches += 1;
                continue;
            }
            if !to.takes(access.kind) {
                return Err(Error::Output(format!(
                    "{} has no place for requests by the block door, such as {:?}",
                    to.name, access.kind
                )));
            }
            held.instructions = true;
            held.cpus |= access.cpu > 0;
            held.fetches |= access.kind == Kind::Fetch;
            held.lines |= access.address % LINE_BYTES + u64::from(access.size) > LINE_BYTES;
            report.accesses += u64::from(sink.push(access)?);
        }
        if !go_on(report.accesses) {
            return Ok(None);
        }
    }
    sink.executed(&executed(&*source, options.cpu));
    report.notes = source.notes();
    // Of requests that are a line each at most nothing differs.
    let is_alike = options.request == RequestForm::Lines && !held.lines;
    if from.has_requests() && !is_alike {
        report.notes.push(options.request.note());
    }
    report.notes.extend(sink.finish()?);
    report.lost = lost(from, to, held, options);
    report.notes.extend(clock(from, to, options));
    Ok(Some(report))
}

/// What the CPUs have executed at their ends: all of them, or the one that is converted.
fn executed(source: &dyn Source, only: Option<u32>) -> Vec<u64> {
    let cpus = (0..).zip(source.executed());
    let wanted = |cpu| only.is_none_or(|only| only == cpu);
    cpus.map(|(cpu, count)| if wanted(cpu) { *count } else { 0 })
        .collect()
}

/// What there was to lose in what was converted.
#[derive(Clone, Copy, Default)]
struct Held {
    /// An access has a count of instructions; an empty trace has none.
    instructions: bool,
    /// More than one CPU.
    cpus: bool,
    fetches: bool,
    /// An access is to more than a line.
    lines: bool,
}

/// What `to` has no place for. A trace of one CPU without fetches loses neither, and fetches that
/// were left out are counted.
fn lost(from: &Format, to: &Format, held: Held, options: &Options) -> Vec<Part> {
    let clock = |part| [Part::Instructions, Part::Times].contains(&part);
    let has = |part: Part| match part {
        Part::Fetches => to.parts.contains(&part) && options.fetches,
        // The instructions of lackey's text are its fetches, and it has no other clock.
        _ if clock(part) && to.name == lackey::FORMAT.name => options.fetches && held.fetches,
        Part::Sizes if from.has_requests() && options.request == RequestForm::Page => false,
        _ if clock(part) => to.parts.iter().any(|part| clock(*part)),
        _ => to.parts.contains(&part),
    };
    let there = |part: Part| match part {
        Part::Cpus => held.cpus,
        Part::Fetches => held.fetches,
        Part::Instructions => held.instructions,
        _ => true,
    };
    let parts = from.parts.iter().copied();
    parts.filter(|part| there(*part) && !has(*part)).collect()
}

/// Says how counts became times, or times counts.
fn clock(from: &Format, to: &Format, options: &Options) -> Option<String> {
    let rate = options.per_second;
    let has = |format: &Format, part| format.parts.contains(&part);
    if has(from, Part::Times) && has(to, Part::Instructions) && to.name != lackey::FORMAT.name {
        return Some(format!("times became instruction counts, {rate} a second"));
    }
    let counted = has(from, Part::Instructions) && has(to, Part::Times);
    counted.then(|| format!("instruction counts became times, {rate} a second"))
}

/// Adds up instructions from times that may go back.
#[derive(Default)]
struct Clock {
    first: Option<u64>,
    instructions: u64,
    /// Requests whose time was before that of the request before.
    back: u64,
}

impl Clock {
    /// Instructions at a time in units of which a second has `units`.
    fn at(&mut self, time: u64, units: u64, per_second: u64) -> u64 {
        let first = *self.first.get_or_insert(time);
        let passed = u128::from(time.saturating_sub(first)) * u128::from(per_second);
        let count = u64::try_from(passed / u128::from(units)).unwrap_or(u64::MAX);
        self.back += u64::from(count < self.instructions || time < first);
        self.instructions = self.instructions.max(count);
        self.instructions
    }

    fn notes(&self) -> Vec<String> {
        let note = || {
            format!(
                "{} requests go back in time; each has the latest time before it",
                self.back
            )
        };
        (self.back > 0).then(note).into_iter().collect()
    }
}
