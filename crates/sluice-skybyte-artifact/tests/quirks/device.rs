//! A device that programs what was not written, answers stores before they are indexed, and has
//! more buffers.

use crate::artifact;
use sluice_host::{AstriFlash, Memory, Migration, NoArtifact};
use sluice_model::{Device, Op, Request};
use sluice_skybyte_artifact::SkyByte;
use sluice_testkit::host_rig::{device, host};
use sluice_units::Ps;

const PAGE: u64 = 4096;
const US: Ps = Ps::from_us(1);

/// A memory whose device departs as one value says.
fn memory(departs: (&str, &str), given: &[(&str, &str)]) -> Memory<SkyByte> {
    let artifact = artifact(&[departs]).expect("a departure");
    Memory::with_artifact(&host(Migration::None), artifact, device(given))
}

/// Pages 0 to 2 make room in a cache of one page, of which 1 was written.
fn programs<A: sluice_host::Artifact>(memory: &mut Memory<A>) -> (u64, u64, u64) {
    for page in 0..4 {
        let now = US * 1_000 * (page + 1);
        memory.read(now, page * PAGE, false);
        if page == 1 {
            memory.write(now + US * 500, page * PAGE);
        }
    }
    let stats = memory.device().stats();
    (
        stats.evictions,
        stats.flash_programs,
        stats.clean_write_backs,
    )
}

#[test]
fn every_page_that_leaves_the_devices_cache_is_programmed() {
    let cache = [("cache.capacity", "4KiB")];
    let mut all = memory(("host.device_write_back", "all"), &cache);
    assert_eq!(programs(&mut all), (3, 3, 2));
    let mut real = Memory::with_artifact(&host(Migration::None), NoArtifact, device(&cache));
    assert_eq!(programs(&mut real), (3, 1, 0));
}

/// Those too that are there before the first access, and those that leave for a page fetched whole.
#[test]
fn pages_leave_at_the_start_as_they_do_later() {
    let given = Migration::AstriFlash(AstriFlash {
        pages: 8,
        ways: 8,
        lookup: Ps::ZERO,
    });
    let departs = artifact(&[("host.device_write_back", "all")]).expect("a departure");
    let small = device(&[("cache.capacity", "4KiB")]);
    let mut memory = Memory::with_artifact(&host(given), departs, small);
    memory.read(US, 0, false);
    memory.read(US * 1_000, PAGE, false);
    assert_eq!(memory.device().stats().clean_write_backs, 1);
}

/// 72 ns earlier, which is the time of the log's index; loads look it up as before.
#[test]
fn a_store_is_answered_before_it_is_indexed() {
    let log = [("write_log.capacity", "1MiB")];
    let mut behind = memory(("host.device_store_index", "behind"), &log);
    let mut real = Memory::with_artifact(&host(Migration::None), NoArtifact, device(&log));
    let index = Ps::from_ns(72);
    assert_eq!(real.write(US, 0), behind.write(US, 0) + index);
    let later = US * 10;
    assert_eq!(real.read(later, 0, false), behind.read(later, 0, false));
}

/// Two lines fill both buffers of a log of 128 B, so that the third store waits for a compaction.
#[test]
fn a_backlog_takes_stores_that_would_wait() {
    let given = [("write_log.capacity", "128B")];
    let waits = |backlog: &str| {
        let plain = device(&given).config().clone();
        let departs = artifact(&[("host.device_backlog", backlog), ("os.resume", "wait")]);
        let config = departs.expect("a departure").device(plain);
        let mut device = Device::new(&config, 1).expect("a device");
        for page in 0..4 {
            let addr = page * PAGE;
            let request = Request {
                addr,
                op: Op::Write,
            };
            device.access(US, request, &mut ());
        }
        device.stats().write_log.stalls
    };
    assert_eq!((waits("0"), waits("2")), (2, 0));
}
