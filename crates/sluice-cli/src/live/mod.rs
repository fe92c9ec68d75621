//! A program with its memory on the device: what it needs at its start, and the result at its end.

pub mod args;
mod beside;
pub mod count;
mod finish;
pub mod fitness;
mod kin;
pub mod metrics;
mod migration;
mod numa;
pub mod persist;
mod profile;
mod record;
mod shmem;
mod summary;
mod symbols;
mod waiting;
mod warn;

use crate::child::exit_of;
use crate::error::Error;
use crate::memory_file::MemoryFile;
use crate::program;
use crate::session::SessionDir;
use crate::signals;
use args::{LiveArgs, TrapArg};
use count::{CountAfter, now_ns};
use metrics::Metrics;
use persist::{Persistence, Persistent};
use rustix::process::{getpid, set_child_subreaper};
use shmem::SharedMemory;
use sluice_abi::{RING_BYTES, view_bytes};
use sluice_disk::Power;
use sluice_model::DeviceConfig;
use sluice_region::{UffdKind, probe};
use sluice_results::{Exit, Folder, Others, Process, Processes, read_run};
use sluice_runtime::{Kinds, LiveSettings, OnDevice, Session, Store, Trap, contents};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Instant;

pub use waiting::{Look, Seen};

/// Seconds between two samples of the timeline.
const SAMPLE_S: f64 = 0.1;
/// Whether the tcmalloc of gperftools leaves the break alone.
const SKIP_BREAK: &str = "TCMALLOC_SKIP_SBRK";

/// A program to be run on the device, checked.
pub struct Live<'a> {
    /// The options of the command line.
    pub args: &'a LiveArgs,
    /// The device that the program has, as it was checked.
    pub config: DeviceConfig,
    /// What is set of the run beside it.
    pub settings: LiveSettings,
    /// How faults reach the runtime.
    pub trap: TrapArg,
    /// What is placed.
    pub place: OnDevice,
    /// What of the program's own memory is placed.
    pub kinds: Kinds,
    /// `place` as the result names it.
    pub place_name: String,
    /// Where evicted pages are kept.
    pub store: Store,
    /// `store` as the result names it.
    pub store_name: String,
    /// What a persistent device is kept in.
    pub persistence: Option<Persistence>,
    /// Anonymous mappings from this many bytes up are placed.
    pub mmap_min: usize,
    /// The program's command line.
    pub command: Vec<OsString>,
    /// How often the server of its control ring looks by itself, unless an option says it.
    pub poll: Option<sluice_units::Ps>,
    /// Pages of which every use is to trap, at most; 0 for none.
    pub watch: u64,
    /// Allocations from this many bytes up are profiled; 0 for none.
    pub profile: u64,
    /// What is waited for before anything counts.
    pub count_after: Option<CountAfter>,
    /// Whether there is a device at all, or the same program runs without one to compare with.
    pub is_emulated: bool,
}

/// A live run whose session and output folder are there.
pub struct Ready<'a> {
    live: Live<'a>,
    library: Option<PathBuf>,
    folder: Option<Folder>,
    /// Reads the session's files, so that it ends before them.
    metrics: Option<Metrics>,
    /// Before the session: its folder is not removed while somebody holds it.
    shared: Option<SharedMemory>,
    session: SessionDir,
    persistent: Option<Persistent>,
    /// The program's other devices.
    beside: Vec<Beside<'a>>,
}

/// One device beside the first.
struct Beside<'a> {
    /// Its name, by which `sluice ctl` finds it.
    name: String,
    /// All else of it.
    ready: Ready<'a>,
    /// The copy of the library, if there is one.
    library: Option<MemoryFile>,
}

/// A program that was started.
pub struct Running {
    child: Child,
    started: Instant,
    started_ns: u64,
}

impl Running {
    /// The program's process, to wait for or to end.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The number of its process.
    pub fn pid(&self) -> u64 {
        u64::from(self.child.id())
    }
}

/// A program that has ended.
pub struct Ended {
    /// How the program ended.
    pub exit: Exit,
    /// After so long.
    pub wall_s: f64,
    /// Its processes that are listed one by one.
    pub processes: Vec<Process>,
    /// The sum of the processes that are not listed.
    pub others: Others,
}

impl Ended {
    /// The last program image of a process.
    pub fn main(&self, pid: u64) -> Option<&Process> {
        let images = self.processes.iter().filter(|process| process.pid == pid);
        images.max_by_key(|process| process.image)
    }
}

impl<'a> Live<'a> {
    /// Refuses to look after a ring that is not there.
    fn check_poll(&self) -> Result<(), Error> {
        match self.args.control_poll {
            Some(period) if !self.args.control.is_on(self.trap) => {
                let why = "there is no control ring; leave it out, or give --control on";
                Err(Error::value("--control-poll", period, why))
            }
            _ => Ok(()),
        }
    }

