//! Access streams: what a program does to its memory, without running it.

use sluice_units::{Ratio, Rng};

use crate::order::{self, ChaseOrder, UniformWalk};
use crate::plan::Plan;
use crate::zipf::Zipf;

const COUNTER: u64 = 8;
const DRAW_STREAM: &str = "access.draw";
const PLACE_STREAM: &str = "access.place";

/// One load or store of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Byte address, from the start of the workload's memory.
    pub addr: u64,
    /// Whether it stores.
    pub write: bool,
}

/// The accesses of one thread, in its program order.
pub type Stream = Box<dyn Iterator<Item = Access> + Send>;

/// What one thread of a chase does: builds the chain in address order, visits it once a pass,
/// and with `write` reads every counter back in address order.
///
/// A visit is one load; with `write` it is followed by a store eight bytes on.
#[must_use]
pub fn chase(plan: &Plan, thread: u64) -> Stream {
    let parameters = *plan.parameters();
    let (nodes, stride, write) = (plan.nodes(), parameters.stride, parameters.write);
    let base = thread * parameters.size;
    let addr = move |node: u64| base + node * stride;
    let store = move |node| {
        write.then_some(Access {
            addr: addr(node) + COUNTER,
            write: true,
        })
    };
    let build = (0..nodes).flat_map(move |node| {
        std::iter::once(Access {
            addr: addr(node),
            write: true,
        })
        .chain(store(node))
    });
    let visits = visits(plan, thread).flat_map(move |node| {
        std::iter::once(Access {
            addr: addr(node),
            write: false,
        })
        .chain(store(node))
    });
    let read_back = (0..if write { nodes } else { 0 }).map(move |node| Access {
        addr: addr(node) + COUNTER,
        write: false,
    });
    Box::new(build.chain(visits).chain(read_back))
}

/// The nodes that one thread visits in all its passes.
pub fn visits(plan: &Plan, thread: u64) -> Box<dyn Iterator<Item = u64> + Send> {
    let parameters = plan.parameters();
    let (nodes, passes) = (plan.nodes(), parameters.passes);
    match parameters.order {
        ChaseOrder::Sequential => Box::new((0..passes).flat_map(move |_| 0..nodes)),
        ChaseOrder::Cycle => {
            let mut next = vec![0; nodes as usize];
            order::cycle(&mut next, &mut order::rng(parameters.seed, thread));
            let mut at = 0;
            Box::new((0..passes * nodes).map(move |_| {
                let node = at;
                at = next[node as usize];
                u64::from(node)
            }))
        }
        ChaseOrder::Uniform => {
            let mut walk = UniformWalk::new(parameters.seed, thread, nodes);
            Box::new((0..passes * nodes).map(move |_| walk.next_node(0)))
        }
    }
}

/// Memory touched in steps of `stride`, `size` bytes for each thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cells {
    pub size: u64,
    pub stride: u64,
    pub threads: u64,
}

impl Cells {
    fn count(&self) -> u64 {
        self.size / self.stride
    }

    fn addr(&self, thread: u64, cell: u64) -> u64 {
        thread * self.size + cell * self.stride
    }
}

/// Sweeps in address order.
pub(crate) fn sweep(cells: Cells, passes: u64, write: bool, thread: u64) -> Stream {
    let cell = move |cell| Access {
        addr: cells.addr(thread, cell),
        write,
    };
    Box::new((0..passes).flat_map(move |_| (0..cells.count()).map(cell)))
}

/// Independent random accesses: uniform, or zipfian when `theta` is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Draw {
    pub cells: Cells,
    pub ops: u64,
    pub write: Ratio,
    pub theta: Option<f64>,
    pub seed: u64,
}

impl Draw {
    /// The accesses of one thread.
    pub fn stream(&self, thread: u64) -> Stream {
        let Draw {
            cells,
            ops,
            write,
            theta,
            seed,
        } = *self;
        let mut rng = order::thread_rng(seed, thread, DRAW_STREAM);
        let mut pick = picker(
            cells.count(),
            theta,
            order::thread_rng(seed, thread, PLACE_STREAM),
        );
        Box::new((0..ops).map(move |_| {
            let addr = cells.addr(thread, pick(&mut rng));
            Access {
                addr,
                write: rng.below(write.den()) < write.num(),
            }
        }))
    }
}

