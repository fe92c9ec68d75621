//! A stand-in for the graph of SkyByte's bc, which is GAP's Twitter: as many vertices and edges,
//! and the lists of neighbours that its section goes through, made as they are needed.
//!
//! By the artifact's list of pages (doi:10.5281/zenodo.14660184, output/warmup_traces) depths and
//! queue have 60,136 pages each, and path counts 120,271: 61,578,415 vertices. Known are
//! - hubs, vertices with a list of 890,000 neighbours from 23 to 93 % of all vertices. Four threads
//!   are in one each, for 169 to 174 pages: from 23 to 35 %, from 45 to 58 % and from 77 to 93 %
//!   of the vertices. The fourth is not to be seen, so it is where another one is: here the last.
//!   Every edge of theirs leads to the next level, by what they take (`forward.rs`), and 10 flushed
//!   buffers, of 688,000 edges, are as many that find their vertex;
//! - 326 other vertices, in 310 to 320 pages of rows, with 2,370 pages of neighbours: 2.09 million
//!   edges. 4 to 6 pages of a thread's buffer are for what they find. Path counts are in four
//!   groups of pages: the first 13 parts of 150, the next 21, the next 106 outside the hubs', and
//!   the last 10. Of these, 19, 42, 79 and 38 % of the pages are touched: as by 154,000 edges, 21,
//!   55, 157 and 48 to 100 pages. All other edges lead back to the level they start from, to which
//!   depths alone are read: 68, 94, 99 and 87 % of the pages. So 72, 171 and 108 of its vertices
//!   have 100 pages of the first, second and last part. In the middle they are as many as make the
//!   accesses off the chip those of the artifact (figure_drawing/all.dat: 2,451,563; 2,430,000
//!   here): fewer would stay in the caches;
//! - the queue is read at its entry 50,200, and written at 11,962,400.
//!
//! Not known, and so drawn, is which vertex a neighbour is, and what was found before.

use sluice_kernels::bc::{NEVER, State};
use sluice_units::Rng;

/// Vertices and directed edges of the graph.
const VERTICES: u64 = 61_578_415;
const EDGES: u64 = 1_468_364_884;
/// Where the queue is read and written when a search's first section begins.
pub(super) const READ_AT: u64 = 50_200;
pub(super) const WRITTEN_AT: u64 = 11_962_400;
/// Edges of a section, in all threads: from hubs, and from others.
pub(super) const HUB_EDGES: u64 = 4 * 172_000;
pub(super) const OTHER_EDGES: u64 = 2_090_000;
/// Lists of the others.
const OTHERS: u64 = 326;

/// Parts in a thousand of the vertices to which hubs lead, and where the four begin.
const HUB_RANGE: [u64; 2] = [228, 930];
const HUB_STARTS: [u64; 4] = [228, 453, 774, 774];
/// Parts in a thousand that a thread of the four gets through in a section, the mean of the three.
const HUB_WINDOW: u64 = 136;

/// Of 1000 hubs' edges so many find their vertex; of others', so many are on a shortest path, and
/// so many find their vertex.
const HUB_FINDS: u64 = 238;
const OTHER_ON_PATH: u64 = 74;
const OTHER_FINDS: u64 = 7;

/// Vertices of the level that others' edges lead back to, so that in the middle 370 have 100 pages
/// of depths.
const LEVEL: u64 = 180_000;
/// Vertices from one list of the others to the next: 2.3 million for 326.
const APART: u64 = 7_100;
/// Sections after which another search begins, before its level is at an end.
pub(super) const SECTIONS: u64 = 16;

/// The level that is found. That before has one path to each vertex.
pub(super) const DEPTH: i32 = 2;
/// Vertices looked at for one that was found before, or was not.
const LOOKED_AT: u64 = 64;

/// Parts of the vertices: where one begins, its length, and its weight by vertex.
type Spread = [(u64, u64, u64); 4];
const PARTS: u64 = 150;
const ON_PATH: Spread = [(0, 13, 21), (13, 21, 55), (34, 106, 157), (140, 10, 48)];
const BACK: Spread = [(0, 13, 72), (13, 21, 171), (34, 106, 370), (140, 10, 108)];

/// A list of neighbours, or the part of one that a thread goes through in a section.
pub(super) struct List {
    pub(super) vertex: u32,
    /// Where in the queue it is, if the section has the list from its beginning.
    pub(super) entry: Option<u64>,
    /// The first of the edges.
    pub(super) edge: u64,
    /// Where each leads, in order.
    pub(super) ends: Vec<u32>,
}

