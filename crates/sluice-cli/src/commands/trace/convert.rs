//! `sluice trace convert`: from one format to another.

use crate::error::{ArgumentError, Error};
use crate::progress::Progress;
use crate::signals;
use crate::traces::{at, check_new};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use sluice_results::{TraceConvert, TraceConvertSchema, to_json};
use sluice_trace::convert::{
    Columns, FORMATS, Format, Input, Options, Output, Report, RequestForm, convert,
};
use sluice_units::Bytes;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
#[command(after_help = convert_help())]
pub struct ConvertArgs {
    /// The trace to read; - is standard input. One compressed by gzip, zstd or xz is decompressed
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The trace to write; - is standard output. It has this name only once it is whole
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Format of IN [default: what its name says]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub from: Option<&'static Format>,
    /// Format of OUT [default: what its name says]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub to: Option<&'static Format>,
    /// What is in each column of a text file: time (of ns; or time_us, time_ms, time_s), op,
    /// address, size, cpu, and - for what is not wanted, such as time,op,address,size
    #[arg(long, value_name = "NAME,..")]
    pub columns: Option<Columns>,
    /// Keep instruction fetches
    #[arg(long)]
    pub fetches: bool,
    /// Only the accesses of this CPU
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<u32>,
    /// Size of an object of oracle-general: object N is the memory from N times that on
    #[arg(long, value_name = "SIZE", default_value_t = OBJECT)]
    pub object: Bytes,
    /// Number the objects of oracle-general as they come first, and put them next to each other:
    /// identifiers that are hashes are no addresses
    #[arg(long)]
    pub number_objects: bool,
    /// What a request of oracle-general, msr-csv or csv becomes [default: lines]
    #[arg(long, value_name = "FORM")]
    pub request: Option<Form>,
    /// Instructions that stand for a second, where one format counts and the other has times
    #[arg(long, value_name = "I", default_value = "1G", value_parser = sluice_units::parse_count)]
    pub instructions_per_second: u64,
    /// Most instructions without memory for each access in a trace of champsim, of which each takes
    /// 64 bytes; more than that is refused once they are over a million
    #[arg(long, value_name = "N", default_value_t = MAX_FILL,
          value_parser = sluice_units::parse_count)]
    pub max_fill: u64,
    /// Replace OUT if it is there
    #[arg(long)]
    pub force: bool,
    /// Print the report as one JSON object, `sluice.trace-convert/1`
    #[arg(long)]
    pub json: bool,
}

/// What a request becomes.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Form {
    /// One access for each page that it touches, of a line at most: policies see what those of a
    /// simulator of requests see
    Page,
    /// All its bytes: a page of 4 KiB asks a device 64 times
    Lines,
    /// One request by the block door: whole pages, as a disk reads, writes, trims and flushes them
    Block,
}

fn formats() -> impl TypedValueParser<Value = &'static Format> {
    let named = |name: String| FORMATS.iter().find(|format| format.name == name);
    PossibleValuesParser::new(FORMATS.iter().map(|format| format.name))
        .try_map(move |name| named(name).ok_or(ArgumentError::Expected("a format".to_owned())))
}

/// Every format.
fn convert_help() -> String {
    let rows = FORMATS.iter().map(|format| {
        let (name, meaning) = (format.name, format.meaning);
        let endings = match format.endings.is_empty() {
            true => String::new(),
            false => format!(": {}", endings(format)),
        };
        format!("\n  {name:<14} {meaning}{endings}")
    });
    let rows: String = rows.collect();
    format!(
        "Formats:{rows}\n\nWhat the result cannot hold goes to standard error. Of valgrind's \
         trace:\n  valgrind --log-fd=9 --tool=lackey --trace-mem=yes PROG 9>&1 >/dev/null |\n    \
         sluice trace convert --from lackey - prog.trace"
    )
}

