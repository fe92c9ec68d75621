//! Whose turn it is to be written.

use super::geometry::Geometry;
use super::lines::Lines;
use sluice_units::Ps;

/// The plane, in the order of allocation, that the next write goes to.
#[derive(Default)]
pub(super) struct Turn {
    next: u32,
}

impl Turn {
    /// The next pool in turn that may take another valid page.
    ///
    /// The limits of all pools together are no less than the logical pages, so there is always one
    /// as long as one of these is without a place.
    #[inline]
    pub fn pick(&mut self, geometry: &Geometry, lines: &Lines) -> Option<u32> {
        let first = self.next / geometry.width;
        let pool = if lines.has_room(first) {
            first
        } else {
            let mut turn = (first + 1..geometry.pools).chain(0..first);
            turn.find(|pool| lines.has_room(*pool))?
        };
        self.take(pool, geometry);
        Some(pool)
    }

    /// The pool that may take another valid page and is idle soonest, `now` at the earliest; of
    /// several the next in turn.
    pub fn pick_idle(
        &mut self,
        geometry: &Geometry,
        lines: &Lines,
        now: Ps,
        idle_at: impl Fn(u32) -> Ps,
    ) -> Option<u32> {
        let first = self.next / geometry.width;
        let turn = (first..geometry.pools).chain(0..first);
        let mut best: Option<(Ps, u32)> = None;
        for pool in turn.filter(|pool| lines.has_room(*pool)) {
            let at = idle_at(pool).max(now);
            if best.is_none_or(|(soonest, _)| at < soonest) {
                best = Some((at, pool));
            }
            // No other one can be idle sooner.
            if at == now {
                break;
            }
        }
        let (_, pool) = best?;
        self.take(pool, geometry);
        Some(pool)
    }

    /// A page goes to the pool; the next one to the plane after its own.
    fn take(&mut self, pool: u32, geometry: &Geometry) {
        if pool != self.next / geometry.width {
            self.next = pool * geometry.width;
        }
        self.next += 1;
        if self.next == geometry.pools * geometry.width {
            self.next = 0;
        }
    }
}
