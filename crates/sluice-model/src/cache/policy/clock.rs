//! CLOCK, also called second chance.

use super::ring::Ring;
use super::{Eviction, PolicyInfo, Space};
use sluice_params::{Kind, Param};

sluice_params::params! {
    /// The parameters of CLOCK.
    struct ClockParams {
        bits: u8 {
            key: "cache.clock_bits",
            kind: Kind::Count { min: 1, max: 8 },
            default: "1",
            meaning: "CLOCK: bits that count accesses; each access counted spares a page once",
            source: "Corbato 1968: one reference bit",
        }
    }
}

/// FIFO in which a page accessed since it came in, or since its last reprieve, goes round again.
///
/// With `cache.clock_bits` above 1 accesses are counted, up to what the bits hold, and each earns
/// a round.
pub struct Clock {
    face: Ring,
    /// Per slot: rounds it has earned.
    count: Vec<u8>,
    count_max: u8,
}

impl Eviction for Clock {
    const INFO: PolicyInfo = PolicyInfo {
        name: "clock",
        meaning: "FIFO that spares a page once if it was accessed since it last came up",
        source: "Cylon section 5.6 (second chance); Corbato 1968",
        uses_hits: true,
    };

    const PARAMS: &[Param] = ClockParams::PARAMS;

    fn build(space: &Space) -> Clock {
        let given = ClockParams::new(&space.given);
        let slots = space.sets as usize * space.ways as usize;
        Clock {
            face: Ring::new(space.sets as usize, slots),
            count: vec![0; slots],
            count_max: u8::MAX >> (8 - given.bits),
        }
    }

    #[inline]
    fn insert(&mut self, set: u32, slot: u32, _lpn: u32) {
        self.count[slot as usize] = 0;
        self.face.push(set, slot);
    }

    #[inline]
    fn hit(&mut self, _set: u32, slot: u32) {
        let count = &mut self.count[slot as usize];
        if *count < self.count_max {
            *count += 1;
        }
    }

    #[inline]
    fn victim(&mut self, set: u32, evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        let count = &mut self.count;
        self.face.pop(set, evictable, |slot| {
            let count = &mut count[slot as usize];
            let spared = *count > 0;
            *count -= u8::from(spared);
            spared
        })
    }

    fn remove(&mut self, set: u32, slot: u32) {
        self.face.remove(set, slot);
    }

    fn dump(&self, set: u32) -> Vec<u32> {
        self.face.dump(set)
    }
}
