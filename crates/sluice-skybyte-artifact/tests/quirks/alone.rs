//! A host that waits for each line has nothing between its program and the device: it asks for the
//! same lines at the same times as a loop that calls the device itself.

use crate::values;
use sluice_host::{HostConfig, Instr, MemOp, Program, RunLength, Step};
use sluice_model::{Device, DeviceConfig, Op, RawConfig, Request, Stats};
use sluice_skybyte_artifact::{SkyByte, simulate};
use sluice_units::{Bytes, LINE_BYTES, PAGE_BYTES, Ps, Rng};

const PAGES: u64 = 1_024;

/// One instruction at a time, caches of one line that cost nothing, and stores that go through.
const HOST: &[(&str, &str)] = &[
    ("cpu.cores", "1"),
    ("cpu.threads", "1"),
    ("cpu.cycle", "1ps"),
    ("cpu.width", "1"),
    ("cpu.window", "1"),
    ("cpu.scheduler", "1"),
    ("cpu.store_buffer", "0"),
    ("l1.capacity", "64B"),
    ("l1.ways", "1"),
    ("l1.latency", "0ns"),
    ("l1.mshrs", "1"),
    ("l2.capacity", "64B"),
    ("l2.ways", "1"),
    ("l2.latency", "0ns"),
    ("l2.mshrs", "1"),
    ("l3.capacity", "none"),
    ("l3.store_miss", "write"),
    ("tlb.entries", "1024"),
    ("tlb.ways", "1024"),
    ("tlb.walk", "0ns"),
    ("host.start", "empty"),
    ("link.bandwidth", "64000000"),
    ("os.switching", "off"),
    ("migration.policy", "none"),
];

/// What devices are drawn from, one value after another as far as it goes with those before.
const DEVICES: &[(&str, &[&str])] = &[
    (
        "cache.policy",
        &[
            "lru", "fifo", "clock", "arc", "s3fifo", "lirs", "twoq", "random",
        ],
    ),
    ("cache.ways", &["1", "4", "full"]),
    ("cache.evict_at", &["miss", "fill"]),
    ("cache.dirty_eviction", &["behind", "wait"]),
    ("cache.store_miss", &["rmw", "merge", "around"]),
    ("cache.load_miss", &["fill", "fill", "around"]),
    ("cache.write", &["back", "through"]),
    ("cache.index_latency", &["0ns", "49ns"]),
    ("device.protocol_latency", &["0ns", "40ns"]),
    ("dram.model", &["fixed", "ddr4-2400"]),
    ("prefetch.policy", &["none", "nextn", "stream", "markov"]),
    ("prefetch.degree", &["1", "4"]),
    ("mshr.entries", &["1", "4", "256"]),
    ("mshr.requests", &["0", "1"]),
    ("nand.cell", &["slc", "tlc"]),
    ("nand.transfer", &["0ns", "3us"]),
    ("nand.priority", &["fifo", "read_first"]),
    ("nand.suspend", &["none", "both"]),
    ("nand.retry_reads", &["none", "20"]),
    ("ftl.mapping", &["page", "dftl"]),
    ("ftl.gc_background", &["off", "4"]),
    ("ftl.precondition", &["sequential", "random", "none"]),
    ("ftl.write_buffer", &["none", "1"]),
    ("ftl.superblock", &["1", "all"]),
    ("write_log.capacity", &["none", "16KiB"]),
];

fn drawn(rng: &mut Rng) -> DeviceConfig {
    let mut raw: RawConfig = DeviceConfig::builder();
    for (key, value) in [
        ("device.capacity", "4MiB"),
        ("cache.capacity", "256KiB"),
        ("nand.channels", "2"),
        ("nand.dies", "1"),
        ("nand.pages_per_block", "32"),
        ("ftl.overprovision", "100%"),
        ("ftl.mapping_cache", "64KiB"),
    ] {
        raw.set(key, value).expect("a value");
    }
    for (key, values) in DEVICES {
        let mut tried = raw.clone();
        let value = values[rng.below(values.len() as u64) as usize];
        if tried.set(key, value).is_ok() && DeviceConfig::new(&tried).is_ok() {
            raw = tried;
        }
    }
    DeviceConfig::new(&raw).expect("it was possible with each value")
}

/// Accesses of which none is to the line before, some in the order of pages.
fn accesses(rng: &mut Rng, count: usize) -> Vec<(u64, Op)> {
    let (mut page, mut line) = (0, 0);
    let mut next = || {
        page = match rng.below(2) {
            0 => (page + 1) % PAGES,
            _ => rng.below(32) * rng.below(32) % PAGES,
        };
        let other = 1 + rng.below(PAGE_BYTES / LINE_BYTES - 1);
        line = (line + other) % (PAGE_BYTES / LINE_BYTES);
        let op = if rng.below(3) == 0 {
            Op::Write
        } else {
            Op::Read
        };
        (page * PAGE_BYTES + line * LINE_BYTES, op)
    };
    (0..count).map(|_| next()).collect()
}

/// The accesses as the instructions of a thread.
struct Thread(Vec<Instr>);

impl Program for Thread {
    fn footprint(&self) -> Bytes {
        Bytes(PAGES * PAGE_BYTES)
    }

    fn threads(&self) -> u32 {
        1
    }

    fn fill(&mut self, _thread: u32, out: &mut Vec<Instr>) -> Step {
        let is_over = self.0.is_empty();
        out.append(&mut self.0);
        if is_over { Step::End } else { Step::More }
    }
}

/// The device by itself: each access is asked for when the one before is done.
fn alone(config: &DeviceConfig, accesses: &[(u64, Op)], cycle: Ps) -> (Ps, Stats) {
    let mut device = Device::new(config, 1).expect("a device");
    let mut now = cycle;
    for (addr, op) in accesses {
        let request = Request {
            addr: *addr,
            op: *op,
        };
        now = device.access(now, request, &mut ()).done_at;
    }
    (now, *device.stats())
}

#[test]
fn a_host_that_waits_for_each_line_is_a_loop_around_the_device() {
    let raw = values(HOST);
    let host = HostConfig::new(&raw, 1).expect("a host");
    let mut misses = 0;
    for seed in 0..u64::from(sluice_testkit::cases(40)) {
        let mut rng = Rng::stream(seed, "alone");
        let config = drawn(&mut rng);
        let accesses = accesses(&mut rng, 3_000);
        let artifact = SkyByte::new(&raw).expect("departures that can be together");
        let body = accesses.iter().map(|(addr, op)| Instr {
            addr: *addr,
            work: 0,
            after: 0,
            op: match op {
                Op::Read => MemOp::Load,
                Op::Write => MemOp::Store,
            },
        });
        let mut program = Thread(body.collect());
        let device = Device::new(&config, 1).expect("a device");
        let length = RunLength {
            warmup: 0,
            measured: u64::MAX,
            sample_every: Ps::ZERO,
        };
        let watch = &mut |_| true;
        let (found, _) = simulate(&host, artifact, device, &mut program, length, watch);
        let (time, stats) = alone(&config, &accesses, host.cpu.cycle);
        let drawn = config.raw().to_pairs();
        assert_eq!(found.device, stats, "{seed}: {drawn:?}");
        assert_eq!(found.time, time, "{seed}: {drawn:?}");
        misses += stats.misses;
    }
    assert!(misses > 20_000, "{misses}");
}
