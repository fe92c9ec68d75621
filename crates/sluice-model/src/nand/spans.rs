//! When a die works for garbage collection.

use sluice_units::Ps;

/// The most separate stretches kept. With more, the shortest gap counts as collection's too.
const SPANS_MAX: usize = 6;

/// Stretches of one die's time that collection has taken, in order, the past dropped.
#[derive(Clone, Default)]
pub(super) struct Spans {
    /// One more than the bound: a stretch is noted before a gap is closed.
    spans: [[Ps; 2]; SPANS_MAX + 1],
    len: usize,
}

impl Spans {
    /// Notes [from, to), which lies after every stretch noted before.
    pub fn add(&mut self, now: Ps, from: Ps, to: Ps) {
        let mine = &mut self.spans[..self.len];
        let past = mine.iter().take_while(|span| span[1] <= now).count();
        mine.rotate_left(past);
        self.len -= past;
        match self.spans[..self.len].last_mut() {
            Some(last) if last[1] == from => last[1] = to,
            _ => {
                self.spans[self.len] = [from, to];
                self.len += 1;
            }
        }
        if self.len > SPANS_MAX {
            self.close_shortest_gap();
        }
    }

    fn close_shortest_gap(&mut self) {
        let gap = |place: usize| self.spans[place + 1][0] - self.spans[place][1];
        let shortest = (0..self.len - 1).min_by_key(|place| gap(*place));
        if let Some(place) = shortest {
            self.spans[place][1] = self.spans[place + 1][1];
            self.spans[place + 1..self.len].rotate_left(1);
            self.len -= 1;
        }
    }

    /// How much of [from, to) is collection's.
    pub fn within(&self, from: Ps, to: Ps) -> Ps {
        let mine = self.spans[..self.len].iter();
        mine.map(|span| span[1].min(to) - span[0].max(from)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_touch_are_one_and_those_over_are_dropped() {
        let mut spans = Spans::default();
        spans.add(Ps(0), Ps(10), Ps(20));
        spans.add(Ps(0), Ps(20), Ps(30));
        spans.add(Ps(0), Ps(40), Ps(50));
        assert_eq!(spans.len, 2);
        assert_eq!(spans.within(Ps(0), Ps(60)), Ps(30));
        assert_eq!(spans.within(Ps(29), Ps(41)), Ps(2));
        assert_eq!(spans.within(Ps(30), Ps(40)), Ps(0));
        spans.add(Ps(30), Ps(60), Ps(70));
        assert_eq!(spans.len, 2);
        assert_eq!(spans.within(Ps(0), Ps(100)), Ps(20));
    }

    #[test]
    fn past_the_bound_the_shortest_gap_is_closed() {
        let mut spans = Spans::default();
        // Gaps of 50, 49 and so on, but for one of 3.
        let mut from = 0;
        for i in 0..SPANS_MAX as u64 + 1 {
            spans.add(Ps(0), Ps(from), Ps(from + 5));
            from += 5 + if i == 2 { 3 } else { 50 - i };
        }
        assert_eq!(spans.len, SPANS_MAX);
        let all = 5 * (SPANS_MAX as u64 + 1) + 3;
        assert_eq!(spans.within(Ps(0), Ps(1_000)), Ps(all));
        let mine = &spans.spans[..spans.len];
        assert!(mine.windows(2).all(|pair| pair[0][1] < pair[1][0]));
    }
}
