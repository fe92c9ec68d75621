//! Brandes' algorithm, an edge at a time and as a whole.

use super::super::kronecker::Kronecker;
use super::super::share::digest;
use super::super::{Array, Recorder};
use sluice_units::Bits;

/// Entries of a buffer that are copied at once, 32 bytes.
const COPIED: usize = 8;

/// A thread's buffer of so many vertices found, at an array's place, goes to the queue. `entry`:
/// where there an entry of the buffer goes.
pub fn copy_to_queue(
    (buffers, first, count): (Array, u64, u64),
    (queue, entry): (Array, impl Fn(u64) -> u64),
    to: &mut Recorder,
) {
    for at in (0..count).step_by(COPIED) {
        to.load(buffers.at(first + at));
        to.store(queue.at(entry(at)));
        to.work(1);
    }
}

/// The depth of a vertex that was not found.
pub const NEVER: i32 = -1;

/// What a search computes with.
pub struct State {
    /// The depth of each vertex.
    pub depths: Vec<i32>,
    /// Whole numbers: sums are exact, in whatever order, below 2^53.
    pub paths: Vec<f64>,
    /// Edges on a shortest path.
    pub on_path: Bits,
    pub(super) deltas: Vec<f32>,
    pub(super) scores: Vec<f32>,
    pub(super) queue: Vec<u32>,
}

impl State {
    /// Nothing is found.
    pub fn new(vertices: u64, edges: u64) -> State {
        let vertices = vertices as usize;
        State {
            depths: vec![NEVER; vertices],
            paths: vec![0.0; vertices],
            on_path: Bits::new(edges as usize),
            deltas: vec![0.0; vertices],
            scores: vec![0.0; vertices],
            queue: Vec::with_capacity(vertices),
        }
    }

    pub(super) fn clear(&mut self) {
        self.depths.fill(NEVER);
        self.paths.fill(0.0);
        self.on_path.clear_all();
        self.deltas.fill(0.0);
        self.queue.clear();
    }

    /// An edge forwards: whether it finds its end, and whether it is on a shortest path.
    pub fn forward(&mut self, from: u32, edge: u64, end: u32, depth: i32) -> (bool, bool) {
        let there = &mut self.depths[end as usize];
        let found = *there == NEVER;
        if found {
            *there = depth;
        }
        let on_path = *there == depth;
        if on_path {
            self.on_path.set(edge as usize);
            self.paths[end as usize] += self.paths[from as usize];
        }
        (found, on_path)
    }

    /// Whether an edge is on a shortest path.
    pub fn is_on_path(&self, edge: u64) -> bool {
        self.on_path.has(edge as usize)
    }

    /// What a vertex hands to one before it, of all that depends on it.
    pub(super) fn gather(&self, from: u32, end: u32, delta: f32) -> f32 {
        let share = self.paths[from as usize] / self.paths[end as usize];
        (f64::from(delta) + share * f64::from(1.0 + self.deltas[end as usize])) as f32
    }

    pub(super) fn scored(&mut self, vertex: u32, delta: f32) {
        self.deltas[vertex as usize] = delta;
        self.scores[vertex as usize] += delta;
    }
}

/// A digest of all scores.
pub(super) fn digest_scores(scores: &[f32]) -> u64 {
    digest(scores.iter().map(|score| u64::from(score.to_bits())))
}

/// Brandes' algorithm as the textbook has it: adds what a source contributes.
pub(super) fn add_source(graph: &Kronecker, source: u32, scores: &mut [f32]) {
    let mut state = State::new(graph.vertices(), 0);
    (state.depths[source as usize], state.paths[source as usize]) = (0, 1.0);
    let mut order = vec![source];
    let mut at = 0;
    while at < order.len() {
        let from = order[at];
        for end in graph.row(from).map(|edge| graph.end(edge)) {
            let depth = state.depths[from as usize] + 1;
            if state.depths[end as usize] == NEVER {
                state.depths[end as usize] = depth;
                order.push(end);
            }
            if state.depths[end as usize] == depth {
                state.paths[end as usize] += state.paths[from as usize];
            }
        }
        at += 1;
    }
    for from in order.into_iter().rev() {
        let ends = graph.row(from).map(|edge| graph.end(edge));
        let depth = state.depths[from as usize] + 1;
        let next = ends.filter(|end| state.depths[*end as usize] == depth);
        let delta = next.fold(0.0, |delta, end| state.gather(from, end, delta));
        state.deltas[from as usize] = delta;
        scores[from as usize] += delta;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a line, a vertex is between each before it and each after it, both ways; and as in GAP a
    /// source counts those that it reaches.
    #[test]
    fn a_line_of_vertices_has_the_scores_of_the_textbook() {
        let graph = Kronecker::line(5);
        let mut scores = vec![0.0; 5];
        for source in 0..5 {
            add_source(&graph, source, &mut scores);
        }
        assert_eq!(
            scores,
            [0.0, 6.0, 8.0, 6.0, 0.0].map(|between| between + 4.0)
        );
    }
}
