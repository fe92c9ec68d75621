//! Host memory and the device's cache that are full before the first access.

use sluice_host::{
    Adaptive, AstriFlash, Before, Instr, MemOp, Memory, Migration, Program, Sampling, Step, Tpp,
};
use sluice_testkit::host_rig::memory;
use sluice_units::{Bytes, Lpn, Ps, Ratio};

const PAGE: u64 = 4096;
const US: Ps = Ps::from_us(1);
const ALL: Bytes = Bytes(u64::MAX);

/// 16 pages, of which the first 14 do not change.
struct Pages;

impl Program for Pages {
    fn footprint(&self) -> Bytes {
        Bytes(16 * PAGE)
    }

    fn threads(&self) -> u32 {
        1
    }

    fn rewrites(&self, addr: u64) -> bool {
        addr >= 14 * PAGE
    }

    fn fill(&mut self, _thread: u32, out: &mut Vec<Instr>) -> Step {
        out.push(Instr {
            addr: 0,
            work: 0,
            after: 0,
            op: MemOp::Load,
        });
        Step::End
    }
}

/// Room for four pages, of which reclaim keeps one free.
fn adaptive() -> Migration {
    Migration::Adaptive(Adaptive {
        pages: 4,
        threshold: 2,
        decay: Ps::ZERO,
        buffer: 2,
        interrupt: US,
        line: Ps::from_ns(10),
        huge: 1,
        spare: 0,
        remote_pages: 0,
        remote_latency: Ps::ZERO,
        ways: 0,
    })
}

/// Host memory in sets of two, where no frame is kept free.
fn in_sets() -> Migration {
    match adaptive() {
        Migration::Adaptive(given) => Migration::Adaptive(Adaptive { ways: 2, ..given }),
        other => other,
    }
}

fn tpp() -> Migration {
    Migration::Tpp(Tpp {
        pages: 4,
        sampling: Sampling::Faults,
        period: Ps::ZERO,
        batch: 1,
        fault: US,
        window: US,
        line: Ps::from_ns(10),
        spare: 0,
        ways: 0,
    })
}

fn astriflash() -> Migration {
    Migration::AstriFlash(AstriFlash {
        pages: 4,
        ways: 2,
        lookup: Ps::from_ns(20),
    })
}

/// The pages that are in host memory.
fn at_home(memory: &mut Memory) -> Vec<u64> {
    let pages = (0..16).zip(1..).filter(|(page, turn)| {
        let before = memory.stats().requests.host_reads;
        memory.read(US * 1_000 * *turn, page * PAGE, false);
        memory.stats().requests.host_reads > before
    });
    pages.map(|(page, _)| page).collect()
}

#[test]
fn the_last_pages_are_in_host_memory() {
    let expected = [
        (adaptive(), vec![13, 14, 15]),
        (tpp(), vec![13, 14, 15]),
        (in_sets(), vec![12, 13, 14, 15]),
        (Migration::None, vec![]),
    ];
    for (migration, pages) in expected {
        let mut memory = memory(migration, &[]);
        memory.fill(&Pages, ALL);
        assert_eq!(at_home(&mut memory), pages, "{migration:?}");
    }
    let mut memory = memory(astriflash(), &[]);
    memory.fill(&Pages, ALL);
    for (page, turn) in [12, 13, 14, 15].into_iter().zip(1..) {
        memory.read(US * turn, page * PAGE, false);
    }
    assert_eq!(memory.stats().requests.host_reads, 4);
}

/// The device's cache, of 8 pages here, has those before them: written, if the program still
/// writes them and no log takes its stores.
#[test]
fn the_pages_before_are_in_the_devices_cache() {
    let small = [("cache.capacity", "32KiB")];
    let log = [("cache.capacity", "32KiB"), ("write_log.capacity", "1MiB")];
    let cases: [(_, &[(&str, &str)], _, _); 3] = [
        (adaptive(), &small, 5..13, 0),
        (Migration::None, &small, 8..16, 2),
        (Migration::None, &log, 8..16, 0),
    ];
    for (migration, pairs, cached, dirty) in cases {
        let mut memory = memory(migration, pairs);
        memory.fill(&Pages, ALL);
        let device = memory.device();
        let here = (0..16).filter(|page| device.is_cached(Lpn::of(*page)));
        assert_eq!(here.collect::<Vec<_>>(), cached.collect::<Vec<_>>());
        // Others take their place.
        for page in 100..108 {
            memory.read(US * page, page * PAGE, false);
        }
        assert_eq!(memory.device().stats().host_programs, dirty);
    }
}

