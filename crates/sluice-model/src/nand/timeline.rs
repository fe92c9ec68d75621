//! The reservations of one channel.

use sluice_units::Ps;

/// The most separate busy stretches kept. A channel that needs more closes its shortest gap.
const STRETCHES_MAX: usize = 64;

/// When a channel is busy: disjoint stretches in order of time.
///
/// A transfer that has to wait for its die is reserved far ahead. One that is ready earlier may
/// use the gap before it; a single next-free time would hold the whole channel up.
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

    /// Reserves `length` in the first gap at or after `earliest`, and says when it ends.
    ///
    /// `now` does not go back from call to call, and `earliest` is not before it.
    pub fn reserve(&mut self, now: Ps, earliest: Ps, length: Ps) -> Ps {
        let past = self
            .busy
            .iter()
            .take_while(|stretch| stretch[1] <= now)
            .count();
        self.busy.drain(..past);
        let mut start = earliest;
        let mut place = 0;
        for [from, to] in &self.busy {
            if start + length <= *from {
                break;
            }
            start = start.max(*to);
            place += 1;
        }
        let end = start + length;
        self.busy.insert(place, [start, end]);
        self.join(place);
        if self.busy.len() > STRETCHES_MAX {
            self.close_shortest_gap();
        }
        end
    }

    /// Joins the stretch at `place` with neighbours that it touches.
    fn join(&mut self, place: usize) {
        if place + 1 < self.busy.len() && self.busy[place][1] == self.busy[place + 1][0] {
            self.busy[place][1] = self.busy[place + 1][1];
            self.busy.remove(place + 1);
        }
        if place > 0 && self.busy[place - 1][1] == self.busy[place][0] {
            self.busy[place - 1][1] = self.busy[place][1];
            self.busy.remove(place);
        }
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
    fn a_gap_one_short_is_passed_over_and_an_exact_one_is_used() {
        let mut line = Timeline::new();
        line.reserve(Ps(0), Ps(100), Ps(10));
        assert_eq!(line.reserve(Ps(0), Ps(91), Ps(10)), Ps(120));
        assert_eq!(line.reserve(Ps(0), Ps(90), Ps(10)), Ps(100));
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
