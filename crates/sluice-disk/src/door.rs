//! The block door of a device: when is a request done?

use sluice_abi::{Completion, Operation, Range as Bytes, Request, Status};
use sluice_control::{Connection, DeviceFiles, Error};
use sluice_region::is_running;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// How long the disk tries to reach its device's ring, and how often.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
const CONNECT_LOOK: Duration = Duration::from_millis(20);

/// Runs of written pages that a flush names one by one. Beyond that it names all between the first
/// and the last.
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
    /// As above. The contents are undefined then.
    fn write(&mut self, pages: Range<u64>) -> Result<u64, DoorError>;

    /// When the device has ended the contents of these pages, which are zeros already.
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
    /// Pages written and not flushed, of a persistent device.
    unflushed: Option<Pages>,
}

impl RingDoor {
    /// The door of the device that a process has by the time it is used.
    pub fn new(pid: u32, is_persistent: bool) -> RingDoor {
        RingDoor {
            pid,
            connection: None,
            unflushed: is_persistent.then(Pages::default),
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
        if let Some(unflushed) = &mut self.unflushed {
            unflushed.add(pages);
        }
    }
}

/// A channel of the device's ring. Others may have all of them for a moment.
fn connect(pid: u32) -> Result<Connection, DoorError> {
    let limit = Instant::now() + CONNECT_LIMIT;
    loop {
        let opened = DeviceFiles::of_process(pid).and_then(Connection::open);
        match opened {
            Ok(connection) => return Ok(connection),
            Err(why) if Instant::now() > limit || !is_running(pid) => {
                return Err(why.into());
            }
            Err(_) => std::thread::sleep(CONNECT_LOOK),
        }
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
        for run in self
            .unflushed
            .iter()
            .flat_map(|pages| pages.runs(RUNS_MAX))
            .collect::<Vec<_>>()
        {
            done_ns = done_ns.max(self.ask(Operation::Flush, &run)?);
        }
        // Those that could not be flushed are tried again the next time.
        if let Some(unflushed) = &mut self.unflushed {
            *unflushed = Pages::default();
        }
        Ok(done_ns)
    }
}

/// A set of pages, as a bit for each.
#[derive(Debug, Default)]
struct Pages(Vec<u64>);

impl Pages {
    fn add(&mut self, pages: &Range<u64>) {
        let words = pages.end.div_ceil(64) as usize;
        if self.0.len() < words {
            self.0.resize(words, 0);
        }
        for page in pages.clone() {
            self.0[(page / 64) as usize] |= 1 << (page % 64);
        }
    }

    /// The pages as runs; as one run with pages between them if they would be more than `most`.
    fn runs(&self, most: usize) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        for (at, word) in self.0.iter().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                let page = at as u64 * 64 + u64::from(rest.trailing_zeros());
                rest &= rest - 1;
                let is_over = runs.len() > most;
                match runs.last_mut() {
                    Some(last) if last.end == page || is_over => last.end = page + 1,
                    _ => runs.push(page..page + 1),
                }
            }
        }
        if runs.len() > most {
            runs[0].end = runs[runs.len() - 1].end;
            runs.truncate(1);
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_given_out_as_runs_and_as_one_where_they_are_many() {
        let mut pages = Pages::default();
        assert_eq!(pages.runs(4), []);
        for run in [0..1, 62..66, 200..201, 66..70] {
            pages.add(&run);
        }
        assert_eq!(pages.runs(3), [0..1, 62..70, 200..201]);
        assert_eq!(pages.runs(2).as_slice(), std::slice::from_ref(&(0..201)));
        for page in (300..1000).step_by(2) {
            pages.add(&(page..page + 1));
        }
        assert_eq!(pages.runs(3).as_slice(), std::slice::from_ref(&(0..999)));
    }
}
