//! `workload redis`.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::Serialize;
use sluice_units::{Bytes, Ratio};

use super::ops::{self, OpReport};
use crate::error::Error;
use crate::hist::Histogram;
use crate::redis::{self, Address, Load, Measured, Save};
use crate::report::{Output, Pass, Report, Sink};
use sluice_streams::BadValue;
use sluice_streams::plan::{THREADS_MAX, within};
use sluice_streams::size;
use sluice_streams::ycsb::{Distribution, Mix};

/// Flags of the load generator.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Host of the server
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Port of the server
    #[arg(long, default_value_t = 6379)]
    port: u16,
    /// Unix socket of the server, instead of host and port
    #[arg(long, value_name = "PATH", conflicts_with_all = ["host", "port"])]
    socket: Option<PathBuf>,
    /// YCSB core workload; E is not there, a server of strings has no scans
    #[arg(long, default_value = "C")]
    mix: Mix,
    /// Records at the start
    #[arg(long, default_value_t = 100_000)]
    records: u64,
    /// Operations over all connections
    #[arg(long, default_value_t = 100_000)]
    ops: u64,
    /// Bytes of a value, such as 1KiB
    #[arg(long, default_value = "1024", value_parser = size)]
    value_size: u64,
    /// Connections, each with a thread and one request under way
    #[arg(long, default_value_t = 8)]
    connections: u64,
    /// Which records are popular [default: what YCSB gives the mix]
    #[arg(long)]
    distribution: Option<Distribution>,
    /// What to do
    #[arg(long, default_value = "both")]
    phase: Phase,
    /// Begin a background save after this share of the operations, and wait for it
    #[arg(long, value_name = "FRACTION")]
    bgsave_at: Option<Ratio>,
    /// Seed of keys, operations and values
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Phase {
    /// Write all records
    Load,
    /// Run the operations
    Run,
    /// Read all records back
    Verify,
    /// Load, then run
    Both,
    /// Load, run, then verify
    All,
}

#[derive(Serialize)]
struct Params {
    server: String,
    mix: Mix,
    distribution: Distribution,
    records: u64,
    ops: u64,
    value_bytes: u64,
    connections: u64,
    phase: Phase,
    seed: u64,
}

#[derive(Serialize)]
struct Extra {
    requests: u64,
    errors: u64,
    mismatches: u64,
    values_checked: u64,
    bgsave: Option<Save>,
    ops: Vec<OpReport>,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let load = check(args)?;
    let sink = Sink::open(&args.output)?;
    let measured = redis::run(&load)?;
    let report = report(args, &load, &measured);
    let heading = format!(
        "redis at {}: YCSB-{:?}, {} records of {}, {} operations, {} connections, seed {}",
        load.address,
        load.mix,
        load.records,
        Bytes(args.value_size),
        load.ops,
        load.connections,
        load.seed
    );
    sink.write(&report, &heading, &footer(&measured, &report.extra.ops))?;
    ops::verdict(measured.mismatches, &measured.told)?;
    if measured.errors > 0 {
        let told = measured.errors_told.join("\n");
        return Err(Error::Server(format!(
            "{} requests failed\n{told}",
            measured.errors
        )));
    }
    Ok(())
}

fn check(args: &Args) -> Result<Load, BadValue> {
    if args.mix == Mix::E {
        return Err(BadValue::new(
            "--mix",
            "E",
            "A, B, C, D or F: there are no scans",
        ));
    }
    within("--records", args.records, u64::from(u32::MAX))?;
    within("--ops", args.ops, u64::from(u32::MAX))?;
    within("--connections", args.connections, THREADS_MAX as u64)?;
    ops::check_value_size(args.value_size)?;
    let has = |phases: &[Phase]| phases.contains(&args.phase);
    let run = has(&[Phase::Run, Phase::Both, Phase::All]);
    if let Some(share) = args.bgsave_at {
        if share.num() > share.den() {
            let expected = "a share of the operations from 0 to 1, such as 0.5";
            return Err(BadValue::new("--bgsave-at", share, expected));
        }
        if !run {
            return Err(BadValue::new(
                "--bgsave-at",
                share,
                "a phase that runs operations",
            ));
        }
    }
    let address = match &args.socket {
        Some(path) => Address::Unix(path.clone()),
        None => Address::Tcp(args.host.clone(), args.port),
    };
    Ok(Load {
        address,
        mix: args.mix,
        distribution: args.distribution.unwrap_or(args.mix.distribution()),
        records: args.records,
        ops: args.ops,
        value_bytes: args.value_size as usize,
        connections: args.connections as usize,
        seed: args.seed,
        load: has(&[Phase::Load, Phase::Both, Phase::All]),
        run,
        verify: has(&[Phase::Verify, Phase::All]),
        bgsave_at: args.bgsave_at.map(|share| share.floor_of(args.ops)),
    })
}

fn report(args: &Args, load: &Load, measured: &Measured) -> Report<Params, Extra> {
    let untimed = Histogram::new();
    let passes = measured.phases.iter().enumerate().map(|(i, phase)| {
        let hist = if phase.name == "run" {
            &measured.all
        } else {
            &untimed
        };
        Pass::new(i + 1, phase.requests, phase.wall_ns, hist).named(phase.name)
    });
    let params = Params {
        server: load.address.to_string(),
        mix: load.mix,
        distribution: load.distribution,
        records: load.records,
        ops: load.ops,
        value_bytes: args.value_size,
        connections: args.connections,
        phase: args.phase,
        seed: load.seed,
    };
    let extra = Extra {
        requests: measured.phases.iter().map(|phase| phase.requests).sum(),
        errors: measured.errors,
        mismatches: measured.mismatches,
        values_checked: measured.checked,
        bgsave: measured.save.clone(),
        ops: ops::op_reports(&measured.by_op),
    };
    Report::new("redis", params, passes.collect(), &measured.all, extra)
}

fn footer(measured: &Measured, reports: &[OpReport]) -> String {
    let save = measured.save.as_ref().map_or_else(String::new, |save| {
        let Save {
            at_request,
            requests_meanwhile,
            seconds,
            status,
        } = save;
        format!(
            "BGSAVE after {at_request} requests: {status} in {seconds:.2} s, \
             {requests_meanwhile} requests meanwhile\n"
        )
    });
    let (checked, wrong, errors) = (measured.checked, measured.mismatches, measured.errors);
    let table = ops::table(reports);
    format!("{table}{save}{checked} values checked, {wrong} wrong, {errors} requests failed")
}