/// The graph as a search sees it.
#[derive(Clone)]
pub(super) struct Twitter {
    pub(super) vertices: u64,
    pub(super) edges: u64,
    scale: u64,
    threads: u64,
    seed: u64,
    /// The vertices of the level that others lead back to, in order.
    level: Vec<u32>,
}

impl Twitter {
    pub(super) fn new(scale: u32, threads: u32, seed: u64) -> Twitter {
        let (vertices, edges) = size(scale);
        let mut twitter = Twitter {
            vertices,
            edges,
            scale: scale.into(),
            threads: threads.into(),
            seed,
            level: vec![],
        };
        let mut rng = Rng::stream(seed, "bc level");
        let count = (LEVEL / u64::from(scale)).max(1);
        let vertices = (0..count).map(|_| twitter.spread(&BACK, 0, 1, &mut rng));
        twitter.level = vertices.collect();
        twitter.level.sort_unstable();
        twitter
    }

    /// What a search has found when its first section begins: the level before, and of the next
    /// one as many as are in the queue.
    pub(super) fn before(&self, search: u64) -> State {
        let mut state = State::new(self.vertices, self.edges);
        let mut rng = Rng::stream(self.seed ^ search, "bc found");
        let found = (WRITTEN_AT - LEVEL) * 256 / VERTICES;
        for vertices in 0..self.vertices.div_ceil(8) {
            // A byte for each of eight.
            let bits = rng.next_u64();
            for vertex in vertices * 8..self.vertices.min(vertices * 8 + 8) {
                if (bits >> (vertex % 8 * 8)) & 255 < found {
                    state.depths[vertex as usize] = DEPTH;
                    state.paths[vertex as usize] = (1 + vertex % 3) as f64;
                }
            }
        }
        let hubs = (0..self.hub_places()).map(|hub| self.hub(hub));
        let others = (0..self.other_places()).map(|list| self.other(list));
        for vertex in hubs.chain(others).chain(self.level.iter().copied()) {
            state.depths[vertex as usize] = DEPTH - 1;
            state.paths[vertex as usize] = 1.0;
        }
        state
    }

    /// Whether a thread is in a hub's list: every second one.
    pub(super) fn is_in_hub(thread: u64) -> bool {
        thread.is_multiple_of(2)
    }

    /// Edges of a thread in a section.
    pub(super) fn share(&self, thread: u64) -> u64 {
        let edges = if Twitter::is_in_hub(thread) {
            HUB_EDGES
        } else {
            OTHER_EDGES
        };
        (2 * edges / (self.scale * self.threads)).max(1)
    }

    /// What each thread has in a section, by what its search has found.
    pub(super) fn section(&self, section: u64, state: &State) -> Vec<Vec<List>> {
        let mut rng = Rng::stream(self.seed ^ section, "bc lists");
        let mut lists = section % SECTIONS * (OTHERS + self.threads);
        (0..self.threads)
            .map(|thread| {
                if Twitter::is_in_hub(thread) {
                    self.hubs_of(section % SECTIONS, thread, state, &mut rng)
                } else {
                    self.others_of(thread, &mut lists, state, &mut rng)
                }
            })
            .collect()
    }

    /// Neighbours of a hub.
    fn hub_length(&self) -> u64 {
        let range = HUB_RANGE[1] - HUB_RANGE[0];
        (HUB_EDGES / 4 * range / HUB_WINDOW / self.scale).max(1)
    }

    /// Of a thread: its part of one or more lists.
    fn hubs_of(&self, section: u64, thread: u64, state: &State, rng: &mut Rng) -> Vec<List> {
        let (length, range) = (self.hub_length(), HUB_RANGE[1] - HUB_RANGE[0]);
        let in_hubs = self.threads.div_ceil(2);
        let (lane, copies) = (thread / 2 % 4, in_hubs.div_ceil(4));
        let copy = thread / 8;
        let start = (HUB_STARTS[lane as usize] - HUB_RANGE[0]) * length / range;
        let mut at = start + (section * copies + copy) * self.share(thread);
        let end = at + self.share(thread);
        let mut lists = Vec::new();
        while at < end {
            let (hub, first) = (at / length, at % length);
            let last = length.min(first + end - at);
            let number = (hub * copies + copy) * 4 + lane;
            let vertex = self.hub(number);
            lists.push(List {
                vertex,
                entry: (first == 0).then_some((READ_AT / self.scale + number) % self.vertices),
                edge: self.row(vertex.into(), length) + first,
                ends: self.hub_ends(first..last, state, rng),
            });
            at += last - first;
        }
        lists
    }

