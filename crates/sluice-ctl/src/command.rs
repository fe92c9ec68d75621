//! The commands for a device, and how they are sent.

use crate::error::CtlError;
use crate::map;
use crate::outcome::{Outcome, object, outcome, range_line, range_object, status_name};
use crate::powercut::{PowerCutArgs, power_cut};
use crate::range::{Span, parse_span};
use crate::stats::Snapshot;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use sluice_abi::{MARK_RESET, Operation, Request, Status, Text};
use sluice_control::{Connection, Side};
use sluice_model::{DeviceConfig, DeviceError, check_object, is_tunable, tunable};
use sluice_units::{Bytes, PAGE_BYTES};

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
    #[command(visible_alias = "pageout")]
    Evict(Ranges),
    /// Program the pages that were written; they stay cached. A persistent device's store has them
    /// then. Without a range it takes all pages
    Flush(FlushArgs),
    /// Cut the power of a persistent device: its program is killed, and what was written and does
    /// not fit the energy that is left is lost
    #[command(name = "powercut")]
    PowerCut(PowerCutArgs),
    /// Let cached pages be the next to leave, whatever the policy says
    Cold(Ranges),
    /// Say that pages will be accessed in order: bring in the next, let those passed leave
    Sequential(Ranges),
    /// Say that pages will be accessed in no order: accesses to them bring in no others
    Random(Ranges),
    /// Take back `sequential` and `random`
    Normal(Ranges),
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
    /// Print statistics as they are now, since the last reset
    Stats {
        /// Read them without asking the device, which would count as a command. What the device
        /// did by itself since its last trap is not in them
        #[arg(long)]
        as_is: bool,
        /// Print them as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Mark this moment: the result of the run has the figures from each mark to the next
    Mark {
        /// Letters, digits, `-`, `_` and `.`
        name: String,
    },
    /// Start counting here: `stats` and the run's result have the figures since the last reset
    Reset,
    /// Print which pages are cached, mapped and pinned, without asking the device
    Map(map::MapArgs),
}

/// Ranges of pages.
#[derive(Debug, Args)]
pub struct Ranges {
    /// all, START..END or START+LENGTH in bytes of the device, such as 0..16MiB; with @ before it
    /// addresses of the program. Every page that it touches counts
    #[arg(required = true, value_name = "RANGE", value_parser = parse_span)]
    ranges: Vec<Span>,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Ranges of pages, or all.
#[derive(Debug, Args)]
pub struct FlushArgs {
    /// As of the other commands
    #[arg(default_value = "all", value_name = "RANGE", value_parser = parse_span)]
    ranges: Vec<Span>,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

impl Ranges {
    fn both(&self) -> (&[Span], bool) {
        (&self.ranges, self.json)
    }
}

impl CtlCommand {
    /// The ranges of pages for which the device is to do something.
    pub(crate) fn spans(&self) -> &[Span] {
        match self {
            CtlCommand::Pin(of)
            | CtlCommand::Unpin(of)
            | CtlCommand::Prefetch(of)
            | CtlCommand::Evict(of)
            | CtlCommand::Cold(of)
            | CtlCommand::Sequential(of)
            | CtlCommand::Random(of)
            | CtlCommand::Normal(of) => &of.ranges,
            CtlCommand::Flush(of) => &of.ranges,
            _ => &[],
        }
    }

    /// The mark that the command sets. It needs no ring.
    pub fn mark(&self) -> Option<&str> {
        match self {
            CtlCommand::Mark { name } => Some(name),
            CtlCommand::Reset => Some(MARK_RESET),
            _ => None,
        }
    }
}

/// Sends a command and waits for its outcome.
///
/// # Errors
/// If it could not be sent, or no answer came.
pub fn run(to: &mut Connection, command: &CtlCommand) -> Result<Outcome, CtlError> {
    match command {
        CtlCommand::Flush(FlushArgs { ranges, json }) => {
            pages(to, Operation::Flush, (ranges, *json))
        }
        CtlCommand::PowerCut(args) => power_cut(to.place(), args),
        CtlCommand::Pin(ranges) => pages(to, Operation::Pin, ranges.both()),
        CtlCommand::Unpin(ranges) => pages(to, Operation::Unpin, ranges.both()),
        CtlCommand::Prefetch(ranges) => pages(to, Operation::Prefetch, ranges.both()),
        CtlCommand::Evict(ranges) => pages(to, Operation::Evict, ranges.both()),
        CtlCommand::Cold(ranges) => pages(to, Operation::Cold, ranges.both()),
        CtlCommand::Sequential(ranges) => pages(to, Operation::Sequential, ranges.both()),
        CtlCommand::Random(ranges) => pages(to, Operation::Random, ranges.both()),
        CtlCommand::Normal(ranges) => pages(to, Operation::Normal, ranges.both()),
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
        CtlCommand::Mark { .. } | CtlCommand::Reset => {
            sluice_control::mark(to.place(), command.mark().unwrap_or_default())?;
            Ok(outcome(String::new(), []))
        }
    }
}

fn pages(
    to: &mut Connection,
    operation: Operation,
    (ranges, json): (&[Span], bool),
) -> Result<Outcome, CtlError> {
    let mut answers = Vec::new();
    let is_guest = to.place().side == Side::Guest;
    if let Some(span) = ranges.iter().find(|span| is_guest && span.is_address) {
        return Err(CtlError::Address(span.start));
    }
    for span in ranges {
        let range = span.within(to.view().pages());
        let answer = to.call(Request::Pages(operation, range))?;
        answers.push((range, answer));
    }
    let text = if json {
        let ranges: Vec<Value> = answers.iter().map(range_object).collect();
        format!(
            "{}\n",
            object(to, operation.text(), json!({ "ranges": ranges }))
        )
    } else {
        let lines = answers.iter();
        let device = Bytes(to.view().pages() * PAGE_BYTES);
        let lines =
            lines.map(|(range, answer)| range_line(operation, range, answer, device) + "\n");
        lines.collect()
    };
    Ok(outcome(text, answers.iter().map(|(_, answer)| answer)))
}

/// Finds the mistakes that can be found without the device, with longer messages than an answer has
/// room for.
fn check(pairs: &[String]) -> Result<(), CtlError> {
    let mut raw = DeviceConfig::builder();
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(CtlError::NoPair(pair.clone()));
        };
        raw.set(key, value)?;
        check_object(key, value)?;
        if !is_tunable(key) {
            let (key, valid) = (key.to_owned(), tunable());
            return Err(DeviceError::Fixed { key, valid }.into());
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
            "status": status_name(answer.status),
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
    let mut snapshot = Snapshot::of(to.view().stats());
    if let Some((ago_ns, reset)) = sluice_control::last_reset(to.place()) {
        snapshot = snapshot.since(ago_ns, &reset);
    }
    let text = match json {
        true => format!("{}\n", object(to, "stats", snapshot.object())),
        false => snapshot.text(),
    };
    Ok(outcome(text, &answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The device's refusal had no room for its end.
    #[test]
    fn a_shared_object_is_refused_before_it_is_sent() {
        let path = format!("./{}.so", "policy".repeat(40));
        for key in ["cache.policy", "prefetch.policy"] {
            let told = check(&[format!("{key}={path}")]).unwrap_err().to_string();
            assert!(
                told.contains(&path) && told.contains("not while it runs; expected one of "),
                "{told}"
            );
            assert!(!told.contains("./mine.so"), "{told}");
        }
        assert!(check(&["cache.policy=lru".to_owned()]).is_ok());
    }
}
