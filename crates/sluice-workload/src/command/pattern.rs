//! `workload pattern`.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use sluice_units::Bytes;

use super::mapping;
use super::pages::{at_most, whole_pages};
use crate::error::Error;
use crate::hist::Histogram;
use crate::memory::Buffer;
use crate::pattern::{self, Found, Load, THREADS_MAX};
use crate::report::{Output, Pass, Report, Sink};
use sluice_streams::BadValue;
use sluice_streams::plan::within;
use sluice_streams::size;

/// Flags of the pattern.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Bytes of the buffer, such as 256MiB
    #[arg(long, default_value = "256MiB", value_parser = size)]
    size: u64,
    /// Threads; they share every page
    #[arg(long, default_value_t = 8)]
    threads: u64,
    /// How long to write and check; 0 writes and checks every byte once
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Seed of the visits and of the pattern
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Map this file, made or extended as needed, instead of anonymous memory
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct Params {
    size_bytes: u64,
    threads: u64,
    seconds: u64,
    seed: u64,
    file: Option<PathBuf>,
}

#[derive(Serialize)]
struct Extra {
    words_checked: u64,
    words_written: u64,
    mismatches: u64,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    check(args)?;
    let sink = Sink::open(&args.output)?;
    let file = args.file.as_deref();
    let buffer = Buffer::open(file, args.size as usize).map_err(mapping(args.size, file))?;
    let (time, seed) = (Duration::from_secs(args.seconds), args.seed);
    let found = pattern::run(
        &Load {
            threads: args.threads,
            time,
            seed,
        },
        &buffer,
    )?;
    let Found {
        visits,
        words_checked,
        words_written,
        mismatches,
        ..
    } = found;
    let untimed = Histogram::new();
    let passes = vec![Pass::new(1, visits, found.wall_ns, &untimed)];
    let (size_bytes, threads) = (args.size, args.threads);
    let params = Params {
        size_bytes,
        threads,
        seconds: args.seconds,
        seed,
        file: args.file.clone(),
    };
    let extra = Extra {
        words_checked,
        words_written,
        mismatches,
    };
    let report = Report::new("pattern", params, passes, &untimed, extra);
    let heading = format!(
        "pattern: {}, {threads} threads, seed {seed}",
        Bytes(args.size)
    );
    let footer =
        format!("{words_written} words written, {words_checked} checked, {mismatches} wrong");
    sink.write(&report, &heading, &footer)?;
    if mismatches > 0 {
        return Err(Error::Mismatch {
            wrong: format!("{mismatches} words wrong"),
            examples: found.told,
        });
    }
    Ok(())
}

fn check(args: &Args) -> Result<(), BadValue> {
    within("--threads", args.threads, THREADS_MAX)?;
    whole_pages("--size", args.size)?;
    at_most("--seconds", args.seconds, u64::from(u32::MAX))
}
