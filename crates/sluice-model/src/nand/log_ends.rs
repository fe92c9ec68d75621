//! When programs of the write log end, for as long as the log has not asked.

use sluice_units::{Ppn, Ps};

/// Programs of the log that have begun.
///
/// Other programs begin in the log's name too: those of translation pages, and attempts that
/// failed. Nobody asks for their ends, so they are forgotten when the log asks for its next one.
pub(super) struct LogEnds {
    /// Those whose end the log has asked for and does not know.
    asked: Vec<Ppn>,
    /// In the order in which they began.
    begun: Vec<(Ppn, Ps)>,
}

/// Programs that begin between two questions of the log besides those that it asks for: more are
/// forgotten early, the oldest first.
const UNASKED_MAX: usize = 64;

impl LogEnds {
    /// `most`: programs whose ends the log waits for at once.
    pub fn new(most: u32) -> LogEnds {
        LogEnds {
            asked: Vec::with_capacity(most as usize + 1),
            begun: Vec::with_capacity(most as usize + UNASKED_MAX),
        }
    }

    /// A program of the page has begun, and ends at `end`.
    pub fn begin(&mut self, ppn: Ppn, end: Ps) {
        if self.begun.len() == self.begun.capacity() {
            let asked = &self.asked;
            let unasked = self.begun.iter().position(|one| !asked.contains(&one.0));
            self.begun.remove(unasked.unwrap_or(0));
        }
        self.begun.push((ppn, end));
    }

    /// The log asks for the end of the page's program until [`LogEnds::take`] has it.
    pub fn ask(&mut self, ppn: Ppn) {
        if self.asked.contains(&ppn) {
            return;
        }
        self.asked.push(ppn);
        let asked = &self.asked;
        self.begun.retain(|one| asked.contains(&one.0));
    }

    /// The end of the page's latest program, if it has begun. The log asks for it no more.
    pub fn take(&mut self, ppn: Ppn) -> Option<Ps> {
        let end = self.begun.iter().rev().find(|one| one.0 == ppn);
        let end = end.map(|one| one.1);
        self.begun.retain(|one| one.0 != ppn);
        self.asked.retain(|&asked| asked != ppn);
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_nobody_asks_for_are_forgotten() {
        let mut ends = LogEnds::new(2);
        for page in 0..1_000_000 {
            ends.begin(Ppn(page), Ps(1));
        }
        assert_eq!(ends.begun.capacity(), 2 + UNASKED_MAX);
        ends.begin(Ppn(7), Ps(5));
        ends.ask(Ppn(7));
        assert_eq!(ends.begun, [(Ppn(7), Ps(5))]);
        assert_eq!(ends.take(Ppn(7)), Some(Ps(5)));
        assert!(ends.begun.is_empty() && ends.asked.is_empty());
    }

    #[test]
    fn the_latest_program_of_a_page_counts() {
        let mut ends = LogEnds::new(2);
        ends.begin(Ppn(7), Ps(1));
        ends.begin(Ppn(7), Ps(9));
        ends.ask(Ppn(7));
        assert_eq!(ends.take(Ppn(7)), Some(Ps(9)));
        assert_eq!(ends.take(Ppn(7)), None);
    }

    #[test]
    fn what_is_asked_for_stays_while_others_begin() {
        let mut ends = LogEnds::new(1);
        ends.ask(Ppn(7));
        ends.begin(Ppn(7), Ps(3));
        (0..1_000).for_each(|page| ends.begin(Ppn(100 + page), Ps(4)));
        ends.ask(Ppn(8));
        assert_eq!((ends.take(Ppn(7)), ends.take(Ppn(8))), (Some(Ps(3)), None));
    }
}
