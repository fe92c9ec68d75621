//! Which place holds which logical page, and back.

use super::fresh::Fresh;
use super::geometry::Geometry;

/// Zero stands for the state of a fresh device, so that a terabyte's map costs no memory until it
/// is used: a page is where [`Fresh`] says.
const FRESH: u32 = 0;

/// A logical page without a place.
const NOWHERE: u32 = u32::MAX;

/// Both directions of the mapping: four bytes for each logical page, three for each physical one.
pub(super) struct Map {
    fresh: Fresh,
    /// Per LPN: place + 1, [`FRESH`] or [`NOWHERE`].
    places: Vec<u32>,
    /// Per place: the group + 1 of the LPN written there last, or [`FRESH`]. Which LPN of the
    /// group it is, if any still is, stands in `places`, a cache line or two.
    owners: Vec<[u8; 3]>,
    /// The binary logarithm of the LPNs of a group.
    group: u32,
}

/// Groups whose number + 1 fits into three bytes.
const GROUPS_MAX: u32 = (1 << 24) - 1;

impl Map {
    pub fn new(geometry: &Geometry, fresh: Fresh) -> Map {
        Map {
            fresh,
            places: vec![FRESH; geometry.lpns as usize],
            owners: vec![[0; 3]; geometry.places() as usize],
            group: (0..u32::BITS)
                .find(|group| (geometry.lpns - 1) >> group < GROUPS_MAX)
                .expect("one group holds every page"),
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
        let [low, middle, high] = self.owners[place as usize];
        let group = match u32::from_le_bytes([low, middle, high, 0]) {
            FRESH => {
                let lpn = self.fresh.owner_of(place)?;
                return (self.place_of(lpn) == Some(place)).then_some(lpn);
            }
            group => group - 1,
        };
        let first = (group as usize) << self.group;
        let end = self.places.len().min(first + (1 << self.group));
        let found = self.places[first..end].iter();
        let at = found.copied().position(|each| each == place + 1)?;
        Some((first + at) as u32)
    }

    pub fn set(&mut self, lpn: u32, place: u32) {
        self.places[lpn as usize] = place + 1;
        let [low, middle, high, _] = ((lpn >> self.group) + 1).to_le_bytes();
        self.owners[place as usize] = [low, middle, high];
    }

    pub fn clear(&mut self, lpn: u32) {
        self.places[lpn as usize] = NOWHERE;
    }
}
