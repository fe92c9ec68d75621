//! The desk of a persistent store: where the programs of a session ask the command for what the
//! store is to keep.
//!
//! A file in the session directory, which all processes of the session have mapped. Behind the desk
//! follow a bit for each page of the device that it has programmed, and one for each page that a
//! power cut has lost.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Name of the file in the session directory.
pub const DESK_FILE: &str = "store-desk";
/// What it begins with once it can be used.
pub const DESK_MAGIC: u64 = u64::from_le_bytes(*b"SLDESK01");
/// Requests that can be there at once.
pub const ASKS: usize = 32;
/// Where the bits of programmed pages begin.
pub const PROGRAMMED_AT: usize = 4096;

const FREE: u64 = 0;
const CLAIMED: u64 = 1;
const POSTED: u64 = 2;
const DONE: u64 = 3;
const PHASES: u64 = 4;

/// What the store's server does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeskState {
    /// It serves.
    Open,
    /// The power was cut: nothing that comes now is kept.
    PowerOff,
    /// It has ended.
    Closed,
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Some pages from a first one on are to be durable.
    Flush {
        /// The first.
        first: u64,
        /// How many.
        count: u64,
    },
    /// The power goes. So many pages can still be programmed.
    PowerCut {
        /// Pages.
        most: u64,
    },
}

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Answer {
    /// The error, or 0.
    pub errno: u32,
    /// Pages that were written.
    pub written: u64,
    /// Pages that were lost.
    pub lost: u64,
}

/// A request with its answer.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Ask {
    /// Which request it is, and how far it is.
    state: AtomicU64,
    is_power_cut: AtomicU64,
    first: AtomicU64,
    count: AtomicU64,
    errno: AtomicU32,
    padding: AtomicU32,
    written: AtomicU64,
    lost: AtomicU64,
}

/// A request of somebody's.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    at: usize,
    number: u64,
}

/// What became of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// It waits, or is being served.
    Waits,
    /// It was answered.
    Done(Answer),
    /// The server took it for that of somebody who has ended.
    GivenUp,
}

/// The desk.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Desk {
    /// [`DESK_MAGIC`].
    pub magic: AtomicU64,
    /// Pages of the device.
    pub pages: AtomicU64,
    /// Nanojoules for the program of a page.
    pub program_energy: AtomicU64,
    state: AtomicU32,
    /// Changes with each request. The server sleeps on it.
    pub bell: AtomicU32,
    /// Changes with each answer. Threads that asked sleep on it.
    pub answered: AtomicU32,
    /// Changes as long as the server lives.
    pub beats: AtomicU32,
    /// How often a bit of a programmed page was set.
    pub programmed: AtomicU64,
    asks: [Ask; ASKS],
}

const _: () = assert!(size_of::<Desk>() <= PROGRAMMED_AT);

/// Words of bits for so many pages.
pub fn desk_words(pages: u64) -> usize {
    pages.div_ceil(64) as usize
}

/// Where the bits of lost pages begin.
pub fn lost_at(pages: u64) -> usize {
    PROGRAMMED_AT + (desk_words(pages) * 8).next_multiple_of(PROGRAMMED_AT)
}

/// Bytes of the file.
pub fn desk_bytes(pages: u64) -> usize {
    2 * lost_at(pages) - PROGRAMMED_AT
}

impl Ask {
    fn wanted(&self) -> Wanted {
        let (first, count) = (self.first.load(Relaxed), self.count.load(Relaxed));
        match self.is_power_cut.load(Relaxed) {
            0 => Wanted::Flush { first, count },
            _ => Wanted::PowerCut { most: count },
        }
    }

    fn put(&self, wanted: Wanted) {
        let (is_power_cut, first, count) = match wanted {
            Wanted::Flush { first, count } => (0, first, count),
            Wanted::PowerCut { most } => (1, 0, most),
        };
        self.is_power_cut.store(is_power_cut, Relaxed);
        self.first.store(first, Relaxed);
        self.count.store(count, Relaxed);
    }
}

impl Desk {
    /// What the server does.
    pub fn state(&self) -> DeskState {
        match self.state.load(Acquire) {
            0 => DeskState::Open,
            1 => DeskState::PowerOff,
            _ => DeskState::Closed,
        }
    }

    /// Says what the server does.
    pub fn set_state(&self, state: DeskState) {
        self.state.store(state as u32, Release);
    }

    /// Leaves a request. `None` if there are too many. The caller rings the bell.
    pub fn post(&self, wanted: Wanted) -> Option<Ticket> {
        self.asks.iter().enumerate().find_map(|(at, ask)| {
            let state = ask.state.load(Relaxed);
            let number = state / PHASES + 1;
            let claimed = number * PHASES + CLAIMED;
            let claim = || ask.state.compare_exchange(state, claimed, AcqRel, Relaxed);
            if state % PHASES != FREE || claim().is_err() {
                return None;
            }
            ask.put(wanted);
            ask.state.store(number * PHASES + POSTED, Release);
            Some(Ticket { at, number })
        })
    }

    /// What became of a request. An answer is returned once.
    pub fn look(&self, ticket: Ticket) -> Progress {
        let Ticket { at, number } = ticket;
        let ask = &self.asks[at];
        let state = ask.state.load(Acquire);
        if state == number * PHASES + POSTED {
            return Progress::Waits;
        }
        let answer = Answer {
            errno: ask.errno.load(Relaxed),
            written: ask.written.load(Relaxed),
            lost: ask.lost.load(Relaxed),
        };
        let (from, to) = (number * PHASES + DONE, number * PHASES + FREE);
        match ask.state.compare_exchange(from, to, AcqRel, Relaxed) {
            Ok(_) => Progress::Done(answer),
            Err(_) => Progress::GivenUp,
        }
    }

