//! LIRS, low inter-reference recency set (Jiang and Zhang, SIGMETRICS 2002).

use super::Variant;
use super::remembered::Remembered;
use super::{Eviction, PolicyInfo, Space};
use sluice_lists::Lists;
use sluice_params::{Kind, Param};
use sluice_units::Ratio;

sluice_params::params! {
    /// The parameters of LIRS.
    struct LirsParams {
        variant: Variant {
            key: "cache.lirs_variant",
            default: "paper",
            meaning: "LIRS: whether a hit on a page that is in the queue alone pushes a page out",
            source: "Jiang and Zhang, SIGMETRICS 2002, section 3.3",
        }
        hir: Ratio {
            key: "cache.lirs_hir",
            kind: Kind::Share { max_percent: 100 },
            default: "1%",
            meaning: "LIRS: the share of a set for pages that are not LIR, one page at least",
            source: "Jiang and Zhang, SIGMETRICS 2002, section 4: 1 %",
        }
        stack: Ratio {
            key: "cache.lirs_stack",
            kind: Kind::Share { max_percent: 1_000 },
            default: "200%",
            meaning: "LIRS: the longest the stack gets, of the pages of a set; 100 % at least",
            source: "libCacheSim: twice the cache; the paper sets no bound",
        }
    }
}

/// A page used twice within a short span is LIR and stays; the rest, HIR, pass through a small
/// queue. The span is measured by a stack of recent accesses, LIR at its bottom.
///
/// The stack also holds pages that have left the cache; it is cut to `cache.lirs_stack` of the set
/// by forgetting those that left first. With `cache.lirs_variant = libcachesim`, a hit on a page
/// that is in the queue alone costs the lowest LIR page its status and pushes the head of the
/// queue out, as that library does when the queue holds two pages or more; the paper changes
/// nothing but places then.
pub struct Lirs {
    /// Per set the stack, over slots and `slots + entry`.
    stack: Lists,
    /// Per set the queue of cached HIR pages over slots, then the pages of the stack that are gone
    /// over `slots + entry`, in the order in which they left.
    queue: Lists,
    /// Per slot: [`LIR`], [`STACKED`] or [`QUEUED`].
    status: Vec<u8>,
    lpn: Vec<u32>,
    gone: Remembered,
    lir: Vec<u32>,
    /// Per set: a hit has left a page too many.
    owes: Vec<bool>,
    slots: u32,
    lir_max: u32,
    hir_max: u32,
    stack_max: u32,
    gives_up_on_hit: bool,
}

/// A page of low inter-reference recency, in the stack alone.
const LIR: u8 = 0;
/// A page of high inter-reference recency, in the stack and in the queue.
const STACKED: u8 = 1;
/// The same, in the queue alone.
const QUEUED: u8 = 2;

impl Lirs {
    fn queue_of(set: u32) -> u32 {
        2 * set
    }

    fn gone_of(set: u32) -> u32 {
        2 * set + 1
    }

    fn is_lir(&self, node: u32) -> bool {
        node < self.slots && self.status[node as usize] == LIR
    }

    /// Forgets a page of the stack that is not in the cache.
    fn forget(&mut self, set: u32, node: u32) {
        self.stack.remove(set, node);
        self.queue.remove(Lirs::gone_of(set), node);
        self.gone.forget(set, node - self.slots);
    }

    /// Takes from the bottom of the stack what is not LIR.
    fn prune(&mut self, set: u32) {
        while let Some(node) = self.stack.back(set).filter(|node| !self.is_lir(*node)) {
            if node >= self.slots {
                self.forget(set, node);
            } else {
                self.stack.remove(set, node);
                self.status[node as usize] = QUEUED;
            }
        }
    }

    /// Makes the LIR page at the bottom of the stack HIR.
    fn demote(&mut self, set: u32) {
        self.prune(set);
        let Some(node) = self.stack.pop_back(set) else {
            return;
        };
        self.status[node as usize] = QUEUED;
        self.lir[set as usize] -= 1;
        self.queue.push_front(Lirs::queue_of(set), node);
        self.prune(set);
    }

    /// Makes a slot on top of the stack LIR, and the lowest one HIR if there are too many.
    fn promote(&mut self, set: u32, slot: u32) {
        self.status[slot as usize] = LIR;
        self.lir[set as usize] += 1;
        while self.lir[set as usize] > self.lir_max {
            self.demote(set);
        }
        self.prune(set);
    }

    fn cut(&mut self, set: u32) {
        while self.stack.len(set) > self.stack_max {
            let Some(node) = self.queue.back(Lirs::gone_of(set)) else {
                return;
            };
            self.forget(set, node);
        }
    }