/// Two pages were used before: host memory, which has room for three, has them, and the device's
/// cache nothing. Of five it has two.
#[test]
fn what_was_used_before_may_be_less_than_there_is_room_for() {
    let cached = |used| {
        let mut memory = memory(adaptive(), &[("cache.capacity", "32KiB")]);
        memory.fill(&Pages, Bytes(used * PAGE));
        let cached = |page: &u64| memory.device().is_cached(Lpn::of(*page));
        let cached = (0..16).filter(cached).collect::<Vec<_>>();
        (cached, at_home(&mut memory))
    };
    assert_eq!(cached(2), (vec![], vec![14, 15]));
    assert_eq!(cached(5), (vec![11, 12], vec![13, 14, 15]));
}

/// Makes `pages` hot one after the other, so that as many leave host memory.
fn promote(memory: &mut Memory, pages: u64) {
    for page in 0..pages {
        for turn in 0..3 {
            let addr = (100 + page) * PAGE;
            memory.read(US * (1_000 * page + 100 * turn), addr, false);
        }
        memory.run(US * 1_000 * (page + 1));
    }
}

/// The oldest, 13, does not change; 14 and 15 do.
#[test]
fn a_page_that_changes_goes_back_to_the_device() {
    let reads = |pages| pages * (3 + 64) * 64;
    for (pages, dirty) in [(1, 0), (2, 1), (3, 2)] {
        let mut memory = memory_of(&[]);
        promote(&mut memory, pages);
        let migration = memory.stats().migration;
        assert_eq!(
            (migration.demotions, migration.dirty_demotions),
            (pages, dirty)
        );
        assert_eq!(memory.stats().link_bytes, [dirty * PAGE, reads(pages)]);
        assert_eq!(memory.device().stats().migration.demoted, dirty);
    }
}

fn memory_of(pairs: &[(&str, &str)]) -> Memory {
    let mut memory = memory(adaptive(), pairs);
    memory.fill(&Pages, ALL);
    memory
}

fn others(percent: u64, spread: u64) -> Before {
    Before {
        written: Ratio::percent(percent),
        spread,
        ..Before::default()
    }
}

/// As many pages, but not one for each place: what room they leave is taken before one of them
/// makes room.
#[test]
fn others_that_are_drawn_leave_room() {
    let programs = |spread| {
        let cache = [("cache.capacity", "1MiB"), ("cache.ways", "8")];
        let mut memory = memory(Migration::None, &cache);
        memory.fill_with_others(256 * spread, &others(100, spread));
        let before = memory.device().stats().host_programs;
        for page in 0..64 {
            memory.read(US * 1_000 * (page + 1), page * PAGE, false);
        }
        memory.run(US * 100_000);
        memory.device().stats().host_programs - before
    };
    let [all, some] = [programs(1), programs(8)];
    assert_eq!(all, 64);
    assert!((16..56).contains(&some), "{some} of 64");
}

/// Other programs' pages, at the end of the device: the program finds none of its own.
#[test]
fn others_leave_the_program_nothing() {
    for migration in [adaptive(), tpp(), Migration::None] {
        let mut memory = memory(migration, &[("cache.capacity", "32KiB")]);
        memory.fill_with_others(12, &others(100, 1));
        assert_eq!(at_home(&mut memory), [], "{migration:?}");
        // The pages that were in the cache have made room for 16.
        let programs = memory.device().stats().host_programs;
        assert_eq!(programs, 8, "{migration:?}");
    }
}

/// Three of them fill host memory, so that each page that comes makes one leave. Every other one is
/// written, the first among them.
#[test]
fn others_leave_at_the_cost_of_their_contents() {
    for (pages, dirty) in [(1, 1), (2, 1), (3, 2)] {
        let mut memory = memory(adaptive(), &[("cache.capacity", "32KiB")]);
        memory.fill_with_others(12, &others(50, 1));
        promote(&mut memory, pages);
        let migration = memory.stats().migration;
        assert_eq!(
            (migration.demotions, migration.dirty_demotions),
            (pages, dirty),
            "{pages} promoted"
        );
        assert_eq!(memory.device().stats().migration.demoted, dirty);
    }
}
