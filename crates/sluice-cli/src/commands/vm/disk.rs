//! The device as a disk of the guest, beside its memory.

use super::args::{AttachArg, VmArgs};
use crate::error::Error;
use crate::live::{Ready, Running};
use crate::memory_file::MemoryFile;
use sluice_abi::DISK_SOCKET;
use sluice_disk::{Listening, RingDoor, Serving};
use sluice_results::Disk;
use std::process::Command;

/// Whether a guest can have what is asked for.
pub fn check(args: &VmArgs) -> Result<(), Error> {
    if !args.disk {
        return Ok(());
    }
    if args.attach == AttachArg::Numa {
        let why = "the guest's kernel has its own data in the same bytes; expected dax or cxl with \
                   --disk";
        return Err(Error::value("--attach", "numa", why));
    }
    if !args.live.control.is_on(crate::live::args::TrapArg::Event) {
        let why = "the disk asks the device through its control ring; expected on with --disk";
        return Err(Error::value("--control", "off", why));
    }
    Ok(())
}

/// A disk to which QEMU will connect, if there is to be one.
pub struct Waiting(Option<Listening>);

/// A disk that is being served.
pub struct Served(Option<Serving>);

impl Waiting {
    /// Makes the socket in the session's folder.
    pub fn new(args: &VmArgs, ready: &Ready<'_>) -> Result<Waiting, Error> {
        let path = ready.session().join(DISK_SOCKET);
        let listening = args.disk.then(|| Listening::new(&path)).transpose()?;
        Ok(Waiting(listening))
    }

    /// Adds the disk to QEMU's command line. The bus is named, as for the ring.
    pub fn add_to(&self, command: &mut Command, ready: &Ready<'_>) {
        if self.0.is_none() {
            return;
        }
        let path = ready.session().join(DISK_SOCKET).display().to_string();
        command.args([
            "-chardev",
            &format!("socket,id=sluice-disk,path={path}"),
            "-device",
            "vhost-user-blk-pci,chardev=sluice-disk,num-queues=1,queue-size=128,bus=pcie.0",
        ]);
    }

    /// Serves the guest whose QEMU has been started.
    pub fn serve(
        self,
        ready: &Ready<'_>,
        running: &Running,
        memory: &MemoryFile,
    ) -> Result<Served, Error> {
        let serve = |listening: Listening| {
            let config = ready.config();
            let persistent = config.persistent.then(|| config.pages.into());
            let door = RingDoor::new(running.pid() as u32, persistent);
            let serving = listening.serve(sluice_disk::Disk {
                device: memory.share()?,
                bytes: config.capacity().0,
                door: Box::new(door),
                power: ready.power(),
            })?;
            Ok::<_, Error>(serving)
        };
        Ok(Served(self.0.map(serve).transpose()?))
    }
}

impl Served {
    /// What the disk has done, once QEMU has ended. Warns of a disk that failed: the guest has seen
    /// errors, and may have gone on.
    pub fn finish(self) -> Option<Disk> {
        let figures = match self.0?.finish() {
            Ok(figures) => figures,
            Err(why) => {
                errln!("sluice: warning: {why}");
                return None;
            }
        };
        if let Some(why) = &figures.why {
            let failed = figures.failed;
            errln!("sluice: warning: {failed} requests of the guest's disk failed: {why}");
        }
        let (device, answered) = (figures.device(), figures.answered());
        Some(Disk {
            reads: figures.reads,
            writes: figures.writes,
            trims: figures.trims,
            flushes: figures.flushes,
            failed: figures.failed,
            read_bytes: figures.read_bytes,
            written_bytes: figures.written_bytes,
            device_p50_ns: device.p50_ns,
            device_p99_ns: device.p99_ns,
            answered_p50_ns: answered.p50_ns,
            answered_p99_ns: answered.p99_ns,
        })
    }
}
