//! The reservations of one channel.

use sluice_units::Ps;

/// The most separate busy stretches kept. A channel that needs more closes its shortest gap.
const STRETCHES_MAX: usize = 64;

/// When a channel is busy: disjoint stretches in order of time.
///
/// A transfer that has to wait for its die is reserved far ahead. One that is ready earlier may
/// use the gap before it; a single next-free time would hold the whole channel up. Of what waits, a
/// command mostly goes before transfers: it is reserved for the moment at which its die is free.
pub(super) struct Timeline {
    /// [start, end) of each busy stretch, the past dropped.
    busy: Vec<[Ps; 2]>,
}

impl Timeline {
    pub fn new() -> Timeline {
        // One more than the bound: a stretch is inserted before a gap is closed.
        Timeline {
            busy: Vec::with_capacity(STRETCHES_MAX + 1),
        }
    }

    /// Reserves `length` at `earliest` or later, and says when that ends.
    ///
    /// `now` does not go back from call to call, and `earliest` is not before it. What does not fit
    /// into a gap goes on behind what is reserved there: the channel is not idle while work waits.
    pub fn reserve(&mut self, now: Ps, earliest: Ps, length: Ps) -> Ps {
        let past = self.busy.iter().take_while(|stretch| stretch[1] <= now);
        self.busy.drain(..past.count());
        let before = self.busy.iter().take_while(|stretch| stretch[1] < earliest);
        let first = before.count();
        let mut place = first;
        let (mut at, mut left) = (earliest, length);
        while let Some([from, to]) = self.busy.get(place).copied()
            && from < at + left
        {
            left = left - (from - at);
            at = at.max(to);
            place += 1;
        }
        let end = at + left;
        self.join(first, place, [earliest, end]);
        if self.busy.len() > STRETCHES_MAX {
            self.close_shortest_gap();
        }
        end
    }

    /// Makes one stretch of `stretch` and those in [first, place), which it joins.
    fn join(&mut self, first: usize, mut place: usize, [mut from, mut to]: [Ps; 2]) {
        if let Some(next) = self.busy.get(place)
            && next[0] == to
        {
            to = next[1];
            place += 1;
        }
        if first == place {
            return self.busy.insert(place, [from, to]);
        }
        from = from.min(self.busy[first][0]);
        self.busy[first] = [from, to];
        self.busy.drain(first + 1..place);
    }

    fn close_shortest_gap(&mut self) {
        let gap = |place: usize| self.busy[place + 1][0] - self.busy[place][1];
        let shortest = (0..self.busy.len() - 1).min_by_key(|place| gap(*place));
        if let Some(place) = shortest {
            self.busy[place][1] = self.busy[place + 1][1];
            self.busy.remove(place + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_early_transfer_uses_the_gap_before_a_late_one() {
        let mut line = Timeline::new();
        assert_eq!(line.reserve(Ps(0), Ps(1_000), Ps(10)), Ps(1_010));
        assert_eq!(line.reserve(Ps(0), Ps(40), Ps(10)), Ps(50));
        assert_eq!(line.reserve(Ps(0), Ps(45), Ps(10)), Ps(60));
    }

    #[test]
    fn what_does_not_fit_into_a_gap_goes_on_behind_it() {
        let mut line = Timeline::new();
        line.reserve(Ps(0), Ps(100), Ps(10));
        assert_eq!(line.reserve(Ps(0), Ps(80), Ps(10)), Ps(90));
        assert_eq!(line.reserve(Ps(0), Ps(91), Ps(10)), Ps(111));
        assert_eq!(line.reserve(Ps(0), Ps(90), Ps(1)), Ps(91));
        assert_eq!(line.reserve(Ps(0), Ps(70), Ps(12)), Ps(113));
        assert_eq!(line.busy, [[Ps(70), Ps(113)]]);
    }

    #[test]
    fn the_bound_holds_and_nothing_overlaps() {
        let mut line = Timeline::new();
        for i in 0..1_000 {
            line.reserve(Ps(0), Ps(1_000_000 - i * 100), Ps(10));
            assert!(line.busy.len() <= STRETCHES_MAX);
            assert!(line.busy.windows(2).all(|pair| pair[0][1] < pair[1][0]));
        }
        assert_eq!(line.busy.capacity(), STRETCHES_MAX + 1);
    }
}
