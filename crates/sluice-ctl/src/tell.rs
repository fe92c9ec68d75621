//! Answers and statistics for people and for programs.

use serde_json::{Map, Value, json};
use sluice_abi::{Completion, Counter, Operation, Range, Reason, Status};
use sluice_control::View;
use sluice_output::{Latencies, share};
use std::fmt::Write;

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
pub fn range_line(operation: Operation, range: &Range, answer: &Completion) -> String {
    let (what, at) = (operation.text(), if range.is_address { "@" } else { "" });
    let place = format!("{at}{:#x}+{:#x}", range.start, range.len);
    if answer.status as u32 >= Status::BadVersion as u32 {
        return format!("{what} {place}: refused: {}", answer.status.text());
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
        _ => "with nothing to program",
    }
}

/// Statistics as an object.
pub fn stats_object(view: &View) -> Value {
    let stats = view.stats();
    let counters: Map<String, Value> = Counter::ALL
        .iter()
        .map(|counter| (counter.name().to_owned(), stats.get(*counter).into()))
        .collect();
    json!({
        "counters": counters,
        "latency_ns": {
            "modelled": Latencies::copy(&stats.modelled).summary(),
            "achieved": Latencies::copy(&stats.achieved).summary(),
        },
    })
}

/// Statistics as text: what is not zero.
pub fn stats_text(view: &View) -> String {
    let stats = view.stats();
    let mut text = String::new();
    for counter in Counter::ALL
        .iter()
        .filter(|counter| stats.get(**counter) > 0)
    {
        let _ = writeln!(text, "{:<26}{:>20}", counter.name(), stats.get(*counter));
    }
    let (hits, misses) = (stats.get(Counter::SoftTraps), stats.get(Counter::Misses));
    if let Some(ratio) = share(hits, hits + misses) {
        let _ = writeln!(text, "{:<26}{ratio:>20.4}", "hit_ratio_of_traps");
    }
    for (name, hist) in [("modelled", &stats.modelled), ("achieved", &stats.achieved)] {
        let all = Latencies::copy(hist);
        let us = |ns: u64| ns as f64 / 1e3;
        let (p50, p99) = (us(all.percentile(500)), us(all.percentile(990)));
        let name = format!("miss_{name}_us");
        let _ = writeln!(
            text,
            "{name:<26}{:>20}",
            format!("p50 {p50:.1}  p99 {p99:.1}")
        );
    }
    text
}
