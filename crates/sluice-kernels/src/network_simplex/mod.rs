//! Minimum-cost flow by the network simplex method: a stand-in for mcf of SPEC CPU2017.
//!
//! SPEC CPU2017 may not be redistributed, neither its programs nor traces of them. mcf (Löbel's
//! MCF) schedules vehicles by this method; a run does to memory here what it does there. A pass
//! over arcs of 64 bytes in blocks looks for one whose reduced cost is wrong, with the potentials
//! of two nodes for each. A pivot follows parents from the arc's ends up to where they meet, and
//! hangs a part of the spanning tree elsewhere. Then it goes through all nodes of that part to
//! change their potentials. The tree is kept strongly feasible (Cunningham 1976), so that the
//! method ends. A round solves one network; the next has the same arcs with new costs. Networks are
//! made up: supplies and demands at nodes, arcs to nodes near and far. Different from mcf: no arcs
//! are added while it runs, and pricing is the block search of Grigoriadis instead of multiple
//! partial pricing.

mod network;
mod pricing;
#[cfg(test)]
mod tests;

use super::series::bytes;
use super::{Arena, Array, Kernel, KernelInfo, KernelOptions, Loaded, Recorder};
use crate::Mismatch;
use network::{Arc, DEGREE, Node, State, network};
use sluice_host::{Instr, Program, Step};
use sluice_params::Param;
use sluice_units::{Bytes, Rng};

const NONE: u32 = u32::MAX;
/// mcf's sizes.
const ARC_BYTES: u64 = 64;
const NODE_BYTES: u64 = 104;
/// Arcs priced, and nodes changed, in a stretch.
const PIECE: usize = 1_024;
/// More than any path can cost.
const BIG: i64 = 1 << 40;

/// Pricing an arc: two potentials, the sum, its state.
const PRICE: u32 = 8;
/// A step up the tree.
const CLIMB: u32 = 10;
/// A node whose potential changes.
const CHANGE: u32 = 8;
/// Links of the tree that change.
const HANG: u32 = 12;

const PARAMS: &[Param] = &[bytes(
    "64MB",
    "assumed: mcf of SPEC CPU2017 has some hundred MB",
)];

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "network-simplex",
    meaning: "minimum-cost flow by the network simplex method",
    source: "ESF section IV, in place of mcf of SPEC CPU2017",
    published: None,
    thread_bytes: |_| 0,
    own_bytes: |_, bytes, _| bytes / 10 * 7,
    params: PARAMS,
    make: |options| Box::new(Simplex::new(options)),
};

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Hangs every node to the root.
    Begin(usize),
    Price,
    Pivot(u32),
    /// Changes the potentials below a node, by so much; at the second node now.
    Update(u32, u32, i64),
}

struct Simplex {
    options: KernelOptions,
    nodes: Vec<Node>,
    /// The arcs of the network, then one from each node to the root or back.
    arcs: Vec<Arc>,
    real: usize,
    phase: Phase,
    /// Where pricing goes on, the best arc yet, and arcs left in the block and in all.
    next: usize,
    best: (i64, u32),
    left: usize,
    unpriced: usize,
    pivots: u64,
    rounds: u64,
    ended: bool,
    nodes_at: Array,
    arcs_at: Array,
    footprint: Bytes,
}

impl Simplex {
    fn new(options: &KernelOptions) -> Simplex {
        let each = NODE_BYTES + ARC_BYTES * (DEGREE as u64 + 1);
        let len = (options.bytes() / each).max(8) as u32;
        let mut arena = Arena::default();
        let mut rng = Rng::stream(options.seed, "kernel.network-simplex");
        let (nodes, arcs) = network(&mut rng, len);
        let mut kernel = Simplex {
            options: options.clone(),
            real: arcs.len() - nodes.len() + 1,
            phase: Phase::Begin(0),
            next: 0,
            best: (0, NONE),
            left: 0,
            unpriced: 0,
            pivots: 0,
            rounds: 0,
            ended: false,
            nodes_at: arena.array(nodes.len() as u64, NODE_BYTES),
            arcs_at: arena.array(arcs.len() as u64, ARC_BYTES),
            nodes,
            arcs,
            footprint: arena.footprint(),
        };
        kernel.draw_costs();
        kernel
    }

