//! The thread that serves requests, one after the other.

use crate::disk::Disk;
use crate::door::{Door, DoorError};
use crate::intake::{Done, Intake, Task};
use crate::now_ns;
use crate::power::Power;
use crate::request::{Answer, Asked, Served};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Pages whose former contents are kept until the device has taken the new ones.
const KEPT: u64 = (1 << 20) / crate::BLOCK;

/// How a request ended.
enum End {
    Done(Asked),
    /// It failed; why, if it was the device that could not serve it.
    Failed(Option<String>),
    /// No end is left that would hear of it.
    Unheard,
}

/// Serves requests, one after the other.
pub struct Worker {
    device: File,
    bytes: u64,
    door: Box<dyn Door>,
    power: Power,
    intake: Arc<Intake>,
    /// Former contents of the pages that are being written.
    former: Vec<u8>,
}

impl Worker {
    pub fn new(disk: Disk, intake: Arc<Intake>) -> Worker {
        Worker {
            device: disk.device,
            bytes: disk.bytes,
            door: disk.door,
            power: disk.power,
            intake,
            former: Vec::new(),
        }
    }

    /// Serves what comes until QEMU is gone.
    pub fn run(mut self) {
        while let Some(task) = self.intake.next() {
            let (done, end) = self.serve(&task);
            if self.intake.done(&task, done) {
                self.count(end);
            }
        }
    }

    /// Serves a request, and says how it ended. It waits for its time elsewhere.
    fn serve(&mut self, task: &Task) -> (Done, End) {
        let Some(mut served) = Served::new(&task.chain, task.chain.memory(), &task.lent) else {
            let done = Done {
                bytes: 0,
                is_timed: false,
                at_ns: now_ns(),
            };
            return (done, End::Unheard);
        };
        let (answer, at_ns, end) = match served.asked(self.bytes) {
            Ok(asked) => self.carry_out(&mut served, asked),
            Err(answer) => (answer, now_ns(), End::Failed(None)),
        };
        let done = Done {
            bytes: served.end(answer),
            is_timed: matches!(end, End::Done(Asked::Read(_) | Asked::Write(_))),
            at_ns,
        };
        (done, end)
    }

    /// Moves the bytes of a request, and asks the device when it is done.
    fn carry_out(&mut self, served: &mut Served<'_>, asked: Asked) -> (Answer, u64, End) {
        let power = self.power.clone();
        let done = match power.hold() {
            Some(_held) => self.try_to(served, &asked),
            None => Err(DoorError::NoPower),
        };
        match done {
            Ok(at_ns) => (Answer::Ok, at_ns, End::Done(asked)),
            Err(DoorError::NoPower) => (Answer::Failed, now_ns(), End::Unheard),
            Err(why) => (Answer::Failed, now_ns(), End::Failed(Some(why.to_string()))),
        }
    }

    fn try_to(&mut self, served: &mut Served<'_>, asked: &Asked) -> Result<u64, DoorError> {
        match asked {
            Asked::Read(pages) => {
                let at_ns = self.door.read(pages.clone())?;
                served.read(&self.device, pages)?;
                Ok(at_ns)
            }
            Asked::Write(pages) => {
                let mut at_ns = 0;
                for start in pages.clone().step_by(KEPT as usize) {
                    let part = start..pages.end.min(start + KEPT);
                    at_ns = at_ns.max(self.write(served, &part)?);
                }
                Ok(at_ns)
            }
            // One that is refused has changed nothing. Its zeros are kept by the next flush.
            Asked::Trim(parts) => {
                let mut at_ns = now_ns();
                for pages in parts {
                    at_ns = at_ns.max(self.door.trim(pages.clone())?);
                    empty(&self.device, pages)?;
                }
                Ok(at_ns)
            }
            Asked::Flush => self.intake.while_away(|| self.door.flush()),
            Asked::Name => {
                served.name()?;
                Ok(now_ns())
            }
        }
    }

    /// Writes some pages. The device is asked behind the contents: what it has programmed is what
    /// is kept. If it refuses, they have their former contents again.
    fn write(&mut self, served: &mut Served<'_>, pages: &Range<u64>) -> Result<u64, DoorError> {
        let at = pages.start * crate::BLOCK;
        let bytes = (pages.end - pages.start) * crate::BLOCK;
        self.former.resize(bytes as usize, 0);
        self.device.read_exact_at(&mut self.former, at)?;
        let moved = served.write(&self.device, pages);
        let written = match moved {
            Ok(()) => self.door.write(pages.clone()),
            Err(why) => Err(why.into()),
        };
        if written.is_err() {
            self.device.write_all_at(&self.former, at)?;
        }
        written
    }

    fn count(&self, end: End) {
        let bytes = |pages: &Range<u64>| (pages.end - pages.start) * crate::BLOCK;
        let mut figures = self.intake.figures();
        match end {
            End::Done(Asked::Read(pages)) => {
                figures.reads += 1;
                figures.read_bytes += bytes(&pages);
            }
            End::Done(Asked::Write(pages)) => {
                figures.writes += 1;
                figures.written_bytes += bytes(&pages);
            }
            End::Done(Asked::Trim(_)) => figures.trims += 1,
            End::Done(Asked::Flush) => figures.flushes += 1,
            End::Done(Asked::Name) | End::Unheard => {}
            End::Failed(why) => {
                figures.failed += 1;
                if figures.why.is_none() {
                    figures.why = why;
                }
            }
        }
    }
}

/// Makes pages of the device zeros that take no memory.
fn empty(device: &File, pages: &Range<u64>) -> Result<(), DoorError> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let (at, len) = (
        pages.start * crate::BLOCK,
        (pages.end - pages.start) * crate::BLOCK,
    );
    fallocate(device, flags, at, len).map_err(|why| DoorError::Memory(why.into()))
}
