//! 2Q (Johnson and Shasha, VLDB 1994), the full version.

use super::remembered::Ghost;
use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_lists::Lists;
use sluice_params::{Kind, Param, choices};
use sluice_units::{Lpn, Ratio, Table, index_type};

sluice_params::params! {
    /// The parameters of 2Q.
    struct TwoQParams {
        newcomers: Ratio {
            key: "cache.twoq_in",
            kind: Kind::Share { max_percent: 100 },
            default: "25%",
            meaning: "2Q: the share of a set for newcomers (Kin)",
            source: "Johnson and Shasha, VLDB 1994: 25 %",
        }
        out: Ratio {
            key: "cache.twoq_out",
            kind: Kind::Share { max_percent: 1_000 },
            default: "50%",
            meaning: "2Q: pages remembered after they left, of the pages of a set (Kout)",
            source: "Johnson and Shasha, VLDB 1994: 50 %",
        }
        variant: Variant {
            key: "cache.twoq_variant",
            default: "paper",
            meaning: "2Q: what earns a page its place in the main queue, and whether that is \
                      bounded",
            source: "Johnson and Shasha, VLDB 1994; libCacheSim; the artifact of CXL-SSD-Sim",
        }
    }
}

choices! {
    /// Whose version of 2Q is followed.
    pub(super) enum Variant {
        Paper = "paper": "that of the paper",
        Libcachesim = "libcachesim": "that of libCacheSim",
        CxlSsdSim = "cxl-ssd-sim": "that of CXL-SSD-Sim's artifact",
    }
}

index_type! {
    /// Which of the queues of all sets: set `s` has A1in at `2 * s` and Am behind that.
    struct Queue;
}

/// Newcomers wait in a FIFO (A1in), in which accesses change nothing. Its evicted pages are
/// remembered (A1out); one that comes back while it is goes to an LRU list (Am).
///
/// In the paper a page that comes back is still in A1out while room is made for it, so that it
/// may push the oldest out of there; in libCacheSim it is taken out first (`cache.twoq_variant`).
///
/// CXL-SSD-Sim's artifact remembers no page that left: a newcomer goes to Am when it is accessed
/// again, as in Johnson and Shasha's simplified 2Q. But Am is bounded to what `cache.twoq_in`
/// leaves of the set: a hit that moves a page too many there makes its oldest leave, although there
/// may be room among the newcomers.
pub struct TwoQ {
    queues: Lists<Queue, Slot>,
    /// Per slot: whether it is in Am.
    is_main: Table<Slot, bool>,
    /// Per slot: the number of its page.
    lpn: Table<Slot, u32>,
    ghost: Ghost,
    /// Per set: the page that missed last was in A1out.
    comes_back: Table<Set, bool>,
    /// Per set: pages that must leave Am because of the last hit.
    surplus: Table<Set, u32>,
    in_max: u32,
    main_max: u32,
    variant: Variant,
}

impl TwoQ {
    fn newcomers(set: Set) -> Queue {
        Queue(2 * set.0)
    }

    fn main(set: Set) -> Queue {
        Queue(2 * set.0 + 1)
    }

    fn queue(&self, set: Set, slot: Slot) -> Queue {
        Queue(2 * set.0 + u32::from(self.is_main[slot]))
    }
}

impl Eviction for TwoQ {
    const INFO: PolicyInfo = PolicyInfo {
        name: "twoq",
        meaning: "a FIFO for newcomers, an LRU list for pages that come back soon after they left",
        source: "Johnson and Shasha, VLDB 1994, full version; CXL-SSD-Sim section II-C",
        uses_hits: true,
    };

    const PARAMS: &[Param] = TwoQParams::PARAMS;

    fn build(space: &Space) -> TwoQ {
        let given = TwoQParams::new(&space.given);
        let share = |ratio: Ratio| ratio.floor_of(u64::from(space.ways)) as u32;
        let newcomers = share(given.newcomers);
        let variant = given.variant;
        TwoQ {
            queues: Lists::new(2 * space.sets, space.slots()),
            is_main: Table::filled(space.slots(), false),
            lpn: Table::filled(space.slots(), 0),
            ghost: Ghost::new(space.sets, share(given.out), space.pages),
            comes_back: Table::filled(space.sets, false),
            surplus: Table::filled(space.sets, 0),
            // Where Am is bounded, a full set has newcomers to spare.
            in_max: if variant == Variant::CxlSsdSim {
                0
            } else {
                newcomers
            },
            main_max: space.ways - newcomers,
            variant,
        }
    }

    fn miss(&mut self, set: Set, lpn: Lpn) {
        self.comes_back[set] = match self.variant {
            Variant::Paper => self.ghost.contains(lpn),
            Variant::Libcachesim => self.ghost.take(set, lpn),
            Variant::CxlSsdSim => false,
        };
    }

    fn insert(&mut self, set: Set, slot: Slot, lpn: Lpn) {
        let comes_back = std::mem::take(&mut self.comes_back[set]);
        if comes_back && self.variant == Variant::Paper {
            self.ghost.take(set, lpn);
        }
        self.is_main[slot] = comes_back;
        self.lpn[slot] = lpn.0;
        self.queues.push_front(self.queue(set, slot), slot);
    }

    #[inline]
    fn hit(&mut self, set: Set, slot: Slot) -> u32 {
        let main = TwoQ::main(set);
        if self.is_main[slot] {
            self.queues.move_to_front(main, slot);
        } else if self.variant == Variant::CxlSsdSim && self.main_max > 0 {
            self.queues.remove(TwoQ::newcomers(set), slot);
            self.is_main[slot] = true;
            self.queues.push_front(main, slot);
        }
        if self.variant != Variant::CxlSsdSim {
            return 0;
        }
        self.surplus[set] = self.queues.len(main).saturating_sub(self.main_max);
        self.surplus[set]
    }

    fn victim(&mut self, set: Set, mut evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let (newcomers, main) = (TwoQ::newcomers(set), TwoQ::main(set));
        if let Some(left) = self.surplus[set].checked_sub(1) {
            self.surplus[set] = left;
            let slot = self.queues.oldest(main, evictable)?;
            self.queues.remove(main, slot);
            return Some(slot);
        }
        let main_first = self.queues.len(newcomers) <= self.in_max && self.queues.len(main) > 0;
        let order = if main_first {
            [main, newcomers]
        } else {
            [newcomers, main]
        };
        let mut candidates = order.into_iter();
        let slot = candidates.find_map(|queue| self.queues.oldest(queue, &mut evictable))?;
        self.queues.remove(self.queue(set, slot), slot);
        if !self.is_main[slot] && self.variant != Variant::CxlSsdSim {
            self.ghost.add(set, Lpn(self.lpn[slot]));
        }
        Some(slot)
    }

    #[inline]
    fn warm(&self, lpn: Lpn) -> u32 {
        self.ghost.warm(lpn)
    }

    fn remove(&mut self, set: Set, slot: Slot) {
        self.queues.remove(self.queue(set, slot), slot);
    }

    fn dump(&self, set: Set) -> Vec<Slot> {
        let (newcomers, main) = (TwoQ::newcomers(set), TwoQ::main(set));
        let main_first = self.queues.len(newcomers) <= self.in_max;
        let order = if main_first {
            [newcomers, main]
        } else {
            [main, newcomers]
        };
        let slots = order.into_iter().flat_map(|queue| self.queues.iter(queue));
        slots.collect()
    }
}
