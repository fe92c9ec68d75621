//! `sluice trace info`: what is in a trace.

use crate::error::Error;
use crate::output::Rows;
use crate::traces::{at, open};
use clap::Args;
use serde_json::{Value, json};
use sluice_stats::share;
use sluice_trace::footprint::{Footprint, LINE_BYTES, PAGE_BYTES};
use sluice_trace::{Kind, Reader, Reuse};
use std::io::{Read, Seek};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub struct InfoArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Also tell how many other pages are touched before one is again, and so the misses of LRU at
    /// every size; takes several times as long
    #[arg(long)]
    pub reuse: bool,
    /// Print one JSON object, `sluice.trace-info/1`
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &InfoArgs) -> Result<ExitCode, Error> {
    let mut reader = open(&args.file)?;
    let mut footprint = Footprint::new(args.reuse);
    while let Some(block) = reader.next_block().map_err(|error| at(&args.file, error))? {
        block.iter().for_each(|access| footprint.add(access));
    }
    let object = tell(&args.file.display().to_string(), &reader, &footprint);
    if args.json {
        outln!("{object}")?;
    } else {
        table(&object).print()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn tell<R: Read + Seek>(file: &str, reader: &Reader<R>, footprint: &Footprint) -> Value {
    let accesses = reader.accesses();
    let kind = |kind: Kind| footprint.kinds[kind as usize];
    let (loads, stores) = (kind(Kind::Load), kind(Kind::Store));
    let instructions: u64 = reader
        .cpus()
        .iter()
        .fold(0, |sum, n| sum.saturating_add(*n));
    let cpus = reader.cpus().iter().enumerate().map(|(cpu, instructions)| {
        json!({
            "accesses": footprint.cpus.get(cpu).copied().unwrap_or(0),
            "instructions": instructions,
        })
    });
    let (pages, lines) = (footprint.pages(), footprint.lines());
    json!({
        "schema": "sluice.trace-info/1",
        "file": file,
        "header": reader.header(),
        "unfinished": reader.unfinished().map(|it| it.to_string()),
        "file_bytes": reader.bytes(),
        "blocks": reader.blocks(),
        "accesses": accesses,
        "bytes_per_access": share(reader.bytes(), accesses),
        "loads": loads,
        "stores": stores,
        "fetches": kind(Kind::Fetch),
        "store_ratio": share(stores, loads + stores),
        "loaded_bytes": footprint.bytes[Kind::Load as usize],
        "stored_bytes": footprint.bytes[Kind::Store as usize],
        "instructions": instructions,
        "instructions_per_access": share(instructions, loads + stores),
        "cpus": cpus.collect::<Vec<Value>>(),
        "footprint": {
            "pages": pages,
            "page_bytes": PAGE_BYTES,
            "bytes_in_pages": pages * PAGE_BYTES,
            "lines": lines,
            "line_bytes": LINE_BYTES,
            "bytes_in_lines": lines * LINE_BYTES,
            "lines_per_page": share(lines, pages),
            "lowest": footprint.range.map(|(low, _)| low),
            "highest": footprint.range.map(|(_, high)| high),
        },
        "reuse": footprint.reuse().map(reuse),
    })
}

/// Reuse of pages: distances, and what they mean for a cache of each size.
fn reuse(reuse: &Reuse) -> Value {
    let low = |bucket: usize| if bucket == 0 { 0 } else { 1u64 << (bucket - 1) };
    let buckets = reuse.buckets().iter().enumerate();
    let distances = buckets.map(|(n, count)| json!({"from": low(n), "count": count}));
    let sizes = (0..reuse.buckets().len()).map(|power| {
        let misses = reuse.lru_misses(power);
        json!({
            "pages": 1u64 << power,
            "misses": misses,
            "miss_ratio": share(misses, reuse.touches()),
        })
    });
    json!({
        "touches": reuse.touches(),
        "distances": distances.collect::<Vec<Value>>(),
        "lru": sizes.collect::<Vec<Value>>(),
    })
}

fn table(object: &Value) -> Rows {
    let at = |place: &str| object.pointer(place).unwrap_or(&Value::Null);
    let text = |place: &str| match at(place) {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    let number = |place: &str| at(place).as_f64().unwrap_or(f64::NAN);
    let mut rows = Rows::new(18);
    let mut row = |name: &str, value: String| rows.row(name, value);
    row("trace", text("/file"));
    row("of", text("/header/command"));
    row("made by", text("/header/made_by"));
    let filter = at("/header/filter")
        .as_str()
        .unwrap_or("none: every access");
    row("filter", filter.to_owned());
    row(
        "addresses",
        format!(
            "{}, multiples of {}",
            text("/header/space"),
            text("/header/granularity")
        ),
    );
    row("order of CPUs", text("/header/order"));
    row(
        "file",
        format!("{} bytes, {} blocks", text("/file_bytes"), text("/blocks")),
    );
    row("accesses", text("/accesses"));
    row(
        "bytes an access",
        format!("{:.2}", number("/bytes_per_access")),
    );
    row(
        "of them",
        format!(
            "{} loads, {} stores, {} fetches",
            text("/loads"),
            text("/stores"),
            text("/fetches")
        ),
    );
    row(
        "stores",
        format!("{:.1} % of data", 100.0 * number("/store_ratio")),
    );
    add_footprint(object, &text, &mut rows);
    rows
}

/// The half about addresses.
fn add_footprint(object: &Value, text: &dyn Fn(&str) -> String, rows: &mut Rows) {
    let mut row = |name: &str, value: String| rows.row(name, value);
    let at = |place: &str| object.pointer(place).unwrap_or(&Value::Null);
    let number = |place: &str| at(place).as_f64().unwrap_or(f64::NAN);
    row("instructions", text("/instructions"));
    row(
        "for a data access",
        format!("{:.2}", number("/instructions_per_access")),
    );
    row(
        "CPUs",
        at("/cpus").as_array().map_or(0, Vec::len).to_string(),
    );
    row(
        "footprint",
        format!(
            "{} pages of {}, {} lines of {}: {:.1} MB in pages, {:.1} lines a page",
            text("/footprint/pages"),
            text("/footprint/page_bytes"),
            text("/footprint/lines"),
            text("/footprint/line_bytes"),
            number("/footprint/bytes_in_pages") / 1e6,
            number("/footprint/lines_per_page")
        ),
    );
    for size in at("/reuse/lru").as_array().into_iter().flatten() {
        let pages = size["pages"].as_u64().unwrap_or(0);
        let ratio = 100.0 * size["miss_ratio"].as_f64().unwrap_or(f64::NAN);
        row(
            "LRU",
            format!(
                "{} ({pages} of 4096): {ratio:.2} % misses",
                sluice_units::Bytes(4096 * pages)
            ),
        );
    }
}
