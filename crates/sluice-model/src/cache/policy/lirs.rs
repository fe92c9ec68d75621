//! LIRS, low inter-reference recency set (Jiang and Zhang, SIGMETRICS 2002).

use super::Variant;
use super::remembered::{Node, Nodes, Remembered};
use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_lists::Lists;
use sluice_params::{Kind, Param};
use sluice_units::{Lpn, Ratio, Table, index_type};

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

index_type! {
    /// Which of the queues of all sets: set `s` has that of its cached HIR pages at `2 * s`, and
    /// that of the pages that left behind it.
    struct Queue;
}

/// A page used twice within a short span is LIR and stays; the rest, HIR, pass through a small
/// queue. The span is measured by a stack of recent accesses, LIR at its bottom.
///
/// The stack also holds pages that have left the cache; it is cut to `cache.lirs_stack` of the set
/// by forgetting those that left first.
///
/// With `cache.lirs_variant = libcachesim`, a hit on a page that is in the queue alone costs the
/// lowest LIR page its status and pushes the head of the queue out. That library does so when the
/// queue holds two pages or more; the paper then changes nothing but places.
pub struct Lirs {
    /// Per set the stack, of cached and of remembered pages.
    stack: Lists<Set, Node>,
    /// Per set the queue of cached HIR pages, then the pages of the stack that left, in the order
    /// in which they left.
    queue: Lists<Queue, Node>,
    nodes: Nodes,
    /// Per slot: [`LIR`], [`STACKED`] or [`QUEUED`].
    status: Table<Slot, u8>,
    /// Per slot: the number of its page.
    lpn: Table<Slot, u32>,
    gone: Remembered,
    /// Per set: how many of its pages are LIR.
    lir: Table<Set, u32>,
    /// Per set: whether a page must leave because of the last hit.
    surplus: Table<Set, bool>,
    lir_max: u32,
    hir_max: u32,
    stack_max: u32,
    gives_up_on_hit: bool,
}

/// A page of low inter-reference recency, in the stack alone.
const LIR: u8 = 0;
/// A page of high inter-reference recency, in the stack and in the queue.
const STACKED: u8 = 1;
/// A page of high inter-reference recency, in the queue alone.
const QUEUED: u8 = 2;

impl Lirs {
    fn queue_of(set: Set) -> Queue {
        Queue(2 * set.0)
    }

    fn gone_of(set: Set) -> Queue {
        Queue(2 * set.0 + 1)
    }

    fn is_lir(&self, node: Node) -> bool {
        let slot = self.nodes.as_slot(node);
        slot.is_some_and(|slot| self.status[slot] == LIR)
    }

    /// Forgets a page of the stack that is not in the cache.
    fn forget(&mut self, set: Set, node: Node) {
        self.stack.remove(set, node);
        self.queue.remove(Lirs::gone_of(set), node);
        self.gone.forget(set, self.nodes.as_entry(node));
    }

    /// Takes from the bottom of the stack what is not LIR.
    fn prune(&mut self, set: Set) {
        while let Some(node) = self.stack.back(set).filter(|node| !self.is_lir(*node)) {
            match self.nodes.as_slot(node) {
                None => self.forget(set, node),
                Some(slot) => {
                    self.stack.remove(set, node);
                    self.status[slot] = QUEUED;
                }
            }
        }
    }

    /// Makes the LIR page at the bottom of the stack HIR.
    fn demote(&mut self, set: Set) {
        self.prune(set);
        let Some(node) = self.stack.pop_back(set) else {
            return;
        };
        if let Some(slot) = self.nodes.as_slot(node) {
            self.status[slot] = QUEUED;
        }
        self.lir[set] -= 1;
        self.queue.push_front(Lirs::queue_of(set), node);
        self.prune(set);
    }

    /// Makes a slot on top of the stack LIR, and the lowest one HIR if there are too many.
    fn promote(&mut self, set: Set, slot: Slot) {
        self.status[slot] = LIR;
        self.lir[set] += 1;
        while self.lir[set] > self.lir_max {
            self.demote(set);
        }
        self.prune(set);
    }

    fn cut(&mut self, set: Set) {
        while self.stack.len(set) > self.stack_max {
            let Some(node) = self.queue.back(Lirs::gone_of(set)) else {
                return;
            };
            self.forget(set, node);
        }
    }

    /// Lets a queued page go. If it is in the stack, it stays there as a remembered page.
    fn leave(&mut self, set: Set, slot: Slot) {
        let cached = self.nodes.slot(slot);
        self.queue.remove(Lirs::queue_of(set), cached);
        if self.status[slot] == QUEUED {
            return;
        }
        let gone = Lirs::gone_of(set);
        let mut entry = self.gone.add(set, Lpn(self.lpn[slot]));
        if entry.is_none()
            && let Some(oldest) = self.queue.back(gone)
        {
            self.forget(set, oldest);
            entry = self.gone.add(set, Lpn(self.lpn[slot]));
        }
        match entry.map(|entry| self.nodes.entry(entry)) {
            Some(node) => {
                self.stack.replace(set, cached, node);
                self.queue.push_front(gone, node);
            }
            None => self.stack.remove(set, cached),
        }
    }

