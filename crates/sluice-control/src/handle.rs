//! A connection that threads share, with ranges as the program knows them.

use crate::connection::{Connection, Pending};
use crate::error::Error;
use crate::guest::{Memory, Piece};
use crate::mapped::DeviceFile;
use crate::place::{DeviceFiles, Side};
use sluice_abi::{Completion, Operation, Range, Reason, Request, Status};
use std::sync::{Mutex, MutexGuard, PoisonError};

const PAGE: u64 = sluice_region::PAGE as u64;

/// Where a range begins.
#[derive(Clone, Copy, Debug)]
pub enum Where {
    /// At an address of this program.
    Address(u64),
    /// At a byte of the device.
    Byte(u64),
}

/// The program's own device.
#[derive(Debug)]
pub struct Handle {
    connection: Mutex<Connection>,
    side: Side,
    pages: u64,
    heap_at: u64,
    /// The device has no addresses of its own if it is a file.
    file: Option<DeviceFile>,
    /// A child of a fork has another device.
    pid: u32,
}

impl Handle {
    /// Takes a channel of the ring of this program, or of the guest it runs in.
    pub fn open() -> Result<Handle, Error> {
        let connection = Connection::open(DeviceFiles::own()?)?;
        let stats = connection.view().stats();
        let heap_at = stats.heap_at.load(std::sync::atomic::Ordering::Relaxed);
        let session = connection.place().view.parent();
        let file = session.filter(|_| heap_at == 0).and_then(DeviceFile::of);
        Ok(Handle {
            side: connection.place().side,
            file,
            pages: connection.view().pages(),
            heap_at,
            connection: Mutex::new(connection),
            pid: std::process::id(),
        })
    }

    /// Bytes of the device.
    pub fn bytes(&self) -> u64 {
        self.pages * PAGE
    }

    /// Does something with the connection, one thread at a time.
    pub fn with<T>(&self, f: impl FnOnce(&mut Connection) -> Result<T, Error>) -> Result<T, Error> {
        f(&mut *self.lock()?)
    }

    fn lock(&self) -> Result<MutexGuard<'_, Connection>, Error> {
        if std::process::id() != self.pid {
            return Err(Error::Gone);
        }
        Ok(self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner))
    }

    /// The ranges to send for one of the program's.
    fn ranges(&self, at: Where, len: u64) -> Result<Vec<Range>, Error> {
        let range = |start, len, is_address| Range {
            start,
            len,
            is_address,
        };
        match (at, self.side) {
            (Where::Byte(start), _) => Ok(vec![range(start, len, false)]),
            (Where::Address(start), Side::Host) => Ok(vec![range(start, len, true)]),
            (Where::Address(start), Side::Guest) => {
                let pieces = Memory::find(self.bytes())?.pieces(start, len)?;
                let of = |piece: Piece| range(piece.start, piece.len, false);
                Ok(pieces.into_iter().map(of).collect())
            }
        }
    }

    /// Sends a command and waits for its end.
    pub fn command(&self, what: Operation, at: Where, len: u64) -> Result<Completion, Error> {
        let ranges = self.ranges(at, len)?;
        let mut connection = self.lock()?;
        let mut sum: Option<Completion> = None;
        for range in ranges {
            let answer = connection.call(Request::Pages(what, range))?;
            sum = Some(match sum {
                None => answer,
                Some(before) => both(&before, &answer),
            });
        }
        sum.ok_or(Error::Garbled)
    }

    /// Sends a command.
    pub fn send(&self, what: Operation, at: Where, len: u64) -> Result<u64, Error> {
        let ranges = self.ranges(at, len)?;
        let [range] = ranges[..] else {
            return Err(Error::NotOnDevice(
                ranges.get(1).map_or(0, |range| range.start),
            ));
        };
        Ok(self.lock()?.send(Request::Pages(what, range))?.number())
    }

    /// The end of a command, if it has come.
    pub fn end(&self, number: u64, wait: bool) -> Result<Option<Completion>, Error> {
        let mut connection = self.lock()?;
        match wait {
            true => connection.wait(Pending::of(number)).map(Some),
            false => connection.poll(Pending::of(number)),
        }
    }

    /// What is known of each page of a range of addresses.
    pub fn residency(&self, start: u64, len: u64) -> Result<Vec<u8>, Error> {
        let nowhere = Error::NotOnDevice(start);
        let last = len.checked_sub(1).and_then(|more| start.checked_add(more));
        let last = last.ok_or(Error::NotOnDevice(start))?;
        let pages: Vec<u64> = match (self.side, &self.file) {
            (Side::Host, Some(file)) => file.pages(start, last).ok_or(nowhere)?,
            (Side::Host, None) => {
                let first = start.checked_sub(self.heap_at).filter(|_| self.heap_at > 0);
                let first = first.ok_or(Error::NotOnDevice(start))? / PAGE;
                let end = first + (last / PAGE - start / PAGE);
                // Before they are listed: a program may name any range.
                if end >= self.pages {
                    return Err(nowhere);
                }
                (first..=end).collect()
            }
            (Side::Guest, _) => {
                let pieces = Memory::find(self.bytes())?.pieces(start, len)?;
                let of = |piece: Piece| piece.start / PAGE..(piece.start + piece.len) / PAGE;
                pieces.into_iter().flat_map(of).collect()
            }
        };
        if pages.iter().any(|page| *page >= self.pages) {
            return Err(Error::NotOnDevice(start));
        }
        let connection = self.lock()?;
        let view = connection.view();
        Ok(pages.into_iter().map(|page| view.page(page)).collect())
    }
}

/// Two answers as one.
fn both(a: &Completion, b: &Completion) -> Completion {
    let mut sum = *b;
    sum.pages += a.pages;
    sum.changed += a.changed;
    sum.already += a.already;
    sum.refused += a.refused;
    if a.reason != Reason::None {
        (sum.reason, sum.first_refused) = (a.reason, a.first_refused);
    }
    sum.status = match (sum.changed, sum.already, sum.refused) {
        (0, _, 0) => Status::Nothing,
        (_, _, 0) => Status::Done,
        (0, 0, _) => Status::Refused,
        _ => Status::Partly,
    };
    sum
}

/// The operation on pages that the header has under this number. The header has no number for the
/// block door, whose answers come before their time.
pub fn pages_operation(code: u32) -> Option<Operation> {
    use Operation::*;
    Operation::of(code)
        .filter(|one| !matches!(one, Set | Stats | BlockRead | BlockWrite | BlockTrim))
}
