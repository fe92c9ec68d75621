//! Files through a cache of blocks, and past every cache: one thread, step by step.

use crate::rig::{device, one_of};
use sluice_driver::{Advice, Door, FileTraffic, HostCosts, TrafficResult, files};
use sluice_model::{BlockOp, BlockRequest, Device};
use sluice_stats::Histogram;
use sluice_units::{Fnv, Lpn, Ps, Rng};

const PAGE: u64 = 4096;

/// Pages in host memory, the one that was used last behind the others; whether each was written.
type Held = Vec<(u64, bool)>;

fn ask(device: &mut Device, now: Ps, op: BlockOp, first: u64, count: u64) -> Ps {
    let request = BlockRequest::new(op, Lpn(first as u32), count);
    let done = device.block(now, request, &mut ());
    done.expect("pages of an SSD").done_at
}

/// The places of a pass: in order, or as the seed shuffles them.
fn order(given: &FileTraffic) -> Vec<u64> {
    let count = given.size / given.io;
    let mut order: Vec<u64> = (0..count).collect();
    if given.random {
        let mut rng = Rng::stream(given.seed, "files.order");
        for last in (1..count).rev() {
            order.swap(last as usize, rng.below(last + 1) as usize);
        }
    }
    order
}

/// A request through the cache of blocks: when it is done.
fn cached(
    device: &mut Device,
    given: &FileTraffic,
    held: &mut Held,
    now: Ps,
    (first, count): (u64, u64),
) -> Ps {
    let pages = first..first + count;
    let is_hit = pages.clone().all(|page| held.iter().any(|it| it.0 == page));
    let there = match is_hit || given.write {
        true => now,
        false => ask(device, now, BlockOp::Read, first, count),
    };
    for page in pages {
        let before = held.iter().position(|it| it.0 == page);
        let was_written = before.is_some_and(|place| held.remove(place).1);
        held.push((page, was_written | given.write));
        if held.len() as u64 * PAGE > given.cache {
            let (oldest, written) = held.remove(0);
            if written {
                ask(device, now, BlockOp::Write, oldest, 1);
            }
        }
    }
    there + given.host.copy * count
}

fn naive(device: &mut Device, given: &FileTraffic) -> TrafficResult {
    let mut held = Held::new();
    let mut now = Ps::ZERO;
    let count = given.io / PAGE;
    let mut result = None;
    for _ in 0..given.passes {
        let (before, began) = (*device.stats(), now);
        let (mut latency, mut hash) = (Histogram::default(), Fnv::default());
        for place in order(given) {
            let asked = now;
            let first = place * count;
            now += given.host.request;
            now = match given.door {
                Door::BlockCache => {
                    now += given.host.lookup * count;
                    cached(device, given, &mut held, now, (first, count))
                }
                _ => {
                    let op = if given.write {
                        BlockOp::Write
                    } else {
                        BlockOp::Read
                    };
                    ask(device, now, op, first, count)
                }
            };
            latency.record(now - asked);
            [0, now.0].into_iter().for_each(|word| hash.word(word));
        }
        result = Some(TrafficResult {
            before,
            began,
            time: now - began,
            accesses: given.size / 64,
            latency,
            hits: Histogram::default(),
            misses: Histogram::default(),
            chase: Histogram::default(),
            hash,
        });
    }
    result.expect("a pass")
}

#[test]
fn files_are_lists_of_their_requests() {
    for seed in 0..60 {
        let mut rng = Rng::stream(seed, "files");
        let io = one_of(&mut rng, &[PAGE, 3 * PAGE, 16 * PAGE]);
        let given = FileTraffic {
            door: one_of(
                &mut rng,
                &[Door::BlockCache, Door::BlockCache, Door::Direct],
            ),
            threads: 1,
            size: io * one_of(&mut rng, &[1, 7, 40]),
            io,
            random: rng.below(2) == 0,
            write: rng.below(2) == 0,
            cores: one_of(&mut rng, &[1, 3]),
            passes: one_of(&mut rng, &[1, 2, 3]),
            host: HostCosts {
                request: Ps::from_us(5),
                minor_fault: Ps::from_ns(500),
                lookup: Ps::from_ns(300),
                switch: Ps::from_us(2),
                copy: Ps::from_ns(400),
                depth: 16,
                readahead: 0,
                advice: Advice::Normal,
            },
            cache: PAGE * one_of(&mut rng, &[1, 5, 64, 1024]),
            seed,
        };
        let settings = [
            ("device.capacity", "16MiB"),
            ("cache.capacity", one_of(&mut rng, &["64KiB", "1MiB"])),
            ("nand.pages_per_block", "16"),
            ("ftl.precondition", "sequential"),
        ];
        let (mut ours, mut twins) = (device(&settings), device(&settings));
        let result = files(&mut ours, &given, || false).expect("nobody stops it");
        let expected = naive(&mut twins, &given);
        let all_of = |it: &TrafficResult| {
            (
                it.before,
                [it.began, it.time],
                it.accesses,
                [it.latency.clone(), it.hits.clone(), it.misses.clone()],
                it.hash,
            )
        };
        assert_eq!(all_of(&result), all_of(&expected), "{seed}: {given:?}");
        assert_eq!(ours.stats(), twins.stats(), "{seed}");
    }
}
