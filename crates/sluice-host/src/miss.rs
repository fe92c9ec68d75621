//! Misses of a core's L2 that are under way.

use super::window::{NO_MISS, NOBODY, SLOTS, UNKNOWN};
use sluice_units::Ps;
use std::collections::VecDeque;

/// Ring of misses; older ones are forgotten.
const MISSES: u32 = 4096;
/// The largest store buffer: with a full window, as many misses as the ring has can be open.
pub(super) const STORES_MAX: u64 = MISSES as u64 - SLOTS;
/// Lines that can be looked up: as many sets of one.
const KNOWN: usize = 4096;

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
    /// Whether a store that has retired waits for it.
    pub stored: bool,
}

pub(super) struct Misses {
    ring: Box<[Miss; MISSES as usize]>,
    /// Where the next one goes, and where the oldest without an answer is or comes behind: places
    /// of the ring, counted on without end.
    next: u64,
    oldest: u64,
    /// How many have no answer.
    open: u32,
    /// By line: the last miss for it.
    by_line: Box<[u32; KNOWN]>,
    /// MSHRs: until when each is taken.
    mshrs: Vec<Ps>,
    /// The one that is free first.
    first: usize,
    /// Those that have no MSHR yet, in order.
    waiting: VecDeque<u32>,
    /// Since when they wait, if no MSHR has a time at which it is free.
    pub stalled_since: Option<Ps>,
    /// Those that were asked for through a port and have no answer yet.
    asked: Vec<u32>,
}

impl Misses {
    pub fn new(mshrs: u32) -> Misses {
        let none = Miss {
            line: 0,
            write_back: None,
            done: 0,
            waiters: NOBODY,
            stored: false,
        };
        Misses {
            ring: Box::new([none; MISSES as usize]),
            next: 0,
            oldest: 0,
            open: 0,
            by_line: Box::new([NO_MISS; KNOWN]),
            mshrs: vec![Ps::ZERO; mshrs as usize],
            first: 0,
            waiting: VecDeque::with_capacity(MISSES as usize),
            stalled_since: None,
            asked: Vec::new(),
        }
    }

    pub fn add(&mut self, miss: Miss) -> u32 {
        debug_assert!(self.open < MISSES, "a window and a store buffer are less");
        // One that waits for flash may see the whole ring go by.
        let number = loop {
            self.oldest = self
                .oldest
                .max((self.next + 1).saturating_sub(MISSES.into()));
            let place = (self.next % u64::from(MISSES)) as u32;
            self.next += 1;
            if !self.is_open(place) {
                break place;
            }
        };
        self.open += 1;
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

    /// The miss for a line, if it is remembered and was answered.
    pub fn find_settled(&self, line: u32) -> Option<u32> {
        self.find(line).filter(|miss| !self.is_open(*miss))
    }

    /// Adds a slot to those that wait. Returns the one before it.
    pub fn wait(&mut self, miss: u32, place: u16) -> u16 {
        std::mem::replace(&mut self.ring[miss as usize].waiters, place)
    }

    /// A store that has retired waits for it.
    pub fn wait_retired(&mut self, miss: u32) {
        self.ring[miss as usize].stored = true;
    }

    /// The answer is known. Returns the first of those that wait.
    pub fn settle(&mut self, miss: u32, at: u64) -> u16 {
        let settled = &mut self.ring[miss as usize];
        settled.done = at;
        self.open -= 1;
        let first = std::mem::replace(&mut settled.waiters, NOBODY);
        self.take_back(miss);
        first
    }

    /// It was never asked for.
    pub fn cancel(&mut self, miss: u32) {
        self.settle(miss, 0);
        let line = self.ring[miss as usize].line as usize;
        self.by_line[line % KNOWN] = NO_MISS;
    }

    /// The oldest that nobody was asked for yet.
    pub fn unasked(&mut self) -> Option<u32> {
        if self.open == self.asked.len() as u32 {
            self.oldest = if self.open == 0 {
                self.next
            } else {
                self.oldest
            };
            return None;
        }
        let mut number = self.oldest;
        loop {
            let place = (number % u64::from(MISSES)) as u32;
            if self.is_open(place) && !self.asked.contains(&place) {
                return Some(place);
            }
            number += 1;
            if self.asked.is_empty() {
                self.oldest = number;
            }
        }
    }

    /// It was asked for through a port: its answer comes, whatever becomes of the core.
    pub fn ask(&mut self, miss: u32) {
        self.asked.push(miss);
    }

    /// It is no longer asked for.
    pub fn take_back(&mut self, miss: u32) {
        self.asked.retain(|asked| *asked != miss);
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
        self.stalled_since = None;
        for miss in &self.asked {
            self.ring[*miss as usize].waiters = NOBODY;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn miss(line: u32) -> Miss {
        Miss {
            line,
            write_back: None,
            done: UNKNOWN,
            waiters: NOBODY,
            stored: false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(20)))]
        /// Some stay open while the ring goes by several times.
        #[test]
        fn those_without_an_answer_stay(
            steps in prop::collection::vec((0u32..2_000, 1usize..40), 1..200),
        ) {
            let mut misses = Misses::new(1);
            // Open ones by the order of their lines, which is that in which they came.
            let mut open: Vec<(u32, u32)> = Vec::new();
            let mut line = 0;
            for (adds, keep) in steps {
                for _ in 0..adds {
                    line += 1;
                    open.push((line, misses.add(miss(line))));
                    if open.len() > keep {
                        let (_, settled) = open.remove(open.len() / 2);
                        misses.settle(settled, 1);
                    }
                }
                for (line, place) in &open {
                    prop_assert_eq!(misses.get(*place).line, *line);
                    prop_assert!(misses.is_open(*place));
                }
            }
            let mut left: Vec<u32> = open.iter().map(|(line, _)| *line).collect();
            while let Some(place) = misses.unasked() {
                let line = misses.get(place).line;
                prop_assert!(left.contains(&line));
                left.retain(|other| *other != line);
                misses.cancel(place);
            }
            prop_assert!(left.is_empty());
        }
    }
}
