//! A disk from its socket to its end.

use crate::backend::Backend;
use crate::disk::Disk;
use crate::error::Error;
use crate::figures::Figures;
use crate::intake::Intake;
use crate::worker::Worker;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
    intake: Arc<Intake>,
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
        let intake = Arc::new(Intake::default());
        let ours = intake.clone();
        let mut listener = self.listener;
        let run = move || serve(&mut listener, disk, &ours);
        let thread = Builder::new().name("sluice-disk".to_owned()).spawn(run)?;
        Ok(Serving {
            path: self.path,
            intake,
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
        Ok(self.intake.figures().clone())
    }
}

fn serve(listener: &mut Listener, disk: Disk, intake: &Arc<Intake>) -> Result<(), Error> {
    let backend = Arc::new(Backend::new(disk.bytes, intake.clone()));
    let worker = Worker::new(disk, intake.clone());
    let ours = intake.clone();
    let threads = [
        thread("sluice-disk-io", move || worker.run()),
        thread("sluice-disk-due", move || ours.answer_while_away()),
    ];
    let served = match threads.iter().all(Result::is_ok) {
        true => talk(listener, backend, intake),
        false => Ok(()),
    };
    intake.close();
    let joined = threads.map(|thread| thread.map(JoinHandle::join));
    served.map_err(|why| Error::Protocol(why.to_string()))?;
    joined
        .into_iter()
        .try_for_each(|joined| joined?.map_err(|_| Error::Panicked))
}

/// Starts a thread that sleeps as long as it says.
fn thread(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    let builder = Builder::new().name(name.to_owned());
    builder.spawn(move || {
        sluice_region::sleep_exactly();
        run();
    })
}

/// Does what QEMU says until it is gone.
fn talk(
    listener: &mut Listener,
    backend: Arc<Backend>,
    intake: &Intake,
) -> Result<(), vhost_user_backend::Error> {
    let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
    let mut daemon = VhostUserDaemon::new("sluice-disk-qemu".to_owned(), backend, memory)?;
    let served = daemon.start(listener).and_then(|()| daemon.wait());
    // What still looks at the queue finds that nobody serves it. Only then it is waited for.
    intake.close();
    drop(daemon);
    served.or_else(of_an_end)
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
