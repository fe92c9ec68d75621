//! The programs' side of a persistent store. The runtime notes which pages the device has
//! programmed, for the command that keeps the store. A program that wants pages to be durable asks
//! that command.
//!
//! Nothing here opens a file later on: the desk is mapped at the start, and children of forks have
//! the same mapping.

use crate::clock::now_ns;
use crate::session::Session;
use crate::session::error::{StartError, failed};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::*};
use sluice_abi::{
    DESK_FILE, DESK_MAGIC, Desk, DeskState, PROGRAMMED_AT, Progress, Ticket, Wanted, desk_bytes,
};
use sluice_region::{Mapping, futex_wait, futex_wake, open_regular};
use std::io::Error;
use std::os::fd::AsRawFd;
use std::path::Path;

/// A server that shows no life for so long is taken for dead.
const DEAD_AFTER_NS: u64 = 10_000_000_000;
/// A thread that waits for an answer looks this often whether the server lives.
const LOOK_NS: u64 = 50_000_000;
/// What lies between two looks counts as so much silence at most. One who was stopped (Ctrl-Z) has
/// heard nothing meanwhile, and the server was stopped with it.
const HEARD_NS: u64 = 2 * LOOK_NS;

/// The mapped desk.
#[derive(Debug)]
pub struct StoreDesk {
    map: Mapping,
    pages: u64,
}

/// Pages that are to be durable, and for how long the server has shown no life.
#[derive(Debug)]
pub struct Asked {
    pages: Range<u64>,
    /// The request at the desk. While too many others ask there is none.
    ticket: Option<Ticket>,
    beats: u32,
    looked_ns: u64,
    silent_ns: u64,
}

