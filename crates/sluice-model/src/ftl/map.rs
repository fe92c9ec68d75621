//! Which place holds which logical page, and back.

use super::fresh::Fresh;
use super::geometry::Geometry;
use sluice_units::Lpn;

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

    /// Where pages are that nobody has written.
    pub fn fresh(&mut self) -> &mut Fresh {
        &mut self.fresh
    }

    /// Where the page is in flash.
    #[inline]
    pub fn place_of(&self, lpn: Lpn) -> Option<u32> {
        match self.places[lpn.index()] {
            FRESH => self.fresh.place_of(lpn),
            NOWHERE => None,
            place => Some(place - 1),
        }
    }

    /// The logical page that is here now, if any.
    #[inline]
    pub fn owner_of(&self, place: u32) -> Option<Lpn> {
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
        Some(Lpn((first + at) as u32))
    }

    pub fn set(&mut self, lpn: Lpn, place: u32) {
        self.places[lpn.index()] = place + 1;
        let [low, middle, high, _] = ((lpn.0 >> self.group) + 1).to_le_bytes();
        self.owners[place as usize] = [low, middle, high];
    }

    pub fn clear(&mut self, lpn: Lpn) {
        self.places[lpn.index()] = NOWHERE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_units::Rng;
    use std::collections::BTreeMap;

    /// Several logical pages share an owner's number where there are more than three bytes hold.
    fn map_of(lpns: u32) -> Map {
        let geometry = Geometry {
            lpns,
            pools: 4,
            width: 2,
            lines_per_pool: lpns / 1_000,
            line_pages: 512,
            first_block: 0,
        };
        Map::new(&geometry, Fresh::Empty)
    }

    /// Pages that move about, neighbours and others, against a plain list of what is where.
    #[test]
    fn owners_are_found_however_many_pages_there_are() {
        for (lpns, group) in [(300_000, 0), (24_000_001, 1), (50_000_003, 2)] {
            let mut map = map_of(lpns);
            assert_eq!(map.group, group, "{lpns} pages");
            let (pages, places) = (u64::from(lpns), map.owners.len() as u64);
            let mut rng = Rng::stream(u64::from(lpns), "owners");
            let mut naive = BTreeMap::<Lpn, u32>::new();
            let mut used: Vec<u32> = Vec::new();
            for _ in 0..4_000 {
                // The last pages of the device are a group that may not be full.
                let lpn = match rng.below(4) {
                    0 => rng.below(pages),
                    1 => pages - 1 - rng.below(20),
                    _ => 1_000 + rng.below(500),
                };
                let lpn = Lpn::of(lpn);
                if rng.below(8) == 0 {
                    map.clear(lpn);
                    naive.remove(&lpn);
                    continue;
                }
                // A place is written once until it is erased, which nobody does here.
                let place = used.len() as u32 * 1_021 % places as u32;
                used.push(place);
                map.set(lpn, place);
                naive.insert(lpn, place);
                let back = used[rng.below(used.len() as u64) as usize];
                let owner = map.owner_of(back);
                let expected = naive.iter().find(|(_, place)| **place == back);
                assert_eq!(owner, expected.map(|(lpn, _)| *lpn), "{lpns} pages: {back}");
            }
            for (lpn, place) in &naive {
                assert_eq!(map.place_of(*lpn), Some(*place));
                assert_eq!(map.owner_of(*place), Some(*lpn));
            }
        }
    }
}
