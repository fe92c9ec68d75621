//! What became of a command, for people and for programs.

use serde_json::{Value, json};
use sluice_abi::{Completion, Operation, Range, Reason, Status};
use sluice_control::Connection;
use sluice_units::Bytes;
use std::fmt::Write;
use std::process::ExitCode;

/// Version of what `--json` prints.
pub const SCHEMA: &str = "sluice.ctl/1";

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

/// An object with what every answer has.
pub fn object(to: &Connection, command: &str, fields: Value) -> Value {
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

/// The outcome of a command that had these answers.
pub fn outcome<'a>(text: String, answers: impl IntoIterator<Item = &'a Completion>) -> Outcome {
    let mut answers = answers.into_iter();
    let is_done = answers.all(|answer| matches!(answer.status, Status::Done | Status::Nothing));
    Outcome { text, is_done }
}

/// A status in `--json`.
pub fn status_name(status: Status) -> &'static str {
    match status {
        Status::Done => "done",
        Status::Nothing => "nothing",
        Status::Partly => "partly",
        Status::Refused => "refused",
        Status::BadVersion => "bad_version",
        Status::BadOperation => "bad_operation",
        Status::BadReserved => "bad_reserved",
        Status::BadRange => "bad_range",
        Status::BadText => "bad_text",
    }
}

/// What became of a range, as an object.
pub fn range_object((range, answer): &(Range, Completion)) -> Value {
    let is_refused = answer.reason != Reason::None;
    json!({
        "start": range.start,
        "length": range.len,
        "is_address": range.is_address,
        "status": status_name(answer.status),
        "pages": answer.pages,
        "changed": answer.changed,
        "already": answer.already,
        "refused": answer.refused,
        "reason": is_refused.then(|| answer.reason.text()),
        "first_refused": is_refused.then_some(answer.first_refused),
        "done_ns": answer.done_ns,
    })
}

/// What became of a range, in words.
pub fn range_line(
    operation: Operation,
    range: &Range,
    answer: &Completion,
    device: Bytes,
) -> String {
    let (what, at) = (operation.text(), if range.is_address { "@" } else { "" });
    let place = format!("{at}{:#x}+{:#x}", range.start, range.len);
    if answer.status as u32 >= Status::BadVersion as u32 {
        let why = match (answer.status, range.is_address) {
            (Status::BadRange, false) => {
                format!("the device has {device}; expected a range in 0..{device}")
            }
            (Status::BadRange, true) => "nothing at these addresses is on the device".to_owned(),
            (status, _) => status.text().to_owned(),
        };
        return format!("{what} {place}: refused: {why}");
    }
    let mut line = format!(
        "{what} {place}: {} of {} pages",
        answer.changed, answer.pages
    );
    if answer.already > 0 {
        let _ = write!(line, "; {} {}", answer.already, already(operation));
    }
    if answer.refused > 0 {
        let (count, first, why) = (answer.refused, answer.first_refused, answer.reason.text());
        let _ = write!(line, "; {count} refused, the first at {first:#x}: {why}");
    }
    line
}

/// How pages were for which nothing was to be done.
fn already(operation: Operation) -> &'static str {
    match operation {
        Operation::Pin => "pinned already",
        Operation::Unpin => "not pinned",
        Operation::Prefetch => "cached already",
        Operation::Evict => "not cached",
        Operation::Cold => "cold already, or not cached",
        Operation::Normal | Operation::Random | Operation::Sequential => "advised so already",
        _ => "with nothing to program",
    }
}
