//! Pages that the host takes into its own memory and gives back (SkyByte section III-C).

use sluice_model::{Command, Device, DeviceConfig, Op, Request, ServedBy};
use sluice_testkit::rig::{MISS, device, read, write};
use sluice_units::{Lpn, PAGE_BYTES, Ps};

const HIT: Ps = Ps::from_ns(150);
const LOG_INDEX: Ps = Ps::from_ns(72);
const LATER: Ps = Ps::from_ms(10);
const LOG: (&str, &str) = ("write_log.capacity", "64KiB");
const SMALL: (&str, &str) = ("cache.capacity", "16KiB");

fn take(device: &mut Device, now: Ps, lpn: u64) -> bool {
    device.promote(now, Lpn::of(lpn)).dirty
}

fn programs(device: &Device) -> u64 {
    assert_eq!(device.balance(), Ok(()));
    device.stats().flash_programs
}

#[test]
fn a_page_that_was_only_read_is_taken_clean_and_flash_still_has_it() {
    let mut device = device(&[]);
    read(&mut device, Ps::ZERO, 3);
    assert!(!take(&mut device, LATER, 3));
    assert!(!device.is_cached(Lpn(3)));
    // Never cached: clean as well.
    assert!(!take(&mut device, LATER, 4));
    assert_eq!(read(&mut device, LATER, 3).done_at, LATER + MISS);
    assert_eq!(programs(&device), 0);
    let migration = device.stats().migration;
    assert_eq!((migration.promoted, migration.promoted_dirty), (2, 0));
}

#[test]
fn a_written_page_is_taken_dirty_and_never_programmed() {
    for pairs in [&[][..], &[LOG]] {
        let mut device = device(pairs);
        write(&mut device, Ps::ZERO, 3);
        assert!(take(&mut device, LATER, 3), "{pairs:?}");
        assert!(!take(&mut device, LATER, 3), "{pairs:?}: taken twice");
        device.advance(LATER * 2);
        assert_eq!(programs(&device), 0, "{pairs:?}");
    }
}

#[test]
fn what_the_log_has_flushed_is_clean() {
    let one_line = [("write_log.capacity", "128B")];
    let mut device = device(&one_line);
    write(&mut device, Ps::ZERO, 3);
    // The buffer of one line is compacted at once, by a read and then a program.
    let posted = LOG_INDEX + Ps::from_us(40);
    let early = take(&mut device, posted - Ps(1), 3);
    write(&mut device, LATER, 4);
    let late = take(&mut device, LATER + posted, 4);
    assert_eq!((early, late), (true, false));
    assert_eq!(programs(&device), 1);
}

#[test]
fn a_page_that_is_given_lands_in_the_cache_without_a_read() {
    let mut device = device(&[SMALL]);
    let given = device.demote(LATER, Lpn(5), &mut ());
    assert_eq!(given.served_by, ServedBy::CacheHit);
    assert_eq!(given.done_at, LATER + HIT);
    assert_eq!(device.stats().flash_reads, 0);
    // Both sides of its arrival.
    let early = read(&mut device, LATER + HIT - Ps(1), 5);
    assert_eq!(early.served_by, ServedBy::MshrMerge);
    let late = read(&mut device, LATER + HIT, 5);
    assert_eq!(late.served_by, ServedBy::CacheHit);
    // Dirty: it is programmed when it leaves, and was not before.
    assert_eq!(programs(&device), 0);
    let evict = device.command(LATER * 2, Command::Evict(Lpn(5)), &mut ());
    assert!(evict.is_ok());
    assert_eq!(programs(&device), 1);
    let stats = device.stats();
    assert_eq!((stats.migration.demoted, stats.migration.fills), (1, 1));
    assert_eq!(stats.accesses(), 2);
}

#[test]
fn a_page_that_is_given_makes_room_like_any_other() {
    let mut device = device(&[SMALL]);
    (0..4).for_each(|lpn| _ = write(&mut device, Ps::ZERO, lpn));
    let given = device.demote(LATER, Lpn(5), &mut ());
    assert_eq!(given.done_at, LATER + HIT);
    assert_eq!(device.stats().dirty_evictions, 1);
    assert!(device.is_cached(Lpn(5)) && device.cached_pages() == 4);
    assert_eq!(programs(&device), 1);
}

#[test]
fn stores_that_write_through_or_around_take_given_pages_along() {
    for (key, value, cached) in [
        ("cache.write", "through", true),
        ("cache.store_miss", "around", false),
    ] {
        let mut device = device(&[(key, value)]);
        device.demote(LATER, Lpn(5), &mut ());
        assert_eq!(device.is_cached(Lpn(5)), cached, "{value}");
        assert_eq!(programs(&device), 1, "{value}");
        assert_eq!(device.stats().flash_reads, 0, "{value}");
        assert!(!take(&mut device, LATER * 2, 5), "{value}");
    }
}

#[test]
fn with_a_log_the_page_is_appended_line_by_line() {
    let mut device = device(&[LOG]);
    let given = device.demote(LATER, Lpn(5), &mut ());
    assert_eq!(given.served_by, ServedBy::WriteLog);
    assert_eq!(given.done_at, LATER + LOG_INDEX + HIT);
    assert!(!device.is_cached(Lpn(5)));
    for line in [0, 17, 63] {
        let addr = Lpn(5).addr(PAGE_BYTES) + line * 64;
        let request = Request { addr, op: Op::Read };
        let found = device.access(LATER * 2, request, &mut ());
        assert_eq!(found.served_by, ServedBy::WriteLog, "line {line}");
    }
    let log = device.stats().write_log;
    assert_eq!((log.appends, log.demoted, log.hits), (64, 64, 3));
    assert_eq!(log.served(), 3);
    assert!(take(&mut device, LATER * 3, 5));
    assert_eq!(device.stats().write_log.dropped, 64);
    assert_eq!(programs(&device), 0);
}

