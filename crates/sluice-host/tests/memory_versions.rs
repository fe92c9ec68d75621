//! Random reads and writes at random times, with every kind of migration: each read is served from
//! where the newest version is, and nothing is lost or counted twice.
//!
//! `Memory` itself follows the version of every copy of a line, by what is done to copies and not
//! by where pages are held to be, and panics if an old one is read, dropped or given back.

use proptest::prelude::*;
use sluice_host::{
    Adaptive, Artifact, AstriFlash, Before, Instr, Memory, Migration, Program, Sampling, Start,
    Step, Tpp,
};
use sluice_model::Device;
use sluice_testkit::host_rig::{device, host, memory};
use sluice_units::{Bytes, Lpn, Ps, Ratio};
use std::collections::BTreeMap;

const PAGE: u64 = 4096;
/// Pages of the program; those of huge ones are farther apart.
const PAGES: u64 = 24;

fn adaptive(huge: u32) -> impl Strategy<Value = Migration> {
    let sizes = (0..10u32, 1..6u32, 0..3u32, 0..3u32);
    let times = (0..4_000u64, 1..100u64, 0..40u64);
    (sizes, times, 1..5u32).prop_map(move |(sizes, times, buffer)| {
        let (pages, threshold, spare, remote_pages) = sizes;
        Migration::Adaptive(Adaptive {
            pages: pages * huge,
            threshold,
            decay: Ps::from_us(times.2),
            buffer,
            interrupt: Ps::from_ns(times.0),
            line: Ps::from_ns(times.1),
            huge,
            spare: spare * huge,
            remote_pages: remote_pages * huge,
            remote_latency: Ps::from_ns(90),
            ways: 0,
        })
    })
}

/// Host memory in sets of up to three frames.
fn in_sets() -> impl Strategy<Value = Migration> {
    let migration = prop_oneof![adaptive(1), tpp()];
    (migration, 0..5u32, 1..4u32).prop_map(|(migration, sets, ways)| match migration {
        Migration::Tpp(given) => Migration::Tpp(Tpp {
            pages: sets * ways,
            ways,
            ..given
        }),
        Migration::Adaptive(given) => Migration::Adaptive(Adaptive {
            pages: sets * ways,
            remote_pages: 0,
            ways,
            ..given
        }),
        other => other,
    })
}

fn tpp() -> impl Strategy<Value = Migration> {
    let sizes = (0..10u32, 0..12u32, 0..3u32);
    let times = (1..20u64, 0..1_000u64, 0..60u64, 1..100u64);
    let sampling = prop_oneof![Just(Sampling::Faults), Just(Sampling::Accesses)];
    (sizes, times, sampling).prop_map(|((pages, batch, spare), times, sampling)| {
        Migration::Tpp(Tpp {
            pages,
            sampling,
            period: Ps::from_us(times.0),
            batch,
            fault: Ps::from_ns(times.1),
            window: Ps::from_us(times.2),
            line: Ps::from_ns(times.3),
            spare,
            ways: 0,
        })
    })
}

fn astriflash() -> impl Strategy<Value = Migration> {
    (0..3u32, 1..4u32, 0..20u64).prop_map(|(sets, ways, lookup)| {
        Migration::AstriFlash(AstriFlash {
            pages: ways << sets,
            ways,
            lookup: Ps::from_ns(lookup),
        })
    })
}

fn placement() -> impl Strategy<Value = Migration> {
    prop_oneof![
        1 => Just(Migration::AllHost),
        1 => Just(Migration::None),
        6 => adaptive(1),
        2 => adaptive(8),
        2 => in_sets(),
        3 => tpp(),
        2 => astriflash(),
    ]
}

/// An access: how long after the one before in nanoseconds, page, line, and what it does.
#[derive(Clone, Copy, Debug)]
struct Access {
    after: u64,
    page: u64,
    line: u64,
    write: bool,
    may_delay: bool,
}

