//! The model runs inside a page-fault handler: after `new` it must not allocate.

use sluice_model::{
    Command, Device, DeviceConfig, EVICTIONS, Effects, GC_VICTIMS, Op, PREFETCHES, Pattern, Request,
};
use sluice_testkit::alloc::CountingAlloc;
use sluice_units::{Lpn, PAGE_BYTES, Ps, Rng};

#[global_allocator]
static ALLOC: CountingAlloc = CountingAlloc;

struct EveryThirdWritten;

impl Effects for EveryThirdWritten {
    fn unmap(&mut self, lpn: Lpn) -> bool {
        lpn.0.is_multiple_of(3)
    }
}

fn device(pairs: &[(&str, &str)]) -> Device {
    let mut raw = DeviceConfig::builder();
    for (key, value) in pairs {
        raw.set(key, value).unwrap();
    }
    Device::new(&DeviceConfig::new(&raw).unwrap(), 1).unwrap()
}

/// A device that misses, prefetches, writes back, collects garbage and fills its channels.
fn busy(policy: &str) -> Device {
    device(&[
        ("device.capacity", "8MiB"),
        ("cache.capacity", "512KiB"),
        ("cache.policy", policy),
        ("prefetch.policy", "nextn"),
        ("prefetch.degree", "4"),
        ("mshr.entries", "8"),
        ("nand.channels", "2"),
        ("nand.dies", "4"),
        ("nand.transfer", "3us"),
        ("nand.pages_per_block", "16"),
        ("ftl.gc_threshold", "3"),
    ])
}

fn exercise(device: &mut Device, accesses: u64) {
    let mut rng = Rng::stream(5, "allocation");
    let mut now = Ps::ZERO;
    for _ in 0..accesses {
        let lpn = Lpn::of(rng.below(2_048));
        now += Ps::from_ns(rng.below(100_000));
        match rng.below(50) {
            0 => device.discard(now, lpn),
            1 => device.write_back(now, lpn),
            2 => device.advance(now),
            3 => _ = device.promote(now, lpn),
            4 => _ = device.demote(now, lpn, &mut EveryThirdWritten),
            5 => device.demote_to_flash(now, lpn),
            6 => _ = device.command(now, Command::Cold(lpn), &mut EveryThirdWritten),
            7 => device.advise(lpn, rng.below(64), Pattern::ALL[rng.below(3) as usize]),
            op => {
                let op = if op % 2 == 0 { Op::Write } else { Op::Read };
                device.access(
                    now,
                    Request {
                        addr: lpn.addr(PAGE_BYTES),
                        op,
                    },
                    &mut EveryThirdWritten,
                );
            }
        }
    }
}

#[test]
fn nothing_is_allocated_after_new() {
    for entry in EVICTIONS {
        let mut device = busy(entry.info.name);
        let before = ALLOC.counts();
        exercise(&mut device, 100_000);
        assert_eq!(ALLOC.counts(), before, "{} allocates", entry.info.name);
        let stats = device.stats();
        assert!(
            stats.erases > 100 && stats.mshr_stalls > 100,
            "not busy: {stats:?}"
        );
        assert!(
            stats.prefetch_dropped > 100 && stats.gc_moves > 100,
            "not busy: {stats:?}"
        );
    }
}

/// Pages that leave at fills: those on their way wait in a queue, most of them for an entry.
#[test]
fn nothing_is_allocated_for_pages_on_their_way() {
    for entries in ["1", "64"] {
        let mut device = device(&[
            ("device.capacity", "32MiB"),
            ("cache.capacity", "512KiB"),
            ("cache.evict_at", "fill"),
            ("cache.track_lines", "yes"),
            ("mshr.entries", entries),
        ]);
        let before = ALLOC.counts();
        exercise(&mut device, 20_000);
        let read = |lpn: u64| Request {
            addr: Lpn::of(lpn % 8_192).addr(PAGE_BYTES),
            op: Op::Read,
        };
        // All at once: more than can be on their way.
        for lpn in 0..20_000 {
            device.access(Ps::ZERO, read(lpn * 7), &mut EveryThirdWritten);
        }
        assert_eq!(ALLOC.counts(), before, "{entries} entries");
        device.settle(Ps::ZERO);
        assert_eq!(device.cached_pages(), 128);
        assert_eq!(device.balance(), Ok(()));
    }
}

