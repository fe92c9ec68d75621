//! What can be asked of a device, and how it is asked.

use crate::range::{Span, parse_span};
use crate::stats::Snapshot;
use crate::{map, tell};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use sluice_abi::{Completion, Operation, Range, Request, Status, TEXT_BYTES, Text};
use sluice_control::{Connection, Error, Side};
use sluice_model::{ConfigError, RawConfig, TUNABLE, is_tunable};
use std::process::ExitCode;

/// Version of what `--json` prints.
pub const SCHEMA: &str = "sluice.ctl/1";

/// What can be asked.
#[derive(Debug, Subcommand)]
pub enum CtlCommand {
    /// Bring pages in, and keep them until they are unpinned
    Pin(Ranges),
    /// Let pinned pages leave again
    Unpin(Ranges),
    /// Bring pages in, and map them when they are there
    Prefetch(Ranges),
    /// Take pages out of the cache, programming those that were written
    Evict(Ranges),
    /// Program the pages that were written; they stay cached
    Flush(Ranges),
    /// Change the eviction policy; the cache keeps its pages
    Policy {
        /// A name of `sluice policy list`
        name: String,
        /// Print the result as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Change parameters, all or none, such as nand.read=20us prefetch.policy=nextn
    Set {
        /// Parameters and values
        #[arg(required = true, value_name = "KEY=VALUE")]
        pairs: Vec<String>,
        /// Print the result as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print statistics as they are now
    Stats {
        /// As they stand, without asking the device, which would count as a command. What the
        /// device did by itself since its last trap is not in them
        #[arg(long)]
        as_is: bool,
        /// Print them as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print which pages are cached, mapped and pinned, without asking the device
    Map(MapArgs),
}

/// Ranges of pages.
#[derive(Debug, Args)]
pub struct Ranges {
    /// all, START..END or START+LENGTH in bytes of the device, such as 0..16MiB; with @ before it
    /// addresses of the program. All pages that it touches are meant
    #[arg(required = true, value_name = "RANGE", value_parser = parse_span)]
    ranges: Vec<Span>,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// A range of the residency map.
#[derive(Debug, Args)]
pub struct MapArgs {
    /// all, START..END or START+LENGTH in bytes of the device
    #[arg(default_value = "all", value_name = "RANGE", value_parser = parse_span)]
    pub range: Span,
    /// Print it as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Why a command was not sent.
#[derive(Debug, thiserror::Error)]
pub enum CtlError {
    /// The device cannot be reached.
    #[error(transparent)]
    Control(#[from] Error),
    /// The entries of the ring are not large enough.
    #[error("{0} bytes of KEY=VALUE; {TEXT_BYTES} can be sent at once")]
    TooLong(usize),
    /// A setting without a value.
    #[error("bad setting {0:?}: expected KEY=VALUE")]
    NoPair(String),
    /// A key or value that cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Only a program itself knows what is at its addresses, and on the host the kernel.
    #[error(
        "bad range @{0:#x}: in a guest expected bytes of the device; a program names its addresses \
         by libsluice_control"
    )]
    Address(u64),
    /// The map has no addresses.
    #[error("{0}")]
    Range(String),
}

/// What became of a command.
#[derive(Debug)]
pub struct Outcome {
    /// Lines to print.
    pub text: String,
    /// Whether the command was carried out, also if nothing was to be done. The device may have
    /// refused it or a part of it instead.
    pub is_done: bool,
}

impl Outcome {
    /// The exit status.
    #[must_use]
    pub fn status(&self) -> ExitCode {
        ExitCode::from(u8::from(!self.is_done))
    }
}

/// Sends a command and waits for its outcome.
///
/// # Errors
/// If it could not be sent, or no answer came.
pub fn run(to: &mut Connection, command: &CtlCommand) -> Result<Outcome, CtlError> {
    match command {
        CtlCommand::Pin(ranges) => pages(to, Operation::Pin, ranges),
        CtlCommand::Unpin(ranges) => pages(to, Operation::Unpin, ranges),
        CtlCommand::Prefetch(ranges) => pages(to, Operation::Prefetch, ranges),
        CtlCommand::Evict(ranges) => pages(to, Operation::Evict, ranges),
        CtlCommand::Flush(ranges) => pages(to, Operation::Flush, ranges),
        CtlCommand::Policy { name, json } => {
            let pair = format!("cache.policy={name}");
            check(std::slice::from_ref(&pair))?;
            set(to, &pair, *json)
        }
        CtlCommand::Set { pairs, json } => {
            check(pairs)?;
            set(to, &pairs.join(" "), *json)
        }
        CtlCommand::Stats { as_is, json } => stats(to, *as_is, *json),
        CtlCommand::Map(args) => map::show(to, args),
    }
}

fn pages(to: &mut Connection, operation: Operation, args: &Ranges) -> Result<Outcome, CtlError> {
    let mut answers = Vec::new();
    let is_guest = to.place().side == Side::Guest;
    if let Some(span) = args.ranges.iter().find(|span| is_guest && span.is_address) {
        return Err(CtlError::Address(span.start));
    }
    for span in &args.ranges {
        let range = whole(to, span);
        let answer = to.call(Request::Pages(operation, range))?;
        answers.push((range, answer));
    }
    let text = if args.json {
        let ranges: Vec<Value> = answers.iter().map(tell::range_object).collect();
        format!(
            "{}\n",
            object(to, operation.text(), json!({ "ranges": ranges }))
        )
    } else {
        let lines = answers.iter();
        let lines = lines.map(|(range, answer)| tell::range_line(operation, range, answer) + "\n");
        lines.collect()
    };
    Ok(outcome(text, answers.iter().map(|(_, answer)| answer)))
}

/// The range without open end.
pub(crate) fn whole(to: &Connection, span: &Span) -> Range {
    let end = to.view().pages() * 4096;
    Range {
        start: span.start,
        len: span.len.unwrap_or_else(|| end.saturating_sub(span.start)),
        is_address: span.is_address,
    }
}

/// Finds what can be found without the device, and tells more of it than an answer has room for.
fn check(pairs: &[String]) -> Result<(), CtlError> {
    let mut raw = RawConfig::default();
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(CtlError::NoPair(pair.clone()));
        };
        raw.set(key, value)?;
        if !is_tunable(key) {
            let (key, valid) = (key.to_owned(), TUNABLE);
            return Err(ConfigError::Fixed { key, valid }.into());
        }
    }
    Ok(())
}

fn set(to: &mut Connection, pairs: &str, json: bool) -> Result<Outcome, CtlError> {
    let text = Text::new(pairs).ok_or(CtlError::TooLong(pairs.len()))?;
    let answer = to.call(Request::Set(text))?;
    let why = answer.text.as_str();
    let text = if json {
        let fields = json!({
            "settings": pairs,
            "status": tell::status_name(answer.status),
            "message": if why.is_empty() { Value::Null } else { why.into() },
        });
        object(to, "set", fields).to_string()
    } else {
        match answer.status {
            Status::Done => format!("set: {pairs}"),
            Status::Nothing => "set: nothing changed: it was so already".to_owned(),
            status if why.is_empty() => format!("set: {}", status.text()),
            _ => format!("set: refused: {why}"),
        }
    };
    Ok(outcome(text + "\n", [&answer]))
}

fn stats(to: &mut Connection, as_is: bool, json: bool) -> Result<Outcome, CtlError> {
    let answer = match as_is {
        true => None,
        false => Some(to.call(Request::Stats)?),
    };
    let snapshot = Snapshot::of(to.view().stats());
    let text = match json {
        true => format!("{}\n", object(to, "stats", snapshot.object())),
        false => snapshot.text(),
    };
    Ok(outcome(text, &answer))
}

/// An object with what every answer has.
pub(crate) fn object(to: &Connection, command: &str, fields: Value) -> Value {
    let mut object = json!({
        "schema": SCHEMA,
        "command": command,
        "pid": to.view().stats().pid.load(std::sync::atomic::Ordering::Relaxed),
        "pages": to.view().pages(),
    });
    if let (Some(all), Value::Object(more)) = (object.as_object_mut(), fields) {
        all.extend(more);
    }
    object
}

fn outcome<'a>(text: String, answers: impl IntoIterator<Item = &'a Completion>) -> Outcome {
    let mut answers = answers.into_iter();
    let is_done = answers.all(|answer| matches!(answer.status, Status::Done | Status::Nothing));
    Outcome { text, is_done }
}