    /// Drops a LIR page.
    fn drop_lir(&mut self, set: Set, slot: Slot) {
        self.stack.remove(set, self.nodes.slot(slot));
        self.lir[set] -= 1;
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
        let ways = u64::from(space.ways);
        let given = LirsParams::new(&space.given);
        let hir_max = (given.hir.floor_of(ways) as u32).clamp(1, space.ways);
        let lir_max = space.ways - hir_max;
        let stack_max = (given.stack.floor_of(ways) as u32).max(space.ways);
        // All that is not LIR, one page above the limit and one LIR place that a hit gave up.
        let gone_max = stack_max - lir_max + 2;
        let nodes = space.slots() + space.sets * gone_max;
        Lirs {
            stack: Lists::new(space.sets, nodes),
            queue: Lists::new(2 * space.sets, nodes),
            status: Table::filled(space.slots(), 0),
            lpn: Table::filled(space.slots(), 0),
            gone: Remembered::new(space.sets, gone_max, space.pages),
            lir: Table::filled(space.sets, 0),
            surplus: Table::filled(space.sets, false),
            nodes: Nodes {
                slots: space.slots(),
            },
            lir_max,
            hir_max,
            stack_max,
            gives_up_on_hit: given.variant == Variant::Libcachesim && hir_max > 1,
        }
    }

    fn insert(&mut self, set: Set, slot: Slot, lpn: Lpn) {
        self.lpn[slot] = lpn.0;
        let known = self.gone.entry(lpn).map(|entry| self.nodes.entry(entry));
        if let Some(node) = known {
            self.forget(set, node);
        }
        self.stack.push_front(set, self.nodes.slot(slot));
        if known.is_some() || self.lir[set] < self.lir_max {
            self.promote(set, slot);
        } else {
            self.status[slot] = STACKED;
            self.queue
                .push_front(Lirs::queue_of(set), self.nodes.slot(slot));
        }
        self.cut(set);
    }

    fn hit(&mut self, set: Set, slot: Slot) -> u32 {
        let (queue, node) = (Lirs::queue_of(set), self.nodes.slot(slot));
        match self.status[slot] {
            LIR => {
                self.stack.move_to_front(set, node);
                self.prune(set);
            }
            STACKED => {
                self.stack.move_to_front(set, node);
                self.queue.remove(queue, node);
                self.promote(set, slot);
            }
            _ => {
                self.queue.move_to_front(queue, node);
                if self.gives_up_on_hit && self.lir[set] == self.lir_max {
                    self.demote(set);
                    self.surplus[set] = self.queue.len(queue) > self.hir_max;
                }
                self.status[slot] = STACKED;
                self.stack.push_front(set, node);
                self.cut(set);
            }
        }
        u32::from(self.surplus[set])
    }

    fn victim(&mut self, set: Set, mut evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let for_hit = std::mem::take(&mut self.surplus[set]);
        let (nodes, status) = (self.nodes, &self.status);
        let may_leave = |node| nodes.as_slot(node).is_some_and(&mut evictable);
        let queued = self.queue.oldest(Lirs::queue_of(set), may_leave);
        if let Some(slot) = queued.and_then(|node| nodes.as_slot(node)) {
            self.leave(set, slot);
            return Some(slot);
        }
        if for_hit {
            return None;
        }
        // Only LIR pages may leave.
        let may_leave = |node| {
            let slot = nodes.as_slot(node);
            slot.is_some_and(|slot| status[slot] == LIR && evictable(slot))
        };
        let slot = nodes.as_slot(self.stack.oldest(set, may_leave)?)?;
        self.drop_lir(set, slot);
        Some(slot)
    }

    #[inline]
    fn warm(&self, lpn: Lpn) -> u32 {
        self.gone.warm(lpn)
    }

    fn remove(&mut self, set: Set, slot: Slot) {
        if self.status[slot] == LIR {
            return self.drop_lir(set, slot);
        }
        let node = self.nodes.slot(slot);
        self.queue.remove(Lirs::queue_of(set), node);
        if self.status[slot] == STACKED {
            self.stack.remove(set, node);
        }
    }

    fn dump(&self, set: Set) -> Vec<Slot> {
        let lir = self.stack.iter(set).filter(|node| self.is_lir(*node));
        let nodes = lir.chain(self.queue.iter(Lirs::queue_of(set)));
        nodes.filter_map(|node| self.nodes.as_slot(node)).collect()
    }
}
