//! A closed loop: a list of all accesses, from which everything is counted at the end.

use crate::rig::{Due, device, one_of};
use sluice_driver::{Access, Interval, Options, SimResult, Visibility, run};
use sluice_model::{Device, Effects, Op, Request, ServedBy, Stats};
use sluice_stats::Histogram;
use sluice_units::{Fnv, Lpn, Ps, Rng};
use std::collections::BTreeMap;

/// Mapped pages, and whether each was written since.
#[derive(Default)]
struct PageTable(BTreeMap<u32, bool>);

impl Effects for PageTable {
    const MAPS: bool = true;

    fn unmap(&mut self, lpn: Lpn) -> bool {
        self.0.remove(&lpn.0).unwrap_or(false)
    }

    fn set_aside(&mut self, lpn: Lpn) -> bool {
        self.unmap(lpn)
    }

    fn map(&mut self, lpn: Lpn) -> bool {
        self.0.entry(lpn.0).or_insert(false);
        true
    }
}

/// An access that was made.
struct Made {
    requester: usize,
    lpn: u32,
    began: Ps,
    ended: Ps,
    served_by: ServedBy,
    trapped: bool,
    mapped: bool,
}

/// What a run makes, and the device's counters and the time when counting began.
fn naive(device: &mut Device, streams: &[Vec<Access>], options: Options) -> SimResult {
    let mut table = PageTable::default();
    let hides = options.visibility == Visibility::Misses;
    let mut next = vec![0; streams.len()];
    let mut pending: Vec<Option<Access>> = vec![None; streams.len()];
    let mut made: Vec<Made> = Vec::new();
    let mut began = (options.warmup == 0).then(|| (Stats::default(), Ps::ZERO));
    let mut due = Due::new();
    (0..streams.len()).for_each(|requester| due.add(Ps::ZERO, requester));
    while let Some((now, requester)) = due.take() {
        if let Some(access) = pending[requester].take() {
            let lpn = device.config().lpn_of(access.addr);
            if device.is_cached(lpn) {
                *table.0.entry(lpn.0).or_insert(false) |= access.write;
            }
        }
        let Some(access) = streams[requester].get(next[requester]) else {
            continue;
        };
        next[requester] += 1;
        if began.is_none() && made.len() as u64 == options.warmup {
            began = Some((*device.stats(), now));
        }
        let lpn = device.config().lpn_of(access.addr);
        let op = if access.write { Op::Write } else { Op::Read };
        let request = Request {
            addr: access.addr,
            op,
        };
        let mut one = Made {
            requester,
            lpn: lpn.0,
            began: now,
            ended: now + device.config().hit_time(op),
            served_by: ServedBy::CacheHit,
            trapped: false,
            mapped: false,
        };
        if hides {
            device.map_arrived(now, &mut table);
        }
        let mapped = table.0.get_mut(&lpn.0).filter(|_| hides);
        if let Some(written) = mapped {
            *written |= access.write;
            one.mapped = true;
        } else {
            let completion = match hides {
                true => device.access(now, request, &mut table),
                false => device.access(now, request, &mut ()),
            };
            pending[requester] = hides.then_some(*access);
            (one.ended, one.served_by) = (completion.done_at, completion.served_by);
            one.trapped = hides || [ServedBy::Flash, ServedBy::MshrMerge].contains(&one.served_by);
        }
        due.add(one.ended + options.think, requester);
        made.push(one);
    }
    let last = made.iter().map(|one| one.ended).max().unwrap_or(Ps::ZERO);
    let (before, began) = began.unwrap_or((*device.stats(), last));
    summary(&made, options, before, began)
}

