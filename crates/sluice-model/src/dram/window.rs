//! Recent commands of one bus, in the order of their times: what a new one must keep clear of.

use sluice_units::Ps;

/// Commands remembered. With more than these in the future, a new one comes after the oldest.
const RECENT_MAX: usize = 32;

/// Commands with a tag that says what distance they need, sorted by time.
pub(super) struct Window {
    recent: [(Ps, u16); RECENT_MAX],
    len: usize,
    /// No command can be placed before this, because one that it could disturb was forgotten.
    floor: Ps,
    /// The longest time for which a command matters to another.
    reach: Ps,
}

impl Window {
    pub fn new(reach: Ps) -> Window {
        Window {
            recent: [(Ps::ZERO, 0); RECENT_MAX],
            len: 0,
            floor: Ps::ZERO,
            reach,
        }
    }

    /// The commands that are remembered, by time.
    pub fn recent(&self) -> &[(Ps, u16)] {
        &self.recent[..self.len]
    }

    /// Forgets what can no longer matter to a command at `now` or later.
    pub fn forget_before(&mut self, now: Ps) {
        let stale = self
            .recent()
            .iter()
            .take_while(|(at, _)| *at + self.reach <= now);
        let stale = stale.count();
        if stale > 0 {
            self.recent.copy_within(stale..self.len, 0);
            self.len -= stale;
        }
    }

    /// The first time from `at` on at which a command is as far from every other as `gap` says.
    ///
    /// `gap(first, second)` is the distance that two commands need, given their tags.
    pub fn earliest(&self, at: Ps, tag: u16, gap: impl Fn(u16, u16) -> Ps) -> Ps {
        let mut at = at.max(self.floor);
        let all_past = |at: Ps| {
            self.recent()
                .last()
                .is_none_or(|last| last.0 + self.reach <= at)
        };
        // Each round moves the command behind at least one more of those remembered.
        while !all_past(at) {
            let clash = self.recent().iter().find(|(other, other_tag)| {
                let before = *other + gap(*other_tag, tag) <= at;
                let after = at + gap(tag, *other_tag) <= *other;
                !(before || after)
            });
            match clash {
                Some((other, other_tag)) => at = *other + gap(*other_tag, tag),
                None => break,
            }
        }
        at
    }

    /// The first time from `at` on that makes no five commands within `span`, or `at` itself.
    ///
    /// Only moves the command; the distances between neighbours must be looked at again then.
    pub fn at_most_four_within(&self, at: Ps, span: Ps) -> Ps {
        let recent = self.recent();
        let place = recent.partition_point(|(other, _)| *other <= at);
        for first in place.saturating_sub(4)..=place {
            // The five from `first` on, with the new command among them at `place`.
            let last = first + 4;
            let start = if first == place { at } else { recent[first].0 };
            let end = match last {
                last if last == place => at,
                last if last > recent.len() => continue,
                last => recent[last - 1].0,
            };
            // Before that it is one of five since `start`, or since later, wherever it stands.
            if start + span > end {
                return start + span;
            }
        }
        at
    }

    /// Notes a command at a time that [`Window::earliest`] gave.
    pub fn push(&mut self, at: Ps, tag: u16) {
        if self.len == RECENT_MAX {
            self.floor = self.floor.max(self.recent[0].0 + self.reach);
            self.recent.copy_within(1.., 0);
            self.len -= 1;
        }
        let place = self.recent().partition_point(|(other, _)| *other <= at);
        self.recent.copy_within(place..self.len, place + 1);
        self.recent[place] = (at, tag);
        self.len += 1;
    }
}
