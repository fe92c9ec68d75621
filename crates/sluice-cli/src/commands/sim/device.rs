//! `sluice sim`: a workload on the device, in virtual time.

use super::{HitsArg, SimArgs, Warmup, trace};
use crate::error::Error;
use crate::live::fitness::check_hidden_hits;
use crate::output::{Rows, parts};
use crate::progress::Progress;
use crate::result_args::keep;
use crate::{settings, signals, traces, warn};
use sluice_driver::Visibility;
use sluice_model::DeviceConfig;
use sluice_replay::{AskedStream, Replay};
use sluice_results::{SimResult, to_json, write_config};
use sluice_simulation::{Plan, RunError, STOP_EVERY, no_bound};
use sluice_streams::{Spec, Stream};
use std::cell::Cell;
use std::path::Path;
use std::process::ExitCode;

/// Simulates and prints.
pub fn run(args: &SimArgs) -> Result<ExitCode, Error> {
    let config = settings::resolve(&args.device)?;
    let workload = Workload::read(args)?;
    let warmup = workload.warmup(args)?;
    can_bound(args, &config, warmup)?;
    let (name, footprint, room) = (
        workload.name(),
        workload.footprint_bytes(),
        config.capacity(),
    );
    if footprint > room.0 {
        return Err(Error::TooLarge {
            workload: name,
            bytes: footprint,
            room: room.0,
        });
    }
    let streams = workload.streams(args, &config)?;
    let folder = args.result.folder()?;
    let visibility = visibility(args, &config)?;
    let plan = Plan {
        device: &args.device.device,
        config: &config,
        workload: &name,
        visibility,
        seed: args.device.seed,
        bound: args.bound,
        histogram: args.histogram,
        warmup,
    };
    signals::await_interrupt();
    let progress = Progress::new(workload.accesses(), "accesses");
    let done = Cell::new(0);
    let result = streams.run(&plan, || {
        done.set(done.get() + STOP_EVERY);
        progress.show(done.get());
        signals::is_interrupted()
    });
    progress.end();
    let result = result?;
    workload.failed()?;
    let Some(result) = result else {
        let (done, of) = (done.get(), "accesses");
        return Err(Error::Interrupted { done, of });
    };
    if result.accesses == 0 && result.block.is_none() {
        check_warmup(args)?;
    }
    let kept = keep(folder.as_ref(), |folder| {
        folder.write("config.toml", write_config(&config, args.device.seed))?;
        folder.write_stats(&result)
    });
    warn::of_counts(&result.cache.counts, &result.flash.counts);
    if args.result.json {
        outln!("{}", to_json(&result))?;
    } else {
        table(&result).print()?;
        let cache = &result.cache;
        warn::of_room(
            cache.counts.evictions,
            cache.misses,
            config.cache.capacity().0,
        );
    }
    kept.map(|()| ExitCode::SUCCESS)
}

/// What the device sees, if such a device can be.
fn visibility(args: &SimArgs, config: &DeviceConfig) -> Result<Visibility, Error> {
    match args.hits {
        HitsArg::All => Ok(Visibility::All),
        HitsArg::Misses => {
            check_hidden_hits(&args.device, config)?;
            Ok(Visibility::Misses)
        }
    }
}

/// Of a run whose accesses do not count: refuses the warm-up that took them all.
fn check_warmup(args: &SimArgs) -> Result<(), Error> {
    match args.host.warmup {
        None | Some(Warmup::Count(0) | Warmup::Passes(0)) => Ok(()),
        Some(given) => {
            let why = "the workload has no more accesses than that";
            Err(Error::value("--warmup", given, why))
        }
    }
}

/// Refuses `--bound` where there is no bound.
fn can_bound(args: &SimArgs, config: &DeviceConfig, warmup: u64) -> Result<(), Error> {
    match no_bound(config, warmup) {
        Some(why) if args.bound => Err(Error::unfit("--bound", why)),
        _ => Ok(()),
    }
}

/// What each requester asks for.
enum Streams {
    Accesses(Vec<Stream>),
    Asked(Vec<AskedStream>),
}

impl Streams {
    fn run(self, plan: &Plan<'_>, stop: impl Fn() -> bool) -> Result<Option<SimResult>, RunError> {
        match self {
            Streams::Accesses(streams) => plan.run(streams, stop),
            Streams::Asked(streams) => plan.run_asked(streams, stop),
        }
    }
}

