//! One direction of a link, taken by one line of 64 bytes at a time.

use sluice_units::Ps;

/// Slots ahead that can be taken: four milliseconds at 16 GB/s. A line that comes later than that
/// has waited for flash for so long that it does not wait for the link as well.
const SLOTS: u64 = 1 << 20;
const WORDS: u64 = SLOTS / 64;

/// One direction. Its time is cut into slots of a line each. A line goes in the slot of its time,
/// or the next that is free. Lines are known in the order of their requests, not in that of their
/// answers, and one that waits for flash must not hold up those that do not.
#[derive(Clone, Debug)]
pub struct Lane {
    slot: Ps,
    /// A bit for each slot, in a ring.
    taken: Vec<u64>,
    /// The word that holds the present, and when the next one begins.
    first: u64,
    next: Ps,
    /// Slots in a row that are all taken, so that a queue is not walked through again.
    run: (u64, u64),
}

impl Lane {
    /// A free direction, on which a line takes so long; no time at all if that is zero.
    pub fn new(slot: Ps) -> Lane {
        Lane {
            slot,
            taken: vec![0; WORDS as usize],
            first: 0,
            next: slot * 64,
            run: (0, 0),
        }
    }

    /// Takes the link for a line that is there at `at`, and says when the line has it. `now` never
    /// decreases, and `at` is not before it.
    pub fn take(&mut self, now: Ps, at: Ps) -> Ps {
        self.find(now, at, true)
    }

    /// When a message without data, which takes no time on the link, gets through.
    pub fn peek(&mut self, now: Ps, at: Ps) -> Ps {
        self.find(now, at, false)
    }

    fn find(&mut self, now: Ps, at: Ps, take: bool) -> Ps {
        if self.slot == Ps::ZERO {
            return at;
        }
        if now >= self.next {
            self.forget(now.0 / (self.slot.0 * 64));
        }
        let wanted = (at.0 / self.slot.0).max(self.first * 64);
        let (from, until) = self.run;
        let (from, wanted) = match (from..=until).contains(&wanted) {
            true => (from, until),
            false => (wanted, wanted),
        };
        let Some(free) = self.free_from(wanted) else {
            return at;
        };
        if take {
            self.taken[(free / 64 % WORDS) as usize] |= 1 << (free % 64);
            self.run = (from, free + 1);
        }
        at.max(Ps(free * self.slot.0))
    }

    fn free_from(&self, slot: u64) -> Option<u64> {
        let mut word = slot / 64;
        let mut free = !self.taken[(word % WORDS) as usize] & (u64::MAX << (slot % 64));
        while word < self.first + WORDS {
            if free != 0 {
                return Some(word * 64 + u64::from(free.trailing_zeros()));
            }
            word += 1;
            free = !self.taken[(word % WORDS) as usize];
        }
        None
    }

    /// Clears what lies in the past, so that the ring can be used again.
    fn forget(&mut self, word: u64) {
        for past in self.first..word.min(self.first + WORDS) {
            self.taken[(past % WORDS) as usize] = 0;
        }
        self.first = word;
        self.next = self.slot * 64 * (word + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const SLOT: u64 = 4_000;

    proptest! {
        /// Against slots in a set, each tried in turn.
        #[test]
        fn a_line_takes_the_first_free_slot(
            lines in prop::collection::vec((0..20_000u64, 0..100_000u64, any::<bool>()), 1..300),
        ) {
            let mut lane = Lane::new(Ps(SLOT));
            let mut taken = BTreeSet::new();
            let mut now = 0;
            for (after, ahead, take) in lines {
                now += after;
                let at = now + ahead;
                let free = (at / SLOT..).find(|slot| !taken.contains(slot)).unwrap();
                let expected = Ps(at.max(free * SLOT));
                match take {
                    true => {
                        taken.insert(free);
                        prop_assert_eq!(lane.take(Ps(now), Ps(at)), expected);
                    }
                    false => prop_assert_eq!(lane.peek(Ps(now), Ps(at)), expected),
                }
            }
        }
    }

    /// The ring is used over and over, and what lies beyond it does not wait.
    #[test]
    fn the_past_is_forgotten() {
        let mut lane = Lane::new(Ps(SLOT));
        for lap in 0..3 {
            let now = Ps(lap * SLOTS * SLOT);
            assert_eq!(lane.take(now, now), now);
            assert_eq!(lane.take(now, now), now + Ps(SLOT));
            let beyond = now + Ps(SLOTS * SLOT);
            assert_eq!(lane.take(now, beyond), beyond);
            assert_eq!(lane.take(now, beyond), beyond);
        }
    }

    #[test]
    fn a_link_without_limits_never_waits() {
        let mut lane = Lane::new(Ps::ZERO);
        assert_eq!(
            [lane.take(Ps(5), Ps(7)), lane.take(Ps(5), Ps(7))],
            [Ps(7); 2]
        );
    }
}