#[test]
fn with_a_log_a_page_can_go_to_the_cache_as_a_whole() {
    let mut device = device(&[LOG, SMALL, ("write_log.demoted", "page")]);
    write(&mut device, Ps::ZERO, 5);
    let given = device.demote(LATER, Lpn(5), &mut ());
    assert_eq!(given.served_by, ServedBy::CacheHit);
    assert_eq!(given.done_at, LATER + LOG_INDEX + HIT);
    let log = device.stats().write_log;
    // The line that the log had is older than the page.
    assert_eq!((log.appends, log.demoted, log.dropped), (1, 0, 1));
    // One program, when the page leaves.
    assert_eq!(programs(&device), 0);
    let evict = device.command(LATER * 2, Command::Evict(Lpn(5)), &mut ());
    assert!(evict.is_ok());
    assert_eq!((programs(&device), device.stats().flash_reads), (1, 0));
    // A store after that finds it in flash, and the log has the store alone.
    write(&mut device, LATER * 3, 5);
    assert_eq!(device.stats().write_log.appends, 2);
    assert!(take(&mut device, LATER * 4, 5));
}

/// Whatever the device still had of it is void.
#[test]
fn a_page_that_is_programmed_at_once_is_in_flash_alone() {
    for pairs in [&[][..], &[LOG]] {
        let mut device = device(pairs);
        write(&mut device, Ps::ZERO, 5);
        read(&mut device, LATER, 5);
        device.demote_to_flash(LATER * 2, Lpn(5));
        assert!(!device.is_cached(Lpn(5)));
        assert_eq!(programs(&device), 1, "{pairs:?}");
        let migration = device.stats().migration;
        assert_eq!((migration.demoted, migration.programs), (1, 1));
        let found = read(&mut device, LATER * 3, 5);
        assert_eq!(found.served_by, ServedBy::Flash, "{pairs:?}");
        assert!(!take(&mut device, LATER * 4, 5), "{pairs:?}");
    }
}

/// Together in one buffer its lines are the whole page: there is nothing to be read for them.
#[test]
fn compaction_programs_a_given_page_without_a_read() {
    let one_page = [("write_log.capacity", "8KiB")];
    let mut device = device(&one_page);
    // A line of the page that was there before is void.
    write(&mut device, Ps::ZERO, 5);
    for lpn in 6..69 {
        write(&mut device, Ps::ZERO, lpn);
    }
    device.demote(LATER, Lpn(5), &mut ());
    device.advance(LATER * 2);
    let log = device.stats().write_log;
    assert_eq!((log.compactions, log.pages_flushed), (2, 65));
    assert_eq!(log.compaction_reads, 64);
    assert_eq!(programs(&device), 65);
}

#[test]
fn a_full_log_holds_a_given_page_up() {
    // A page is as large as both buffers: the second half waits until the first is in flash.
    let half = [("write_log.capacity", "4KiB"), ("write_log.buffers", "2")];
    let mut device = device(&half);
    let first = device.demote(LATER, Lpn(5), &mut ());
    assert_eq!(first.done_at, LATER + LOG_INDEX + HIT);
    let now = LATER + Ps(1);
    let second = device.demote(now, Lpn(6), &mut ());
    // Its 32 lines are half a page: read, then programmed; then the other half of the same page.
    let flushed = Ps::from_us(40 + 200);
    assert_eq!(second.done_at, LATER + LOG_INDEX + flushed * 2 + HIT);
    assert_eq!(device.balance(), Ok(()));
}

#[test]
fn a_pin_ends_when_the_host_takes_the_page() {
    let mut device = device(&[]);
    device
        .command(Ps::ZERO, Command::Pin(Lpn(5)), &mut ())
        .unwrap();
    assert!(device.is_pinned(Lpn(5)) && !device.is_pinned(Lpn(6)));
    assert!(!device.is_pinned(Lpn(u32::MAX)));
    take(&mut device, LATER, 5);
    assert!(!device.is_pinned(Lpn(5)));
    assert_eq!((device.pinned_pages(), device.stats().pins_dropped), (0, 1));
    assert_eq!(device.balance(), Ok(()));
}

#[test]
fn an_expander_has_every_line_written() {
    let expander = [
        ("device.kind", "memory"),
        ("memory.write", "100ns"),
        ("memory.transfer", "2ns"),
    ];
    let mut raw = DeviceConfig::builder();
    for (key, value) in expander {
        raw.set(key, value).unwrap();
    }
    let mut device = Device::new(&DeviceConfig::new(&raw).unwrap(), 1).unwrap();
    assert!(!take(&mut device, Ps::ZERO, 5));
    let given = device.demote(LATER, Lpn(5), &mut ());
    assert_eq!(given.done_at, LATER + Ps::from_ns(63 * 2 + 100));
    assert_eq!(device.balance(), Ok(()));
}

#[test]
fn a_page_is_cached_from_when_its_fill_is_done() {
    let mut device = device(&[]);
    assert_eq!(device.cached_at(Lpn(3)), None);
    let there = read(&mut device, Ps::from_us(1), 3).done_at;
    assert_eq!(device.cached_at(Lpn(3)), Some(there));
    device.promote(Ps::from_us(100), Lpn(3));
    assert_eq!(device.cached_at(Lpn(3)), None);
}