    fn root(&self) -> u32 {
        self.nodes.len() as u32 - 1
    }

    /// Costs of this round.
    fn draw_costs(&mut self) {
        let mut rng = Rng::stream(
            self.options.seed ^ self.rounds << 32,
            "kernel.simplex.costs",
        );
        for arc in &mut self.arcs[..self.real] {
            arc.cost = 1 + rng.below(1_000) as i64;
        }
    }

    fn node_at(&self, node: u32) -> u64 {
        self.nodes_at.at(node.into())
    }

    fn arc_at(&self, arc: u32) -> u64 {
        self.arcs_at.at(arc.into())
    }

    /// All flow over the root, nothing on the network's arcs.
    fn begin(&mut self, rec: &mut Recorder, from: usize) {
        let root = self.root();
        let to = (from + PIECE / DEGREE).min(root as usize);
        for node in from..to {
            for arc in (node..self.real).step_by(root as usize) {
                (self.arcs[arc].flow, self.arcs[arc].state) = (0, State::Lower);
                rec.store(self.arc_at(arc as u32));
            }
            let arc = (self.real + node) as u32;
            let supply = self.nodes[node].supply;
            let node = node as u32;
            // Strongly feasible: an arc without flow leads to the root.
            self.arcs[arc as usize] = Arc {
                ends: if supply >= 0 {
                    [node, root]
                } else {
                    [root, node]
                },
                cost: BIG,
                capacity: i64::MAX / 2,
                flow: supply.abs(),
                state: State::Tree,
            };
            rec.work(HANG);
            rec.store(self.arc_at(arc));
            rec.store(self.node_at(node));
            rec.store(self.node_at(node) + 64);
            self.nodes[node as usize] = Node {
                potential: if supply >= 0 { BIG } else { -BIG },
                parent: root,
                arc,
                depth: 1,
                child: NONE,
                next: if node + 1 == root { NONE } else { node + 1 },
                before: if node == 0 { NONE } else { node - 1 },
                ..self.nodes[node as usize]
            };
        }
        self.nodes[root as usize].child = 0;
        self.phase = Phase::Begin(to);
        if to == root as usize {
            self.start_pricing();
        }
    }

    fn end_round(&mut self) {
        self.rounds += 1;
        self.ended = self.rounds == self.options.rounds;
        if !self.ended {
            self.draw_costs();
            self.phase = Phase::Begin(0);
        }
    }

    /// How much more can flow up from a node to its parent, or down to it.
    fn room(&self, node: u32, is_up: bool) -> i64 {
        let arc = &self.arcs[self.nodes[node as usize].arc as usize];
        let is_along = (arc.ends[0] == node) == is_up;
        if is_along {
            arc.capacity - arc.flow
        } else {
            arc.flow
        }
    }

    fn push(&mut self, rec: &mut Recorder, node: u32, is_up: bool, flow: i64) {
        let number = self.nodes[node as usize].arc;
        let arc = &mut self.arcs[number as usize];
        let is_along = (arc.ends[0] == node) == is_up;
        arc.flow += if is_along { flow } else { -flow };
        rec.store(self.arc_at(number));
    }

    fn climb(&self, rec: &mut Recorder, node: u32, before: Option<Loaded>) -> (u32, Loaded) {
        let at = self.node_at(node);
        let loaded = match before {
            Some(before) => rec.load_after(at, before),
            None => rec.load(at),
        };
        rec.load_after(self.arc_at(self.nodes[node as usize].arc), loaded);
        rec.work(CLIMB);
        (self.nodes[node as usize].parent, loaded)
    }

