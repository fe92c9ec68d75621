//! The residency map.

use crate::error::CtlError;
use crate::outcome::{Outcome, object};
use crate::range::{Span, parse_span};
use clap::Args;
use serde_json::{Value, json};
use sluice_abi::{CACHED, IN_HOST, MAPPED, PINNED};
use sluice_control::{Connection, View};
use std::fmt::Write;

const PAGE: u64 = 4096;

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

/// Pages in a row of which the same is known.
struct Run {
    first: u64,
    pages: u64,
    bits: u8,
}

/// Shows what is known of the pages of a range: totals, and each run of pages in the cache.
pub fn show(to: &Connection, args: &MapArgs) -> Result<Outcome, CtlError> {
    let range = args.range.within(to.view().pages());
    let end = range.start.saturating_add(range.len);
    let bytes = to.view().pages() * PAGE;
    if range.is_address || end > bytes {
        return Err(CtlError::Map(bytes));
    }
    let runs = runs(to.view(), range.start / PAGE, end.div_ceil(PAGE));
    let count = |bit: u8| -> u64 {
        let of = runs.iter().filter(|run| run.bits & bit != 0);
        of.map(|run| run.pages).sum()
    };
    let (cached, mapped, pinned) = (count(CACHED), count(MAPPED), count(PINNED));
    let text = if args.json {
        let runs: Vec<Value> = runs.iter().map(run_object).collect();
        let fields = json!({
            "start": range.start,
            "length": range.len,
            "cached": cached,
            "mapped": mapped,
            "pinned": pinned,
            "runs": runs,
        });
        format!("{}\n", object(to, "map", fields))
    } else {
        let mut text = format!("{cached} pages cached, {mapped} mapped, {pinned} pinned\n");
        for run in &runs {
            let (start, end) = (run.first * PAGE, (run.first + run.pages) * PAGE);
            let _ = writeln!(text, "{start:#x}..{end:#x} {}", names(run.bits).join(" "));
        }
        text
    };
    let is_done = true;
    Ok(Outcome { text, is_done })
}

fn runs(view: &View, first: u64, end: u64) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for lpn in first..end {
        let bits = view.page(lpn);
        match runs.last_mut() {
            Some(run) if run.bits == bits && run.first + run.pages == lpn => run.pages += 1,
            _ if bits == 0 => {}
            _ => runs.push(Run {
                first: lpn,
                pages: 1,
                bits,
            }),
        }
    }
    runs
}

fn names(bits: u8) -> Vec<&'static str> {
    let all = [
        (CACHED, "cached"),
        (MAPPED, "mapped"),
        (PINNED, "pinned"),
        (IN_HOST, "in host memory"),
    ];
    let set = all.into_iter().filter(|(bit, _)| bits & bit != 0);
    set.map(|(_, name)| name).collect()
}

fn run_object(run: &Run) -> Value {
    json!({
        "start": run.first * PAGE,
        "length": run.pages * PAGE,
        "is": names(run.bits),
    })
}
