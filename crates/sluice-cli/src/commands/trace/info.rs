//! `sluice trace info`: what is in a trace.

use crate::error::Error;
use crate::output::Rows;
use crate::traces::{at, open};
use clap::Args;
use serde::Serialize;
use sluice_results::{
    CpuAccesses, Footprint, LruSize, Reuse, ReuseDistance, TraceInfo, TraceInfoSchema, to_json,
};
use sluice_stats::share;
use sluice_trace::footprint::{Footprint as Counted, LINE_BYTES, PAGE_BYTES};
use sluice_trace::{Kind, Reader};
use sluice_units::Bytes;
use std::io::{Read, Seek};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub struct InfoArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Also print how many other pages are touched before one is again, and so the misses of LRU at
    /// every size; takes several times as long
    #[arg(long)]
    pub reuse: bool,
    /// Print one JSON object, `sluice.trace-info/1`
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &InfoArgs) -> Result<ExitCode, Error> {
    let mut reader = open(&args.file)?;
    let mut footprint = Counted::new(args.reuse);
    while let Some(block) = reader.next_block().map_err(|error| at(&args.file, error))? {
        block.iter().for_each(|access| footprint.add(access));
    }
    let info = result(&args.file.display().to_string(), &reader, &footprint);
    if args.json {
        outln!("{}", to_json(&info))?;
    } else {
        table(&info).print()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn result<R: Read + Seek>(file: &str, reader: &Reader<R>, footprint: &Counted) -> TraceInfo {
    let accesses = reader.accesses();
    let kind = |kind: Kind| footprint.kinds[kind as usize];
    let (loads, stores) = (kind(Kind::Load), kind(Kind::Store));
    let instructions: u64 = reader
        .cpus()
        .iter()
        .fold(0, |sum, n| sum.saturating_add(*n));
    let cpus = reader.cpus().iter().enumerate();
    let cpus = cpus.map(|(cpu, instructions)| CpuAccesses {
        accesses: footprint.cpus.get(cpu).copied().unwrap_or_default(),
        instructions: *instructions,
    });
    let (pages, lines) = (footprint.pages(), footprint.lines());
    TraceInfo {
        schema: TraceInfoSchema::default(),
        file: file.to_owned(),
        header: reader.header().clone(),
        unfinished: reader.unfinished().map(|it| it.to_string()),
        file_bytes: reader.bytes(),
        blocks: reader.blocks(),
        accesses,
        bytes_per_access: share(reader.bytes(), accesses),
        loads,
        stores,
        fetches: kind(Kind::Fetch),
        block_requests: footprint.kinds[Kind::BlockRead as usize..].iter().sum(),
        store_ratio: share(stores, loads + stores),
        loaded_bytes: footprint.bytes[Kind::Load as usize],
        stored_bytes: footprint.bytes[Kind::Store as usize],
        instructions,
        instructions_per_access: share(instructions, loads + stores),
        cpus: cpus.collect(),
        footprint: Footprint {
            pages,
            page_bytes: PAGE_BYTES,
            bytes_in_pages: pages * PAGE_BYTES,
            lines,
            line_bytes: LINE_BYTES,
            bytes_in_lines: lines * LINE_BYTES,
            lines_per_page: share(lines, pages),
            lowest: footprint.range.map(|(low, _)| low),
            highest: footprint.range.map(|(_, high)| high),
        },
        reuse: footprint.reuse().map(reuse),
    }
}

/// Reuse of pages: distances, and what they mean for a cache of each size.
fn reuse(reuse: &sluice_trace::Reuse) -> Reuse {
    let low = |bucket: usize| if bucket == 0 { 0 } else { 1u64 << (bucket - 1) };
    let buckets = reuse.buckets();
    let distances = buckets.iter().enumerate().map(|(n, count)| ReuseDistance {
        from: low(n),
        count: *count,
    });
    let sizes = (0..buckets.len()).map(|power| {
        let misses = reuse.lru_misses(1 << power);
        LruSize {
            pages: 1u64 << power,
            misses,
            miss_ratio: share(misses, reuse.touches()),
        }
    });
    Reuse {
        touches: reuse.touches(),
        distances: distances.collect(),
        lru: sizes.collect(),
    }
}

fn table(info: &TraceInfo) -> Rows {
    let mut rows = Rows::new(18);
    let mut row = |name: &str, value: String| rows.row(name, value);
    let header = &info.header;
    row("trace", info.file.clone());
    row("of", header.command.clone());
    row("made by", header.made_by.clone());
    let filter = header.filter.as_deref().unwrap_or("none: every access");
    row("filter", filter.to_owned());
    row(
        "addresses",
        format!(
            "{}, multiples of {}",
            word(&header.space),
            header.granularity
        ),
    );
    row("order of CPUs", word(&header.order));
    row(
        "file",
        format!("{} bytes, {} blocks", info.file_bytes, info.blocks),
    );
    row("accesses", info.accesses.to_string());
    if let Some(bytes) = info.bytes_per_access {
        row("bytes an access", format!("{bytes:.2}"));
    }
    row(
        "of them",
        format!(
            "{} loads, {} stores, {} fetches, {} by the block door",
            info.loads, info.stores, info.fetches, info.block_requests
        ),
    );
    if let Some(stores) = info.store_ratio {
        row("stores", format!("{:.1} % of data", 100.0 * stores));
    }
    add_footprint(info, &mut row);
    rows
}

/// The half about addresses.
fn add_footprint(info: &TraceInfo, row: &mut dyn FnMut(&str, String)) {
    row("instructions", info.instructions.to_string());
    if let Some(instructions) = info.instructions_per_access {
        row("for a data access", format!("{instructions:.2}"));
    }
    row("CPUs", info.cpus.len().to_string());
    let footprint = &info.footprint;
    let each = footprint.lines_per_page;
    let each = each.map_or(String::new(), |lines| format!(", {lines:.1} lines a page"));
    row(
        "footprint",
        format!(
            "{} pages of {}, {} lines of {}: {:.1} MB in pages{each}",
            footprint.pages,
            footprint.page_bytes,
            footprint.lines,
            footprint.line_bytes,
            footprint.bytes_in_pages as f64 / 1e6
        ),
    );
    for size in info.reuse.iter().flat_map(|reuse| &reuse.lru) {
        let Some(ratio) = size.miss_ratio.map(|ratio| 100.0 * ratio) else {
            continue;
        };
        let pages = size.pages;
        row(
            "LRU",
            format!(
                "{} ({pages} of 4096): {ratio:.2} % misses",
                Bytes(4096 * pages)
            ),
        );
    }
}

/// A choice by its name in the file.
fn word(choice: &impl Serialize) -> String {
    to_json(choice).as_str().unwrap_or_default().to_owned()
}