    /// Sends flow round the cycle of an arc, which takes another's place in the tree.
    fn pivot(&mut self, rec: &mut Recorder, entering: u32) {
        self.pivots += 1;
        let arc = self.arcs[entering as usize].clone();
        // Flow goes from `tail` over the arc to `head`, and back by the tree.
        let is_more = arc.state == State::Lower;
        let [tail, head] = if is_more {
            arc.ends
        } else {
            [arc.ends[1], arc.ends[0]]
        };
        let (mut from, mut to) = (tail, head);
        let (mut most, mut leaving) = (arc.capacity, (NONE, false));
        let mut loaded = [None; 2];
        while from != to {
            let is_deeper =
                |a: u32, b: u32| self.nodes[a as usize].depth >= self.nodes[b as usize].depth;
            // Of several arcs without room the last in the cycle's direction from its apex leaves,
            // which keeps the tree strongly feasible.
            if is_deeper(from, to) {
                let room = self.room(from, false);
                if room < most {
                    (most, leaving) = (room, (from, true));
                }
                let (parent, before) = self.climb(rec, from, loaded[0]);
                (from, loaded[0]) = (parent, Some(before));
            } else {
                let room = self.room(to, true);
                if room <= most {
                    (most, leaving) = (room, (to, false));
                }
                let (parent, before) = self.climb(rec, to, loaded[1]);
                (to, loaded[1]) = (parent, Some(before));
            }
        }
        self.augment(rec, [tail, head], from, most);
        let entry = &mut self.arcs[entering as usize];
        entry.flow += if is_more { most } else { -most };
        rec.store(self.arcs_at.at(entering.into()));
        let (node, is_tails) = leaving;
        if node == NONE {
            entry.state = if is_more { State::Upper } else { State::Lower };
            return self.start_pricing();
        }
        let [below, above] = if is_tails { [tail, head] } else { [head, tail] };
        self.hang(rec, entering, node, below, above);
    }

    /// Sends so much from `head` up to the apex and down to `tail`.
    fn augment(&mut self, rec: &mut Recorder, [tail, head]: [u32; 2], apex: u32, flow: i64) {
        if flow == 0 {
            return;
        }
        for (start, is_up) in [(tail, false), (head, true)] {
            let mut node = start;
            while node != apex {
                self.push(rec, node, is_up, flow);
                node = self.nodes[node as usize].parent;
            }
        }
    }

    /// Cuts the tree above `cut` and hangs what is below by `entering`, from `below` to `above`.
    fn hang(&mut self, rec: &mut Recorder, entering: u32, cut: u32, below: u32, above: u32) {
        let leaving = self.nodes[cut as usize].arc;
        let left = &mut self.arcs[leaving as usize];
        left.state = if left.flow == 0 {
            State::Lower
        } else {
            State::Upper
        };
        rec.store(self.arc_at(leaving));
        self.arcs[entering as usize].state = State::Tree;
        let (mut node, mut parent, mut arc) = (below, above, entering);
        loop {
            let old = self.nodes[node as usize];
            self.unlink(rec, node);
            self.link(rec, node, parent, arc);
            if node == cut {
                break;
            }
            (parent, node, arc) = (node, old.parent, old.arc);
        }
        let entry = &self.arcs[entering as usize];
        let reduced = self.reduced(entry);
        // The potential of the part changes so that the arc's reduced cost becomes 0.
        let change = if entry.ends[0] == below {
            reduced
        } else {
            -reduced
        };
        self.phase = Phase::Update(below, below, change);
    }

    fn unlink(&mut self, rec: &mut Recorder, node: u32) {
        let Node {
            parent,
            next,
            before,
            ..
        } = self.nodes[node as usize];
        rec.work(HANG);
        match before {
            NONE => self.nodes[parent as usize].child = next,
            before => self.nodes[before as usize].next = next,
        }
        rec.store(self.node_at(if before == NONE { parent } else { before }));
        if next != NONE {
            self.nodes[next as usize].before = before;
            rec.store(self.node_at(next));
        }
    }

    fn link(&mut self, rec: &mut Recorder, node: u32, parent: u32, arc: u32) {
        let first = std::mem::replace(&mut self.nodes[parent as usize].child, node);
        if first != NONE {
            self.nodes[first as usize].before = node;
            rec.store(self.node_at(first));
        }
        let own = &mut self.nodes[node as usize];
        (own.parent, own.arc, own.next, own.before) = (parent, arc, first, NONE);
        rec.store(self.node_at(node));
        rec.store(self.node_at(parent));
    }

