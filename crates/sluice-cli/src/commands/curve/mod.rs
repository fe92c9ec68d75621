//! `sluice curve`: bandwidth against latency.

mod fabric;
mod measured;
mod numa;
mod room;
mod system;
mod table;

use crate::error::Error;
use crate::live::fitness::check_live;
use crate::result_args::{ResultArgs, keep};
use crate::settings::{self, DeviceArgs};
use crate::signals;
use clap::{Args, ValueEnum};
use sluice_driver::{Start, Store, Traffic, Walk};
use sluice_results::{CurveResult, Folder, to_json, write_config};
use sluice_simulation::CurvePlan;
use sluice_units::{Bytes, LINE_BYTES, Ps};
use std::process::ExitCode;

/// Paces from far below what a device can do to as fast as it goes.
const PACES: [Ps; 9] = [
    Ps::from_us(5),
    Ps::from_us(1),
    Ps::from_ns(250),
    Ps::from_ns(120),
    Ps::from_ns(60),
    Ps::from_ns(40),
    Ps::from_ns(30),
    Ps::from_ns(20),
    Ps::ZERO,
];
/// Threads by default.
const THREADS: u32 = 8;
/// Bytes of a region and of the dependent loads by default.
const SIZE: Bytes = Bytes(16 << 20);
const CHASE: Bytes = Bytes(1 << 20);
/// Linux' slice of a thread that shares its core, as os.slice of a simulated host.
const SLICE: Ps = Ps::from_us(3_000);

