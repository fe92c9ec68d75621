//! The device for memory that processes share, while their program runs: a thread of this command
//! serves it.

use crate::error::Error;
use sluice_runtime::Session;
use sluice_runtime::shmem::ServerStart;
use std::thread::JoinHandle;

/// A server that runs.
pub struct SharedMemory {
    thread: Option<JoinHandle<()>>,
    stop: Box<dyn Fn() + Send + Sync>,
}

impl SharedMemory {
    /// Starts the server of a session, before its program.
    pub fn start(session: Session) -> Result<SharedMemory, Error> {
        let failed = |why| Error::unfit("--place shared", why);
        let (server, stop) = ServerStart::open(session).map_err(failed)?.parts();
        let builder = std::thread::Builder::new().name("sluice-shared".to_owned());
        let thread = builder.spawn(move || server.serve());
        let thread = thread.map_err(Error::system("a thread for shared memory"))?;
        Ok(SharedMemory {
            thread: Some(thread),
            stop: Box::new(stop),
        })
    }

    /// Ends it. Its last figures are written then.
    pub fn finish(mut self) -> Result<(), Error> {
        self.end().map_err(|_| {
            Error::unfit(
                "--place shared",
                "the server of shared memory has ended early; what the program shared was in DRAM \
                 from then on",
            )
        })
    }
}

impl SharedMemory {
    fn end(&mut self) -> std::thread::Result<()> {
        (self.stop)();
        self.thread.take().map_or(Ok(()), JoinHandle::join)
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // It has said itself why it ended early.
        let _ = self.end();
    }
}
