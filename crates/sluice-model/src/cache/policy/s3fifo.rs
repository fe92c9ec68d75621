//! S3-FIFO: three FIFO queues (Yang et al., SOSP 2023).

use super::{Eviction, PolicyInfo, Space};
use crate::lists::Lists;

/// Accesses beyond this count no more (2 bits).
const FREQ_MAX: u8 = 3;

/// Accesses in the small queue that earn a place in the main queue.
const PROMOTE_AT: u8 = 2;

/// A small queue that filters pages used once, a main queue with reinsertion, and a ghost queue
/// of the addresses that the small queue let go.
///
/// Follows the variant that libCacheSim measures: as long as nothing was ever evicted, pages that
/// find the small queue full go to the main queue; the small queue has `cache.s3fifo_small` of
/// the set (rounded down, at least 1), the main queue the rest, and the ghost queue as many
/// entries as the main queue's share (rounded down). A page needs two accesses in the small queue
/// to be promoted.
pub struct S3Fifo {
    queues: Lists,
    /// Per slot: accesses since insertion or the last reinsertion, at most [`FREQ_MAX`].
    freq: Vec<u8>,
    /// Per slot: whether it is in the main queue.
    in_main: Vec<bool>,
    lpn: Vec<u32>,
    ghost: Ghost,
    main_size: u32,
    small_size: u32,
    sets: Vec<SetState>,
}

#[derive(Clone, Copy, Default)]
struct SetState {
    has_evicted: bool,
    /// The page announced last was in the ghost queue.
    ghost_hit: bool,
}

impl S3Fifo {
    fn small(set: u32) -> u32 {
        2 * set
    }

    fn main(set: u32) -> u32 {
        2 * set + 1
    }

    fn queue(&self, set: u32, slot: u32) -> u32 {
        if self.in_main[slot as usize] {
            Self::main(set)
        } else {
            Self::small(set)
        }
    }

    /// Evicts from the small queue, promoting what was used on the way.
    fn evict_small(&mut self, set: u32, evictable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        let mut cursor = self.queues.back(Self::small(set));
        while let Some(slot) = cursor {
            cursor = self.queues.newer(slot);
            if !evictable(slot) {
                continue;
            }
            self.queues.remove(Self::small(set), slot);
            if self.freq[slot as usize] < PROMOTE_AT {
                self.ghost.add(set, self.lpn[slot as usize]);
                return Some(slot);
            }
            self.freq[slot as usize] = 0;
            self.in_main[slot as usize] = true;
            self.queues.push_front(Self::main(set), slot);
        }
        None
    }

    /// Evicts from the main queue; a used page goes round again, once per counted access.
    fn evict_main(&mut self, set: u32, evictable: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        let main = Self::main(set);
        let mut cursor = self.queues.back(main);
        while let Some(slot) = cursor {
            cursor = self.queues.newer(slot);
            if !evictable(slot) {
                continue;
            }
            if self.freq[slot as usize] == 0 {
                self.queues.remove(main, slot);
                return Some(slot);
            }
            self.freq[slot as usize] -= 1;
            self.queues.move_to_front(main, slot);
            cursor = cursor.or(Some(slot));
        }
        None
    }
}

impl Eviction for S3Fifo {
    const INFO: PolicyInfo = PolicyInfo {
        name: "s3fifo",
        meaning: "three FIFO queues: small for newcomers, main for reused pages, ghost for memory",
        source: "Yang et al., SOSP 2023; Cylon section 5.6",
        uses_hits: true,
    };

    fn build(space: &Space) -> S3Fifo {
        let slots = (space.sets * space.ways) as usize;
        let small_share = space.policy.s3fifo_small.floor_of(u64::from(space.ways)) as u32;
        let small_size = small_share.clamp(1, space.ways);
        let main_size = space.ways - small_size;
        S3Fifo {
            queues: Lists::new(2 * space.sets as usize, slots),
            freq: vec![0; slots],
            in_main: vec![false; slots],
            lpn: vec![0; slots],
            ghost: Ghost::new(space),
            main_size,
            small_size,
            sets: vec![SetState::default(); space.sets as usize],
        }
    }

