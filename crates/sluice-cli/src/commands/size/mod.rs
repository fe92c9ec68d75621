//! `sluice size`: how large a cache a program needs.

mod live;
mod table;
mod trace;

use crate::emulator::part::mark_name;
use crate::error::{ArgumentError, Error};
use crate::live::args::TrapArg;
use crate::output;
use crate::result_args::{ResultArgs, keep};
use crate::settings::{self, DeviceArgs};
use crate::signals;
use clap::Args;
use sluice_model::cache::EvictionEntry;
use sluice_model::{DeviceConfig, EVICTIONS};
use sluice_params::nearest;
use sluice_results::{Folder, SizeMethod, SizeProfile, SizeResult, to_json, write_config};
use sluice_simulation::{SizePlan, Subject, Timing, Uses};
use sluice_units::{Bytes, Ratio};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
#[command(
    after_help = "One run answers for caches of all sizes. Of a trace every access is known, and \
                  misses of LRU are exact (stack distances; Mattson and others 1970). A program \
                  runs once, live, without the time of flash, and every use of a sample of its \
                  pages is a trap; with --filter, every miss of a small cache. Misses of other \
                  policies and run times are simulated from the same accesses. First accesses to a \
                  page miss in any cache and are counted apart. Sluice ends with the program's \
                  status."
)]
pub struct SizeArgs {
    #[command(flatten)]
    pub device: DeviceArgs,
    /// A trace of `sluice trace`, instead of a program
    #[arg(long, value_name = "FILE", conflicts_with = "program")]
    pub trace: Option<PathBuf>,
    /// Accesses of the trace before counting begins, such as 1M
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = sluice_units::parse_count)]
    pub warmup: u64,
    /// The hit ratio to be reached, such as 90%
    #[arg(long, value_name = "RATIO", default_value = "90%", value_parser = target)]
    pub target_hit_ratio: Ratio,
    /// Eviction policies besides LRU, such as fifo,s3fifo [default: the device's]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', value_parser = policy)]
    pub policies: Vec<Policy>,
    /// Sizes of the table [default: the footprint and its halves]
    #[arg(long, value_name = "SIZE,..", value_delimiter = ',')]
    pub sizes: Vec<Bytes>,
    /// Pages of which every use is a trap, at most
    #[arg(long, value_name = "N", conflicts_with_all = ["trace", "filter"],
          default_value_t = live::SAMPLE, value_parser = clap::value_parser!(u64).range(64..))]
    pub sample: u64,
    /// Have every miss of a cache of this size trap, instead of the uses of a sample of pages
    #[arg(long, value_name = "SIZE", conflicts_with = "trace")]
    pub filter: Option<Bytes>,
    /// Traps that are kept, at most; 8 bytes of memory each
    #[arg(long, value_name = "N", conflicts_with = "trace", default_value = "32M",
          value_parser = traps)]
    pub traps: u64,
    /// How a trap reaches the device, as of `sluice run`
    #[arg(long, conflicts_with = "trace", value_enum, default_value_t = TrapArg::Event)]
    pub trap: TrapArg,
    /// Count from the first mark of this name that the program sets (sluice_mark); what comes
    /// before fills the caches. A part of a program has no run time
    #[arg(long, value_name = "MARK", conflicts_with = "trace", value_parser = mark_name)]
    pub from: Option<String>,
    /// Count until this mark
    #[arg(long, value_name = "MARK", conflicts_with = "trace", value_parser = mark_name)]
    pub to: Option<String>,
    #[command(flatten)]
    pub result: ResultArgs,
    /// The program and its arguments
    #[arg(
        required_unless_present = "trace",
        trailing_var_arg = true,
        value_name = "PROG"
    )]
    pub program: Vec<OsString>,
}