/// How names of a format end, as they are written.
fn endings(format: &Format) -> String {
    let all = format.endings.iter().map(|ending| format!(".{ending}"));
    all.collect::<Vec<_>>().join(", ")
}

/// Without `--instructions-per-second`, `--object` and `--max-fill`.
const PER_SECOND: u64 = 1_000_000_000;
const OBJECT: Bytes = Bytes(4 << 10);
const MAX_FILL: u64 = 1000;
/// Bytes of an object that its size has room for.
const OBJECT_MAX: u64 = 1 << 31;

pub fn run(args: &ConvertArgs) -> Result<ExitCode, Error> {
    let object = args.object.0;
    if object == 0 || object > OBJECT_MAX {
        let why = "expected a size from 1B to 2GiB";
        return Err(Error::value("--object", args.object, why));
    }
    if args.instructions_per_second == 0 {
        let why = "expected at least 1";
        return Err(Error::value("--instructions-per-second", 0, why));
    }
    let options = Options {
        fetches: args.fetches,
        cpu: args.cpu,
        object,
        number_objects: args.number_objects,
        per_second: args.instructions_per_second,
        max_fill: args.max_fill,
        columns: args.columns,
        request: match args.request {
            Some(Form::Page) => RequestForm::Page,
            Some(Form::Block) => RequestForm::Block,
            Some(Form::Lines) | None => RequestForm::Lines,
        },
    };
    if args.json && args.output == Path::new("-") {
        let why = "standard output has the trace already; name a file for OUT";
        return Err(Error::unfit("--json", why));
    }
    let own = FORMATS.iter().find(|format| format.name == "csv");
    if let (Some(_), Some(from)) = (args.columns, args.from.filter(|from| from.name != "csv")) {
        let why = "--columns name what is in lines of csv; leave one of the two out";
        return Err(Error::value("--from", from.name, why));
    }
    check_columns(args)?;
    let asked = args.from.or(args.columns.and(own));
    let from = format_of("--from", asked, &args.input, true)?;
    let to = format_of("--to", args.to, &args.output, false)?;
    fits(args, from, to)?;
    check_new(&args.output, args.force)?;
    let of = |error| at(&args.input, error);
    let (output, pending) = Output::new(&args.output).map_err(Error::NamedTrace)?;
    signals::await_interrupt();
    let progress = Progress::new(None, "accesses");
    let mut done = 0;
    let mut go_on = |accesses| {
        done = accesses;
        progress.show(accesses);
        !signals::is_interrupted()
    };
    let input = Input::new(&args.input);
    let report = convert(from, input, to, output, &options, &mut go_on);
    progress.end();
    let Some(report) = report.map_err(of)? else {
        let of = "accesses; nothing was kept";
        return Err(Error::Interrupted { done, of });
    };
    if report.accesses == 0 {
        return Err(nothing_left(args, &report));
    }
    if let Some(pending) = pending {
        pending.keep().map_err(Error::NamedTrace)?;
    }
    print(args, from, to, &report)?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses names of columns for a trace that has none.
fn check_columns(args: &ConvertArgs) -> Result<(), Error> {
    let named = Format::of_name(&args.input).map(|(format, _)| format.name);
    match named.filter(|name| !name.ends_with("csv")) {
        Some(name) if args.columns.is_some() && args.from.is_none() => {
            let why = format!(
                "they are of a text file IN, and {} is {name} by its name; leave them out, or \
                 give --from csv",
                args.input.display()
            );
            Err(Error::unfit("--columns", why))
        }
        _ => Ok(()),
    }
}

/// Why there would be no trace.
fn nothing_left(args: &ConvertArgs, report: &Report) -> Error {
    let why = match args.cpu {
        Some(cpu) => format!("no access of CPU {cpu} (--cpu) is in it"),
        None if report.fetches > 0 => format!(
            "it has no access but {} instruction fetches; --fetches keeps them",
            report.fetches
        ),
        None => "no access is in it".to_owned(),
    };
    Error::unfit(named(&args.input), format!("{why}; nothing was written"))
}

/// A trace as messages name it.
fn named(path: &Path) -> String {
    match path == Path::new("-") {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

/// Refuses what would have no effect between these formats.
fn fits(args: &ConvertArgs, from: &Format, to: &Format) -> Result<(), Error> {
    if args.request.is_some() && !from.has_requests() {
        let names = FORMATS.iter().filter(|one| one.has_requests());
        let names = names.map(|one| one.name).collect::<Vec<_>>().join(", ");
        let why = format!("{} has accesses, no requests; {names} have some", from.name);
        return Err(Error::unfit("--request", why));
    }
    let of = |format: &Format, name| format.name == name;
    let is_object = of(from, "oracle-general") || of(to, "oracle-general");
    for (option, is_given, fits, names) in [
        (
            "--object",
            args.object != OBJECT,
            is_object,
            "oracle-general has objects",
        ),
        (
            "--number-objects",
            args.number_objects,
            of(from, "oracle-general"),
            "IN of oracle-general has objects",
        ),
        (
            "--max-fill",
            args.max_fill != MAX_FILL,
            of(to, "champsim"),
            "OUT of champsim is filled",
        ),
        (
            "--instructions-per-second",
            args.instructions_per_second != PER_SECOND,
            from.has_requests() || to.has_requests(),
            "oracle-general, msr-csv and csv have times",
        ),
        (
            "--fetches",
            args.fetches,
            !from.has_requests(),
            "IN of sluice, champsim or lackey has fetches",
        ),
    ] {
        if is_given && !fits {
            let why = format!("only {names}, and this is {} to {}", from.name, to.name);
            return Err(Error::unfit(option, why));
        }
    }
    Ok(())
}

/// The format that was asked for, or else the one of a name's ending. What is written is not
/// compressed, and Sluice's own is not read so.
fn format_of(
    flag: &str,
    asked: Option<&'static Format>,
    path: &Path,
    may_be_packed: bool,
) -> Result<&'static Format, Error> {
    if let Some(asked) = asked {
        return Ok(asked);
    }
    let own = FORMATS[0].name;
    match Format::of_name(path) {
        Some((format, is_packed)) if !is_packed || (may_be_packed && format.name != own) => {
            Ok(format)
        }
        _ => {
            let all = FORMATS.iter().map(|f| match f.endings.is_empty() {
                true => f.name.to_owned(),
                false => format!("{} ({})", f.name, endings(f)),
            });
            let all = all.collect::<Vec<_>>().join(", ");
            let why = format!("the name does not show the format; give {flag}: {all}");
            Err(Error::unfit(path.display(), why))
        }
    }
}

/// What was done and what was lost: beside the trace, not in it.
fn print(args: &ConvertArgs, from: &Format, to: &Format, report: &Report) -> Result<(), Error> {
    let lost: Vec<&str> = report.lost.iter().map(|part| part.words()).collect();
    if args.json {
        let result = TraceConvert {
            schema: TraceConvertSchema::default(),
            from: from.name.to_owned(),
            to: to.name.to_owned(),
            accesses: report.accesses,
            fetches_left_out: report.fetches,
            lost: lost.into_iter().map(str::to_owned).collect(),
            notes: report.notes.clone(),
        };
        return outln!("{}", to_json(&result));
    }
    let say = |text: String| errln!("sluice: {text}");
    say(format!(
        "{} accesses from {} to {}",
        report.accesses, from.name, to.name
    ));
    if report.fetches > 0 {
        let hint = "--fetches keeps them";
        say(format!(
            "{} instruction fetches left out; {hint}",
            report.fetches
        ));
    }
    if !lost.is_empty() {
        say(format!(
            "lost, as {} has no place for it: {}",
            to.name,
            lost.join("; ")
        ));
    }
    report.notes.iter().for_each(|note| say(note.clone()));
    Ok(())
}
