//! Which accesses make a page hot, and what a written page costs on its way back.

use crate::artifact;
use sluice_host::{Adaptive, Memory, Migration, Program, Step};
use sluice_model::Device;
use sluice_skybyte_artifact::SkyByte;
use sluice_testkit::host_rig::{device, host};
use sluice_units::{Bytes, Lpn, Ps};

const PAGE: u64 = 4096;
const US: Ps = Ps::from_us(1);

/// Room for so many pages in host memory, in sets of `ways` if that is not 0.
fn adaptive(pages: u32, ways: u32) -> Migration {
    Migration::Adaptive(Adaptive {
        pages,
        threshold: 2,
        decay: Ps::ZERO,
        buffer: 2,
        interrupt: US,
        line: Ps::from_ns(10),
        huge: 1,
        spare: 0,
        remote_pages: 0,
        remote_latency: Ps::ZERO,
        ways,
    })
}

/// Memory of a host that departs as one value says.
fn memory(migration: Migration, departs: (&str, &str), device: Device) -> Memory<SkyByte> {
    let artifact = artifact(&[departs]).expect("a departure");
    Memory::with_artifact(&host(migration), artifact, device)
}

/// Reads a page until it is hot and has been copied; says when.
fn promote(memory: &mut Memory<SkyByte>, from: Ps, page: u64) -> Ps {
    for turn in 0..3 {
        memory.read(from + US * 20 * turn, page * PAGE, false);
    }
    memory.run(from + US * 80);
    from + US * 100
}

/// The artifact does not look at its cache for a store that goes to the log.
#[test]
fn stores_that_the_log_takes_do_not_count() {
    let log = [("cache.capacity", "32KiB"), ("write_log.capacity", "1MiB")];
    let counts = ("migration.counts", "cache");
    let mut memory = memory(adaptive(2, 0), counts, device(&log));
    memory.read(Ps::ZERO, 0, false);
    memory.read(US * 10, 0, false);
    memory.write(US * 20, 0);
    assert!(memory.next_event().is_none());
    // Its next read does.
    memory.read(US * 40, 0, false);
    assert!(memory.next_event().is_some());
}

/// A written page is programmed past the device's DRAM, or is there again: no line uses the link.
#[test]
fn a_written_page_goes_back_without_a_copy() {
    for (how, programs) in [("program", 1), ("free", 0)] {
        // Anywhere in host memory, or in two sets of two, of which even pages have one.
        for migration in [adaptive(2, 0), adaptive(4, 2)] {
            let demotion = ("migration.demotion", how);
            let mut memory = memory(migration, demotion, device(&[]));
            let mut now = promote(&mut memory, US, 0);
            memory.write(now, 0);
            for page in [2, 4] {
                now = promote(&mut memory, now + US, page);
            }
            let moved = memory.stats().migration;
            assert_eq!(moved.dirty_demotions, 1, "{how}");
            assert_eq!(memory.stats().link_bytes[0], 0, "{how}");
            let device = memory.device();
            assert!(!device.is_cached(Lpn(0)), "{how}");
            assert_eq!(device.stats().migration.demoted, programs, "{how}");
            assert_eq!(device.stats().flash_programs, programs, "{how}");
        }
    }
}

/// 16 pages, of which the program changes the last two.
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

    fn fill(&mut self, _thread: u32, _out: &mut Vec<sluice_host::Instr>) -> Step {
        Step::End
    }
}

/// Of three pages that were in host memory at first, the two that change go back at no cost.
#[test]
fn where_that_is_free_the_device_hears_nothing() {
    let free = ("migration.demotion", "free");
    let mut memory = memory(adaptive(4, 0), free, device(&[]));
    memory.fill(&Pages, Bytes(u64::MAX));
    let mut now = US;
    for page in 100..103 {
        now = promote(&mut memory, now, page);
    }
    let moved = memory.stats().migration;
    assert_eq!((moved.demotions, moved.dirty_demotions), (3, 2));
    assert_eq!(memory.stats().link_bytes[0], 0);
    assert_eq!(memory.device().stats().migration.demoted, 0);
}

/// The compaction of a line takes a read and a program, of which the host sees nothing.
#[test]
fn the_device_rests_in_time_of_its_own() {
    let latency = |settles: bool| {
        let log = device(&[("write_log.capacity", "1MiB")]);
        let mut memory = Memory::new(&host(Migration::None), log);
        for page in 0..64 {
            memory.write(Ps::ZERO, page * PAGE);
        }
        memory.run(US);
        if settles {
            memory.settle();
            assert_eq!(memory.device().stats().write_log.pages_flushed, 64);
        }
        memory.read(US * 2, 100 * PAGE, false).done_at - US * 2
    };
    assert_eq!(latency(true), latency(false));
}
