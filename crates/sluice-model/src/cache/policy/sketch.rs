//! How often a page was used lately, by a counting Bloom filter for each set.

use super::Set;
use sluice_units::Lpn;

/// Probes for a page; with [`PER_PAGE`] counters one in a thousand pages shares all of them.
const PROBES: u32 = 10;
/// Counters for each page of the main part in units of 2^-49: ln(1000) / ln(2)^2, or 14.38.
const PER_PAGE: u128 = 8_093_862_250_619_341;
const PER_PAGE_BITS: u32 = 49;
/// Seeds of a page's two hashes.
const SEEDS: [u64; 2] = [0x1234_5678, 0x1234_4321];

/// Saturating 16-bit counters. Estimates are never below the true count, up to the halvings.
pub(super) struct Sketch {
    counters: Vec<u16>,
    /// Counters of a set.
    size: u32,
    /// 2^64 / size, rounded up: a remainder by two multiplications.
    reciprocal: u64,
}

impl Sketch {
    /// For sets of which each keeps `pages` pages apart from one another.
    pub fn new(sets: u32, pages: u32) -> Sketch {
        let wanted = ((u128::from(pages) * PER_PAGE) >> PER_PAGE_BITS) as u64 + 1;
        let size = match wanted.min(i32::MAX as u64) as u32 {
            few if few < PROBES => 2 * PROBES,
            enough => enough,
        };
        Sketch {
            counters: vec![0; sets as usize * size as usize],
            size,
            reciprocal: u64::MAX / u64::from(size) + 1,
        }
    }

    /// The least of the page's counters.
    #[inline]
    pub fn estimate(&self, set: Set, lpn: Lpn) -> u16 {
        let counters = self.of(set);
        let probes = self.probes(lpn).map(|place| counters[place]);
        probes.min().unwrap_or(0)
    }

    /// Raises all counters of the page.
    pub fn raise_all(&mut self, set: Set, lpn: Lpn) {
        let (probes, counters) = (self.probes(lpn), self.of_mut(set));
        for place in probes {
            counters[place] = counters[place].saturating_add(1);
        }
    }

    /// Raises those counters of the page that are lowest: its minimal increment.
    #[inline]
    pub fn raise_lowest(&mut self, set: Set, lpn: Lpn) {
        // Hashed once: the hashes cost more than the counters.
        let (probes, counters) = (self.probes(lpn), self.of_mut(set));
        let mut places = [0; PROBES as usize];
        places
            .iter_mut()
            .zip(probes)
            .for_each(|(to, place)| *to = place);
        let lowest = places
            .iter()
            .fold(u16::MAX, |least, place| least.min(counters[*place]));
        let raised = lowest.saturating_add(1);
        for place in places {
            // Which counters are lowest cannot be foretold, so without a branch.
            let count = counters[place];
            counters[place] = if count == lowest { raised } else { count };
        }
    }

    /// Halves all counters of a set.
    pub fn halve(&mut self, set: Set) {
        self.of_mut(set).iter_mut().for_each(|count| *count >>= 1);
    }

    fn of(&self, set: Set) -> &[u16] {
        let size = self.size as usize;
        &self.counters[set.index() * size..][..size]
    }

    fn of_mut(&mut self, set: Set) -> &mut [u16] {
        let size = self.size as usize;
        &mut self.counters[set.index() * size..][..size]
    }

    /// The places of the page's counters, by double hashing.
    fn probes(&self, lpn: Lpn) -> impl Iterator<Item = usize> + use<> {
        let [first, step] = SEEDS.map(|seed| xxh64(lpn.into(), seed) as u32);
        let (size, reciprocal) = (self.size, self.reciprocal);
        (0..PROBES).map(move |n| {
            let hash = first.wrapping_add(n.wrapping_mul(step));
            let fraction = reciprocal.wrapping_mul(u64::from(hash));
            ((u128::from(fraction) * u128::from(size)) >> 64) as usize
        })
    }
}

/// XXH64 of eight bytes, little-endian.
fn xxh64(word: u64, seed: u64) -> u64 {
    const PRIME: [u64; 5] = [
        0x9e37_79b1_85eb_ca87,
        0xc2b2_ae3d_27d4_eb4f,
        0x1656_67b1_9e37_79f9,
        0x85eb_ca77_c2b2_ae63,
        0x27d4_eb2f_1656_67c5,
    ];
    let mixed = word.wrapping_mul(PRIME[1]).rotate_left(31);
    let mut hash = seed.wrapping_add(PRIME[4]).wrapping_add(8) ^ mixed.wrapping_mul(PRIME[0]);
    hash = hash.rotate_left(27).wrapping_mul(PRIME[0]);
    hash = hash.wrapping_add(PRIME[3]);
    hash = (hash ^ (hash >> 33)).wrapping_mul(PRIME[1]);
    hash = (hash ^ (hash >> 29)).wrapping_mul(PRIME[2]);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The second value is that of a plain transcription of the specification in Python.
    #[test]
    fn hashes_are_xxh64() {
        assert_eq!(xxh64(0, 0), 0x34c9_6acd_cadb_1bbb);
        assert_eq!(
            xxh64(0x0123_4567_89ab_cdef, SEEDS[0]),
            0x04bd_840e_8f44_109e
        );
    }

    proptest! {
        #[test]
        fn probes_are_remainders(pages in 0u32..200_000_000, lpn: u32) {
            let lpn = Lpn(lpn);
            let sketch = Sketch::new(0, pages);
            let [first, step] = SEEDS.map(|seed| xxh64(lpn.into(), seed) as u32);
            for (n, place) in sketch.probes(lpn).enumerate() {
                let hash = first.wrapping_add((n as u32).wrapping_mul(step));
                prop_assert_eq!(place, (hash % sketch.size) as usize);
            }
        }

        /// Never less than the truth.
        #[test]
        fn estimates_bound_the_count(pages in prop::collection::vec(0u32..40, 1..300)) {
            for raise in [Sketch::raise_all, Sketch::raise_lowest] {
                let (mut sketch, mut truth) = (Sketch::new(2, 8), BTreeMap::new());
                for page in &pages {
                    raise(&mut sketch, Set(1), Lpn(*page));
                    *truth.entry(*page).or_insert(0) += 1;
                }
                for (page, count) in truth {
                    prop_assert!(sketch.estimate(Set(1), Lpn(page)) >= count);
                    prop_assert_eq!(sketch.estimate(Set(0), Lpn(page)), 0);
                }
            }
        }
    }
}
