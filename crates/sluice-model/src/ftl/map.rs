//! Which physical page holds which logical page, and back.

use crate::layout::Layout;

/// Zero stands for the state of a fresh device, so that a terabyte's map costs no memory until it
/// is used: a page is at its home (or nowhere, if the device is not preconditioned).
const FRESH: u32 = 0;

/// A logical page without a place.
const NOWHERE: u32 = u32::MAX;

/// Both directions of the mapping, a word per page each.
pub(super) struct Map {
    /// Per LPN: PPN + 1, [`FRESH`] or [`NOWHERE`].
    places: Vec<u32>,
    /// Per PPN: the LPN written there last + 1, or [`FRESH`]. Stale once `places` disagrees.
    owners: Vec<u32>,
}

impl Map {
    pub fn new(layout: &Layout) -> Map {
        let ppns = layout.blocks() as usize * layout.pages_per_block as usize;
        Map {
            places: vec![FRESH; layout.lpns as usize],
            owners: vec![FRESH; ppns],
        }
    }

    /// Where the page is in flash.
    pub fn place_of(&self, lpn: u32, layout: &Layout) -> Option<u32> {
        match self.places[lpn as usize] {
            FRESH => layout.preconditioned.then(|| layout.home_of(lpn)),
            NOWHERE => None,
            place => Some(place - 1),
        }
    }

    /// The logical page that is here now, if any.
    pub fn owner_of(&self, ppn: u32, layout: &Layout) -> Option<u32> {
        let lpn = match self.owners[ppn as usize] {
            FRESH => layout.owner_of_home(ppn)?,
            owner => owner - 1,
        };
        (self.place_of(lpn, layout) == Some(ppn)).then_some(lpn)
    }

    pub fn set(&mut self, lpn: u32, ppn: u32) {
        self.places[lpn as usize] = ppn + 1;
        self.owners[ppn as usize] = lpn + 1;
    }

    pub fn clear(&mut self, lpn: u32) {
        self.places[lpn as usize] = NOWHERE;
    }
}
