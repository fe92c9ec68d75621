//! `sluice run`: an unmodified program with its memory on the device.

use crate::emulator::{
    self,
    simulate::{SimulateArgs, Simulation},
};
use crate::error::Error;
use crate::live::args::{ControlArg, LiveArgs, TrapArg};
use crate::live::count::CountAfter;
use crate::live::persist::Persistence;
use crate::live::{Live, fitness::check_live};
use crate::{program, signals};
use clap::Args;
use rustix::fs::statfs;
use sluice_model::DeviceConfig;
use sluice_runtime::{Kinds, OnDevice, Store};
use sluice_units::Bytes;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Without `--store`.
const STORE: &str = "dram";
/// Without `--mmap-min`.
const MMAP_MIN: Bytes = Bytes(128 << 10);

#[derive(Debug, Args)]
#[command(
    after_help = "The program's own output is untouched. With --json one object follows on the \
                  last line of standard output. Sluice ends with the program's status."
)]
pub struct RunArgs {
    #[command(flatten)]
    pub live: LiveArgs,
    /// How a miss reaches the device. `event` is always right; `signal` is faster, for programs
    /// that keep system calls off device memory
    #[arg(long, conflicts_with = "simulate", value_enum, default_value_t = TrapArg::Event)]
    pub trap: TrapArg,
    /// What lives on the device. `heap`: malloc and large anonymous mappings. `shared`: memory that
    /// processes share, on one device for all of them. `files:GLOB`: files that the program maps
    /// and does not change, by name or whole path. `explicit`: what it takes by `sluice_alloc` or
    /// `sluice.alloc`, and nothing else. `dax:PATH`: every shared mapping of a file in /dev/shm.
    /// Give it again for more kinds: `--place heap --place 'files:*.gguf'`
    #[arg(
        long,
        conflicts_with = "simulate",
        default_value = "heap",
        value_name = "heap|shared|files[:GLOB]|explicit|dax:PATH"
    )]
    pub place: Vec<String>,
    /// Where evicted pages of the heap are kept: `dram`, or `file:FOLDER`. In a folder each process
    /// has a file without a name, and then takes little more memory than the device's cache. With
    /// device.persistent=yes the file that keeps what is on the device, `file:STORE`
    #[arg(
        long,
        conflicts_with = "simulate",
        default_value = STORE,
        value_name = "dram|file:PATH"
    )]
    pub store: String,
    /// Place anonymous mappings from this size up
    #[arg(
        long,
        conflicts_with = "simulate",
        value_name = "SIZE",
        default_value_t = MMAP_MIN
    )]
    pub mmap_min: Bytes,
    /// Count from a moment on: a time since the start, the first mark of a name that the program
    /// sets, or the moment at which a file appears. With --simulate a mark alone
    #[arg(long, value_name = "10s|marker:NAME|file:PATH")]
    pub count_after: Option<CountAfter>,
    /// Say which allocations and which threads the misses belong to, by allocations of SIZE and
    /// more
    #[arg(
        long,
        conflicts_with = "simulate",
        value_name = "SIZE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "64KiB"
    )]
    pub profile: Option<Bytes>,
    #[command(flatten)]
    pub in_line: SimulateArgs,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROG")]
    pub program: Vec<OsString>,
}

/// Runs the program and prints what the device did. Everything that can be wrong is found before
/// the program starts.
pub fn run(args: &RunArgs) -> Result<ExitCode, Error> {
    if args.in_line.simulate {
        return simulate(args);
    }
    let (config, live_settings) = args.live.config()?;
    check_live(&args.live.device, &config)?;
    let (place, kinds) = parse_places(&args.place)?;
    if args.live.handlers > 1 && args.trap == TrapArg::Signal {
        let why = "in signal mode each thread answers its own faults; leave it out";
        return Err(Error::value("--handlers", args.live.handlers, why));
    }
    if kinds.shared && args.trap == TrapArg::Signal {
        let why = "in signal mode nobody could serve the faults of several processes; expected \
                   `--trap event` besides, or heap, files, files:GLOB, explicit or dax:PATH";
        return Err(Error::value("--place", "shared", why));
    }
    let has_mappings = |place: &String| place != "explicit" && !place.starts_with("dax:");
    if args.mmap_min != MMAP_MIN && !args.place.iter().any(has_mappings) {
        let why = "it is of mappings that --place heap, shared or files places; leave it out";
        return Err(Error::value("--mmap-min", args.mmap_min, why));
    }
    only_shared(args)?;
    let persistence = persistence(args, &config, &place)?;
    let store = match persistence {
        // The runtime keeps nothing: this command does.
        Some(_) => Store::Memory,
        None => parse_store(&args.store, &place)?,
    };
    let prog = program::check(&args.program[0])?;
    let live = Live {
        args: &args.live,
        config,
        settings: live_settings,
        trap: args.trap,
        place,
        kinds,
        place_name: args.place.join(","),
        store,
        store_name: args.store.clone(),
        persistence,
        mmap_min: args.mmap_min.0 as usize,
        command: args.program.clone(),
        poll: None,
        watch: 0,
        count_after: args.count_after.clone(),
        profile: args.profile.map_or(0, |from| from.0.max(1)),
        is_emulated: true,
    };
    let ready = live.prepare()?;
    let running = ready.start(&prog, |_| {}, &signals::ENDING)?;
    ready.finish(running, |_, _, _| {})
}

