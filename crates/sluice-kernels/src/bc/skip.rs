//! What is done before a run begins.

use super::{Bc, Phase};
use std::ops::Range;

/// A run begins in the first level with at least this share of the edges, which has less than that:
/// the neighbours of hubs, from which many edges are on shortest paths.
const LEVEL_PERCENT: Range<u64> = 50..68;
/// At most so many percent of the edges lie before the level: after another such level hardly any
/// edge is on a shortest path.
const BEFORE_PERCENT: u64 = 12;
/// Percent of the edges of that level that a run leaves behind.
const SKIP_PERCENT: u64 = 60;
/// Sources tried for such a level; a small graph may have none.
const SOURCES: u64 = 64;

impl Bc {
    /// Does all before the section without a trace: the search forwards, and backwards the levels
    /// after the section's and the first vertices of its own.
    pub(super) fn skip_to_section(&mut self) {
        let edges = self.graph.edges();
        for attempt in 0..SOURCES {
            self.state.clear();
            self.first_source = attempt;
            self.begin_search();
            while self.level_edges() * 100 < edges * LEVEL_PERCENT.start && self.skip_level() {}
            let before = self.edges_of(0..self.window().start);
            if LEVEL_PERCENT.contains(&(self.level_edges() * 100 / edges))
                && before * 100 < edges * BEFORE_PERCENT
            {
                break;
            }
        }
        let section = self.level;
        while self.skip_level() {}
        while self.level > section {
            self.skip_backward(self.window());
            self.level -= 1;
        }
        self.begin(Phase::Backward);
        let before = self.vertices_before(self.level_edges() * SKIP_PERCENT / 100);
        let start = self.window().start;
        self.skip_backward(start..start + before as usize);
        self.share.skip(before);
    }

    /// Does a level forwards without a trace; whether there is another.
    fn skip_level(&mut self) -> bool {
        let depth = self.level as i32 + 1;
        for at in self.window() {
            let vertex = self.state.queue[at];
            for edge in self.graph.row(vertex) {
                let end = self.graph.end(edge);
                if self.state.forward(vertex, edge, end, depth).0 {
                    self.state.queue.push(end);
                }
            }
        }
        let more = self.state.queue.len() > self.levels[self.level + 1];
        if more {
            self.levels.push(self.state.queue.len());
            self.level += 1;
        }
        more
    }

    /// Gathers the scores of a part of the queue.
    fn skip_backward(&mut self, part: Range<usize>) {
        for at in part {
            let vertex = self.state.queue[at];
            let on_path = self.graph.row(vertex).filter(|e| self.state.is_on_path(*e));
            let delta = on_path.fold(0.0, |delta, edge| {
                self.state.gather(vertex, self.graph.end(edge), delta)
            });
            self.state.scored(vertex, delta);
        }
    }

    /// How many vertices of the level have so many edges together.
    fn vertices_before(&self, edges: u64) -> u64 {
        let mut left = edges;
        let level = self.state.queue[self.window()].iter();
        let before = level.take_while(|vertex| {
            let row = self.graph.row(**vertex);
            let fits = row.end - row.start <= left;
            left = left.saturating_sub(row.end - row.start);
            fits
        });
        before.count() as u64
    }

    fn level_edges(&self) -> u64 {
        self.edges_of(self.window())
    }

    /// Edges from a part of the queue.
    fn edges_of(&self, part: Range<usize>) -> u64 {
        let rows = self.state.queue[part].iter().map(|v| self.graph.row(*v));
        rows.map(|row| row.end - row.start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::KernelOptions;
    use super::*;
    use crate::drive::options;

    /// Many edges are on shortest paths, and few vertices are written, whatever the size.
    #[test]
    fn a_run_begins_among_the_neighbours_of_hubs() {
        for (scale, seed) in [(512, 1), (700, 2), (1000, 3)] {
            let bc = Bc::new(&KernelOptions {
                scale,
                seed,
                ..options(8, 1, 0)
            });
            assert!(bc.phase == Phase::Backward);
            let share = bc.level_edges() * 100 / bc.graph.edges();
            assert!(LEVEL_PERCENT.contains(&share), "{share} % at 1:{scale}");
            let (mut edges, mut on_path, mut vertices) = (0, 0, 0);
            for vertex in &bc.state.queue[bc.window()] {
                let row = bc.graph.row(*vertex);
                edges += row.end - row.start;
                on_path += row.filter(|edge| bc.state.is_on_path(*edge)).count() as u64;
                vertices += 1;
            }
            assert!(
                on_path * 6 > edges && on_path > 10 * vertices,
                "{on_path} of {edges} from {vertices} at 1:{scale}"
            );
        }
    }
}