    /// Makes what the program needs at its start.
    pub fn prepare(self) -> Result<Ready<'a>, Error> {
        if self.config.persistent && self.persistence.is_none() {
            let why = "only `sluice run --place dax:PATH` and `sluice vm --attach dax|cxl` keep a \
                       device, with --store file:STORE";
            return Err(Error::value("`device.persistent`", "yes", why));
        }
        numa::check(&self.settings, &self.place, &self.kinds)?;
        migration::check(&self.settings, &self.place, &self.kinds)?;
        self.check_poll()?;
        let library = match self.is_emulated {
            true => {
                check_host(self.trap)?;
                Some(program::preload_library()?)
            }
            false => None,
        };
        let folder = self.args.result.folder()?;
        let session = SessionDir::create(self.session_bytes())?;
        self.session(session.path())
            .save()
            .map_err(Error::Session)?;
        if library.is_some() {
            contents::make(&self.config, self.args.device.seed, session.path())?;
        }
        let library = library.map(|path| session.preload(&path)).transpose()?;
        let start = |kept: &Persistence| kept.start(session.path(), session.keeper());
        let persistent = self.persistence.as_ref().map(start).transpose()?;
        let shared = (self.kinds.shared && self.is_emulated)
            .then(|| SharedMemory::start(self.session(session.path())))
            .transpose()?;
        let metrics = self.metrics(session.path())?;
        Ok(Ready {
            persistent,
            metrics,
            shared,
            live: self,
            library,
            folder,
            session,
            beside: Vec::new(),
        })
    }

    /// Publishes what the session's processes count, if that was asked for.
    fn metrics(&self, session: &Path) -> Result<Option<Metrics>, Error> {
        let places = &self.args.metrics;
        if places.is_empty() {
            return Ok(None);
        }
        let program = self.command.first().map(|word| word.to_string_lossy());
        let about = vec![
            ("device", self.args.device.device.clone()),
            ("place", self.place_name.clone()),
            ("program", program.unwrap_or_default().into_owned()),
            ("store", self.store_name.clone()),
            ("trap", self.trap.name().to_owned()),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ];
        Metrics::start(places, session, about).map(Some)
    }

    /// What the library in the program will read.
    fn session(&self, dir: &Path) -> Session {
        Session {
            dir: dir.to_path_buf(),
            seed: self.args.device.seed,
            trap: match self.trap {
                TrapArg::Event => Trap::Event,
                TrapArg::Signal => Trap::Signal,
            },
            place: self.place.clone(),
            kinds: self.kinds.clone(),
            store: self.store.clone(),
            mmap_min: self.mmap_min,
            record: self.args.record_traps,
            sample_ns: self.args.sample_hits.map_or(0, |window| window.as_ns()),
            watch: self.watch,
            profile: self.profile,
            handlers: self.args.handlers as usize,
            ring: self.args.control.is_on(self.trap),
            ring_poll_ns: self
                .args
                .control_poll
                .or(self.poll)
                .map_or(0, |period| period.as_ns()),
            device: self.config.clone(),
            settings: self.settings.clone(),
            hold: Default::default(),
        }
    }

    /// What the files of the program's first process may take.
    fn session_bytes(&self) -> u64 {
        let record = self.args.record_traps.saturating_mul(8);
        let desk = match self.persistence {
            Some(_) => sluice_abi::desk_bytes(self.config.pages.into()),
            None => 0,
        };
        // Of the first process, and of the device of shared memory.
        let views = 1 + usize::from(self.kinds.shared);
        let fixed = views * view_bytes(self.config.pages.into()) + RING_BYTES + desk;
        record.saturating_add(fixed as u64)
    }
}

