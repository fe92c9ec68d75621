//! One access of each kind, the link, and where the time goes: closed forms.

use sluice_host::{HostDram, Memory, Migration};
use sluice_testkit::host_rig::{HIT, LINE, host, memory, memory_of};
use sluice_units::Ps;

fn ns(ns: u64) -> Ps {
    Ps::from_ns(ns)
}

#[test]
fn host_memory_answers_after_its_dram_and_controller() {
    let mut memory = memory(Migration::AllHost, &[]);
    let config = host(Migration::AllHost);
    let answer = memory.read(ns(100), 0, true);
    assert_eq!(answer.done_at, ns(100) + config.dram.idle_read());
    assert!(!answer.delayed);
    memory.write(ns(1_000), 64);
    let stats = memory.stats();
    assert_eq!(
        (stats.requests.host_reads, stats.requests.host_writes),
        (1, 1)
    );
    assert_eq!(stats.access_time.total(), stats.access_time.host_dram);
    assert_eq!(stats.link_bytes, [0, 0]);
}

/// However many there are, of the same row or not.
#[test]
fn fixed_host_memory_takes_the_same_time_each() {
    let mut config = host(Migration::AllHost);
    config.dram = HostDram::Fixed(ns(46));
    let mut memory = memory_of(&config, &[]);
    for line in 0..100 {
        let answer = memory.read(ns(100), line % 10 * 4096, true);
        assert_eq!(answer.done_at, ns(146));
    }
    memory.write(ns(100), 0);
    let time = memory.stats().access_time;
    assert_eq!((time.accesses, time.host_dram), (101, ns(101 * 46)));
}

/// SkyByte's artifact counts what its controller answers: reads, and stores that no cache has the
/// line of, but nothing that is written back.
#[test]
fn demand_is_all_but_what_is_written_back() {
    let mut config = host(Migration::AllHost);
    config.dram = HostDram::Fixed(ns(46));
    let mut memory = memory_of(&config, &[]);
    memory.read(ns(100), 0, true);
    memory.store(ns(100), 64, true);
    memory.store(ns(100), 128, false);
    memory.write(ns(100), 192);
    let time = memory.stats().access_time;
    assert_eq!((time.host_demands, time.host_demand), (3, ns(3 * 46)));
    assert_eq!((time.accesses, time.host_dram), (4, ns(4 * 46)));
    // The device's accesses do not count as host memory's.
    let mut device = self::memory(Migration::None, &[]);
    device.read(Ps::ZERO, 0, false);
    device.store(Ps::from_us(100), 64, false);
    assert_eq!(device.stats().access_time.host_demands, 0);
}

/// SkyByte section VI-D: 40 ns of protocol, 49 ns of index, 46 ns of DRAM, and 3 us of flash.
#[test]
fn the_device_answers_after_link_index_and_dram() {
    let mut memory = memory(Migration::None, &[]);
    let flash = memory.device().config().nand.read;
    let miss = memory.read(Ps::ZERO, 0, false).done_at;
    assert_eq!(miss, HIT + flash);
    let now = Ps::from_us(100);
    assert_eq!(memory.read(now, 64, false).done_at, now + HIT);
    memory.write(now * 2, 128);
    let stats = memory.stats();
    let time = stats.access_time;
    assert_eq!(time.protocol, ns(3 * 40));
    assert_eq!(time.indexing, ns(3 * 49));
    assert_eq!(time.device_dram, ns(3 * 46));
    assert_eq!(time.flash, miss - HIT);
    assert_eq!(stats.flash_read.mean(), miss - HIT);
    assert_eq!((time.accesses, stats.latency.count()), (3, 3));
    assert_eq!(stats.link_bytes, [64, 128]);
}

