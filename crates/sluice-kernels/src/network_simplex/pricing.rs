//! Which arc enters the tree: the best of a block of arcs, from where the last block ended.

use super::network::{Arc, State};
use super::{NONE, PIECE, PRICE, Phase, Simplex};
use crate::Recorder;

impl Simplex {
    pub(super) fn start_pricing(&mut self) {
        self.phase = Phase::Price;
        self.best = (0, NONE);
        self.left = self.block();
        self.unpriced = self.real;
    }

    /// Arcs looked at before the best of them is taken.
    fn block(&self) -> usize {
        self.real.isqrt().max(16)
    }

    /// The cost of another unit on an arc, over the tree: an arc's ends differ in potential by its
    /// cost if it is in the tree.
    pub(super) fn reduced(&self, arc: &Arc) -> i64 {
        let [from, to] = arc.ends.map(|node| self.nodes[node as usize].potential);
        arc.cost - from + to
    }

    /// What would be saved by a unit more, or less, on an arc.
    fn wrong(&self, arc: &Arc) -> i64 {
        match arc.state {
            State::Lower => -self.reduced(arc),
            State::Upper => self.reduced(arc),
            State::Tree => 0,
        }
    }

    /// Prices some arcs of the block.
    pub(super) fn price(&mut self, rec: &mut Recorder) {
        for _ in 0..PIECE.min(self.left.max(1)).min(self.unpriced) {
            let number = self.next as u32;
            self.next = (self.next + 1) % self.real;
            let loaded = rec.load(self.arc_at(number));
            let arc = &self.arcs[number as usize];
            for node in arc.ends {
                rec.load_after(self.node_at(node), loaded);
            }
            rec.work(PRICE);
            self.best = self.best.max((self.wrong(arc), number));
            self.unpriced -= 1;
            self.left = self.left.saturating_sub(1);
        }
        match self.best {
            (1.., arc) if self.left == 0 || self.unpriced == 0 => self.phase = Phase::Pivot(arc),
            _ if self.unpriced == 0 => self.end_round(),
            _ if self.left == 0 => self.left = self.block(),
            _ => {}
        }
    }
}