#[derive(Debug, Args)]
#[command(
    after_help = "Threads load and store in regions of their own, faster from one pace to the \
                  next, and one thread more makes dependent loads beside them: the bandwidth that \
                  the first reach against the latency that the last one sees. The knee is the pace \
                  at which bandwidth by latency is largest. --on says of what: a simulated device \
                  alone, in virtual time; a program whose memory is on the device, live; or the \
                  memory of this host. --system measures a simulated host with its device, \
                  --fabric the requesters of a simulated fabric. What is smaller than the caches \
                  of a host is measured in them."
)]
pub struct CurveArgs {
    #[command(flatten)]
    pub device: DeviceArgs,
    /// What is measured
    #[arg(long, value_enum, default_value_t = OnArg::Simulated)]
    pub on: OnArg,
    /// A simulated host with its device: a name of `sluice system list`, or the path of a .toml
    /// file; --set changes its settings too
    #[arg(long, value_name = "SYSTEM", conflicts_with = "device")]
    pub system: Option<String>,
    /// A simulated fabric: a name of `sluice fabric list`, or the path of a .toml file; --set
    /// changes its settings too
    #[arg(long, value_name = "FABRIC", conflicts_with_all = ["device", "system"])]
    pub fabric: Option<String>,
    /// Divide by N the capacities of the system that `sluice sim --scale N` divides
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub scale: u32,
    /// Bind the memory to this NUMA node. --on host
    #[arg(long, value_name = "N")]
    pub numa_node: Option<u32>,
    /// Threads, each in a region of its own. 0: the dependent loads alone [default: 8; of a system
    /// all of its cores but one, of a fabric all of its requesters but one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=4096))]
    pub threads: Option<u32>,
    /// Bytes of each region [default: 16MiB; of a system, as much as makes twice its L3; of a
    /// fabric, 1MiB]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Bytes from one place to the next: a multiple of 64
    #[arg(long, value_name = "SIZE", default_value = "64B")]
    pub stride: Bytes,
    /// Draw each place, instead of going by address
    #[arg(long)]
    pub random: bool,
    /// Loads of 100 accesses; the others are stores
    #[arg(long, value_name = "PERCENT", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(0..=100))]
    pub reads: u32,
    /// How a thread stores
    #[arg(long, value_enum, default_value_t = StoreArg::Cached)]
    pub store: StoreArg,
    /// Accesses of a thread under way at once. Simulated; elsewhere the processor decides
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub depth: Option<u32>,
    /// Times from an access of a thread to its next, at least [default: nine from 5us to 0ns; of a
    /// system or a fabric, ten from 1us; without threads 0ns]
    #[arg(long, value_name = "TIME,..", value_delimiter = ',')]
    pub pace: Vec<Ps>,
    /// Cores that the threads share; 0: one for each
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=4096))]
    pub cores: u32,
    /// Beside each thread a helper runs so far ahead and loads a line of each page. Simulated
    #[arg(long, value_name = "SIZE", default_value = "0B")]
    pub ahead: Bytes,
    /// Bytes in which the dependent loads are made. 0B: there are none [default: 1MiB; of a
    /// system, four times its L3]
    #[arg(long, value_name = "SIZE")]
    pub chase: Option<Bytes>,
    /// Times that each thread goes through its region
    #[arg(long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub passes: u64,
    /// What of the regions is cached at the start
    #[arg(long, value_enum, default_value_t = StartArg::Warm)]
    pub start: StartArg,
    #[command(flatten)]
    pub result: ResultArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnArg {
    /// The device model alone, in virtual time
    Simulated,
    /// A program whose memory is on the device, in wall time
    Live,
    /// A program on this host's own memory, in wall time
    Host,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoreArg {
    /// Through the host's caches: the line is read, and written when it leaves them
    Cached,
    /// Past the host's caches: the line is written and not read
    Nontemporal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StartArg {
    /// Each page was loaded once
    Warm,
    /// None was
    Cold,
}

/// Accesses of a thread under way by default: the line fill buffers of a core.
const DEPTH: u32 = 16;

/// What is measured, with what was not asked for.
struct Asked {
    traffic: Traffic,
    paces: Vec<Ps>,
}

/// Measures and prints.
pub fn run(args: &CurveArgs) -> Result<ExitCode, Error> {
    fits(args)?;
    if let Some(name) = &args.system {
        return system::run(name, args);
    }
    if let Some(name) = &args.fabric {
        return fabric::run(name, args);
    }
    let threads = args.threads.unwrap_or(THREADS);
    let paces = paces(args, threads, &PACES);
    let (size, chase) = (args.size.unwrap_or(SIZE), args.chase.unwrap_or(CHASE));
    let traffic = traffic(args, threads, size, chase)?;
    let asked = Asked { traffic, paces };
    let config = settings::resolve(&args.device)?;
    match args.on {
        OnArg::Host => room::on_host(&asked.traffic)?,
        OnArg::Live => check_live(&args.device, &config)?,
        OnArg::Simulated => {}
    }
    if args.on != OnArg::Host {
        let of = room::Room {
            of: "the device has",
            bytes: config.capacity().0,
            more: ", or a larger device.capacity",
        };
        of.takes(&asked.traffic)?;
    }
    let folder = args.result.folder()?;
    signals::await_interrupt();
    let result = match args.on {
        OnArg::Simulated => CurvePlan {
            device: &args.device.device,
            config: &config,
            traffic: asked.traffic,
            paces: &asked.paces,
        }
        .run(signals::is_interrupted)?,
        OnArg::Live | OnArg::Host => measured::run(args, &asked, &config)?,
    };
    let config = (args.on != OnArg::Host).then(|| write_config(&config, args.device.seed));
    finish(args, folder.as_ref(), result, config)
}

/// Keeps and prints what came out.
fn finish(
    args: &CurveArgs,
    folder: Option<&Folder>,
    result: Option<CurveResult>,
    config: Option<String>,
) -> Result<ExitCode, Error> {
    let Some(result) = result else {
        let (done, of) = (0, "curves");
        return Err(Error::Interrupted { done, of });
    };
    let kept = keep(folder, |folder| {
        if let Some(config) = config {
            folder.write("config.toml", config)?;
        }
        folder.write_stats(&result)
    });
    match args.result.json {
        true => outln!("{}", to_json(&result))?,
        false => table::print(&result)?,
    }
    kept.map(|()| ExitCode::SUCCESS)
}

/// The paces that were asked for, or these; without threads nobody has one.
fn paces(args: &CurveArgs, threads: u32, usual: &[Ps]) -> Vec<Ps> {
    match (args.pace.is_empty(), threads) {
        (true, 0) => vec![Ps::ZERO],
        (true, _) => usual.to_vec(),
        (false, _) => args.pace.clone(),
    }
}

/// Refuses what only a simulation can do.
fn fits(args: &CurveArgs) -> Result<(), Error> {
    numa::fits(args.numa_node, args.on)?;
    if args.on == OnArg::Simulated {
        return Ok(());
    }
    let simulated = "only --on simulated has it: elsewhere the processor decides";
    if args.depth.is_some() {
        return Err(Error::unfit("--depth", simulated));
    }
    if args.ahead.0 > 0 {
        let why = "only --on simulated has helpers";
        return Err(Error::unfit("--ahead", why));
    }
    if args.on == OnArg::Host && args.start == StartArg::Cold {
        let why = "the host's own memory has no flash behind it; leave --start out";
        return Err(Error::unfit("--start cold", why));
    }
    if args.on == OnArg::Host && !args.device.set.is_empty() {
        let why = "the host's own memory has no settings; choose --on simulated or live";
        return Err(Error::unfit("--set", why));
    }
    if args.on == OnArg::Host && args.device.device != sluice_config::DEFAULT {
        let what = format!("--device {}", args.device.device);
        let why = "--on host measures this host's own memory and no device; leave --device out";
        return Err(Error::unfit(what, why));
    }
    Ok(())
}

/// What the threads do, checked.
fn traffic(args: &CurveArgs, threads: u32, size: Bytes, chase: Bytes) -> Result<Traffic, Error> {
    let (size, stride, chase) = (size.0, args.stride.0, chase.0);
    if stride == 0 || !stride.is_multiple_of(LINE_BYTES) {
        let expected = "expected a positive multiple of 64 bytes";
        return Err(Error::value("--stride", args.stride, expected));
    }
    if args.size.is_none() && !size.is_multiple_of(stride) {
        let expected = format!(
            "expected a part of a region, {}, or --size too",
            Bytes(size)
        );
        return Err(Error::value("--stride", args.stride, expected));
    }
    if size < stride || !size.is_multiple_of(stride) {
        let expected = format!(
            "expected a positive multiple of the stride, {}",
            args.stride
        );
        return Err(Error::value("--size", Bytes(size), &expected));
    }
    if !chase.is_multiple_of(LINE_BYTES) {
        let expected = "expected a multiple of 64 bytes, or 0B for no dependent loads";
        return Err(Error::value("--chase", Bytes(chase), expected));
    }
    if threads == 0 && chase == 0 {
        return Err(Error::unfit(
            "--threads 0",
            "nothing is left to do without --chase",
        ));
    }
    let Some(over_all) = u64::from(threads).checked_mul(size) else {
        let expected = "expected less than 16 EiB over all threads";
        return Err(Error::value("--size", Bytes(size), expected));
    };
    let with_chase = over_all.checked_add(chase);
    if with_chase.is_none_or(|all| all.checked_mul(args.passes).is_none()) {
        let expected = "expected less than 16 EiB to go through in all";
        return Err(Error::value("--passes", args.passes, expected));
    }
    Ok(Traffic {
        threads,
        size,
        stride,
        walk: match args.random {
            true => Walk::Random,
            false => Walk::InOrder,
        },
        reads: args.reads,
        store: match args.store {
            StoreArg::Cached => Store::Cached,
            StoreArg::Nontemporal => Store::NonTemporal,
        },
        depth: args.depth.unwrap_or(DEPTH),
        pace: Ps::ZERO,
        cores: args.cores,
        slice: SLICE,
        ahead: args.ahead.0,
        chase,
        passes: args.passes,
        start: match args.start {
            StartArg::Warm => Start::Warm,
            StartArg::Cold => Start::Cold,
        },
        seed: args.device.seed,
    })
}