/// Everything that is counted of a list.
fn summary(made: &[Made], options: Options, before: Stats, began: Ps) -> SimResult {
    let mut hash = Fnv::default();
    let warmup = options.warmup as usize;
    for (number, one) in made.iter().enumerate() {
        if warmup > 0 && number == warmup {
            hash.word(began.0);
        }
        for word in [one.requester as u64, one.ended.0, one.served_by as u64] {
            hash.word(word);
        }
    }
    if warmup > 0 && made.len() <= warmup {
        hash.word(began.0);
    }
    let counted = &made[made.len().min(warmup)..];
    let is_miss = |one: &&Made| one.served_by == ServedBy::Flash;
    let trapped = || counted.iter().filter(|one| one.trapped);
    let times = |all: &mut dyn Iterator<Item = &Made>| {
        let mut times = Histogram::default();
        all.for_each(|one| times.record(one.ended - one.began));
        times
    };
    let interval = |stretch: &[Made]| Interval {
        accesses: stretch.len() as u64,
        hits: stretch.iter().filter(|one| !is_miss(one)).count() as u64,
        misses: stretch.iter().filter(is_miss).count() as u64,
    };
    let intervals = match options.interval {
        0 => Vec::new(),
        every => counted.chunks(every as usize).map(interval).collect(),
    };
    let ends = counted.iter().map(|one| one.ended);
    SimResult {
        before,
        began,
        sim_time: ends.max().unwrap_or(began).max(began),
        accesses: counted.len() as u64,
        mapped_hits: counted.iter().filter(|one| one.mapped).count() as u64,
        misses: counted.iter().filter(is_miss).count() as u64,
        trapped: trapped().count() as u64,
        traps: match options.keep_traps {
            true => trapped().map(|one| one.lpn.into()).collect(),
            false => Vec::new(),
        },
        pages: match options.keep_pages {
            true => counted.iter().map(|one| one.lpn).collect(),
            false => Vec::new(),
        },
        latency: times(&mut counted.iter()),
        trap_latency: times(&mut trapped()),
        block_latency: times(&mut std::iter::empty()),
        intervals,
        hash,
    }
}

#[test]
fn a_closed_loop_is_a_list_of_its_accesses() {
    const PAGES: u64 = 512;
    for seed in 0..60 {
        let mut rng = Rng::stream(seed, "closed loops");
        let settings = [
            ("device.capacity", "2MiB"),
            (
                "cache.capacity",
                one_of(&mut rng, &["4KiB", "256KiB", "1MiB"]),
            ),
            (
                "cache.policy",
                one_of(&mut rng, &["fifo", "lru", "clock", "s3fifo"]),
            ),
            ("prefetch.policy", one_of(&mut rng, &["none", "nextn"])),
            ("cache.inactive", one_of(&mut rng, &["none", "25%"])),
            ("prefetch.degree", "3"),
            ("nand.channels", one_of(&mut rng, &["1", "4"])),
            ("nand.pages_per_block", "16"),
        ];
        let options = Options {
            visibility: one_of(&mut rng, &[Visibility::All, Visibility::Misses]),
            warmup: one_of(&mut rng, &[0, 0, 1, 700, 100_000]),
            interval: one_of(&mut rng, &[0, 1, 100]),
            think: one_of(&mut rng, &[Ps::ZERO, Ps::from_ns(333)]),
            keep_pages: rng.below(2) == 0,
            keep_traps: rng.below(2) == 0,
        };
        let streams: Vec<Vec<Access>> = (0..rng.below(4))
            .map(|_| {
                let count = rng.below(800);
                let bound = 1 + rng.below(PAGES);
                let access = |_| Access {
                    addr: rng.below(bound) * 4096 + rng.below(64) * 64,
                    write: rng.below(3) == 0,
                };
                (0..count).map(access).collect()
            })
            .collect();
        let (mut ours, mut twins) = (device(&settings), device(&settings));
        let iterators = streams.iter().map(|stream| stream.iter().copied());
        let result = run(&mut ours, iterators.collect(), options).unwrap();
        let expected = naive(&mut twins, &streams, options);
        assert_eq!(result, expected, "{seed}: {options:?} {settings:?}");
        assert_eq!(ours.stats(), twins.stats(), "{seed}");
        assert_eq!(result.hits() + result.misses, result.accesses);
    }
}
