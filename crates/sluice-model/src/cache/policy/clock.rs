//! CLOCK, also called second chance.

use super::ring::Ring;
use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_params::{Kind, Param};
use sluice_units::{Lpn, Table};

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

/// A FIFO that spares a page which was accessed since it came in, or since it was last spared: the
/// page becomes the newest instead of leaving.
///
/// With `cache.clock_bits` above 1 accesses are counted, up to what the bits hold, and the page is
/// spared once for each.
pub struct Clock {
    face: Ring<Set>,
    /// Per slot: how often it will be spared.
    count: Table<Slot, u8>,
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
        Clock {
            face: Ring::new(space.sets, space.slots()),
            count: Table::filled(space.slots(), 0),
            count_max: u8::MAX >> (8 - given.bits),
        }
    }

    #[inline]
    fn insert(&mut self, set: Set, slot: Slot, _lpn: Lpn) {
        self.count[slot] = 0;
        self.face.push(set, slot);
    }

    #[inline]
    fn hit(&mut self, _set: Set, slot: Slot) -> u32 {
        let count = &mut self.count[slot];
        if *count < self.count_max {
            *count += 1;
        }
        0
    }

    #[inline]
    fn victim(&mut self, set: Set, evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let count = &mut self.count;
        self.face.pop(set, evictable, |slot| {
            let count = &mut count[slot];
            let spared = *count > 0;
            *count -= u8::from(spared);
            spared
        })
    }

    fn remove(&mut self, set: Set, slot: Slot) {
        self.face.remove(set, slot);
    }

    fn dump(&self, set: Set) -> Vec<Slot> {
        self.face.dump(set)
    }
}
