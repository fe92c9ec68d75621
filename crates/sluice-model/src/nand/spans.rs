//! When a die works for garbage collection.

use sluice_units::Ps;

/// The most separate stretches kept. With more, the last one grows over what lies between.
const SPANS_MAX: usize = 6;

/// Stretches of one die's time that collection has taken, in order, the past dropped.
#[derive(Clone, Default)]
pub(super) struct Spans {
    spans: [[Ps; 2]; SPANS_MAX],
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
            Some(last) if last[1] == from || self.len == SPANS_MAX => last[1] = to,
            _ => {
                self.spans[self.len] = [from, to];
                self.len += 1;
            }
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
    fn past_the_bound_the_last_stretch_grows() {
        let mut spans = Spans::default();
        for i in 0..SPANS_MAX as u64 + 3 {
            spans.add(Ps(0), Ps(i * 10), Ps(i * 10 + 5));
        }
        let whole = SPANS_MAX as u64 - 1;
        let last = (SPANS_MAX as u64 + 2) * 10 + 5 - whole * 10;
        assert_eq!(spans.len, SPANS_MAX);
        assert_eq!(spans.within(Ps(0), Ps(1_000)), Ps(whole * 5 + last));
    }
}