    /// A request that waits, for the server. It looks behind the place of the request that it
    /// answered `before` this one first: none waits longer than for one of each other place.
    pub fn next(&self, before: Option<Ticket>) -> Option<(Ticket, Wanted)> {
        let first = before.map_or(0, |before| before.at + 1);
        (first..first + ASKS).map(|at| at % ASKS).find_map(|at| {
            let ask = &self.asks[at];
            let state = ask.state.load(Acquire);
            let number = state / PHASES;
            (state % PHASES == POSTED).then(|| (Ticket { at, number }, ask.wanted()))
        })
    }

    /// Answers a request. The server then wakes the threads that sleep on `answered`.
    pub fn answer(&self, ticket: Ticket, answer: Answer) {
        let ask = &self.asks[ticket.at];
        ask.errno.store(answer.errno, Relaxed);
        ask.written.store(answer.written, Relaxed);
        ask.lost.store(answer.lost, Relaxed);
        ask.state.store(ticket.number * PHASES + DONE, Release);
        self.answered.fetch_add(1, AcqRel);
    }

    /// What each request is and how far: for [`give_up`](Desk::give_up), some time later.
    pub fn held(&self) -> [u64; ASKS] {
        core::array::from_fn(|at| self.asks[at].state.load(Acquire))
    }

    /// Frees answers that nobody has fetched since: their askers have ended. A place that somebody
    /// has claimed stays, for who was stopped in between still writes to it.
    pub fn give_up(&self, before: &[u64; ASKS]) {
        for (ask, state) in self.asks.iter().zip(before) {
            if state % PHASES == DONE {
                let free = state / PHASES * PHASES + FREE;
                let _ = ask.state.compare_exchange(*state, free, AcqRel, Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_once_and_its_place_is_used_again() {
        let desk = Desk::default();
        let wanted = Wanted::Flush { first: 3, count: 9 };
        let mut last: Option<Ticket> = None;
        for round in 0..3 * ASKS as u64 {
            let ticket = desk.post(wanted).unwrap();
            assert_eq!(desk.look(ticket), Progress::Waits);
            // The ticket before, of the same place, is for no later request.
            let before = last.replace(ticket).map(|ticket| desk.look(ticket));
            assert!(before.is_none_or(|found| found == Progress::GivenUp));
            let (served, found) = desk.next(None).unwrap();
            assert_eq!(found, wanted);
            let answer = Answer {
                written: round,
                ..Answer::default()
            };
            desk.answer(served, answer);
            assert_eq!(desk.look(ticket), Progress::Done(answer));
            assert_eq!(desk.look(ticket), Progress::GivenUp);
        }
    }

    /// Two threads that ask again at once do not keep a third waiting.
    #[test]
    fn requests_are_served_in_turn() {
        let desk = Desk::default();
        let post = |first| desk.post(Wanted::Flush { first, count: 1 });
        let mut waiting: Vec<(u64, Ticket)> = (0..3).map(|n| (n, post(n).unwrap())).collect();
        let (mut served, mut before) = ([0; 3], None);
        for _ in 0..30 {
            let (ticket, wanted) = desk.next(before).expect("three wait");
            let Wanted::Flush { first, .. } = wanted else {
                panic!("no power was cut");
            };
            desk.answer(ticket, Answer::default());
            before = Some(ticket);
            served[first as usize] += 1;
            let place = waiting.iter().position(|(n, _)| *n == first).unwrap();
            let (_, own) = waiting.remove(place);
            assert_eq!(desk.look(own), Progress::Done(Answer::default()));
            waiting.push((first, post(first).unwrap()));
        }
        assert_eq!(served, [10; 3]);
    }

    #[test]
    fn what_the_dead_have_left_is_given_up_and_nothing_else() {
        let desk = Desk::default();
        let wanted = Wanted::PowerCut { most: 7 };
        let tickets: [Ticket; ASKS] = core::array::from_fn(|_| desk.post(wanted).unwrap());
        assert!(desk.post(wanted).is_none(), "there is no more room");
        let (first, found) = desk.next(None).unwrap();
        assert_eq!(found, wanted);
        desk.answer(first, Answer::default());
        let before = desk.held();
        desk.give_up(&before);
        // One that waits is nobody's to give up.
        assert_eq!(desk.look(tickets[1]), Progress::Waits);
        let again = desk.post(wanted).unwrap();
        assert_eq!(desk.look(tickets[0]), Progress::GivenUp);
        assert_eq!(desk.look(again), Progress::Waits);
    }

    /// A thread that was stopped while it asked went on over the request of another, which had its
    /// place by then: the other's pages were said to be durable, and these were flushed.
    #[test]
    fn a_place_belongs_to_who_has_claimed_it() {
        let desk = Desk::default();
        let slow = &desk.asks[0];
        slow.state.store(PHASES + CLAIMED, Relaxed);
        for _ in 0..2 {
            desk.give_up(&desk.held());
        }
        let other = Wanted::Flush { first: 9, count: 1 };
        desk.post(other).unwrap();
        slow.put(Wanted::Flush { first: 3, count: 1 });
        let (_, found) = desk.next(None).unwrap();
        assert_eq!(found, other);
    }

    #[test]
    fn the_bits_of_a_large_device_do_not_overlap() {
        for pages in [1, 64, 65, 32_768, 32_769, 25_165_824] {
            let end = PROGRAMMED_AT + desk_words(pages) * 8;
            assert!(end <= lost_at(pages));
            assert!(lost_at(pages) + desk_words(pages) * 8 <= desk_bytes(pages));
        }
    }
}