/// A policy by its name.
#[derive(Clone, Copy, Debug)]
pub struct Policy(&'static EvictionEntry);

fn policy(name: &str) -> Result<Policy, ArgumentError> {
    let found = EVICTIONS.iter().find(|entry| entry.info.name == name);
    found.map(Policy).ok_or_else(|| {
        let names: Vec<_> = EVICTIONS.iter().map(|entry| entry.info.name).collect();
        let near = nearest(name, names.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        ArgumentError::Expected(format!("one of {}{near}", names.join(", ")))
    })
}

fn traps(text: &str) -> Result<u64, ArgumentError> {
    match sluice_units::parse_count(text)? {
        0 => Err(ArgumentError::Expected(
            "1 at least, such as 32M".to_owned(),
        )),
        traps => Ok(traps),
    }
}

fn target(text: &str) -> Result<Ratio, ArgumentError> {
    let ratio: Ratio = text.parse()?;
    match ratio.num() > 0 && ratio.num() <= ratio.den() {
        true => Ok(ratio),
        false => Err(ArgumentError::Expected(
            "more than 0% and at most 100%, such as 90%".to_owned(),
        )),
    }
}

/// What is known of a program before anything is computed.
struct Seen<'a> {
    workload: &'a str,
    method: SizeMethod,
    uses: Uses,
    profile: Option<SizeProfile>,
}

/// Finds out, and prints.
pub fn run(args: &SizeArgs) -> Result<ExitCode, Error> {
    let config = settings::resolve(&args.device)?;
    check(args, &config)?;
    let folder = args.result.folder()?;
    match &args.trace {
        Some(path) => trace::run(path, args, &config, folder.as_ref()),
        None => live::run(args, &config, folder.as_ref()),
    }
}

/// Finds what cannot be before the program runs.
fn check(args: &SizeArgs, config: &DeviceConfig) -> Result<(), Error> {
    if config.memory.is_some() {
        let why = "it is a memory expander, which has no cache; choose one with flash";
        return Err(Error::unfit(
            format!("--device {}", args.device.device),
            why,
        ));
    }
    if let (Some(path), []) = (&config.cache.plugin, &args.policies[..]) {
        let why = "misses of a shared object are not known at every size; give --policies";
        return Err(Error::value("cache.policy", path, why));
    }
    if args.trace.is_none() && config.page_bytes() != sluice_units::PAGE_BYTES {
        return Err(Error::NotLive {
            key: "device.page",
            value: Bytes(config.page_bytes()).to_string(),
            why: "pages are the host's",
            expected: "4KiB, or --trace",
        });
    }
    if args.trace.is_none() && args.warmup > 0 {
        let why = "it is of a --trace; of a program --from MARK counts a part";
        return Err(Error::value("--warmup", args.warmup, why));
    }
    let (page, all) = (Bytes(config.page_bytes()), config.capacity());
    match args.sizes.iter().find(|size| **size < page || **size > all) {
        Some(size) => {
            let why = format!("expected sizes from a page, {page}, to device.capacity, {all}");
            Err(Error::value("--sizes", size, why))
        }
        None => Ok(()),
    }
}

/// Computes and prints.
fn answer(
    args: &SizeArgs,
    config: &DeviceConfig,
    seen: &Seen<'_>,
    timing: &Timing<'_>,
    folder: Option<&Folder>,
) -> Result<(), Error> {
    let policies = match args.policies.is_empty() {
        true => config.cache.built_in().into_iter().collect(),
        false => args.policies.iter().map(|policy| policy.0).collect(),
    };
    let plan = SizePlan {
        of: Subject {
            device: &args.device.device,
            config,
            workload: seen.workload,
            seed: args.device.seed,
            uses: &seen.uses,
        },
        target: args.target_hit_ratio,
        policies,
        sizes: args.sizes.clone(),
        method: seen.method,
        profile: seen.profile,
    };
    signals::await_interrupt();
    let Some(result) = plan.run(timing, &signals::is_interrupted)? else {
        let (done, of) = (0, "sizes");
        return Err(Error::Interrupted { done, of });
    };
    let kept = keep(folder, |folder| {
        folder.write("config.toml", write_config(config, args.device.seed))?;
        folder.write_stats(&result)
    });
    print(args, &result)?;
    unknown(&args.sizes, &result);
    if config.cache.ways < config.cache.pages {
        errln!(
            "sluice: warning: hits are those of caches in which a page may be anywhere; \
             cache.ways={} counts in run times only",
            config.cache.ways
        );
    }
    kept
}

/// Names the sizes that the table leaves out.
fn unknown(asked: &[Bytes], result: &SizeResult) {
    let unknown = asked.iter().filter(|size| size.0 < result.smallest_bytes);
    let unknown: Vec<String> = unknown.map(Bytes::to_string).collect();
    if !unknown.is_empty() {
        let (sizes, from) = (unknown.join(", "), Bytes(result.smallest_bytes));
        errln!("sluice: warning: --sizes {sizes}: this run knows nothing of caches below {from}");
    }
}

fn print(args: &SizeArgs, result: &SizeResult) -> Result<(), Error> {
    match (args.result.json, &args.trace) {
        (true, Some(_)) => outln!("{}", to_json(result)),
        (true, None) => output::after_program(to_json(result)),
        (false, _) => table::print(result),
    }
}