    /// Goes on through the nodes below `top`, each before its children.
    fn update(&mut self, rec: &mut Recorder, top: u32, from: u32, change: i64) {
        let mut node = from;
        let mut before: Option<Loaded> = None;
        for _ in 0..PIECE {
            let at = self.node_at(node);
            let loaded = match before {
                Some(before) => rec.load_after(at, before),
                None => rec.load(at),
            };
            let parent = self.nodes[node as usize].parent;
            let depth = self.nodes[parent as usize].depth + 1;
            let own = &mut self.nodes[node as usize];
            own.potential += change;
            own.depth = depth;
            rec.work(CHANGE);
            rec.store_after(at, loaded);
            match self.after(rec, top, node, loaded) {
                Some((next, by)) => (node, before) = (next, Some(by)),
                None => return self.start_pricing(),
            }
        }
        self.phase = Phase::Update(top, node, change);
    }

    /// The node that follows in the part below `top`, and the load that names it.
    fn after(
        &self,
        rec: &mut Recorder,
        top: u32,
        node: u32,
        loaded: Loaded,
    ) -> Option<(u32, Loaded)> {
        let own = &self.nodes[node as usize];
        if own.child != NONE {
            return Some((own.child, loaded));
        }
        let (mut at, mut loaded) = (node, loaded);
        while at != top {
            let own = &self.nodes[at as usize];
            if own.next != NONE {
                return Some((own.next, loaded));
            }
            loaded = rec.load_after(self.node_at(own.parent), loaded);
            at = own.parent;
        }
        None
    }
}

impl Program for Simplex {
    fn footprint(&self) -> Bytes {
        self.footprint
    }

    fn threads(&self) -> u32 {
        self.options.threads
    }

    /// Any thread may do the next step: the method has one thread, which costs nothing to change.
    fn fill(&mut self, _thread: u32, out: &mut Vec<Instr>) -> Step {
        let mut rec = Recorder::new(out);
        while rec.is_empty() && !self.ended {
            match self.phase {
                Phase::Begin(from) => self.begin(&mut rec, from),
                Phase::Price => self.price(&mut rec),
                Phase::Pivot(arc) => self.pivot(&mut rec, arc),
                Phase::Update(top, node, change) => self.update(&mut rec, top, node, change),
            }
        }
        if rec.is_empty() {
            Step::End
        } else {
            Step::More
        }
    }
}

impl Kernel for Simplex {
    fn rounds(&self) -> u64 {
        self.rounds
    }

    /// At any time every node keeps its balance; when a round has ended, potentials prove that no
    /// flow is cheaper: no arc with room has a negative cost, none with flow a positive one.
    fn check(&self) -> Result<(), Mismatch> {
        let mut balance: Vec<i64> = self.nodes.iter().map(|node| node.supply).collect();
        for (number, arc) in self.arcs.iter().enumerate() {
            if arc.flow < 0 || arc.flow > arc.capacity {
                return Err(Mismatch::new(
                    format!("the flow of arc {number}"),
                    arc.flow,
                    format!("from 0 to {}", arc.capacity),
                ));
            }
            balance[arc.ends[0] as usize] -= arc.flow;
            balance[arc.ends[1] as usize] += arc.flow;
        }
        let began = !matches!(self.phase, Phase::Begin(_));
        if let Some(node) = balance.iter().position(|over| *over != 0).filter(|_| began) {
            return Err(Mismatch::new(
                format!("the balance of node {node}"),
                balance[node],
                0,
            ));
        }
        if !self.ended {
            return Ok(());
        }
        for (number, arc) in self.arcs[..self.real].iter().enumerate() {
            let reduced = self.reduced(arc);
            if reduced < 0 && arc.flow < arc.capacity || reduced > 0 && arc.flow > 0 {
                return Err(Mismatch::new(
                    format!("the reduced cost of arc {number}"),
                    reduced,
                    format!("that of an optimum, with {arc:?}"),
                ));
            }
        }
        match self.arcs[self.real..].iter().position(|arc| arc.flow != 0) {
            Some(node) => {
                let flow = self.arcs[self.real + node].flow;
                let what = format!("the flow of node {node} to the root");
                Err(Mismatch::new(what, flow, 0))
            }
            None => Ok(()),
        }
    }
}