impl StoreDesk {
    /// Maps the desk of a session, if its device is persistent.
    pub fn of(session: &Session) -> Result<Option<&'static StoreDesk>, StartError> {
        let open = || StoreDesk::open(&session.dir, session.device.pages.into());
        session.device.persistent.then(open).transpose()
    }

    fn open(dir: &Path, pages: u64) -> Result<&'static StoreDesk, StartError> {
        let path = dir.join(DESK_FILE);
        let file = open_regular(&path, true, None).map_err(|e| failed(&path, e))?;
        let map = Mapping::shared(file.as_raw_fd(), desk_bytes(pages));
        let map = map.map_err(|errno| failed(&path, Error::from_raw_os_error(errno)))?;
        let desk = Box::leak(Box::new(StoreDesk { map, pages }));
        let is_it = desk.desk().magic.load(Acquire) == DESK_MAGIC;
        match is_it && desk.desk().pages.load(Relaxed) == pages {
            true => Ok(desk),
            false => Err(failed(&path, Error::other("not the desk of this device"))),
        }
    }

    fn desk(&self) -> &Desk {
        // SAFETY: page-aligned and long enough; all fields are atomics.
        unsafe { &*(self.map.addr() as *const Desk) }
    }

    /// The device has programmed a page: the store is to have it soon.
    pub fn programmed(&self, lpn: u64) {
        if lpn < self.pages {
            let at = self.map.addr() + PROGRAMMED_AT + lpn as usize / 64 * 8;
            // SAFETY: within the mapping, whose length was computed from the pages.
            let word = unsafe { &*(at as *const AtomicU64) };
            let bit = 1 << (lpn % 64);
            if word.fetch_or(bit, AcqRel) & bit == 0 {
                self.desk().programmed.fetch_add(1, Release);
            }
        }
    }

    /// Asks for pages to be made durable.
    pub fn ask(&self, pages: &Range<u64>) -> Asked {
        Asked {
            pages: pages.clone(),
            ticket: self.post(pages),
            beats: self.desk().beats.load(Acquire),
            looked_ns: now_ns(),
            silent_ns: 0,
        }
    }

    /// Leaves a request. `None` if too many others ask.
    fn post(&self, pages: &Range<u64>) -> Option<Ticket> {
        let (first, count) = (pages.start, pages.end - pages.start);
        let ticket = self.desk().post(Wanted::Flush { first, count })?;
        self.desk().bell.fetch_add(1, AcqRel);
        futex_wake(&self.desk().bell);
        Some(ticket)
    }

    /// What became of it; `None` while it waits.
    pub fn look(&self, asked: &mut Asked) -> Option<Result<(), i32>> {
        if asked.ticket.is_none() {
            asked.ticket = self.post(&asked.pages);
        }
        match asked.ticket.map(|ticket| self.desk().look(ticket)) {
            Some(Progress::Done(answer)) if answer.errno == 0 => return Some(Ok(())),
            Some(Progress::Done(answer)) => return Some(Err(answer.errno as i32)),
            // This program was stopped for so long that nobody waited with the answer. Pages may be
            // flushed twice.
            Some(Progress::GivenUp) => asked.ticket = self.post(&asked.pages),
            Some(Progress::Waits) | None => {}
        }
        let is_served = self.desk().state() == DeskState::Open;
        (!is_served || !self.is_alive(asked)).then_some(Err(libc::EIO))
    }

    /// Whether the server has shown life, or it is not long since it has.
    fn is_alive(&self, asked: &mut Asked) -> bool {
        let (beats, now_ns) = (self.desk().beats.load(Acquire), now_ns());
        asked.silent_ns += now_ns.saturating_sub(asked.looked_ns).min(HEARD_NS);
        if beats != asked.beats {
            (asked.beats, asked.silent_ns) = (beats, 0);
        }
        asked.looked_ns = now_ns;
        asked.silent_ns < DEAD_AFTER_NS
    }

    /// Waits until pages are durable.
    pub fn flush(&self, pages: &Range<u64>) -> Result<(), i32> {
        let mut asked = self.ask(pages);
        loop {
            let answered = self.desk().answered.load(Acquire);
            if let Some(result) = self.look(&mut asked) {
                return result;
            }
            futex_wait(&self.desk().answered, answered, Some(LOOK_NS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_abi::{ASKS, Answer};
    use sluice_region::create_private;

    fn desk() -> StoreDesk {
        let dir = tempfile::tempdir().expect("room");
        let file = create_private(&dir.path().join(DESK_FILE)).expect("room");
        file.set_len(desk_bytes(64) as u64).expect("room");
        let map = Mapping::shared(file.as_raw_fd(), desk_bytes(64)).expect("room");
        StoreDesk { map, pages: 64 }
    }

    /// A program that was stopped, so that its answer was given up, asks again. It had taken that
    /// for a flush that failed.
    #[test]
    fn a_request_whose_answer_was_given_up_is_made_again() {
        let desk = desk();
        let mut asked = desk.ask(&(3..5));
        let serve = || {
            let (served, wanted) = desk.desk().next(None).expect("one waits");
            assert_eq!(wanted, Wanted::Flush { first: 3, count: 2 });
            desk.desk().answer(served, Answer::default());
        };
        serve();
        desk.desk().give_up(&desk.desk().held());
        assert_eq!(desk.look(&mut asked), None, "it waits again");
        serve();
        assert_eq!(desk.look(&mut asked), Some(Ok(())));
        // It does not ask one that has ended.
        let mut asked = desk.ask(&(3..5));
        serve();
        desk.desk().give_up(&desk.desk().held());
        desk.desk().set_state(DeskState::Closed);
        assert_eq!(desk.look(&mut asked), Some(Err(libc::EIO)));
    }

    /// A flush that was under way when the program and its command were stopped for long had failed
    /// when both went on.
    #[test]
    fn a_server_is_dead_that_was_heard_of_no_more_and_not_one_to_whom_nobody_listened() {
        let desk = desk();
        let mut asked = desk.ask(&(3..5));
        let mut pass = |ns: u64| {
            asked.looked_ns = now_ns().saturating_sub(ns);
            desk.look(&mut asked)
        };
        assert_eq!(pass(2 * DEAD_AFTER_NS), None, "it was stopped");
        let looks = (1..).take_while(|_| pass(LOOK_NS).is_none()).count();
        let expected = (DEAD_AFTER_NS - HEARD_NS) / LOOK_NS;
        assert!(looks as u64 <= expected, "{looks} looks");
        assert!(looks as u64 > expected / 2, "{looks} looks");
        desk.desk().beats.fetch_add(1, AcqRel);
        assert_eq!(pass(LOOK_NS), None, "it lives");
    }

    /// A thread that finds no place at the desk gets the next one that is free.
    #[test]
    fn a_request_that_found_no_place_is_made_later() {
        let desk = desk();
        let mut asked: Vec<Asked> = (0..=ASKS as u64)
            .map(|at| desk.ask(&(at..at + 1)))
            .collect();
        let mut last = asked.pop().expect("one more than there are places");
        assert!(last.ticket.is_none());
        assert_eq!(desk.look(&mut last), None);
        let (served, _) = desk.desk().next(None).expect("all wait");
        desk.desk().answer(served, Answer::default());
        assert_eq!(desk.look(&mut asked[0]), Some(Ok(())));
        assert_eq!(desk.look(&mut last), None, "it waits");
        let (served, wanted) = desk.desk().next(None).expect("the last is the first now");
        let first = ASKS as u64;
        assert_eq!(wanted, Wanted::Flush { first, count: 1 });
        desk.desk().answer(served, Answer::default());
        assert_eq!(desk.look(&mut last), Some(Ok(())));
    }
}
