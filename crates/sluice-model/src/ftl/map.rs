//! Which place holds which logical page, and back.

use super::fresh::Fresh;
use super::geometry::Geometry;

/// Zero stands for the state of a fresh device, so that a terabyte's map costs no memory until it
/// is used: a page is where [`Fresh`] says.
const FRESH: u32 = 0;

/// A logical page without a place.
const NOWHERE: u32 = u32::MAX;

/// Both directions of the mapping, a word per page each.
pub(super) struct Map {
    fresh: Fresh,
    /// Per LPN: place + 1, [`FRESH`] or [`NOWHERE`].
    places: Vec<u32>,
    /// Per place: the LPN written there last + 1, or [`FRESH`]. Stale once `places` disagrees.
    owners: Vec<u32>,
}

impl Map {
    pub fn new(geometry: &Geometry, fresh: Fresh) -> Map {
        Map {
            fresh,
            places: vec![FRESH; geometry.lpns as usize],
            owners: vec![FRESH; geometry.places() as usize],
        }
    }

    /// Where the page is in flash.
    #[inline]
    pub fn place_of(&self, lpn: u32) -> Option<u32> {
        match self.places[lpn as usize] {
            FRESH => self.fresh.place_of(lpn),
            NOWHERE => None,
            place => Some(place - 1),
        }
    }

    /// The logical page that is here now, if any.
    #[inline]
    pub fn owner_of(&self, place: u32) -> Option<u32> {
        let lpn = match self.owners[place as usize] {
            FRESH => self.fresh.owner_of(place)?,
            owner => owner - 1,
        };
        (self.place_of(lpn) == Some(place)).then_some(lpn)
    }

    pub fn set(&mut self, lpn: u32, place: u32) {
        self.places[lpn as usize] = place + 1;
        self.owners[place as usize] = lpn + 1;
    }

    pub fn clear(&mut self, lpn: u32) {
        self.places[lpn as usize] = NOWHERE;
    }
}