/// Chooses cells. Zipfian ranks go through a random permutation, so that the popular cells lie
/// anywhere and each cell keeps the popularity of exactly one rank.
fn picker(
    count: u64,
    theta: Option<f64>,
    mut place: Rng,
) -> Box<dyn FnMut(&mut Rng) -> u64 + Send> {
    let Some(theta) = theta else {
        return Box::new(move |rng| rng.below(count));
    };
    let mut places: Vec<u32> = (0..count as u32).collect();
    place.shuffle(&mut places);
    let zipf = Zipf::new(count, theta);
    Box::new(move |rng| u64::from(places[zipf.rank(rng) as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Parameters;

    fn accesses(change: impl Fn(&mut Parameters), thread: u64) -> Vec<Access> {
        let mut parameters = Parameters {
            size: 64,
            stride: 16,
            passes: 2,
            ..Parameters::default()
        };
        change(&mut parameters);
        chase(&Plan::new(parameters).unwrap(), thread).collect()
    }

    fn access(addr: u64, write: bool) -> Access {
        Access { addr, write }
    }

    #[test]
    fn a_sequential_chase_is_a_build_and_its_passes() {
        let expected: Vec<Access> = [true, false, false]
            .into_iter()
            .flat_map(|write| [0, 16, 32, 48].map(|addr| access(addr, write)))
            .collect();
        assert_eq!(accesses(|_| (), 0), expected);
    }

    #[test]
    fn a_writing_chase_stores_beside_each_pointer_and_reads_back() {
        let got = accesses(|p| (p.write, p.passes, p.size) = (true, 1, 32), 0);
        let expected = [
            (0, true),
            (8, true),
            (16, true),
            (24, true),
            (0, false),
            (8, true),
            (16, false),
            (24, true),
            (8, false),
            (24, false),
        ];
        assert_eq!(got, expected.map(|(addr, write)| access(addr, write)));
    }

    #[test]
    fn every_thread_stays_in_its_own_buffer() {
        for order in [
            ChaseOrder::Sequential,
            ChaseOrder::Cycle,
            ChaseOrder::Uniform,
        ] {
            let got = accesses(|p| (p.order, p.threads) = (order, 3), 2);
            assert!(
                got.iter().all(|a| (128..192).contains(&a.addr)),
                "{order:?}"
            );
        }
    }

    #[test]
    fn both_passes_of_a_cycle_are_the_same_permutation() {
        let got = accesses(|p| (p.order, p.size) = (ChaseOrder::Cycle, 1600), 0);
        assert_eq!(got.len(), 300);
        assert_eq!(got[100..200], got[200..300]);
        assert_ne!(got[0].write, got[100].write);
        let mut seen: Vec<u64> = got[100..200].iter().map(|a| a.addr).collect();
        assert_ne!(seen, (0..100).map(|n| n * 16).collect::<Vec<u64>>());
        seen.sort_unstable();
        assert_eq!(seen, (0..100).map(|n| n * 16).collect::<Vec<u64>>());
    }

    fn draw(theta: Option<f64>, write: Ratio) -> Vec<Access> {
        let cells = Cells {
            size: 6400,
            stride: 64,
            threads: 1,
        };
        Draw {
            cells,
            ops: 20_000,
            write,
            theta,
            seed: 3,
        }
        .stream(0)
        .collect()
    }

    #[test]
    fn the_share_of_stores_is_the_ratio() {
        for (num, den) in [(0, 1), (1, 1), (1, 4)] {
            let ratio = Ratio::new(num, den).unwrap();
            let stores = draw(None, ratio).iter().filter(|a| a.write).count() as f64;
            let due = 20_000.0 * ratio.to_f64();
            let deviation = (due * (1.0 - ratio.to_f64())).sqrt();
            assert!(
                (stores - due).abs() <= 4.0 * deviation,
                "{stores} for {due}"
            );
        }
    }

    #[test]
    fn the_most_popular_cell_has_the_share_of_rank_zero() {
        let accesses = draw(Some(0.99), Ratio::ZERO);
        let mut counts = [0_u32; 100];
        accesses
            .iter()
            .for_each(|a| counts[(a.addr / 64) as usize] += 1);
        let top = f64::from(counts.into_iter().max().unwrap());
        let zeta: f64 = (1..=100).map(|k| f64::from(k).powf(-0.99)).sum();
        let due = 20_000.0 / zeta;
        assert!((top - due).abs() < 4.0 * due.sqrt(), "{top} for {due}");
        assert!(counts.iter().all(|n| *n > 0), "each cell has a rank");
    }
}
