//! 2Q (Johnson and Shasha, VLDB 1994), the full version.

use super::ghost::Ghost;
use super::{Eviction, PolicyInfo, Space};
use sluice_lists::Lists;
use sluice_params::{Kind, Param, choices};
use sluice_units::Ratio;

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
    /// Whose 2Q.
    pub(super) enum Variant {
        Paper = "paper": "that of the paper",
        Libcachesim = "libcachesim": "that of libCacheSim",
        CxlSsdSim = "cxl-ssd-sim": "that of CXL-SSD-Sim's artifact",
    }
}

/// Newcomers wait in a FIFO (A1in), in which accesses change nothing. Its evicted pages are
/// remembered (A1out); one that comes back while it is goes to an LRU list (Am).
///
/// In the paper a page that comes back is still in A1out while room is made for it, so that it
/// may push the oldest out of there; in libCacheSim it is taken out first (`cache.twoq_variant`).
///
/// CXL-SSD-Sim's artifact remembers nobody: a newcomer goes to Am when it is accessed again, as in
/// Johnson and Shasha's simplified 2Q. But Am is bounded to what `cache.twoq_in` leaves of the set,
/// and lets its oldest go although there is room among the newcomers.
pub struct TwoQ {
    queues: Lists,
    /// Per slot: whether it is in Am.
    is_main: Vec<bool>,
    lpn: Vec<u32>,
    ghost: Ghost,
    /// Per set: the page announced last was in A1out.
    comes_back: Vec<bool>,
    in_max: u32,
    main_max: u32,
    variant: Variant,
}

impl TwoQ {
    fn newcomers(set: u32) -> u32 {
        2 * set
    }

    fn main(set: u32) -> u32 {
        2 * set + 1
    }

    fn queue(&self, set: u32, slot: u32) -> u32 {
        2 * set + u32::from(self.is_main[slot as usize])
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
        let slots = space.sets as usize * space.ways as usize;
        let share = |ratio: sluice_units::Ratio| ratio.floor_of(u64::from(space.ways)) as u32;
        let newcomers = share(given.newcomers);
        let variant = given.variant;
        TwoQ {
            queues: Lists::new(2 * space.sets, slots as u32),
            is_main: vec![false; slots],
            lpn: vec![0; slots],
            ghost: Ghost::new(space.sets, share(given.out), space.pages),
            comes_back: vec![false; space.sets as usize],
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

    fn miss(&mut self, set: u32, lpn: u32) {
        self.comes_back[set as usize] = match self.variant {
            Variant::Paper => self.ghost.contains(lpn),
            Variant::Libcachesim => self.ghost.take(set, lpn),
            Variant::CxlSsdSim => false,
        };
    }

    fn insert(&mut self, set: u32, slot: u32, lpn: u32) {
        let comes_back = std::mem::take(&mut self.comes_back[set as usize]);
        if comes_back && self.variant == Variant::Paper {
            self.ghost.take(set, lpn);
        }
        self.is_main[slot as usize] = comes_back;
        self.lpn[slot as usize] = lpn;
        self.queues.push_front(self.queue(set, slot), slot);
    }

    #[inline]
    fn hit(&mut self, set: u32, slot: u32) {
        if self.is_main[slot as usize] {
            self.queues.move_to_front(TwoQ::main(set), slot);
        } else if self.sheds() && self.main_max > 0 {
            self.queues.remove(TwoQ::newcomers(set), slot);
            self.is_main[slot as usize] = true;
            self.queues.push_front(TwoQ::main(set), slot);
        }
    }

    fn victim(&mut self, set: u32, mut evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        let (newcomers, main) = (TwoQ::newcomers(set), TwoQ::main(set));
        let main_first = self.queues.len(newcomers) <= self.in_max && self.queues.len(main) > 0;
        let order = if main_first {
            [main, newcomers]
        } else {
            [newcomers, main]
        };
        let mut candidates = order.into_iter();
        let slot = candidates.find_map(|queue| self.queues.oldest(queue, &mut evictable))?;
        self.queues.remove(self.queue(set, slot), slot);
        if !self.is_main[slot as usize] && !self.sheds() {
            self.ghost.add(set, self.lpn[slot as usize]);
        }
        Some(slot)
    }

    fn sheds(&self) -> bool {
        self.variant == Variant::CxlSsdSim
    }

    fn surplus(&mut self, set: u32, evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        let main = TwoQ::main(set);
        if self.queues.len(main) <= self.main_max {
            return None;
        }
        let slot = self.queues.oldest(main, evictable)?;
        self.queues.remove(main, slot);
        Some(slot)
    }

    #[inline]
    fn warm(&self, lpn: u32) -> u32 {
        self.ghost.warm(lpn)
    }

    fn remove(&mut self, set: u32, slot: u32) {
        self.queues.remove(self.queue(set, slot), slot);
    }

    fn dump(&self, set: u32) -> Vec<u32> {
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
