//! Whose turn it is to be written.

use super::geometry::Geometry;
use super::lines::Lines;

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
            let pool = turn.find(|pool| lines.has_room(*pool))?;
            self.next = pool * geometry.width;
            pool
        };
        self.next += 1;
        if self.next == geometry.pools * geometry.width {
            self.next = 0;
        }
        Some(pool)
    }
}
