//! Misses of a core's L2 that are under way.

use super::waiting::Waiting;
use super::window::{NO_MISS, NOBODY, SLOTS, UNKNOWN};
use sluice_units::{Bits, Ps};
use std::collections::VecDeque;

/// Ring of misses; older ones are forgotten.
const MISSES: u32 = 4096;
/// The largest store buffer: with a full window, as many misses as the ring has can be open.
pub(super) const STORES_MAX: u64 = MISSES as u64 - SLOTS;
/// Lines that can be looked up at once: as many sets of one.
const KNOWN_BITS: u32 = 12;

/// A line that the core has asked for.
#[derive(Clone, Copy)]
pub(super) struct Miss {
    pub line: u32,
    /// The line that had to leave the L2 for it, if it was written.
    pub write_back: Option<u32>,
    /// When its answer comes in ticks, or unknown.
    pub due: u64,
    /// Whether it comes, whatever becomes of the core.
    asked: bool,
    /// First of the slots that wait for it.
    waiters: u16,
    /// Whether a store that has retired waits for it.
    pub stored: bool,
    /// Whether a store waits for it to which the line must be the host's own.
    pub writes: bool,
}

impl Miss {
    pub fn new(line: u32, write_back: Option<u32>) -> Miss {
        Miss {
            line,
            write_back,
            due: UNKNOWN,
            asked: false,
            waiters: NOBODY,
            stored: false,
            writes: false,
        }
    }
}

pub(super) struct Misses {
    ring: Box<[Miss; MISSES as usize]>,
    /// The place where the next one goes, if that is free.
    next: u32,
    /// Those without an answer.
    open: Bits,
    /// By line: the last miss for it.
    by_line: Box<[u32; 1 << KNOWN_BITS]>,
    /// Misses whose place another has taken while they had no answer.
    displaced: Vec<u32>,
    /// MSHRs: until when each is taken.
    mshrs: Vec<Ps>,
    /// The one that is free first.
    first: usize,
    /// Misses that have no MSHR yet, in order.
    queue: VecDeque<u32>,
    /// How long there was a first of them.
    pub waiting: Waiting,
    /// Whether they wait, and no MSHR has a time at which it is free.
    pub stalled: bool,
}

impl Misses {
    pub fn new(mshrs: u32) -> Misses {
        let none = Miss::new(0, None);
        Misses {
            ring: Box::new([none; MISSES as usize]),
            next: 0,
            open: Bits::new(MISSES as usize),
            by_line: Box::new([NO_MISS; 1 << KNOWN_BITS]),
            displaced: Vec::new(),
            mshrs: vec![Ps::ZERO; mshrs as usize],
            first: 0,
            queue: VecDeque::with_capacity(MISSES as usize),
            waiting: Waiting::default(),
            stalled: false,
        }
    }

    pub fn add(&mut self, miss: Miss) -> u32 {
        debug_assert!(
            self.open.count() < MISSES as usize,
            "a window and a store buffer are less"
        );
        // One that waits for flash may see the whole ring go by.
        while self.is_open(self.next) {
            self.next = (self.next + 1) % MISSES;
        }
        let number = self.next;
        self.next = (number + 1) % MISSES;
        self.open.set(number as usize);
        self.remember(miss.line, number);
        self.ring[number as usize] = miss;
        number
    }

    /// A miss is the last for its line.
    fn remember(&mut self, line: u32, number: u32) {
        let place = place_of(line);
        let before = std::mem::replace(&mut self.by_line[place], number);
        if before == NO_MISS || before == number || !self.is_open(before) {
            return;
        }
        if place_of(self.get(before).line) == place {
            self.displaced.retain(|miss| self.open.has(*miss as usize));
            self.displaced.push(before);
        }
    }

    pub fn get(&self, miss: u32) -> &Miss {
        &self.ring[miss as usize]
    }

    /// The last miss for a line, if it is remembered: all are that have no answer.
    #[inline]
    pub fn find(&self, line: u32) -> Option<u32> {
        let number = self.by_line[place_of(line)];
        if number != NO_MISS && self.get(number).line == line {
            return Some(number);
        }
        let is_it = |miss: &u32| self.is_open(*miss) && self.get(*miss).line == line;
        self.displaced.iter().copied().rfind(is_it)
    }

    /// The last miss for a line, if it is remembered and its answer is known.
    pub fn find_answered(&self, line: u32) -> Option<u32> {
        self.find(line)
            .filter(|miss| self.get(*miss).due != UNKNOWN)
    }

    /// Whether a line is on its way, and not there at this time.
    pub fn comes_after(&self, line: u32, at: u64) -> bool {
        let comes_after = |miss| self.is_open(miss) || self.get(miss).due > at;
        self.find(line).is_some_and(comes_after)
    }

    /// A slot is the first of those that wait. Returns the one before it.
    pub fn wait(&mut self, miss: u32, place: u16) -> u16 {
        std::mem::replace(&mut self.ring[miss as usize].waiters, place)
    }