/// Runs the program, and prints what the simulated host and device did.
fn simulate(args: &RunArgs) -> Result<ExitCode, Error> {
    let command = program::words_of(&args.program);
    let ready = Simulation {
        device: &args.live.device,
        args: &args.in_line,
        settings: Vec::new(),
        part: args.in_line.part.part(&args.count_after)?,
        result: &args.live.result,
        command: &command,
    }
    .prepare()?;
    let emulated = emulator::run(&emulator::find()?, ready.plugin.clone(), &args.program)?;
    ready.finish(emulated, |_| ())
}

/// Refuses what is of a process' own device where no process has anything on one.
fn only_shared(args: &RunArgs) -> Result<(), Error> {
    if args.place.iter().any(|place| place != "shared") {
        return Ok(());
    }
    let live = &args.live;
    let own = [
        ("--store", args.store != STORE),
        ("--sample-hits", live.sample_hits.is_some()),
        ("--control on", live.control == ControlArg::On),
        ("--control-poll", live.control_poll.is_some()),
        ("--record-traps", live.record_traps > 0),
        ("--handlers", live.handlers > 1),
        ("--profile", args.profile.is_some()),
    ];
    match own.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => {
            let why = "--place shared has one device for all processes, and this is of a process' \
                       own; add --place heap or --place explicit, or leave it out";
            Err(Error::unfit(option, why))
        }
    }
}

/// What all of `--place` name, checked.
fn parse_places(texts: &[String]) -> Result<(OnDevice, Kinds), Error> {
    let mut kinds = Kinds::none();
    for text in texts {
        let bad = |why: &str| Error::value("--place", text, why);
        if let Some(path) = text.strip_prefix("dax:") {
            return match texts {
                [_] => Ok((parse_dax(text, path)?, Kinds::default())),
                _ => Err(bad(
                    "a device in a file has nothing beside it; leave out the other --place",
                )),
            };
        }
        kinds
            .add(OsStr::new(text))
            .map_err(|why| bad(&why.to_string()))?;
    }
    Ok((OnDevice::Heap, kinds))
}

/// A file of the device, checked.
fn parse_dax(text: &str, path: &str) -> Result<OnDevice, Error> {
    let bad = |why: &str| Error::value("--place", text, why);
    let path = PathBuf::from(path);
    if !path.is_file() {
        return Err(bad(
            "expected dax:PATH of a file that exists; make it first, as long as the program needs \
             it, for example with `truncate -s 1G /dev/shm/device`",
        ));
    }
    if !on_tmpfs(&path) {
        return Err(bad(
            "the file must be in memory (tmpfs), for example in /dev/shm",
        ));
    }
    path.canonicalize()
        .map(OnDevice::Dax)
        .map_err(Error::system(path.display()))
}

/// What a persistent device is to be kept in; nothing for another one.
fn persistence(
    args: &RunArgs,
    config: &DeviceConfig,
    place: &OnDevice,
) -> Result<Option<Persistence>, Error> {
    if !config.persistent {
        return Ok(None);
    }
    let OnDevice::Dax(memory) = place else {
        return Err(Error::value(
            "`device.persistent`",
            "yes",
            "a heap cannot be opened again, for the next run has other addresses in it; expected \
             no, or `--place dax:PATH` besides",
        ));
    };
    let device = &args.live.device.device;
    Persistence::new(&args.store, memory.clone(), device, config).map(Some)
}

/// What `--store` names, checked.
fn parse_store(text: &str, place: &OnDevice) -> Result<Store, Error> {
    if text == STORE {
        return Ok(Store::Memory);
    }
    let bad = |why: &str| Error::value("--store", text, why);
    let path = text
        .strip_prefix("file:")
        .ok_or_else(|| bad("expected dram or file:FOLDER"))?;
    if matches!(place, OnDevice::Dax(_)) {
        return Err(bad(
            "with --place dax: the device's file is its store already; a store in files is the \
             heap's, or with `--set device.persistent=yes` what the device has for its next run",
        ));
    }
    let path = PathBuf::from(path);
    let found = path.metadata();
    if found.is_ok_and(|found| found.file_type().is_block_device()) {
        return Err(bad(
            "a block device keeps a persistent device (--place dax:PATH, device.persistent=yes); \
             for the heap expected a folder of a file system on it, in which each process has a \
             file",
        ));
    }
    if !path.is_dir() {
        return Err(bad(
            "expected a folder that exists: each process has a file without a name in it, which \
             goes with the process",
        ));
    }
    let path = path.canonicalize().map_err(Error::system(path.display()))?;
    // Tried here, where nothing has been started yet.
    let file = tempfile::tempfile_in(&path).map_err(Error::system(path.display()))?;
    drop(file);
    Ok(Store::File(path))
}

fn on_tmpfs(path: &Path) -> bool {
    statfs(path).is_ok_and(|fs| fs.f_type == libc::TMPFS_MAGIC)
}
