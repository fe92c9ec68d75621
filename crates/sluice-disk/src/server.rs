//! A disk from its socket to its end.

use crate::backend::Backend;
use crate::disk::Disk;
use crate::error::Error;
use crate::figures::Figures;
use crate::worker::{Shared, Worker};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, PoisonError};
use std::thread::{Builder, JoinHandle};
use vhost::vhost_user::Listener;
use vhost_user_backend::VhostUserDaemon;
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

/// A socket to which QEMU can connect. Nobody answers yet.
pub struct Listening {
    path: PathBuf,
    listener: Listener,
}

/// A disk that is being served.
pub struct Serving {
    path: PathBuf,
    shared: Arc<Shared>,
    thread: JoinHandle<Result<(), Error>>,
}

impl Listening {
    /// Makes the socket.
    ///
    /// # Errors
    /// [`Error::Socket`].
    pub fn new(path: &Path) -> Result<Listening, Error> {
        let listener = Listener::new(path, false).map_err(|why| Error::Socket {
            path: path.to_owned(),
            why: why.to_string(),
        })?;
        Ok(Listening {
            path: path.to_owned(),
            listener,
        })
    }

    /// Serves QEMU, once it connects.
    ///
    /// # Errors
    /// [`Error::Thread`].
    pub fn serve(self, disk: Disk) -> Result<Serving, Error> {
        let shared = Arc::new(Shared::default());
        let ours = shared.clone();
        let mut listener = self.listener;
        let run = move || serve(&mut listener, disk, &ours);
        let thread = Builder::new().name("sluice-disk".to_owned()).spawn(run)?;
        Ok(Serving {
            path: self.path,
            shared,
            thread,
        })
    }
}

impl Serving {
    /// After QEMU: what the disk has done.
    ///
    /// # Errors
    /// [`Error::Protocol`] if QEMU and this side did not understand each other.
    pub fn finish(self) -> Result<Figures, Error> {
        // A QEMU that never came is not waited for any longer.
        drop(UnixStream::connect(&self.path));
        match self.thread.join() {
            Ok(served) => served?,
            Err(_) => return Err(Error::Panicked),
        }
        let figures = self.shared.figures.lock();
        Ok(figures.unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn serve(listener: &mut Listener, disk: Disk, shared: &Arc<Shared>) -> Result<(), Error> {
    let protocol = |why: vhost_user_backend::Error| Error::Protocol(why.to_string());
    let (sender, tasks) = channel();
    let backend = Arc::new(Backend::new(disk.bytes, sender, shared.clone()));
    let worker = Worker::new(disk, shared.clone());
    let worker = Builder::new()
        .name("sluice-disk-io".to_owned())
        .spawn(move || worker.run(&tasks))?;
    let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
    let daemon = VhostUserDaemon::new("sluice-disk-qemu".to_owned(), backend, memory);
    let mut daemon = daemon.map_err(protocol)?;
    let served = daemon.start(listener).and_then(|()| daemon.wait());
    // With it goes what sends to the worker.
    drop(daemon);
    let joined = worker.join();
    served.or_else(of_an_end).map_err(protocol)?;
    joined.map_err(|_| Error::Panicked)
}

/// A connection that breaks is QEMU's end.
fn of_an_end(why: vhost_user_backend::Error) -> Result<(), vhost_user_backend::Error> {
    use vhost::vhost_user::Error::{Disconnected, PartialMessage, SocketBroken};
    match why {
        vhost_user_backend::Error::HandleRequest(
            Disconnected | PartialMessage | SocketBroken(_),
        ) => Ok(()),
        why => Err(why),
    }
}
