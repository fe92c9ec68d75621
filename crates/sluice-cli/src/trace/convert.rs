//! `sluice trace convert`: from one format to another.

use super::{args::ConvertArgs, at};
use crate::error::Error;
use crate::interrupt;
use crate::progress::Progress;
use serde_json::json;
use sluice_trace::convert::{FORMATS, Format, Input, Options, Output, Report, convert};
use std::path::Path;
use std::process::ExitCode;

/// Bytes of an object that its size has room for.
const OBJECT_MAX: u64 = 1 << 31;

pub fn run(args: &ConvertArgs) -> Result<ExitCode, Error> {
    let object = args.object.0;
    if object == 0 || object > OBJECT_MAX {
        return Err(Error::new(format!(
            "bad value for --object: \"{}\"; expected a size from 1B to 2GiB",
            args.object
        )));
    }
    if args.instructions_per_second == 0 {
        let what = "bad value for --instructions-per-second: \"0\"; expected at least 1";
        return Err(Error::new(what));
    }
    let options = Options {
        fetches: args.fetches,
        cpu: args.cpu,
        object,
        number_objects: args.number_objects,
        per_second: args.instructions_per_second,
    };
    if args.json && args.output == Path::new("-") {
        let what = "--json: standard output has the trace already; name a file for OUT";
        return Err(Error::new(what));
    }
    let of = |error| at(&args.input, error);
    let (output, pending) = Output::new(&args.output).map_err(|e| Error::new(e.to_string()))?;
    interrupt::begin();
    let progress = Progress::new(None, "accesses");
    let mut done = 0;
    let mut go_on = |accesses| {
        done = accesses;
        progress.show(accesses);
        !interrupt::asked()
    };
    let input = Input::new(&args.input);
    let (from, to) = (format(&args.from)?, format(&args.to)?);
    let report = convert(from, input, to, output, &options, &mut go_on);
    progress.end();
    let Some(report) = report.map_err(of)? else {
        eprintln!("sluice: stopped after {done} accesses; nothing was kept");
        return Ok(ExitCode::from(interrupt::STATUS));
    };
    if let Some(pending) = pending {
        pending.keep().map_err(|e| Error::new(e.to_string()))?;
    }
    tell(args, &report);
    Ok(ExitCode::SUCCESS)
}

fn format(name: &str) -> Result<&'static Format, Error> {
    let found = FORMATS.iter().find(|format| format.name == name);
    found.ok_or_else(|| Error::new(format!("format: \"{name}\" is not known")))
}

/// What was done and what was lost: beside the trace, not in it.
fn tell(args: &ConvertArgs, report: &Report) {
    let lost: Vec<&str> = report.lost.iter().map(|part| part.words()).collect();
    if args.json {
        let object = json!({
            "schema": "sluice.trace-convert/1",
            "from": args.from,
            "to": args.to,
            "accesses": report.accesses,
            "fetches_left_out": report.fetches,
            "lost": lost,
            "notes": report.notes,
        });
        println!("{object}");
        return;
    }
    let say = |text: String| eprintln!("sluice: {text}");
    say(format!(
        "{} accesses from {} to {}",
        report.accesses, args.from, args.to
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
            args.to,
            lost.join("; ")
        ));
    }
    report.notes.iter().for_each(|note| say(note.clone()));
}