/// What the requesters of a device do.
enum Workload<'a> {
    Pattern(&'a str, Spec),
    Trace(&'a Path, Replay),
}

impl<'a> Workload<'a> {
    fn read(args: &'a SimArgs) -> Result<Workload<'a>, Error> {
        if let Some(path) = &args.trace {
            return Ok(Workload::Trace(path, trace(path, args)?));
        }
        let text = args.workload.as_deref().unwrap_or_default();
        Ok(Workload::Pattern(
            text,
            sluice_kernels::parse_stream(text, args.device.seed)?,
        ))
    }

    fn name(&self) -> String {
        match self {
            Workload::Pattern(text, _) => (*text).to_owned(),
            Workload::Trace(path, _) => traces::name_of(path),
        }
    }

    /// How many there are, if that is known.
    fn accesses(&self) -> Option<u64> {
        match self {
            Workload::Pattern(..) => None,
            Workload::Trace(_, replay) => Some(replay.accesses()),
        }
    }

    fn footprint_bytes(&self) -> u64 {
        match self {
            Workload::Pattern(_, spec) => spec.footprint_bytes(),
            Workload::Trace(_, replay) => replay.footprint().0,
        }
    }

    fn streams(&self, args: &SimArgs, config: &DeviceConfig) -> Result<Streams, Error> {
        let (path, replay) = match self {
            Workload::Pattern(_, spec) => return Ok(Streams::Accesses(spec.streams())),
            Workload::Trace(path, replay) => (path, replay),
        };
        let of = |error| traces::at(path, error);
        if !replay.has_blocks() {
            return replay.streams().map(Streams::Accesses).map_err(of);
        }
        if config.memory.is_some() {
            let why = "it has requests by the block door, and the device is a memory expander \
                       (device.kind): it has no such door";
            return Err(Error::unfit(path.display(), why));
        }
        if args.bound {
            let why = "the trace has requests by the block door, which change the cache";
            return Err(Error::unfit("--bound", why));
        }
        let asked = replay.asked(config.pages.into(), config.page_bytes());
        asked.map(Streams::Asked).map_err(of)
    }

    /// Accesses before counting begins.
    fn warmup(&self, args: &SimArgs) -> Result<u64, Error> {
        match args.host.warmup {
            None => Ok(0),
            Some(Warmup::Count(count)) => Ok(count),
            Some(Warmup::Passes(passes)) => {
                let per_pass = match self {
                    Workload::Pattern(_, spec) => spec.accesses_per_pass(),
                    Workload::Trace(..) => None,
                };
                let why = "the workload has no passes; expected accesses, such as 20M";
                let none = || Error::value("--warmup", Warmup::Passes(passes), why);
                Ok(passes.saturating_mul(per_pass.ok_or_else(none)?))
            }
        }
    }

    /// Whether the trace could not be read to its end.
    fn failed(&self) -> Result<(), Error> {
        match self {
            Workload::Pattern(..) => Ok(()),
            Workload::Trace(path, replay) => traces::failed(path, replay),
        }
    }
}

fn table(result: &SimResult) -> Rows {
    let mut rows = Rows::new(20);
    let mut row = |name: &str, value: String| rows.row(name, value);
    let (cache, latency) = (&result.cache, &result.latency_ns.accesses);
    row("workload", result.workload.clone());
    row("accesses", result.accesses.to_string());
    if result.warmup_accesses > 0 {
        row("after, to warm up", result.warmup_accesses.to_string());
    }
    row("traps", result.traps.to_string());
    row("cache hits", cache.hits.to_string());
    row("cache misses", cache.misses.to_string());
    if let Some(optimum) = cache.optimum_misses {
        row("optimum misses", optimum.to_string());
    }
    row("of them, first", cache.counts.first_misses.to_string());
    let ratios = [
        ("hit ratio, %", cache.hit_ratio),
        ("without first, %", cache.reuse_hit_ratio),
    ];
    for (name, ratio) in ratios {
        if let Some(ratio) = ratio {
            row(name, format!("{:.4}", ratio * 100.0));
        }
    }
    row("evictions", cache.counts.evictions.to_string());
    row("dirty evictions", cache.counts.dirty_evictions.to_string());
    if result.accesses > 0 {
        row("latency mean, ns", format!("{:.1}", latency.mean));
        // Hits that the device does not see are among the accesses, and have no parts.
        let whole = if result.mapped_hits > 0 {
            "of a trap, ns"
        } else {
            "of it"
        };
        row(whole, parts(result.latency_parts_ns.named()));
        row("latency p50, ns", format!("{:.1}", latency.p50));
        row("latency p99, ns", format!("{:.1}", latency.p99));
    }
    if let Some(block) = &result.block {
        let pages = [
            (block.pages_read, "read"),
            (block.pages_written, "written"),
            (block.pages_trimmed, "trimmed"),
            (block.pages_flushed, "flushed"),
        ];
        let pages = pages.map(|(count, what)| format!("{count} {what}"));
        row("block requests", block.requests.to_string());
        row("pages by them", pages.join(", "));
        row(
            "their mean, ns",
            format!("{:.1}", block.latency_ns.summary.mean),
        );
    }
    row("flash reads", result.flash.counts.reads.to_string());
    row("flash programs", result.flash.counts.programs.to_string());
    row("simulated time, s", to_json(&result.sim_time_s).to_string());
    row("result hash", result.hash.clone());
    rows
}