    fn miss(&mut self, set: u32, lpn: u32) {
        self.sets[set as usize].ghost_hit = self.ghost.take(set, lpn);
    }

    fn insert(&mut self, set: u32, slot: u32, lpn: u32) {
        let state = &mut self.sets[set as usize];
        let small_full = self.queues.len(Self::small(set)) >= self.small_size;
        let to_main = state.ghost_hit || (!state.has_evicted && small_full);
        state.ghost_hit = false;
        self.in_main[slot as usize] = to_main;
        self.freq[slot as usize] = 0;
        self.lpn[slot as usize] = lpn;
        let queue = self.queue(set, slot);
        self.queues.push_front(queue, slot);
    }

    fn hit(&mut self, _set: u32, slot: u32) {
        let freq = &mut self.freq[slot as usize];
        *freq = (*freq + 1).min(FREQ_MAX);
    }

    fn victim(&mut self, set: u32, mut evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        self.sets[set as usize].has_evicted = true;
        let main_over = self.queues.len(Self::main(set)) > self.main_size;
        if main_over || self.queues.len(Self::small(set)) == 0 {
            let found = self.evict_main(set, &mut evictable);
            return found.or_else(|| self.evict_small(set, &mut evictable));
        }
        let found = self.evict_small(set, &mut evictable);
        found.or_else(|| self.evict_main(set, &mut evictable))
    }

    fn remove(&mut self, set: u32, slot: u32) {
        let queue = self.queue(set, slot);
        self.queues.remove(queue, slot);
    }

    fn dump(&self, set: u32) -> Vec<u32> {
        self.queues
            .iter(Self::main(set))
            .chain(self.queues.iter(Self::small(set)))
            .collect()
    }
}

/// The addresses of pages that left the small queue, oldest forgotten first.
struct Ghost {
    /// Per set a list of entries in use, then per set a list of those given back.
    entries: Lists,
    lpn: Vec<u32>,
    /// Per LPN: entry + 1, or 0 if it is not remembered.
    entry_of: Vec<u32>,
    /// Per set: entries never used yet come from here on.
    used: Vec<u32>,
    sets: u32,
    /// Entries of a set.
    size: u32,
}

impl Ghost {
    fn new(space: &Space) -> Ghost {
        let small = space.policy.s3fifo_small.ceil_of(u64::from(space.ways)) as u32;
        let size = space.ways.saturating_sub(small);
        let (sets, count) = (space.sets as usize, space.sets as usize * size as usize);
        Ghost {
            entries: Lists::new(2 * sets, count),
            lpn: vec![0; count],
            entry_of: vec![0; space.pages as usize],
            used: vec![0; sets],
            sets: space.sets,
            size,
        }
    }

    fn add(&mut self, set: u32, lpn: u32) {
        let Some(entry) = self.spare(set).or_else(|| self.forget_oldest(set)) else {
            return;
        };
        self.lpn[entry as usize] = lpn;
        self.entry_of[lpn as usize] = entry + 1;
        self.entries.push_front(set, entry);
    }

    /// An entry that holds nothing.
    fn spare(&mut self, set: u32) -> Option<u32> {
        let used = &mut self.used[set as usize];
        if *used < self.size {
            *used += 1;
            return Some(set * self.size + *used - 1);
        }
        self.entries.pop_back(self.sets + set)
    }

    fn forget_oldest(&mut self, set: u32) -> Option<u32> {
        let entry = self.entries.pop_back(set)?;
        self.entry_of[self.lpn[entry as usize] as usize] = 0;
        Some(entry)
    }

    /// Forgets the page, and says whether it was remembered.
    fn take(&mut self, set: u32, lpn: u32) -> bool {
        let Some(entry) = self.entry_of[lpn as usize].checked_sub(1) else {
            return false;
        };
        self.entry_of[lpn as usize] = 0;
        self.entries.remove(set, entry);
        self.entries.push_front(self.sets + set, entry);
        true
    }
}