impl Ready<'_> {
    /// The session's directory.
    pub fn session(&self) -> &Path {
        self.session.path()
    }

    /// The directories of all devices' sessions.
    pub fn sessions(&self) -> Vec<PathBuf> {
        self.all().map(|of| of.session.path().to_owned()).collect()
    }

    /// Threads that the runtime has in the program.
    pub fn runtime_threads(&self) -> u64 {
        self.live.session(self.session.path()).threads() as u64
    }

    /// The power of the device as a disk: the keeper of a persistent device cuts it.
    pub fn power(&self) -> Power {
        let kept = self.live.persistence.as_ref();
        kept.map(|kept| kept.power.clone()).unwrap_or_default()
    }

    /// What the device is, checked.
    pub fn config(&self) -> &DeviceConfig {
        &self.live.config
    }

    /// Whether the program will have a control ring.
    pub fn has_ring(&self) -> bool {
        self.library.is_some() && self.live.args.control.is_on(self.live.trap)
    }

    /// The output folder, if one was asked for.
    pub fn folder(&self) -> Option<&Folder> {
        self.folder.as_ref()
    }

    /// Starts the program. The signals that this command is ended by go on to it.
    pub fn start(
        &self,
        prog: &Path,
        adjust: impl FnOnce(&mut Command),
        passed_on: &'static [i32],
    ) -> Result<Running, Error> {
        let (started, started_ns) = (Instant::now(), now_ns());
        let child = self.spawn(prog, adjust)?;
        signals::forward_to(child.id(), passed_on);
        Ok(Running {
            child,
            started,
            started_ns,
        })
    }

    /// Waits for the program's end, and calls `look` with the seconds so far now and then until
    /// there, often while it says so. Nothing if the library refused its service, and said why.
    pub fn await_end(
        &mut self,
        mut running: Running,
        look: Option<&mut Look<'_>>,
    ) -> Result<Option<Ended>, Error> {
        let child = &mut running.child;
        waiting::watch(child, running.started, look)?;
        let status = child
            .wait()
            .map_err(Error::system("waiting for the program"))?;
        signals::end_forwarding(self.persistent.is_some());
        let exit = exit_of(status);
        let wall_s = running.started.elapsed().as_secs_f64();
        warn::of_keeper(self.session.dismiss_keeper());
        self.beside.iter_mut().for_each(Beside::dismiss_keeper);
        let filtered = waiting::await_the_rest(exit, self.persistent.take())?;
        warn::of_filtered_children(filtered);
        if let Some(shared) = self.shared.take() {
            shared.finish()?;
        }
        // Files have the last figures now.
        drop(self.metrics.take());
        let Processes { listed, others } = read_run(self.session.path(), running.pid());
        if listed.is_empty() && self.session.is_refused() {
            return Ok(None);
        }
        warn::of_full(exit, &self.session, &self.live.place);
        warn::of_filter(exit);
        Ok(Some(Ended {
            exit,
            wall_s,
            processes: listed,
            others,
        }))
    }

    /// The traps that a process recorded, without the room that is left; nothing if it kept none.
    pub fn record_of(&self, pid: u64) -> io::Result<Vec<u8>> {
        record::read(&self.session.path().join(format!("traps-{pid}.bin")))
    }

    fn spawn(&self, prog: &Path, adjust: impl FnOnce(&mut Command)) -> Result<Child, Error> {
        // Daemons that the program leaves behind become ours, and are waited for.
        let _ = set_child_subreaper(Some(getpid()));
        let mut command = Command::new(prog);
        command.args(&self.live.command[1..]);
        {
            use std::os::unix::process::CommandExt;
            command.arg0(&self.live.command[0]);
        }
        if let Some(library) = &self.library {
            let mut preload = library.as_os_str().to_owned();
            for path in self.beside.iter().filter_map(|of| of.add_to(&mut command)) {
                preload.push(":");
                preload.push(path);
            }
            if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|o| !o.is_empty()) {
                preload.push(":");
                preload.push(others);
            }
            command
                .env("LD_PRELOAD", preload)
                .env(sluice_abi::SESSION_VAR, self.session.path());
            // The tcmalloc of gperftools moves the break, which is not on the device, unless this
            // has it map all memory.
            if std::env::var_os(SKIP_BREAK).is_none() {
                command.env(SKIP_BREAK, "1");
            }
        }
        if self.persistent.is_some() {
            kin::end_with_us(&mut command);
        }
        if let Some(shared) = &self.shared {
            shared.lower_limit(&mut command);
        }
        adjust(&mut command);
        command.spawn().map_err(|e| match e.raw_os_error() {
            Some(libc::ENOEXEC) => Error::unfit(
                prog.display(),
                "no program that this host runs; a script needs #! and its interpreter in the \
                 first line",
            ),
            _ => Error::system(prog.display())(e),
        })
    }
}

fn check_host(trap: TrapArg) -> Result<(), Error> {
    let kind = if trap == TrapArg::Event {
        UffdKind::Events
    } else {
        UffdKind::Signal
    };
    match probe().blocker(kind) {
        Some(check) => Err(Error::Host {
            check: check.name,
            found: check.found.clone(),
            mend: (check.mend.clone()).unwrap_or_else(|| "see `sluice doctor`".to_owned()),
        }),
        None => Ok(()),
    }
}

/// A program without statistics of its own was never on the device, and figures of nothing look
/// like those of a fast one. If it was killed that may have been before it could begin.
fn check_entered(exit: Exit, command: &[OsString]) -> Result<(), Error> {
    let program = command.first().and_then(program::find);
    let why = match program.is_some_and(|path| program::has_address_sanitizer(&path)) {
        true => {
            "; it was built with AddressSanitizer, which starts with \
             ASAN_OPTIONS=verify_asan_link_order=0 and keeps its heap in DRAM"
        }
        false => "",
    };
    match exit {
        Exit::Signal(_) => Ok(()),
        Exit::Code(code) => Err(Error::NotEntered { code, why }),
    }
}
