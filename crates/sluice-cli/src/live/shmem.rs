//! The device for memory that processes share, while their program runs: a thread of this command
//! serves it.

use super::warn;
use crate::error::Error;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sluice_runtime::Session;
use sluice_runtime::shmem::ServerStart;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread::JoinHandle;

/// A server that runs.
pub struct SharedMemory {
    thread: Option<JoinHandle<u64>>,
    stop: Box<dyn Fn() + Send + Sync>,
    /// What this command could open before.
    limit: Rlimit,
}

/// Lets this command open what it may: each process that shares memory has some descriptors here.
/// Returns the limit before.
fn raise_limit() -> Rlimit {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // Without it there is room for fewer.
    let _ = setrlimit(Resource::Nofile, most);
    limit
}

impl SharedMemory {
    /// Starts the server of a session, before its program.
    pub fn start(session: Session) -> Result<SharedMemory, Error> {
        let limit = raise_limit();
        let failed = |why| Error::unfit("--place shared", why);
        let (server, stop) = ServerStart::open(session).map_err(failed)?.parts();
        let builder = std::thread::Builder::new().name("sluice-shared".to_owned());
        let thread = builder.spawn(move || server.serve());
        let thread = thread.map_err(Error::system("a thread for shared memory"))?;
        Ok(SharedMemory {
            thread: Some(thread),
            stop: Box::new(stop),
            limit,
        })
    }

    /// Gives a program that is to be started the limit that it would have without.
    pub fn lower_limit(&self, command: &mut Command) {
        let limit = self.limit;
        let lower = move || Ok(setrlimit(Resource::Nofile, limit)?);
        // SAFETY: one system call between fork and exec.
        unsafe { command.pre_exec(lower) };
    }

    /// Ends it. Its last figures are written then.
    pub fn finish(mut self) -> Result<(), Error> {
        let turned_away = self.end().map_err(|_| {
            Error::unfit(
                "--place shared",
                "the server of shared memory has ended early; what the program shared was in DRAM \
                 from then on",
            )
        })?;
        warn::of_turned_away(turned_away);
        Ok(())
    }
}

impl SharedMemory {
    fn end(&mut self) -> std::thread::Result<u64> {
        (self.stop)();
        self.thread.take().map_or(Ok(0), JoinHandle::join)
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // It has said itself why it ended early.
        let _ = self.end();
    }
}
