//! Traces that commands read, and what is to be said of them.

use crate::error::Error;
use sluice_replay::{Placement, Replay};
use sluice_trace::Reader;
use sluice_trace::convert::Format;
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::Path;

/// Opens a trace; says so if it was not finished.
pub fn open(path: &Path) -> Result<Reader<BufReader<File>>, Error> {
    let reader = Reader::open(path).map_err(|error| at(path, error))?;
    if let Some(unfinished) = reader.unfinished() {
        errln!("sluice: warning: {}: {unfinished}", path.display());
    }
    Ok(reader)
}

/// Refuses to write a trace over a file that is there, unless the user asked for it. A recording
/// may have taken hours.
pub fn check_new(path: &Path, force: bool) -> Result<(), Error> {
    let is_lost = |file: std::fs::Metadata| file.is_file() && file.len() > 0;
    match !force && std::fs::metadata(path).is_ok_and(is_lost) {
        true => Err(Error::unfit(
            path.display(),
            "it is there already; replace it with --force",
        )),
        false => Ok(()),
    }
}

/// An error of a trace, with its name.
pub fn at(path: &Path, error: sluice_trace::Error) -> Error {
    match error {
        sluice_trace::Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
            Error::unfit(
                path.display(),
                "no such file; give a trace, or make one: `sluice trace record -- PROG` or \
                 `sluice trace convert`",
            )
        }
        sluice_trace::Error::Io { source, .. } if source.kind() == ErrorKind::IsADirectory => {
            Error::unfit(path.display(), "it is a folder; give the trace in it")
        }
        // These name it themselves.
        error @ (sluice_trace::Error::Io { .. } | sluice_trace::Error::Input { .. }) => {
            Error::NamedTrace(error)
        }
        sluice_trace::Error::NotATrace => {
            let name = path.display();
            if std::fs::metadata(path).is_ok_and(|file| file.len() == 0) {
                return Error::unfit(name, "not a Sluice trace, for it is empty; give another");
            }
            let own = match path.extension() {
                Some(last) if last == "trace" => Path::new("NEW.trace").to_owned(),
                _ => path.with_extension("trace"),
            };
            // Unless the name says another format, the user has to give the format.
            let how = match Format::of_name(path) {
                Some((format, _)) if format.name != "sluice" => "",
                _ => " --from FORMAT",
            };
            let why = format!(
                "not a Sluice trace; `sluice trace convert{how} {name} {}` makes one of it",
                own.display()
            );
            Error::unfit(name, why)
        }
        source => Error::Trace {
            path: path.to_owned(),
            source,
        },
    }
}

/// Opens a trace to be replayed, its pages placed in this way.
pub fn open_replay(path: &Path, placement: Placement) -> Result<Replay, Error> {
    let replay = Replay::open(path, placement).map_err(|error| at(path, error))?;
    let name = path.display();
    if replay.accesses() == 0 {
        return Err(Error::unfit(name, "the trace has no loads and no stores"));
    }
    if let Some(unfinished) = replay.unfinished() {
        errln!("sluice: warning: {name}: {unfinished}");
    }
    Ok(replay)
}

/// What the record calls a trace.
pub fn name_of(path: &Path) -> String {
    format!("trace:{}", path.display())
}

/// Whether a trace could not be read to its end.
pub fn failed(path: &Path, replay: &Replay) -> Result<(), Error> {
    let failure = replay.failure();
    failure.map_or(Ok(()), |error| Err(at(path, error)))
}