    /// Lets a queued page go; its place in the stack stays, if it has one.
    fn leave(&mut self, set: u32, slot: u32) {
        self.queue.remove(Lirs::queue_of(set), slot);
        if self.status[slot as usize] == QUEUED {
            return;
        }
        let gone = Lirs::gone_of(set);
        let mut entry = self.gone.add(set, self.lpn[slot as usize]);
        if entry.is_none()
            && let Some(oldest) = self.queue.back(gone)
        {
            self.forget(set, oldest);
            entry = self.gone.add(set, self.lpn[slot as usize]);
        }
        match entry.map(|entry| entry + self.slots) {
            Some(node) => {
                self.stack.replace(set, slot, node);
                self.queue.push_front(gone, node);
            }
            None => self.stack.remove(set, slot),
        }
    }

    /// Drops a LIR page.
    fn drop_lir(&mut self, set: u32, slot: u32) {
        self.stack.remove(set, slot);
        self.lir[set as usize] -= 1;
        self.prune(set);
    }
}

impl Eviction for Lirs {
    const INFO: PolicyInfo = PolicyInfo {
        name: "lirs",
        meaning: "keeps pages whose last two uses were close together; others pass through a queue",
        source: "Jiang and Zhang, SIGMETRICS 2002",
        uses_hits: true,
    };

    const PARAMS: &[Param] = LirsParams::PARAMS;

    fn build(space: &Space) -> Lirs {
        let (sets, slots) = (space.sets as usize, space.sets * space.ways);
        let ways = u64::from(space.ways);
        let given = LirsParams::new(&space.given);
        let hir_max = (given.hir.floor_of(ways) as u32).clamp(1, space.ways);
        let lir_max = space.ways - hir_max;
        let stack_max = (given.stack.floor_of(ways) as u32).max(space.ways);
        // All that is not LIR, one page above the limit and one LIR place that a hit gave up.
        let gone_max = stack_max - lir_max + 2;
        let nodes = slots as usize + sets * gone_max as usize;
        Lirs {
            stack: Lists::new(sets as u32, nodes as u32),
            queue: Lists::new((2 * sets) as u32, nodes as u32),
            status: vec![0; slots as usize],
            lpn: vec![0; slots as usize],
            gone: Remembered::new(space.sets, gone_max, space.pages),
            lir: vec![0; sets],
            owes: vec![false; sets],
            slots,
            lir_max,
            hir_max,
            stack_max,
            gives_up_on_hit: given.variant == Variant::Libcachesim && hir_max > 1,
        }
    }

    fn insert(&mut self, set: u32, slot: u32, lpn: u32) {
        self.lpn[slot as usize] = lpn;
        let known = self.gone.entry(lpn).map(|entry| entry + self.slots);
        if let Some(node) = known {
            self.forget(set, node);
        }
        self.stack.push_front(set, slot);
        if known.is_some() || self.lir[set as usize] < self.lir_max {
            self.promote(set, slot);
        } else {
            self.status[slot as usize] = STACKED;
            self.queue.push_front(Lirs::queue_of(set), slot);
        }
        self.cut(set);
    }

    fn hit(&mut self, set: u32, slot: u32) {
        match self.status[slot as usize] {
            LIR => {
                self.stack.move_to_front(set, slot);
                self.prune(set);
            }
            STACKED => {
                self.stack.move_to_front(set, slot);
                self.queue.remove(Lirs::queue_of(set), slot);
                self.promote(set, slot);
            }
            _ => {
                self.queue.move_to_front(Lirs::queue_of(set), slot);
                if self.gives_up_on_hit && self.lir[set as usize] == self.lir_max {
                    self.demote(set);
                    let queued = self.queue.len(Lirs::queue_of(set));
                    self.owes[set as usize] = queued > self.hir_max;
                }
                self.status[slot as usize] = STACKED;
                self.stack.push_front(set, slot);
                self.cut(set);
            }
        }
    }

    fn victim(&mut self, set: u32, mut evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        if let Some(slot) = self.queue.oldest(Lirs::queue_of(set), &mut evictable) {
            self.leave(set, slot);
            return Some(slot);
        }
        // Only LIR pages may leave.
        let (slots, status) = (self.slots, &self.status);
        let may_leave = |node| node < slots && status[node as usize] == LIR && evictable(node);
        let slot = self.stack.oldest(set, may_leave)?;
        self.drop_lir(set, slot);
        Some(slot)
    }

    fn sheds(&self) -> bool {
        self.gives_up_on_hit
    }

    fn surplus(&mut self, set: u32, evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        if !std::mem::take(&mut self.owes[set as usize]) {
            return None;
        }
        let slot = self.queue.oldest(Lirs::queue_of(set), evictable)?;
        self.leave(set, slot);
        Some(slot)
    }

    #[inline]
    fn warm(&self, lpn: u32) -> u32 {
        self.gone.warm(lpn)
    }

    fn remove(&mut self, set: u32, slot: u32) {
        if self.status[slot as usize] == LIR {
            return self.drop_lir(set, slot);
        }
        self.queue.remove(Lirs::queue_of(set), slot);
        if self.status[slot as usize] == STACKED {
            self.stack.remove(set, slot);
        }
    }

    fn dump(&self, set: u32) -> Vec<u32> {
        let lir = self.stack.iter(set).filter(|node| self.is_lir(*node));
        lir.chain(self.queue.iter(Lirs::queue_of(set))).collect()
    }
}