    fn hub_ends(&self, edges: std::ops::Range<u64>, state: &State, rng: &mut Rng) -> Vec<u32> {
        let (length, range) = (self.hub_length(), HUB_RANGE[1] - HUB_RANGE[0]);
        let first = self.vertices * HUB_RANGE[0] / 1000;
        let mut least = 0;
        edges
            .map(|edge| {
                let apart = self.vertices * range / 1000;
                let at = first + edge * apart / length + rng.below((apart / length).max(1));
                let found = rng.below(1000) >= HUB_FINDS;
                let end = self.near(at.max(least), found, state);
                least = u64::from(end) + 1;
                end
            })
            .collect()
    }

    /// Of a thread: whole lists, and what is left of its share.
    fn others_of(&self, thread: u64, next: &mut u64, state: &State, rng: &mut Rng) -> Vec<List> {
        let mean = OTHER_EDGES / OTHERS;
        let mut left = self.share(thread);
        let (mut lists, mut edge) = (Vec::new(), None);
        while left > 0 {
            let length = (rng.below(2 * mean) / self.scale).max(1).min(left);
            let vertex = self.other(*next);
            // Rows of vertices side by side are so, too.
            let beside = edge.filter(|_| !next.is_multiple_of(self.scale));
            let first = beside.unwrap_or_else(|| self.row(vertex.into(), 2 * mean));
            let first = first.min(self.edges - length);
            edge = Some(first + length);
            lists.push(List {
                vertex,
                entry: Some((READ_AT / self.scale + *next) % self.vertices),
                edge: first,
                ends: self.other_ends(length, state, rng),
            });
            left -= length;
            *next += 1;
        }
        lists
    }

    fn other_ends(&self, length: u64, state: &State, rng: &mut Rng) -> Vec<u32> {
        let level = self.level.len() as u64;
        let mut ends: Vec<_> = (0..length)
            .map(|edge| match rng.below(1000) {
                kind if kind < OTHER_ON_PATH => {
                    let at = self.spread(&ON_PATH, edge, length, rng);
                    self.near(at.into(), kind >= OTHER_FINDS, state)
                }
                _ => self.level[((edge * level + rng.below(level)) / length) as usize],
            })
            .collect();
        ends.sort_unstable();
        ends
    }

    /// A vertex in one of so many parts of equal weight.
    fn spread(&self, spread: &Spread, part: u64, of: u64, rng: &mut Rng) -> u32 {
        let whole: u64 = spread
            .iter()
            .map(|(_, length, weight)| length * weight)
            .sum();
        let mut at = (part * (whole << 20) + rng.below(whole << 20)) / of;
        for (first, length, weight) in spread {
            if at < (length * weight) << 20 {
                let vertex = ((first << 20) + at / weight) * self.vertices / (PARTS << 20);
                return vertex as u32;
            }
            at -= (length * weight) << 20;
        }
        (self.vertices - 1) as u32
    }

    /// The next vertex of the level that was found, or of none; or the one looked at last.
    fn near(&self, at: u64, found: bool, state: &State) -> u32 {
        let wanted = if found { DEPTH } else { NEVER };
        let at = at.min(self.vertices - 1);
        let mut near = at..self.vertices.min(at + LOOKED_AT);
        let is_wanted = |vertex: &u64| state.depths[*vertex as usize] == wanted;
        near.find(is_wanted).unwrap_or(at) as u32
    }

    /// Where the edges of a vertex are, of which it has so many.
    fn row(&self, vertex: u64, length: u64) -> u64 {
        let edge = vertex * self.edges / self.vertices;
        edge.min(self.edges.saturating_sub(length))
    }

    /// Hubs are in the first 16th, each as far from the next as its list is long.
    fn hub(&self, number: u64) -> u32 {
        let apart = self.hub_apart();
        (number % self.hub_places() * apart) as u32
    }

    fn hub_apart(&self) -> u64 {
        self.hub_length() * self.vertices / self.edges + 1
    }

    fn hub_places(&self) -> u64 {
        (self.vertices / 16 / self.hub_apart()).max(1)
    }

    /// The others are behind them, and as many side by side as the scale says: so their pages are
    /// divided as those of all arrays are.
    fn other(&self, number: u64) -> u32 {
        let list = number % self.other_places();
        let vertex = self.vertices / 16 + list / self.scale * APART + list % self.scale;
        vertex.min(self.vertices - 1) as u32
    }

    fn other_places(&self) -> u64 {
        (self.vertices * 15 / 16 / APART).max(1) * self.scale
    }
}

/// Vertices and edges.
pub(super) fn size(scale: u32) -> (u64, u64) {
    let divided = |count: u64| (count / u64::from(scale)).max(64);
    (divided(VERTICES), divided(EDGES))
}