    /// A store that has retired waits for it.
    pub fn wait_retired(&mut self, miss: u32) {
        self.ring[miss as usize].stored = true;
    }

    /// A store waits for it to which the line must be the host's own.
    pub fn want(&mut self, miss: u32) {
        self.ring[miss as usize].writes = true;
    }

    /// The last miss for a line, if nobody knows yet when its answer comes.
    pub fn find_unanswered(&self, line: u32) -> Option<u32> {
        let is_it = |miss: &u32| self.is_open(*miss) && self.get(*miss).due == UNKNOWN;
        self.find(line).filter(is_it)
    }

    /// The answer comes at this time.
    pub fn expect(&mut self, miss: u32, at: u64) {
        self.ring[miss as usize].due = at;
    }

    /// The answer has come. Returns the first of those that wait.
    pub fn settle(&mut self, miss: u32) -> u16 {
        self.open.clear(miss as usize);
        std::mem::replace(&mut self.ring[miss as usize].waiters, NOBODY)
    }

    /// No instruction waits for the miss any more. Says whether it is the core's alone, and now
    /// forgotten.
    pub fn give_up(&mut self, miss: u32) -> bool {
        if !self.is_open(miss) {
            return false;
        }
        let it = &mut self.ring[miss as usize];
        it.waiters = NOBODY;
        it.writes &= it.stored;
        let Miss { line, asked, .. } = *it;
        if asked {
            return false;
        }
        self.open.clear(miss as usize);
        let known = &mut self.by_line[place_of(line)];
        if *known == miss {
            *known = NO_MISS;
        }
        true
    }

    /// Its answer comes, whatever becomes of the core.
    pub fn ask(&mut self, miss: u32) {
        self.ring[miss as usize].asked = true;
    }

    /// It is no longer asked for.
    pub fn take_back(&mut self, miss: u32) {
        self.ring[miss as usize].asked = false;
    }

    /// Whether its answer has not come.
    pub fn is_open(&self, miss: u32) -> bool {
        self.open.has(miss as usize)
    }

    /// The MSHR that is free first, and when.
    #[inline]
    pub fn first_mshr(&self) -> (usize, Ps) {
        (self.first, self.mshrs[self.first])
    }

    /// Whether some wait for an MSHR.
    pub fn waits(&self) -> bool {
        !self.queue.is_empty()
    }

    /// One more waits. Says whether it is the first.
    pub fn wait_for_mshr(&mut self, now: Ps, miss: u32) -> bool {
        let is_first = self.queue.is_empty();
        if is_first {
            self.waiting.begin(now);
        }
        self.queue.push_back(miss);
        is_first
    }

    /// The one that has waited longest.
    pub fn next_waiting(&mut self, now: Ps) -> Option<u32> {
        let next = self.queue.pop_front()?;
        if self.queue.is_empty() {
            self.waiting.end(now);
        }
        Some(next)
    }

    /// No miss waits for an MSHR any more.
    pub fn stop_waiting(&mut self, now: Ps) {
        if self.waits() {
            self.queue.clear();
            self.waiting.end(now);
        }
        self.stalled = false;
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

/// The place of a line. Lines at any distance from each other are spread over all places.
fn place_of(line: u32) -> usize {
    (line.wrapping_mul(0x9E37_79B1) >> (u32::BITS - KNOWN_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn miss(line: u32) -> Miss {
        Miss::new(line, None)
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
                        misses.settle(settled);
                    }
                }
                for (line, place) in &open {
                    prop_assert_eq!(misses.get(*place).line, *line);
                    prop_assert!(misses.is_open(*place));
                }
            }
        }

        /// Lines at any distance that are on their way are found as in a list of the whole ring.
        #[test]
        fn the_last_miss_for_a_line_is_found(
            stride in prop::sample::select(vec![1u32, 3, 64, 4096, 1 << 16]),
            steps in prop::collection::vec((0u32..3_000, 0u8..8, 0usize..64), 1..6_000),
        ) {
            let mut misses = Misses::new(1);
            let mut known: Vec<(u32, u32)> = Vec::new();
            let mut open: Vec<u32> = Vec::new();
            for (line, what, which) in steps {
                let line = line * stride;
                let last = known.iter().rfind(|(other, _)| *other == line);
                let last = last.map(|(_, number)| *number);
                match last.filter(|number| misses.is_open(*number)) {
                    Some(number) => prop_assert_eq!(misses.find(line), Some(number)),
                    None => {
                        let found = misses.find(line);
                        prop_assert!(found.is_none_or(|number| misses.get(number).line == line));
                    }
                }
                let number = misses.add(miss(line));
                // What had the place is forgotten.
                known.retain(|(_, other)| *other != number);
                known.push((line, number));
                open.push(number);
                if open.len() < 64 {
                    continue;
                }
                let ended = open.remove(which);
                if what == 0 {
                    prop_assert!(misses.give_up(ended));
                    known.retain(|(_, other)| *other != ended);
                } else {
                    misses.settle(ended);
                }
            }
        }
    }
}
