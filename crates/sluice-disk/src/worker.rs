//! The thread that serves requests, and answers each when the device is done.

use crate::disk::Disk;
use crate::door::{Door, DoorError};
use crate::figures::Figures;
use crate::now_ns;
use crate::power::Power;
use crate::request::{Answer, Asked, Chain, Memory, Served};
use rustix::fs::{FallocateFlags, fallocate};
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use vhost_user_backend::{VringMutex, VringT};
use vm_memory::GuestMemoryAtomic;

/// The guest's queue.
pub type Queue = VringMutex<GuestMemoryAtomic<Memory>>;

/// A request that was taken from the queue.
pub struct Task {
    pub chain: Chain,
    pub queue: Queue,
    pub taken_ns: u64,
}

/// What the worker shares with the thread that takes requests.
#[derive(Default)]
pub struct Shared {
    /// Requests taken and not answered.
    pub under_way: AtomicUsize,
    pub figures: Mutex<Figures>,
}

/// A request that waits for its time.
struct Due {
    queue: Queue,
    head: u16,
    /// Bytes that the guest's memory was given.
    bytes: u32,
    /// Whether its time counts: it read or wrote.
    is_timed: bool,
    taken_ns: u64,
    at_ns: u64,
}

/// Serves requests, one after the other.
pub struct Worker {
    device: File,
    bytes: u64,
    door: Box<dyn Door>,
    power: Power,
    shared: Arc<Shared>,
    /// Those that wait, by their time and then in order.
    due: BTreeMap<(u64, u64), Due>,
    number: u64,
}

impl Worker {
    pub fn new(disk: Disk, shared: Arc<Shared>) -> Worker {
        Worker {
            device: disk.device,
            bytes: disk.bytes,
            door: disk.door,
            power: disk.power,
            shared,
            due: BTreeMap::new(),
            number: 0,
        }
    }

    /// Serves what comes until nobody sends anything more.
    pub fn run(mut self, tasks: &Receiver<Task>) {
        sluice_region::sleep_exactly();
        loop {
            self.answer_due();
            let task = match self.due.first_key_value() {
                None => tasks.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(((at_ns, _), _)) => {
                    let wait_ns = at_ns.saturating_sub(now_ns());
                    tasks.recv_timeout(Duration::from_nanos(wait_ns))
                }
            };
            match task {
                Ok(task) => self.serve(task),
                Err(RecvTimeoutError::Timeout) => {}
                // QEMU is gone: nobody waits for an answer.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }

    fn serve(&mut self, task: Task) {
        let memory = task.chain.memory();
        let (bytes, is_timed, at_ns) = match Served::new(&task.chain, memory) {
            Some(served) => self.carry_out(served),
            None => (0, false, now_ns()),
        };
        let due = Due {
            head: task.chain.head_index(),
            queue: task.queue,
            bytes,
            is_timed,
            taken_ns: task.taken_ns,
            at_ns,
        };
        self.due.insert((at_ns, self.number), due);
        self.number += 1;
    }

    /// Moves the bytes of a request, and asks the device when it is done. Says how many bytes the
    /// guest's memory was given, whether its time counts, and when the guest may hear of it.
    fn carry_out(&mut self, mut served: Served<'_>) -> (u32, bool, u64) {
        let asked = match served.asked(self.bytes) {
            Ok(asked) => asked,
            Err(answer) => {
                self.figures(|figures| figures.failed += 1);
                return (served.end(answer), false, now_ns());
            }
        };
        let is_timed = matches!(asked, Asked::Read(_) | Asked::Write(_));
        let power = self.power.clone();
        let done = match power.hold() {
            Some(_held) => self.try_to(&mut served, &asked),
            None => Err(DoorError::NoPower),
        };
        match done {
            Ok(at_ns) => {
                self.count(&asked);
                (served.end(Answer::Ok), is_timed, at_ns)
            }
            // Nobody is there who would hear of it.
            Err(DoorError::NoPower) => (served.end(Answer::Failed), false, now_ns()),
            Err(why) => {
                self.figures(|figures| {
                    figures.failed += 1;
                    figures.why.get_or_insert_with(|| why.to_string());
                });
                (served.end(Answer::Failed), false, now_ns())
            }
        }
    }

    fn try_to(&mut self, served: &mut Served<'_>, asked: &Asked) -> Result<u64, DoorError> {
        let device = &self.device;
        match asked {
            Asked::Read(pages) => {
                let at_ns = self.door.read(pages.clone())?;
                served.read(device, pages)?;
                Ok(at_ns)
            }
            // The device is asked behind the contents: what it has programmed is what is kept.
            Asked::Write(pages) => {
                served.write(device, pages)?;
                self.door.write(pages.clone())
            }
            Asked::Trim(parts) => {
                let mut at_ns = now_ns();
                for pages in parts {
                    empty(device, pages)?;
                    at_ns = at_ns.max(self.door.trim(pages.clone())?);
                }
                Ok(at_ns)
            }
            Asked::Flush => self.door.flush(),
            Asked::Name => {
                served.name()?;
                Ok(now_ns())
            }
        }
    }

    fn count(&self, asked: &Asked) {
        let bytes = |pages: &Range<u64>| (pages.end - pages.start) * crate::BLOCK;
        self.figures(|figures| match asked {
            Asked::Read(pages) => {
                figures.reads += 1;
                figures.read_bytes += bytes(pages);
            }
            Asked::Write(pages) => {
                figures.writes += 1;
                figures.written_bytes += bytes(pages);
            }
            Asked::Trim(_) => figures.trims += 1,
            Asked::Flush => figures.flushes += 1,
            Asked::Name => {}
        });
    }

    /// Answers all whose time has come.
    fn answer_due(&mut self) {
        while let Some(first) = self.due.first_entry() {
            if first.key().0 > now_ns() {
                return;
            }
            let due = first.remove();
            self.answer(due);
        }
    }

    fn answer(&self, due: Due) {
        let mut queue = due.queue.get_mut();
        // A queue that the guest has spoiled takes no answer, and has nobody who waits for one.
        let _ = queue.add_used(due.head, due.bytes);
        if queue.needs_notification().unwrap_or(true) {
            let _ = queue.signal_used_queue();
        }
        drop(queue);
        if due.is_timed {
            let device_ns = due.at_ns.saturating_sub(due.taken_ns);
            let answered_ns = now_ns().saturating_sub(due.taken_ns);
            self.figures(|figures| figures.took(device_ns, answered_ns));
        }
        self.shared.under_way.fetch_sub(1, AcqRel);
    }

    fn figures<T>(&self, with: impl FnOnce(&mut Figures) -> T) -> T {
        let figures = self.shared.figures.lock();
        with(&mut figures.unwrap_or_else(PoisonError::into_inner))
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