/// Prefetchers, throttle, DRAM banks and expanders are off in the devices of the other tests.
#[test]
fn prefetchers_throttle_dram_and_expanders_allocate_nothing_either() {
    let small = [("device.capacity", "8MiB"), ("cache.capacity", "512KiB")];
    let memory = [("device.capacity", "8MiB"), ("device.kind", "memory")];
    let mut devices: Vec<(&str, Device)> = Vec::new();
    for entry in PREFETCHES.iter().filter(|entry| entry.info.name != "none") {
        let own = [
            ("prefetch.policy", entry.info.name),
            ("prefetch.degree", "4"),
            ("prefetch.throttle", "feedback"),
            ("prefetch.throttle_interval", "64"),
            ("prefetch.markov_pages", "512"),
            ("mshr.entries", "8"),
        ];
        devices.push((entry.info.name, device(&[&small[..], &own].concat())));
    }
    for model in ["ddr4-2400", "lpddr4-3200"] {
        let banks = [("dram.model", model)];
        devices.push((model, device(&[&small[..], &banks].concat())));
        devices.push((model, device(&[&memory[..], &banks].concat())));
    }
    for (name, device) in &mut devices {
        let before = ALLOC.counts();
        exercise(device, 4_000);
        assert_eq!(ALLOC.counts(), before, "{name} allocates");
    }
    let prefetched = devices.iter().filter(|(_, d)| d.stats().prefetch_used > 0);
    assert!(prefetched.count() >= 3);
}

/// The FTL with all that it can do switched on, and blocks that fail.
#[test]
fn a_translation_layer_at_work_allocates_nothing() {
    for entry in GC_VICTIMS {
        let mut device = device(&[
            ("device.capacity", "8MiB"),
            ("cache.capacity", "512KiB"),
            ("nand.channels", "2"),
            ("nand.dies", "4"),
            ("nand.pages_per_block", "16"),
            ("nand.program_failure", "20000"),
            ("ftl.overprovision", "40%"),
            ("ftl.mapping", "dftl"),
            ("ftl.mapping_cache", "4KiB"),
            ("ftl.gc_policy", entry.info.name),
            ("ftl.gc_threshold", "2"),
            ("ftl.gc_background", "4"),
            ("ftl.gc_step", "3"),
            ("ftl.superblock", "2"),
            ("ftl.streams", "2"),
            ("ftl.wear_levelling", "static"),
            ("ftl.wear_spread", "2"),
            ("ftl.precondition", "random"),
            ("nand.priority", "read_first"),
        ]);
        let before = ALLOC.counts();
        exercise(&mut device, 60_000);
        assert_eq!(ALLOC.counts(), before, "{} allocates", entry.info.name);
        let stats = device.stats();
        assert!(stats.translation_programs > 100, "not busy: {stats:?}");
        assert!(stats.wear_moves > 0 && stats.bad_blocks > 0, "{stats:?}");
    }
}

/// Translation pages and failed attempts are programmed in the write log's name, and nobody asks
/// for their ends.
#[test]
fn a_write_log_above_a_map_in_flash_allocates_nothing() {
    for priority in ["fifo", "read_first"] {
        let mut device = device(&[
            ("device.capacity", "64MiB"),
            ("cache.capacity", "64KiB"),
            ("write_log.capacity", "64KiB"),
            ("nand.pages_per_block", "16"),
            ("nand.program_failure", "20000"),
            ("nand.priority", priority),
            ("ftl.mapping", "dftl"),
            ("ftl.mapping_cache", "4KiB"),
            ("ftl.overprovision", "40%"),
            ("ftl.precondition", "none"),
        ]);
        let before = ALLOC.counts();
        exercise(&mut device, 60_000);
        assert_eq!(ALLOC.counts(), before, "{priority} allocates");
        let stats = device.stats();
        assert!(stats.translation_programs > 1_000, "not busy: {stats:?}");
    }
}