/// Some pages are hot, some lines of them too, and time stands still for a while now and then.
fn step() -> impl Strategy<Value = Access> {
    let after = prop_oneof![2 => Just(0), 6 => 1..300u64, 1 => 300..20_000u64];
    let page = prop_oneof![0..4u64, 0..PAGES];
    let line = prop_oneof![0..3u64, 0..64u64];
    (after, page, line, any::<bool>(), any::<bool>()).prop_map(
        |(after, page, line, write, may_delay)| Access {
            after,
            page,
            line,
            write,
            may_delay,
        },
    )
}

/// The pages that have moved, by the reports: which are in host memory now.
#[derive(Default)]
struct Reported {
    in_host: BTreeMap<u64, bool>,
}

impl Reported {
    fn take(&mut self, memory: &mut Memory) {
        while let Some(moved) = memory.take_moved() {
            let here = self.in_host.entry(moved.first).or_default();
            *here = !*here;
        }
    }

    fn frames(&self) -> usize {
        self.in_host.values().filter(|here| **here).count()
    }
}

fn budget(migration: Migration) -> usize {
    match migration {
        Migration::Adaptive(given) => {
            (given.pages / given.huge + given.remote_pages / given.huge) as usize
        }
        _ => usize::MAX,
    }
}

fn check(migration: Migration, pairs: &[(&str, &str)], steps: &[Access]) {
    let mut memory = memory(migration, pairs);
    memory.scan(PAGES);
    let follows = matches!(migration, Migration::Adaptive(given) if given.ways == 0);
    let mut reported = Reported::default();
    let mut now = Ps::ZERO;
    let (mut read_time, mut reads, mut delayed) = (Ps::ZERO, 0u64, 0u64);
    let writes = steps.iter().filter(|step| step.write).count() as u64;
    for step in steps {
        now += Ps::from_ns(step.after);
        let addr = step.page * PAGE + step.line * 64;
        memory.walk(now + Ps::from_ns(step.after), step.page);
        if step.write && step.may_delay {
            delayed += u64::from(memory.store(now, addr, true).delayed);
        } else if step.write {
            memory.write(now, addr);
        } else {
            let before = memory.stats().requests.host_reads;
            let answer = memory.read(now, addr, step.may_delay);
            assert!(answer.done_at >= now, "an answer before its question");
            assert!(step.may_delay || !answer.delayed, "data that never comes");
            match answer.delayed {
                true => delayed += 1,
                false => read_time += answer.done_at - now,
            }
            reads += 1;
            if follows {
                reported.take(&mut memory);
                let span = u64::from(huge(migration));
                let here = reported.in_host.get(&(step.page / span * span));
                let from_host = memory.stats().requests.host_reads > before;
                assert!(
                    here != Some(&true) || from_host,
                    "a moved page from the device",
                );
            }
        }
        if follows {
            reported.take(&mut memory);
            assert!(reported.frames() <= budget(migration), "budget exceeded");
        }
    }
    let stats = memory.stats();
    assert_eq!(stats.long_delays, delayed);
    assert_eq!(stats.requests.total(), reads + writes);
    assert_eq!(stats.access_time.accesses, reads + writes - delayed);
    assert_eq!(stats.latency.count(), stats.access_time.accesses);
    if writes == 0 {
        assert_eq!(stats.access_time.total(), read_time);
    }
    let migration = stats.migration;
    assert!(migration.demotions <= migration.promotions);
    memory.device().balance().unwrap();
    // All that is under way ends, and what is in host memory then is what was reported.
    memory.run(now + Ps::from_ms(100));
    let migration = memory.stats().migration;
    if follows {
        reported.take(&mut memory);
        let kept = migration.promotions - migration.demotions;
        assert_eq!(reported.frames() as u64, kept);
        assert_eq!(memory.next_event(), None);
    }
    memory.device().balance().unwrap();
}

fn huge(migration: Migration) -> u32 {
    match migration {
        Migration::Adaptive(given) => given.huge,
        _ => 1,
    }
}

/// Devices that keep what is written in different places: a cache that is too small, a log too.
const DEVICES: &[&[(&str, &str)]] = &[
    &[("cache.capacity", "64KiB")],
    &[
        ("cache.capacity", "64KiB"),
        ("write_log.capacity", "8KiB"),
        ("write_log.index_latency", "72ns"),
    ],
    &[],
];

