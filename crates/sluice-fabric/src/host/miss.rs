//! Misses of a core's L2 that are under way.

use super::window::{NOBODY, UNKNOWN};
use sluice_units::Ps;
use std::collections::VecDeque;

/// Ring of misses; older ones are forgotten.
const MISSES: u32 = 4096;
/// Lines that can be looked up: as many sets of one.
const KNOWN: usize = 4096;
/// No miss.
pub(super) const NO_MISS: u32 = u32::MAX;

/// A line that the core has asked for.
#[derive(Clone, Copy)]
pub(super) struct Miss {
    pub line: u32,
    /// The line that had to leave the L2 for it, if it was written.
    pub write_back: Option<u32>,
    /// When its data is there in ticks, or unknown.
    pub done: u64,
    /// First of the slots that wait for it.
    pub waiters: u16,
}

pub(super) struct Misses {
    ring: Box<[Miss]>,
    /// The number of the next one. Numbers wrap round the ring.
    next: u32,
    /// No older one is without an answer.
    oldest: u32,
    /// By line: the last miss for it.
    by_line: Box<[u32]>,
    /// MSHRs: until when each is taken.
    mshrs: Vec<Ps>,
    /// The one that is free first.
    first: usize,
    /// Those that have no MSHR yet, in order.
    waiting: VecDeque<u32>,
}

impl Misses {
    pub fn new(mshrs: u32) -> Misses {
        let none = Miss {
            line: 0,
            write_back: None,
            done: 0,
            waiters: NOBODY,
        };
        Misses {
            ring: vec![none; MISSES as usize].into_boxed_slice(),
            next: 0,
            oldest: 0,
            by_line: vec![NO_MISS; KNOWN].into_boxed_slice(),
            mshrs: vec![Ps::ZERO; mshrs as usize],
            first: 0,
            waiting: VecDeque::with_capacity(MISSES as usize),
        }
    }

    pub fn add(&mut self, miss: Miss) -> u32 {
        let number = self.next;
        self.next = (number + 1) % MISSES;
        debug_assert!(
            !self.is_open(number),
            "a window and a store buffer are shorter"
        );
        self.by_line[miss.line as usize % KNOWN] = number;
        self.ring[number as usize] = miss;
        number
    }

    pub fn get(&self, miss: u32) -> &Miss {
        &self.ring[miss as usize]
    }

    /// The miss for a line, if it is remembered.
    pub fn find(&self, line: u32) -> Option<u32> {
        let number = self.by_line[line as usize % KNOWN];
        let known = number != NO_MISS && self.ring[number as usize].line == line;
        known.then_some(number)
    }

    /// Adds a slot to those that wait. Returns the one before it.
    pub fn wait(&mut self, miss: u32, place: u16) -> u16 {
        std::mem::replace(&mut self.ring[miss as usize].waiters, place)
    }

    /// The answer is known. Returns the first of those that wait.
    pub fn settle(&mut self, miss: u32, at: u64) -> u16 {
        let settled = &mut self.ring[miss as usize];
        settled.done = at;
        let first = std::mem::replace(&mut settled.waiters, NOBODY);
        while self.oldest != self.next && !self.is_open(self.oldest) {
            self.oldest = (self.oldest + 1) % MISSES;
        }
        first
    }

    /// It was never asked for.
    pub fn cancel(&mut self, miss: u32) {
        self.settle(miss, 0);
        let line = self.ring[miss as usize].line as usize;
        self.by_line[line % KNOWN] = NO_MISS;
    }

    /// The oldest whose answer is not known.
    pub fn unsettled(&self) -> Option<u32> {
        (self.oldest != self.next).then_some(self.oldest)
    }

    /// Whether its answer is not known.
    fn is_open(&self, miss: u32) -> bool {
        self.ring[miss as usize].done == UNKNOWN
    }

    /// The MSHR that is free first, and when.
    #[inline]
    pub fn first_mshr(&self) -> (usize, Ps) {
        (self.first, self.mshrs[self.first])
    }

    /// Whether some wait for an MSHR.
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// One more waits. Says whether it is the first.
    pub fn wait_for_mshr(&mut self, miss: u32) -> bool {
        self.waiting.push_back(miss);
        self.waiting.len() == 1
    }

    /// The one that has waited longest.
    pub fn next_waiting(&mut self) -> Option<u32> {
        self.waiting.pop_front()
    }

    /// Nobody waits any more.
    pub fn stop_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Takes an MSHR.
    pub fn take_mshr(&mut self, mshr: usize, until: Ps) {
        self.mshrs[mshr] = until;
        let mut first = 0;
        for (place, until) in self.mshrs.iter().enumerate() {
            if *until < self.mshrs[first] {
                first = place;
            }
        }
        self.first = first;
    }
}