/// Queues of posted work, suspension, planes and wear have their memory from the start.
#[test]
fn read_first_scheduling_and_wear_allocate_nothing_either() {
    let mut device = device(&[
        ("device.capacity", "8MiB"),
        ("cache.capacity", "512KiB"),
        ("nand.channels", "2"),
        ("nand.dies", "2"),
        ("nand.planes", "2"),
        ("nand.transfer", "3us"),
        ("nand.pages_per_block", "16"),
        ("ftl.gc_threshold", "3"),
        ("nand.priority", "read_first"),
        ("nand.write_queue", "4"),
        ("nand.suspend", "both"),
        ("nand.retry_reads", "100"),
        ("nand.endurance_spread", "10%"),
        ("device.hint", "queue"),
    ]);
    let before = ALLOC.counts();
    exercise(&mut device, 100_000);
    assert_eq!(ALLOC.counts(), before);
    let stats = device.stats();
    assert!(
        stats.suspensions > 100 && stats.forced_writes > 100 && stats.read_retries > 100,
        "not busy: {stats:?}"
    );
}

/// The maps of a terabyte are gigabytes of zeroes that nobody has touched yet, and come to 3.2 GiB
/// at most when all of it is: more only under policies that keep more than that for their pages.
#[test]
fn a_terabyte_is_made_without_touching_it() {
    for entry in EVICTIONS {
        let before = ALLOC.counts();
        let own = [("cache.policy", entry.info.name)];
        let large = device(&[&[("device.capacity", "1TiB")], &own[..]].concat());
        let after = ALLOC.counts();
        let touched = after.touched_bytes - before.touched_bytes;
        let bytes = touched + after.zeroed_bytes - before.zeroed_bytes;
        let bytes_max = match entry.info.name {
            // A group of equal counts, or a sketch, for each page of cache.
            "lfu" | "wtinylfu" => 3_700 << 20,
            // Three bytes for each page of the device, to find those that left.
            "s3fifo" | "twoq" | "arc" | "lirs" => 4_400 << 20,
            _ => 3_200 << 20,
        };
        assert_eq!(large.pages(), 1 << 28);
        let range = bytes_max - (512 << 20)..=bytes_max;
        assert!(range.contains(&bytes), "{}: {bytes} bytes", entry.info.name);
        assert!(touched < 32 << 20, "{}: {touched} bytes", entry.info.name);
    }
}

/// The flash map takes 4 B a page and 3 for each that flash has, the cache's index 3.
#[test]
fn a_page_of_the_device_takes_as_many_bytes_as_it_did() {
    let bytes = |capacity| {
        let before = ALLOC.counts();
        let _device = device(&[("device.capacity", capacity), ("cache.capacity", "256MiB")]);
        let after = ALLOC.counts();
        after.touched_bytes + after.zeroed_bytes - before.touched_bytes - before.zeroed_bytes
    };
    let pages = (32 << 30) / PAGE_BYTES;
    let thousandths = (bytes("64GiB") - bytes("32GiB")) * 1000 / pages;
    assert_eq!(thousandths, 10_694, "thousandths of a byte a page");
}

/// The write log's tables grow in an arena, and the hint's queues have a bound.
#[test]
fn the_write_log_and_the_hint_allocate_nothing_either() {
    let mut device = device(&[
        ("device.capacity", "8MiB"),
        ("device.hint", "queue"),
        ("cache.capacity", "512KiB"),
        ("nand.channels", "2"),
        ("nand.dies", "4"),
        ("nand.pages_per_block", "16"),
        ("ftl.gc_threshold", "3"),
        ("write_log.capacity", "256KiB"),
        ("write_log.coalescing_buffers", "16"),
    ]);
    let mut rng = Rng::stream(6, "allocation");
    let (before, mut now) = (ALLOC.counts(), Ps::ZERO);
    for _ in 0..60_000 {
        now += Ps::from_ns(rng.below(20_000));
        // Few pages often and many seldom, so that tables of every size come and go.
        let lpn = rng.below(64) * rng.below(32);
        let addr = Lpn::of(lpn).addr(PAGE_BYTES) + rng.below(64) * 64;
        let op = [Op::Write, Op::Write, Op::Read][rng.below(3) as usize];
        match rng.below(200) {
            0 => device.discard(now, Lpn::of(lpn)),
            1 => _ = device.promote(now, Lpn::of(lpn)),
            2 => _ = device.demote(now, Lpn::of(lpn), &mut EveryThirdWritten),
            _ => _ = device.access(now, Request { addr, op }, &mut EveryThirdWritten),
        }
    }
    assert_eq!(ALLOC.counts(), before, "the write log allocates");
    let log = device.stats().write_log;
    assert!(
        log.compactions > 10 && log.stalls > 10 && log.dropped > 10,
        "not busy: {log:?}"
    );
}
