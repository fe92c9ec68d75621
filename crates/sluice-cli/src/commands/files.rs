//! `sluice files`: the same data reached as a file, through what an operating system has for that.

use crate::error::Error;
use crate::output::Rows;
use crate::result_args::{ResultArgs, keep};
use crate::settings::{self, DeviceArgs};
use crate::signals;
use clap::{Args, ValueEnum};
use sluice_driver::{Advice, Door, FileTraffic, HostCosts};
use sluice_model::{DeviceConfig, DeviceKind};
use sluice_results::{FilesResult, to_json, write_config};
use sluice_simulation::FilesPlan;
use sluice_units::{Bytes, Ps, round_bytes};
use std::fmt::Display;
use std::process::ExitCode;

// Defaults of options that only some ways use. Clap knows none: whether they are given decides.
const HOST_CACHE: Bytes = Bytes::from_mib(48);
const READAHEAD: Bytes = Bytes::from_kib(128);
const MINOR_FAULT: Ps = Ps::from_ns(500);
const LOOKUP: Ps = Ps::from_us(1);
const COPY: Ps = Ps::from_ns(400);
const DEPTH: u32 = 16;

#[derive(Debug, Args)]
#[command(
    after_help = "A simulation, in virtual time. Through all but file the device \
                  is an SSD that is asked for whole pages, and a thread that waits for it leaves \
                  its core to another. Through file it is memory, from and to which a file system \
                  copies line by line, and a thread that waits for a load keeps its core. Times of \
                  the host's software have no source but measurements of such hosts: set those of \
                  yours. Only the last pass is counted."
)]
pub struct FilesArgs {
    #[command(flatten)]
    pub device: DeviceArgs,
    /// How threads reach their data
    #[arg(long, value_enum)]
    pub through: ThroughArg,
    /// Threads, each with a part of the file
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: u32,
    /// Cores that they share [default: one for each]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cores: Option<u32>,
    /// Bytes of each part
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub size: Bytes,
    /// Bytes of a request, in whole pages; through mmap a page
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    pub io: Bytes,
    /// Requests in the order of a permutation, the same in each pass
    #[arg(long)]
    pub random: bool,
    /// Requests write
    #[arg(long)]
    pub write: bool,
    /// Times through the file
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub passes: u64,
    #[arg(
        long,
        value_name = "SIZE",
        help = defaulting("Through block-cache: bytes of the cache in host memory", HOST_CACHE)
    )]
    pub host_cache: Option<Bytes>,
    #[arg(
        long,
        value_name = "SIZE",
        help = defaulting(
            "Through mmap and read: the most bytes that are read ahead; 0B: none",
            READAHEAD
        )
    )]
    pub readahead: Option<Bytes>,
    /// Through mmap and read: what the program says of its order [default: normal]
    #[arg(long, value_enum)]
    pub advice: Option<AdviceArg>,
    /// Software of a request, or of a fault that has to read
    #[arg(long, value_name = "TIME", default_value = "5us")]
    pub request: Ps,
    #[arg(
        long,
        value_name = "TIME",
        help = defaulting("Through mmap: a fault on a page that the page cache has", MINOR_FAULT)
    )]
    pub minor_fault: Option<Ps>,
    #[arg(
        long,
        value_name = "TIME",
        help = defaulting("Through block-cache: looking up a page", LOOKUP)
    )]
    pub lookup: Option<Ps>,
    /// From one thread to another on a core
    #[arg(long, value_name = "TIME", default_value = "2us")]
    pub switch: Ps,
    #[arg(
        long,
        value_name = "TIME",
        help = defaulting(
            "Through mmap, read and block-cache: a page of host memory read or copied",
            COPY
        )
    )]
    pub copy: Option<Ps>,
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=4096),
        help = defaulting("Through file: lines that a core has under way when it copies", DEPTH)
    )]
    pub depth: Option<u32>,
    #[command(flatten)]
    pub result: ResultArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThroughArg {
    /// A mapped file behind the page cache
    Mmap,
    /// Reads by system call, through the page cache
    Read,
    /// Requests to the SSD, past every cache of the host
    Direct,
    /// Requests to an SSD behind a cache of blocks in host memory, write-back, LRU
    BlockCache,
    /// Requests that a file system serves from the device as memory
    File,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AdviceArg {
    /// Nothing
    Normal,
    /// It reads in order (MADV_SEQUENTIAL, POSIX_FADV_SEQUENTIAL)
    Sequential,
    /// It reads at random (MADV_RANDOM, POSIX_FADV_RANDOM)
    Random,
}

/// What an option is for, and the value that it has if it is not given.
fn defaulting(meaning: &str, value: impl Display) -> String {
    format!("{meaning} [default: {value}]")
}

/// Simulates and prints.
pub fn run(args: &FilesArgs) -> Result<ExitCode, Error> {
    let config = settings::resolve(&args.device)?;
    let files = files(args, &config)?;
    let folder = args.result.folder()?;
    signals::await_interrupt();
    let plan = FilesPlan {
        device: &args.device.device,
        config: &config,
        files,
    };
    let Some(result) = plan.run(signals::is_interrupted)? else {
        let (done, of) = (0, "requests");
        return Err(Error::Interrupted { done, of });
    };
    if result.time_s == 0.0 {
        let why = "no request takes any time, so there is no speed to report; give --request, \
                   --lookup, --copy or --switch a time, or read more than the host caches";
        return Err(Error::unfit("the run", why));
    }
    let kept = keep(folder.as_ref(), |folder| {
        folder.write("config.toml", write_config(&config, args.device.seed))?;
        folder.write_stats(&result)
    });
    match args.result.json {
        true => outln!("{}", to_json(&result))?,
        false => table(&result).print()?,
    }
    kept.map(|()| ExitCode::SUCCESS)
}

/// What the threads do, checked.
fn files(args: &FilesArgs, config: &DeviceConfig) -> Result<FileTraffic, Error> {
    let page = config.page_bytes();
    let is_ssd = config.kind == DeviceKind::CxlSsd;
    if !is_ssd {
        let why = "it is a memory expander, and no SSD; choose one with flash";
        return Err(Error::unfit(
            format!("--device {}", args.device.device),
            why,
        ));
    }
    let io = args.io.0;
    if io == 0 || !io.is_multiple_of(page) {
        let expected = format!("expected a positive multiple of a page, {}", Bytes(page));
        return Err(Error::value("--io", args.io, &expected));
    }
    let is_mapped = args.through == ThroughArg::Mmap;
    if is_mapped && io != page {
        let expected = format!(
            "expected {} through mmap: a fault is of a page",
            Bytes(page)
        );
        return Err(Error::value("--io", args.io, &expected));
    }
    only_what_is_used(args)?;
    whole_pages(args, page)?;
    if args.size.0 == 0 || !args.size.0.is_multiple_of(io) {
        let expected = format!("expected a positive multiple of --io, {}", args.io);
        return Err(Error::value("--size", args.size, &expected));
    }
    let (bytes, room) = (
        u64::from(args.threads).saturating_mul(args.size.0),
        config.capacity().0,
    );
    if bytes > room {
        let workload = "the file".to_owned();
        return Err(Error::TooLarge {
            workload,
            bytes,
            room,
        });
    }
    Ok(FileTraffic {
        door: match args.through {
            ThroughArg::Mmap => Door::Mmap,
            ThroughArg::Read => Door::Read,
            ThroughArg::Direct => Door::Direct,
            ThroughArg::BlockCache => Door::BlockCache,
            ThroughArg::File => Door::File,
        },
        threads: args.threads,
        size: args.size.0,
        io,
        random: args.random,
        write: args.write,
        cores: args.cores.unwrap_or(args.threads),
        passes: args.passes,
        host: host_costs(args),
        cache: args.host_cache.unwrap_or(HOST_CACHE).0,
        seed: args.device.seed,
    })
}

/// Caches and readahead are of whole pages.
fn whole_pages(args: &FilesArgs, page: u64) -> Result<(), Error> {
    let is_whole = |size: Bytes| size.0.is_multiple_of(page);
    match (args.host_cache, args.readahead) {
        (Some(size), _) if size.0 == 0 || !is_whole(size) => {
            let expected = format!("expected a positive multiple of a page, {}", Bytes(page));
            Err(Error::value("--host-cache", size, &expected))
        }
        (_, Some(size)) if !is_whole(size) => {
            let expected = format!("expected 0B, or a multiple of a page, {}", Bytes(page));
            Err(Error::value("--readahead", size, &expected))
        }
        _ => Ok(()),
    }
}

/// What the host takes: as given, or else as assumed.
fn host_costs(args: &FilesArgs) -> HostCosts {
    HostCosts {
        request: args.request,
        minor_fault: args.minor_fault.unwrap_or(MINOR_FAULT),
        lookup: args.lookup.unwrap_or(LOOKUP),
        switch: args.switch,
        copy: args.copy.unwrap_or(COPY),
        depth: args.depth.unwrap_or(DEPTH),
        readahead: args.readahead.unwrap_or(READAHEAD).0,
        advice: match args.advice {
            None | Some(AdviceArg::Normal) => Advice::Normal,
            Some(AdviceArg::Sequential) => Advice::Sequential,
            Some(AdviceArg::Random) => Advice::Random,
        },
    }
}

/// A flag that would change nothing is refused.
fn only_what_is_used(args: &FilesArgs) -> Result<(), Error> {
    use ThroughArg::{BlockCache, Direct, File, Mmap, Read};
    let flags: [(&str, bool, &[ThroughArg]); 8] = [
        ("--write", args.write, &[Direct, BlockCache, File]),
        ("--readahead", args.readahead.is_some(), &[Mmap, Read]),
        ("--advice", args.advice.is_some(), &[Mmap, Read]),
        ("--minor-fault", args.minor_fault.is_some(), &[Mmap]),
        ("--copy", args.copy.is_some(), &[Mmap, Read, BlockCache]),
        ("--lookup", args.lookup.is_some(), &[BlockCache]),
        ("--host-cache", args.host_cache.is_some(), &[BlockCache]),
        ("--depth", args.depth.is_some(), &[File]),
    ];
    let name = |through: ThroughArg| {
        let value = through.to_possible_value().expect("none is hidden");
        value.get_name().to_owned()
    };
    for (flag, is_given, of) in flags {
        if is_given && !of.contains(&args.through) {
            let of: Vec<_> = of.iter().copied().map(name).collect();
            let (through, of) = (name(args.through), of.join(", "));
            let why = format!("--through {through} has no use for it; it is of {of}");
            return Err(Error::unfit(flag, why));
        }
    }
    Ok(())
}

fn table(result: &FilesResult) -> Rows {
    let mut rows = Rows::new(20);
    let latency = &result.latency_ns.summary;
    rows.row("through", &result.files.through);
    rows.row(
        "file",
        round_bytes(result.files.threads * result.files.size_bytes),
    );
    rows.row("requests", result.requests);
    rows.row("MB/s", format!("{:.1}", result.bytes_per_s / 1e6));
    rows.row("latency mean, us", format!("{:.2}", latency.mean / 1e3));
    rows.row("latency p50, us", format!("{:.2}", latency.p50 / 1e3));
    rows.row("latency p99, us", format!("{:.2}", latency.p99 / 1e3));
    rows.row("pages read", result.block_reads);
    rows.row("pages written", result.block_writes);
    rows.row("cache misses", result.misses);
    rows.row("result hash", &result.hash);
    rows
}
