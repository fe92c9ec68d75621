//! `workload hints`.

use serde::Serialize;
use sluice_streams::BadValue;
use sluice_streams::plan::within;
use sluice_streams::size;
use sluice_units::{Bytes, PAGE_BYTES};

use super::mapping;
use super::pages::{all_right, untimed, whole_pages};
use crate::error::Error;
use crate::hints::{self, Case, Load};
use crate::hist::Histogram;
use crate::memory::Buffer;
use crate::report::{Output, Report, Sink};

/// Flags of the hints.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do
    #[arg(value_enum)]
    case: Case,
    /// Say what is known of the accesses to come (madvise, mlock)
    #[arg(long)]
    told: bool,
    /// Bytes of the table, such as 64MiB
    #[arg(long, default_value = "64MiB", value_parser = size)]
    size: u64,
    /// Bytes of the index
    #[arg(long, default_value = "4MiB", value_parser = size)]
    index: u64,
    /// Rows that a join looks up
    #[arg(long, default_value_t = 20_000)]
    rows: u64,
    /// Seed of what is looked up, and of the contents
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct Params {
    case: Case,
    told: bool,
    size_bytes: u64,
    index_bytes: u64,
    rows: u64,
    seed: u64,
}

#[derive(Serialize)]
struct Extra {
    mismatches: u64,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    check(args)?;
    let sink = Sink::open(&args.output)?;
    let bytes = args.size + args.index;
    let memory = Buffer::anonymous(bytes as usize).map_err(mapping(bytes, None))?;
    let load = Load {
        case: args.case,
        told: args.told,
        table: args.size / PAGE_BYTES,
        index: args.index / PAGE_BYTES,
        rows: args.rows,
        seed: args.seed,
    };
    let found = hints::run(&load, &memory)?;
    let passes = untimed([("fill", found.filled), ("read", found.read)]);
    let params = Params {
        case: args.case,
        told: args.told,
        size_bytes: args.size,
        index_bytes: args.index,
        rows: args.rows,
        seed: args.seed,
    };
    let mismatches = found.mismatches;
    let report = Report::new(
        "hints",
        params,
        passes,
        &Histogram::new(),
        Extra { mismatches },
    );
    let said = if args.told { "told" } else { "not told" };
    let case = format!("{:?}", args.case).to_lowercase();
    let (table, index) = (Bytes(args.size), Bytes(args.index));
    let heading = format!("hints: {case}, {said}, table of {table}, index of {index}");
    let footer = format!("{mismatches} pages wrong");
    sink.write(&report, &heading, &footer)?;
    all_right(mismatches, footer)
}

fn check(args: &Args) -> Result<(), BadValue> {
    whole_pages("--size", args.size)?;
    whole_pages("--index", args.index)?;
    within("--rows", args.rows, 1 << 40)
}
