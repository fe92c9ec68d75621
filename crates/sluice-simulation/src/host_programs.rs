//! What simulated hosts of a fabric run: kernels, and traces.

use crate::machine::fits_machine;
use sluice_host::Program;
use sluice_kernels::{KernelOptions, KernelSpec};
use sluice_net::{HostGroup, HostProgram};
use sluice_params::{ConfigError, RawConfig};
use sluice_replay::{Placement, Replay};
use sluice_skybyte_artifact::parse_kernel;
use sluice_units::Bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Why hosts of a group cannot be.
pub(crate) type HostError = Box<dyn std::error::Error + Send + Sync>;

/// A trace that hosts cannot replay.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostTraceError {
    #[error("trace {path}: {source}")]
    Unread {
        path: String,
        source: sluice_trace::Error,
    },
    /// The error names it itself.
    #[error("trace {0}")]
    Unopened(sluice_trace::Error),
    #[error("trace {path}: it has no loads and no stores")]
    Empty { path: String },
}

impl HostTraceError {
    fn at(path: &Path, source: sluice_trace::Error) -> HostTraceError {
        let path = path.display().to_string();
        match &source {
            sluice_trace::Error::Io { what, .. } if *what == path => {
                HostTraceError::Unopened(source)
            }
            _ => HostTraceError::Unread { path, source },
        }
    }
}

/// The traces of a fabric's hosts. Each is read once, however many hosts replay it.
#[derive(Default)]
pub(crate) struct Traces(BTreeMap<PathBuf, Rc<Replay>>);

impl Traces {
    fn open(&mut self, path: &Path) -> Result<Rc<Replay>, HostTraceError> {
        if let Some(known) = self.0.get(path) {
            return Ok(Rc::clone(known));
        }
        let replay = Replay::open(path, Placement::Touch);
        let replay = Rc::new(replay.map_err(|error| HostTraceError::at(path, error))?);
        if replay.accesses() == 0 {
            let path = path.display().to_string();
            return Err(HostTraceError::Empty { path });
        }
        self.0.insert(path.to_owned(), Rc::clone(&replay));
        Ok(replay)
    }

    /// Whether each trace could be read to the end of its replay.
    pub(crate) fn failure(&self) -> Option<HostError> {
        let failed = |(path, replay): (&PathBuf, &Rc<Replay>)| {
            let error = replay.failure()?;
            Some(HostTraceError::at(path, error).into())
        };
        self.0.iter().find_map(failed)
    }
}

/// What a host runs, before its program is made.
pub(crate) enum Source {
    Kernel(KernelSpec),
    Trace(PathBuf, Rc<Replay>),
}

impl Source {
    /// A host with this seed.
    pub(crate) fn read(
        host: &HostGroup,
        seed: u64,
        traces: &mut Traces,
    ) -> Result<Source, HostError> {
        Ok(match &host.runs {
            HostProgram::Kernel(text) => Source::Kernel(parse_kernel(text, seed)?),
            HostProgram::Trace(path) => Source::Trace(path.clone(), traces.open(path)?),
        })
    }

    /// The seed of a kernel, which may give its own; a trace has no use for one.
    pub(crate) fn seed(&self, of_host: u64) -> u64 {
        match self {
            Source::Kernel(kernel) => kernel.seed,
            Source::Trace(..) => of_host,
        }
    }

    /// What each thread uses that no scale divides.
    pub(crate) fn thread_bytes(&self) -> u64 {
        match self {
            Source::Kernel(kernel) => kernel.thread_bytes(),
            Source::Trace(..) => 0,
        }
    }

    /// The memory of a kernel, as far as one can say before it is made.
    pub(crate) fn about(&self, scale: u32) -> Bytes {
        match self {
            Source::Kernel(kernel) => kernel.about(scale),
            Source::Trace(..) => Bytes(0),
        }
    }

    /// Whether a kernel's own data have room in this machine's memory, as [`fits_machine`].
    pub(crate) fn fits_machine(
        &self,
        host: &HostGroup,
        threads: u32,
        before: Bytes,
    ) -> Result<Bytes, HostError> {
        match self {
            Source::Kernel(kernel) => {
                let name = host.runs.name();
                Ok(fits_machine(&name, kernel, host.scale, threads, before)?)
            }
            Source::Trace(..) => Ok(before),
        }
    }

    /// Gives a host a thread for each CPU of a trace, and one that ends at once for each core that
    /// is left.
    pub(crate) fn set_threads(&self, host: &mut RawConfig) -> Result<(), ConfigError> {
        let Source::Trace(_, replay) = self else {
            return Ok(());
        };
        let cores = host.read::<u64>("cpu.cores");
        let threads = cores.max(u64::from(replay.cpus()));
        host.set("cpu.threads", &threads.to_string())
    }

    pub(crate) fn program(&self, threads: u32, scale: u32) -> Result<Box<dyn Program>, HostError> {
        Ok(match self {
            Source::Kernel(kernel) => (kernel.info.make)(&KernelOptions {
                threads,
                scale,
                seed: kernel.seed,
                rounds: kernel.rounds,
                given: kernel.given.clone(),
            }),
            Source::Trace(path, replay) => {
                let program = replay.program(threads);
                Box::new(program.map_err(|error| HostTraceError::at(path, error))?)
            }
        })
    }
}
