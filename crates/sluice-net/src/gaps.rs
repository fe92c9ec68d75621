//! When wires, or a controller, are idle between what is reserved, as far as that is to come:
//! reservations may lie in the future, with gaps before and between them, and what is to come is
//! not busy yet.

use sluice_units::Ps;

/// Begin and end of each gap that is to come, among others that are over.
#[derive(Clone)]
pub(super) struct Gaps {
    /// A power of two of them, the oldest overwritten first.
    ring: Vec<[Ps; 2]>,
    next: usize,
}

impl Default for Gaps {
    fn default() -> Gaps {
        Gaps {
            ring: vec![[Ps::ZERO; 2]; 4],
            next: 0,
        }
    }
}

impl Gaps {
    /// It is `now`, and from `free` on the wires are idle until `start`. On the path of every
    /// packet, and without a branch on whether they are at all, which nobody could foretell.
    #[inline]
    pub fn note(&mut self, now: Ps, free: Ps, start: Ps) {
        let at = self.next & (self.ring.len() - 1);
        if self.ring[at][1] > now {
            return self.grow(now, free, start);
        }
        let is_gap = start > free;
        self.ring[at] = [free, if is_gap { start } else { Ps::ZERO }];
        self.next += usize::from(is_gap);
    }

    /// The oldest is still to come.
    #[cold]
    fn grow(&mut self, now: Ps, free: Ps, start: Ps) {
        let oldest = self.next & (self.ring.len() - 1);
        self.ring.rotate_left(oldest);
        self.next = self.ring.len();
        self.ring.resize(2 * self.next, [Ps::ZERO; 2]);
        self.note(now, free, start);
    }

    /// How long wires that are free from `free` on are reserved after `now`.
    pub fn reserved(&self, now: Ps, free: Ps) -> Ps {
        let idle = |[begin, end]: &[Ps; 2]| *end - now.max(*begin);
        free - now - self.ring.iter().map(idle).sum()
    }
}