#[test]
fn a_long_delay_is_told_after_link_and_index_and_counts_once_it_has_data() {
    let mut memory = memory(Migration::None, &[]);
    let answer = memory.read(Ps::ZERO, 0, true);
    assert!(answer.delayed);
    assert_eq!(answer.done_at, ns(40 + 49));
    assert_eq!(memory.stats().access_time.accesses, 0);
    assert_eq!(memory.stats().link_bytes, [0, 0]);
    let again = Ps::from_us(100);
    let replayed = memory.read(again, 0, true);
    assert!(!replayed.delayed, "the page was fetched meanwhile");
    assert_eq!(replayed.done_at, again + HIT);
    let stats = memory.stats();
    assert_eq!(stats.access_time.accesses, 1);
    assert_eq!(stats.long_delays, 1);
    assert_eq!(stats.requests.total(), 2);
    assert_eq!(stats.flash_read.count(), 1);
    // An access that may not be delayed waits.
    assert!(!memory.read(again * 2, 8 * 4096, false).delayed);
}

/// 16 GB/s are 4 ns a line: the lines of a burst of hits arrive that far apart, in both
/// directions.
#[test]
fn the_link_carries_a_line_in_four_nanoseconds() {
    let mut memory = memory(Migration::None, &[]);
    memory.read(Ps::ZERO, 0, false);
    let now = Ps::from_us(100);
    for line in 0..64 {
        let answer = memory.read(now, line * 64, false);
        // A slot begins at a multiple of 4 ns, the first line comes in the middle of one.
        let first = now + HIT;
        let slot = Ps(first.0 / LINE.0 * LINE.0) + LINE * line;
        assert_eq!(answer.done_at, first.max(slot), "line {line}");
    }
    memory.reset_stats();
    let now = now * 2;
    for line in 0..64 {
        memory.write(now, line * 64);
    }
    let waited = LINE * (0..64).sum::<u64>();
    assert_eq!(memory.stats().access_time.protocol, ns(40 * 64) + waited);
    // A read comes behind the writes before it.
    let read = memory.read(now, 0, false);
    assert_eq!(read.done_at, now + LINE * 63 + HIT);
}

/// A line that waits for flash does not hold up those that are there before it.
#[test]
fn hits_pass_a_miss_on_the_link() {
    let mut memory = memory(Migration::None, &[]);
    memory.read(Ps::ZERO, 0, false);
    let now = Ps::from_us(100);
    memory.read(now, 8 * 4096, false);
    assert_eq!(memory.read(now, 64, false).done_at, now + HIT);
}

/// CXL-SSD-Sim's host: writes wait in the controller, and go when there are enough.
#[test]
fn writes_are_held_back_and_go_together() {
    let mut config = host(Migration::AllHost);
    if let HostDram::Banks(banks) = &mut config.dram {
        banks.write_buffer = 4;
    }
    let device = memory(Migration::AllHost, &[]).into_device();
    let mut memory = Memory::new(&config, device);
    let overhead = ns(30);
    for line in 0..3 {
        assert_eq!(memory.write(ns(line), line * 64), ns(line) + overhead);
    }
    // One that is held back is answered from there, and is not held twice.
    assert_eq!(memory.read(ns(3), 64, false).done_at, ns(3) + overhead);
    assert_eq!(memory.write(ns(4), 64), ns(4) + overhead);
    let idle = config.dram.idle_read();
    let far = 1 << 20;
    assert_eq!(memory.read(ns(5), far, false).done_at, ns(5) + idle);
    // The fourth sends them all: then a read of the first waits for DRAM, behind the writes.
    let now = ns(1_000);
    assert_eq!(memory.write(now, 3 * 64), now + overhead);
    let behind = memory.read(now, 0, false).done_at;
    assert!(behind > now + idle);
    let requests = memory.stats().requests;
    assert_eq!((requests.host_reads, requests.host_writes), (3, 5));
    // Writes that nobody waits for count as idle accesses.
    let reads = overhead + idle + (behind - now);
    assert_eq!(memory.stats().access_time.host_dram, reads + idle * 5);
}
