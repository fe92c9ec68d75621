//! The block door of a device: when is a request done?

use sluice_abi::{Completion, Operation, Range as Bytes, Request, Status};
use sluice_control::{Connection, DeviceFiles, Error};
use sluice_region::is_running;
use sluice_units::Bits;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// How long the disk tries to reach its device's ring, and how often.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
const CONNECT_LOOK: Duration = Duration::from_millis(20);

/// Runs of written pages that a flush names.
const RUNS_MAX: usize = 64;

/// Why the device did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// It cannot be asked.
    #[error(transparent)]
    Ring(#[from] sluice_control::Error),
    /// The bytes cannot be moved between the guest and the device.
    #[error("moving bytes: {0}")]
    Memory(#[from] std::io::Error),
    /// It has no power any more.
    #[error("the device has no power")]
    NoPower,
    /// It has refused.
    #[error("the device answers: {0}")]
    Refused(String),
}

/// The block door of a device. Pages are those of the device; times are of `CLOCK_MONOTONIC`, ns.
pub trait Door: Send {
    /// When the last of these pages has been read.
    ///
    /// # Errors
    /// The device refuses, or is gone.
    fn read(&mut self, pages: Range<u64>) -> Result<u64, DoorError>;

    /// When the device has taken over these pages, whose new contents are in its memory already.
    ///
    /// # Errors
    /// As above.
    fn write(&mut self, pages: Range<u64>) -> Result<u64, DoorError>;

    /// When the device has ended the contents of these pages, which are zeros right after.
    ///
    /// # Errors
    /// As above.
    fn trim(&mut self, pages: Range<u64>) -> Result<u64, DoorError>;

    /// When all that was written and trimmed is durable.
    ///
    /// # Errors
    /// As above.
    fn flush(&mut self) -> Result<u64, DoorError>;
}

/// The door of a device in another process, through its control ring.
pub struct RingDoor {
    pid: u32,
    connection: Option<Connection>,
    /// Pages written and not flushed, of a persistent device with so many.
    unflushed: Option<(Bits, usize)>,
}

impl RingDoor {
    /// The door of the device that a process has by the time it is used, and how many pages that
    /// has if it is persistent.
    pub fn new(pid: u32, persistent: Option<u64>) -> RingDoor {
        RingDoor {
            pid,
            connection: None,
            unflushed: persistent.map(|pages| (Bits::new(pages as usize), pages as usize)),
        }
    }

    /// The answer to a request. A disk whose device is stopped waits: an error would have the guest
    /// give up its file system.
    fn call(&mut self, request: Request) -> Result<(Completion, u64), DoorError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(connect(self.pid)?),
        };
        let pending = connection.send(request)?;
        let answer = loop {
            match connection.wait(pending) {
                Err(Error::Stopped(_) | Error::Silent(_)) => {}
                answered => break answered?,
            }
        };
        let started_ns = connection.view().stats().started_ns.load(Relaxed);
        Ok((answer, started_ns))
    }

    fn ask(&mut self, operation: Operation, pages: &Range<u64>) -> Result<u64, DoorError> {
        let range = Bytes {
            start: pages.start * crate::BLOCK,
            len: (pages.end - pages.start) * crate::BLOCK,
            is_address: false,
        };
        let (answer, started_ns) = self.call(Request::Pages(operation, range))?;
        match answer.status {
            Status::Done | Status::Nothing => Ok(started_ns + answer.done_ns),
            _ => Err(DoorError::Refused(why(&answer))),
        }
    }

    fn changed(&mut self, pages: &Range<u64>) {
        if let Some((unflushed, _)) = &mut self.unflushed {
            let count = pages.end - pages.start;
            unflushed.mark(pages.start as usize, count as usize, true);
        }
    }
}

/// A channel of the device's ring.
fn connect(pid: u32) -> Result<Connection, DoorError> {
    let open = || DeviceFiles::of_process(pid).and_then(Connection::open);
    insist(CONNECT_LIMIT, || is_running(pid), open)
}

