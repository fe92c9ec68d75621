//! `workload kv`.

use serde::Serialize;
use sluice_units::Bytes;

use super::ops::{OpReport, op_reports};
use crate::error::Error;
use crate::hist::Histogram;
use crate::kv::{self, Load, Measured};
use crate::report::{Output, Pass, Report, Sink};
use sluice_streams::BadValue;
use sluice_streams::plan::{THREADS_MAX, within};
use sluice_streams::size;
use sluice_streams::ycsb::{Distribution, Mix};

/// Flags of the store.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// YCSB core workload
    #[arg(long, default_value = "C")]
    mix: Mix,
    /// Records at the start
    #[arg(long, default_value_t = 100_000)]
    records: u64,
    /// Operations over all threads
    #[arg(long, default_value_t = 100_000)]
    ops: u64,
    /// Bytes of a value, such as 1KiB
    #[arg(long, default_value = "1024", value_parser = size)]
    value_size: u64,
    /// Which records are popular [default: what YCSB gives the mix]
    #[arg(long)]
    distribution: Option<Distribution>,
    /// Threads
    #[arg(long, default_value_t = 1)]
    threads: u64,
    /// Seed of keys, operations and values
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Read every record back at the end
    #[arg(long)]
    sweep: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct Params {
    mix: Mix,
    distribution: Distribution,
    records: u64,
    ops: u64,
    value_bytes: u64,
    threads: u64,
    seed: u64,
    sweep: bool,
}

#[derive(Serialize)]
struct Extra {
    requests: u64,
    errors: u64,
    mismatches: u64,
    values_checked: u64,
    records_at_end: u64,
    ops: Vec<OpReport>,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let load = check(args)?;
    let sink = Sink::open(&args.output)?;
    let measured = kv::run(&load);
    let report = report(args, &load, &measured);
    let heading = format!(
        "kv: YCSB-{:?}, {} records of {}, {} operations, {} threads, seed {}",
        load.mix,
        load.records,
        Bytes(args.value_size),
        load.ops,
        load.threads,
        load.seed
    );
    let footer = format!(
        "{}{} values checked, {} wrong",
        super::ops::table(&report.extra.ops),
        measured.checked,
        measured.mismatches
    );
    sink.write(&report, &heading, &footer)?;
    super::ops::verdict(measured.mismatches, &measured.told)
}

fn check(args: &Args) -> Result<Load, BadValue> {
    within("--records", args.records, u64::from(u32::MAX))?;
    within("--ops", args.ops, 1 << 48)?;
    within("--threads", args.threads, THREADS_MAX as u64)?;
    super::ops::check_value_size(args.value_size)?;
    Ok(Load {
        mix: args.mix,
        distribution: args.distribution.unwrap_or(args.mix.distribution()),
        records: args.records,
        ops: args.ops,
        value_bytes: args.value_size as usize,
        threads: args.threads as usize,
        seed: args.seed,
        sweep: args.sweep,
    })
}

fn report(args: &Args, load: &Load, measured: &Measured) -> Report<Params, Extra> {
    let untimed = Histogram::new();
    let mut passes = vec![
        Pass::new(1, load.records, measured.load_ns, &untimed).named("load"),
        Pass::new(2, load.ops, measured.run_ns, measured.all).named("run"),
    ];
    if let Some(ns) = measured.sweep_ns {
        passes.push(Pass::new(3, measured.records, ns, &untimed).named("sweep"));
    }
    let params = Params {
        mix: load.mix,
        distribution: load.distribution,
        records: load.records,
        ops: load.ops,
        value_bytes: args.value_size,
        threads: args.threads,
        seed: load.seed,
        sweep: load.sweep,
    };
    let extra = Extra {
        requests: measured.all.count(),
        errors: 0,
        mismatches: measured.mismatches,
        values_checked: measured.checked,
        records_at_end: measured.records,
        ops: op_reports(measured.by_op),
    };
    Report::new("kv", params, passes, measured.all, extra)
}