/// A program whose later pages change.
struct Pages;

impl Program for Pages {
    fn footprint(&self) -> Bytes {
        Bytes(PAGES * PAGE)
    }

    fn threads(&self) -> u32 {
        1
    }

    fn rewrites(&self, addr: u64) -> bool {
        addr >= PAGES / 2 * PAGE
    }

    fn fill(&mut self, _thread: u32, _out: &mut Vec<Instr>) -> Step {
        Step::End
    }
}

/// How written pages leave host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Demotion {
    Copied,
    Programmed,
    Returned,
}

impl Artifact for Demotion {
    fn copies_pages_back(&self) -> bool {
        *self == Demotion::Copied
    }

    fn returns(&self, device: &mut Device, now: Ps, page: Lpn) {
        if *self == Demotion::Programmed {
            device.demote_to_flash(now, page);
        }
    }
}

/// How a run begins, at which accesses the device rests, and at which it must compact its log.
#[derive(Clone, Copy, Debug)]
struct Course {
    start: Start,
    before: Before,
    artifact: Demotion,
    rests_at: usize,
    compacts_at: usize,
}

fn course() -> impl Strategy<Value = Course> {
    let start = prop::sample::select(vec![Start::Empty, Start::Full, Start::Others]);
    let before = (0..=PAGES, 0..=100u64, 1..=2u64).prop_map(|(pages, percent, spread)| Before {
        used: Bytes(pages * PAGE),
        written: Ratio::percent(percent),
        spread,
    });
    let demotions = [Demotion::Copied, Demotion::Programmed, Demotion::Returned];
    let artifact = prop::sample::select(demotions.to_vec());
    (start, before, artifact, 0..400usize, 0..400usize).prop_map(
        |(start, before, artifact, rests_at, compacts_at)| Course {
            start,
            before,
            artifact,
            rests_at,
            compacts_at,
        },
    )
}

fn follow(migration: Migration, course: Course, pairs: &[(&str, &str)], steps: &[Access]) {
    let config = host(migration);
    let mut memory = Memory::with_artifact(&config, course.artifact, device(pairs));
    match course.start {
        Start::Empty => {}
        Start::Full => memory.fill(&Pages, course.before.used),
        Start::Others => memory.fill_with_others(PAGES, &course.before),
    }
    let mut now = Ps::ZERO;
    for (number, step) in steps.iter().enumerate() {
        now += Ps::from_ns(step.after);
        memory.run(now);
        if number == course.rests_at {
            memory.settle();
        }
        if number == course.compacts_at {
            memory.compact_log();
        }
        let addr = step.page * PAGE + step.line * 64;
        memory.walk(now, step.page);
        match step.write {
            true => assert!(memory.store(now, addr, step.may_delay).done_at >= now),
            false => assert!(memory.read(now, addr, step.may_delay).done_at >= now),
        }
    }
    memory.run(now + Ps::from_ms(100));
    memory.device().balance().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(256)))]

    #[test]
    fn every_read_is_served_from_the_newest_copy(
        migration in placement(),
        device in 0..DEVICES.len(),
        steps in prop::collection::vec(step(), 1..400),
    ) {
        check(migration, DEVICES[device], &steps);
    }

    #[test]
    fn so_it_is_from_any_start_and_after_any_rest(
        migration in placement(),
        course in course(),
        device in 0..DEVICES.len(),
        steps in prop::collection::vec(step(), 1..400),
    ) {
        follow(migration, course, DEVICES[device], &steps);
    }

    #[test]
    fn the_time_of_reads_is_all_accounted_for(
        migration in placement(),
        device in 0..DEVICES.len(),
        steps in prop::collection::vec(step(), 1..100),
    ) {
        let read = |step: &Access| Access { write: false, ..*step };
        let reads: Vec<Access> = steps.iter().map(read).collect();
        check(migration, DEVICES[device], &reads);
    }
}