/// Tries to open something of a process while that runs. Others may have all channels of its ring,
/// or it is stopped: that ends. What else is in the way has so long to end.
fn insist<T>(
    limit: Duration,
    is_running: impl Fn() -> bool,
    open: impl Fn() -> Result<T, Error>,
) -> Result<T, DoorError> {
    let limit = Instant::now() + limit;
    loop {
        let why = match open() {
            Ok(opened) => return Ok(opened),
            Err(why) => why,
        };
        let ends = matches!(why, Error::Busy(_) | Error::Stopped(_) | Error::Silent(_));
        if !is_running() || !ends && Instant::now() > limit {
            return Err(why.into());
        }
        std::thread::sleep(CONNECT_LOOK);
    }
}

fn why(answer: &Completion) -> String {
    match answer.refused {
        0 => answer.status.text().to_owned(),
        _ => answer.reason.text().to_owned(),
    }
}

impl Door for RingDoor {
    fn read(&mut self, pages: Range<u64>) -> Result<u64, DoorError> {
        self.ask(Operation::BlockRead, &pages)
    }

    fn write(&mut self, pages: Range<u64>) -> Result<u64, DoorError> {
        self.changed(&pages);
        self.ask(Operation::BlockWrite, &pages)
    }

    fn trim(&mut self, pages: Range<u64>) -> Result<u64, DoorError> {
        self.changed(&pages);
        self.ask(Operation::BlockTrim, &pages)
    }

    fn flush(&mut self) -> Result<u64, DoorError> {
        let mut done_ns = crate::now_ns();
        let Some((unflushed, pages)) = &self.unflushed else {
            return Ok(done_ns);
        };
        for run in runs(unflushed, *pages, RUNS_MAX) {
            done_ns = done_ns.max(self.ask(Operation::Flush, &run)?);
        }
        // Had one failed, all would be tried again the next time.
        if let Some((unflushed, _)) = &mut self.unflushed {
            unflushed.clear_all();
        }
        Ok(done_ns)
    }
}

/// The pages of a set, of `pages` pages, as runs in order. There are at most `most`: the last has
/// what is left, and what lies between.
fn runs(set: &Bits, pages: usize, most: usize) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::with_capacity(most);
    let mut from = 0;
    while let Some(first) = set.next(from, true) {
        from = set.next(first, false).unwrap_or(pages);
        let is_full = runs.len() == most;
        match runs.last_mut() {
            Some(last) if is_full => last.end = from as u64,
            _ => runs.push(first as u64..from as u64),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A disk whose device is stopped or has other clients waits for as long as that is so. It had
    /// answered with an error after 30 s.
    #[test]
    fn a_device_that_cannot_be_reached_for_long_is_waited_for_while_it_runs() {
        let tries = Cell::new(0);
        let open = |why: fn() -> Error| {
            tries.set(0);
            move |tries: &Cell<u32>| {
                tries.set(tries.get() + 1);
                match tries.get() {
                    1..4 => Err(why()),
                    tries => Ok(tries),
                }
            }
        };
        for why in [|| Error::Busy(8), || Error::Stopped(1), || Error::Silent(1)] {
            let open = open(why);
            let opened = insist(Duration::ZERO, || true, || open(&tries));
            assert_eq!(opened.expect("in the end"), 4, "{}", why());
            tries.set(0);
            let opened = insist(CONNECT_LIMIT, || tries.get() < 2, || open(&tries));
            assert!(opened.is_err() && tries.get() == 2, "it has ended");
        }
        // What does not end by itself does not keep a guest waiting for ever.
        let open = open(|| Error::NoRing(1));
        assert!(insist(Duration::ZERO, || true, || open(&tries)).is_err());
    }

    #[test]
    fn pages_are_given_out_as_runs_of_which_the_last_has_the_rest() {
        let mut set = Bits::new(1000);
        assert_eq!(runs(&set, 1000, 4), []);
        for (first, count) in [(0, 1), (62, 4), (200, 1), (66, 4)] {
            set.mark(first, count, true);
        }
        assert_eq!(runs(&set, 1000, 3), [0..1, 62..70, 200..201]);
        assert_eq!(runs(&set, 1000, 2), [0..1, 62..201]);
        set.mark(999, 1, true);
        assert_eq!(runs(&set, 1000, 4), [0..1, 62..70, 200..201, 999..1000]);
        assert_eq!(runs(&set, 1000, 2), [0..1, 62..1000]);
    }
}
