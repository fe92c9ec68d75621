//! S3-FIFO: three FIFO queues (Yang et al., SOSP 2023).

use super::Variant;
use super::remembered::Ghost;
use super::ring::Ring;
use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_params::{Kind, Param};
use sluice_units::{Lpn, Ratio, Table, index_type};

sluice_params::params! {
    /// The parameters of S3-FIFO.
    struct S3FifoParams {
        small: Ratio {
            key: "cache.s3fifo_small",
            kind: Kind::Share { max_percent: 100 },
            default: "10%",
            meaning: "the share of a set that S3-FIFO gives to its small queue",
            source: "Yang et al., SOSP 2023: 10 %",
        }
        ghost: Ratio {
            key: "cache.s3fifo_ghost",
            kind: Kind::Share { max_percent: 1_000 },
            default: "90%",
            meaning: "S3-FIFO: pages that the ghost queue remembers, of the pages of a set",
            source: "Yang et al., SOSP 2023: as many as the main queue holds",
        }
        promote: u8 {
            key: "cache.s3fifo_promote",
            kind: Kind::Count { min: 1, max: 3 },
            default: "2",
            meaning: "S3-FIFO: accesses in the small queue that earn a place in the main queue",
            source: "Yang et al., SOSP 2023, algorithm 1: more than one",
        }
        variant: Variant {
            key: "cache.s3fifo_variant",
            default: "libcachesim",
            meaning: "S3-FIFO: when the ghost queue is asked, what a promotion and an empty cache \
                      do",
            source: "libCacheSim, by the authors of the paper",
        }
    }
}

index_type! {
    /// Which of the queues of all sets: set `s` has its small queue at `2 * s` and its main queue
    /// behind that.
    struct Queue;
}

/// Accesses beyond this count no more (2 bits).
const COUNT_MAX: u8 = 3;
/// The slot is in the main queue.
const IN_MAIN: u8 = 4;

/// A small queue that filters pages used once, a main queue with reinsertion, and a ghost queue
/// of the addresses that the small queue let go.
///
/// The small queue has `cache.s3fifo_small` of the set (rounded down, at least 1), the main queue
/// the rest, and the ghost queue `cache.s3fifo_ghost` of the set. A page needs
/// `cache.s3fifo_promote` accesses in the small queue to be promoted.
///
/// In the paper (algorithm 1) a newcomer goes to the small queue unless it is in the ghost queue
/// after room was made for it. A promotion that makes the main queue too long evicts from there.
///
/// libCacheSim (`cache.s3fifo_variant`) asks the ghost queue before it makes room, and evicts from
/// the main queue only next time. As long as nothing was ever evicted, it sends newcomers that find
/// the small queue full to the main queue.
pub struct S3Fifo {
    queues: Ring<Queue>,
    /// Per slot: accesses since insertion or the last reinsertion, at most [`COUNT_MAX`], and
    /// [`IN_MAIN`].
    state: Table<Slot, u8>,
    /// Per slot: the number of its page.
    lpn: Table<Slot, u32>,
    ghost: Ghost,
    main_size: u32,
    small_size: u32,
    promote_at: u8,
    is_libcachesim: bool,
    sets: Table<Set, SetState>,
}

#[derive(Clone, Copy, Default)]
struct SetState {
    /// Slots in the small queue, and in the main one.
    lens: [u32; 2],
    has_evicted: bool,
    /// The page that missed last was in the ghost queue.
    ghost_hit: bool,
}

const SMALL: usize = 0;
const MAIN: usize = 1;

impl S3Fifo {
    fn queue(set: Set, which: usize) -> Queue {
        Queue(2 * set.0 + which as u32)
    }

    #[inline]
    fn push(&mut self, set: Set, which: usize, slot: Slot) {
        // The slot may still be linked where it was evicted from.
        self.queues.close_hole(Self::queue(set, 1 - which));
        self.queues.push(Self::queue(set, which), slot);
        self.state[slot] = if which == MAIN { IN_MAIN } else { 0 };
        self.sets[set].lens[which] += 1;
    }

    /// Evicts from the small queue, promoting what was used on the way.
    #[inline]
    fn evict_small(&mut self, set: Set, evictable: &mut impl FnMut(Slot) -> bool) -> Option<Slot> {
        loop {
            let small = Self::queue(set, SMALL);
            let slot = self.queues.pop(small, &mut *evictable, |_| false)?;
            self.sets[set].lens[SMALL] -= 1;
            if self.state[slot] < self.promote_at {
                self.ghost.add(set, Lpn(self.lpn[slot]));
                return Some(slot);
            }
            self.push(set, MAIN, slot);
            if !self.is_libcachesim
                && self.sets[set].lens[MAIN] > self.main_size
                && let Some(slot) = self.evict_main(set, evictable)
            {
                return Some(slot);
            }
        }
    }

    /// Evicts from the main queue; a used page goes round again, once per counted access.
    #[inline]
    fn evict_main(&mut self, set: Set, evictable: &mut impl FnMut(Slot) -> bool) -> Option<Slot> {
        let state = &mut self.state;
        let main = Self::queue(set, MAIN);
        let slot = self.queues.pop(main, evictable, |slot| {
            let state = &mut state[slot];
            let used = *state > IN_MAIN;
            *state -= u8::from(used);
            used
        })?;
        self.sets[set].lens[MAIN] -= 1;
        Some(slot)
    }
}

impl Eviction for S3Fifo {
    const INFO: PolicyInfo = PolicyInfo {
        name: "s3fifo",
        meaning: "three FIFO queues: small for newcomers, main for reused pages, ghost for memory",
        source: "Yang et al., SOSP 2023; Cylon section 5.6",
        uses_hits: true,
    };

    const PARAMS: &[Param] = S3FifoParams::PARAMS;

    fn build(space: &Space) -> S3Fifo {
        let given = S3FifoParams::new(&space.given);
        let share = |ratio: Ratio| ratio.floor_of(u64::from(space.ways)) as u32;
        let small_size = share(given.small).clamp(1, space.ways);
        S3Fifo {
            queues: Ring::new(2 * space.sets, space.slots()),
            state: Table::filled(space.slots(), 0),
            lpn: Table::filled(space.slots(), 0),
            ghost: Ghost::new(space.sets, share(given.ghost), space.pages),
            main_size: space.ways - small_size,
            small_size,
            promote_at: given.promote,
            is_libcachesim: given.variant == Variant::Libcachesim,
            sets: Table::filled(space.sets, SetState::default()),
        }
    }

    #[inline]
    fn miss(&mut self, set: Set, lpn: Lpn) {
        if self.is_libcachesim {
            self.sets[set].ghost_hit = self.ghost.take(set, lpn);
        }
    }

    #[inline]
    fn insert(&mut self, set: Set, slot: Slot, lpn: Lpn) {
        let state = &mut self.sets[set];
        let to_main = if self.is_libcachesim {
            let small_full = state.lens[SMALL] >= self.small_size;
            std::mem::take(&mut state.ghost_hit) || (!state.has_evicted && small_full)
        } else {
            self.ghost.take(set, lpn)
        };
        self.lpn[slot] = lpn.0;
        self.push(set, usize::from(to_main), slot);
    }

    #[inline]
    fn hit(&mut self, _set: Set, slot: Slot) -> u32 {
        let state = &mut self.state[slot];
        if *state & COUNT_MAX < COUNT_MAX {
            *state += 1;
        }
        0
    }

    #[inline]
    fn warm(&self, lpn: Lpn) -> u32 {
        self.ghost.warm(lpn)
    }

    #[inline]
    fn victim(&mut self, set: Set, mut evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let state = &mut self.sets[set];
        state.has_evicted = true;
        if state.lens[MAIN] > self.main_size || state.lens[SMALL] == 0 {
            let found = self.evict_main(set, &mut evictable);
            return found.or_else(|| self.evict_small(set, &mut evictable));
        }
        let found = self.evict_small(set, &mut evictable);
        found.or_else(|| self.evict_main(set, &mut evictable))
    }

    fn remove(&mut self, set: Set, slot: Slot) {
        let which = usize::from(self.state[slot] >= IN_MAIN);
        self.queues.remove(Self::queue(set, which), slot);
        self.sets[set].lens[which] -= 1;
    }

    fn dump(&self, set: Set) -> Vec<Slot> {
        let mut slots = self.queues.dump(Self::queue(set, MAIN));
        slots.extend(self.queues.dump(Self::queue(set, SMALL)));
        slots
    }
}
