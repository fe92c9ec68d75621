//! Memory expanders, and a cache whose DRAM has banks.

use sluice_model::dram::{Dram, DramLayout};
use sluice_model::{
    BlockOp, BlockRequest, Command, Completion, Device, DeviceConfig, Op, RawConfig, Refused,
    Request, ServedBy,
};
use sluice_testkit::rig::{access, read};
use sluice_units::{Lpn, Ps};

fn set(pairs: &[(&str, &str)]) -> RawConfig {
    let mut raw = DeviceConfig::builder();
    for (key, value) in pairs {
        raw.set(key, value).unwrap();
    }
    raw
}

fn device(pairs: &[(&str, &str)]) -> Device {
    Device::new(&DeviceConfig::new(&set(pairs)).unwrap(), 1).unwrap()
}

fn expander(extra: &[(&str, &str)]) -> Device {
    let pmem = [
        ("device.kind", "memory"),
        ("device.capacity", "16MiB"),
        ("device.protocol_latency", "50ns"),
        ("memory.read", "150ns"),
        ("memory.write", "500ns"),
    ];
    device(&[&pmem[..], extra].concat())
}

fn at(device: &mut Device, now: Ps, addr: u64, op: Op) -> Completion {
    device.access(now, Request { addr, op }, &mut ())
}

#[test]
fn a_memory_expander_serves_everything_in_its_own_time() {
    let mut device = expander(&[]);
    for (turn, (op, ns)) in [(Op::Read, 200), (Op::Write, 550)].into_iter().enumerate() {
        let now = Ps::from_us(turn as u64);
        let completion = access(&mut device, now, 4_095, op);
        assert_eq!(completion.done_at, now + Ps::from_ns(ns));
        assert_eq!(completion.served_by, ServedBy::CacheHit);
        assert_eq!(device.config().hit_time(op), Ps::from_ns(ns));
    }
    let stats = device.stats();
    assert_eq!((stats.hits, stats.misses, stats.flash_reads), (2, 0, 0));
    assert_eq!(
        (stats.parts.protocol, stats.parts.dram),
        (Ps::from_ns(100), Ps::from_ns(650))
    );
    assert!(device.is_cached(Lpn(4_095)) && !device.is_cached(Lpn(4_096)));
    device.balance().unwrap();
}

/// A line every 2 ns: the n-th of many at once waits for those before it, and no longer.
#[test]
fn bandwidth_bounds_a_memory_expander() {
    let mut device = expander(&[("memory.transfer", "2ns")]);
    let read_at = |device: &mut Device, now| at(device, now, 0, Op::Read).done_at;
    for turn in 0..1_000 {
        assert_eq!(read_at(&mut device, Ps::ZERO), Ps::from_ns(200 + 2 * turn));
    }
    assert_eq!(device.stats().parts.stall, Ps::from_ns(2 * 999 * 1_000 / 2));
    let free = Ps::from_ns(2_000);
    assert_eq!(read_at(&mut device, free - Ps(1)), free + Ps::from_ns(200));
    let free = free + Ps::from_ns(2);
    assert_eq!(read_at(&mut device, free), free + Ps::from_ns(200));
    device.balance().unwrap();
}

/// CXL-SSD-Sim Table I: rows of 256 B. Four lines open one row; another bank does not wait.
#[test]
fn an_open_row_of_persistent_memory_is_near() {
    let rows = [("memory.banks", "16"), ("memory.row_hit", "17500ps")];
    let mut device = expander(&rows);
    let link = Ps::from_ns(50);
    let done = |device: &mut Device, addr, op| at(device, Ps::ZERO, addr, op).done_at;
    let (open, hit) = (Ps::from_ns(150), Ps(17_500));
    for line in 0..4 {
        assert_eq!(
            done(&mut device, line * 64, Op::Read),
            link + open + hit * line
        );
    }
    assert_eq!(done(&mut device, 256, Op::Read), link + open);
    // Row 31 is on the same bank, 31 + 31 / 16 being twice 16: loads wait for loads.
    let busy = open + hit * 3;
    assert_eq!(done(&mut device, 31 * 256, Op::Read), link + busy + open);
    assert_eq!(done(&mut device, 0, Op::Read), link + busy + open * 2);
    device.balance().unwrap();
}

/// Stores to a row that is being written go with it; the next row of the bank waits.
#[test]
fn stores_to_a_row_are_gathered() {
    let rows = [("memory.banks", "16"), ("memory.row_hit", "17500ps")];
    let mut device = expander(&rows);
    let (link, write, hit) = (Ps::from_ns(50), Ps::from_ns(500), Ps(17_500));
    let mut done = |now, addr, op| at(&mut device, now, addr, op).done_at;
    assert_eq!(done(Ps::ZERO, 0, Op::Write), link + write);
    assert_eq!(done(write - Ps(1), 64, Op::Write), link + write);
    // It is read from where it is gathered, and no load waits for it.
    assert_eq!(
        done(write - Ps(1), 128, Op::Read),
        write - Ps(1) + link + hit
    );
    assert_eq!(done(write, 64, Op::Write), link + write * 2);
    assert_eq!(done(write, 31 * 256, Op::Write), link + write * 3);
    assert_eq!(done(write, 256, Op::Write), link + write * 2);
    device.balance().unwrap();
}

#[test]
fn what_memory_rows_cannot_be_is_refused() {
    for (pairs, key) in [
        (
            &[("memory.banks", "4"), ("memory.row", "192B")][..],
            "memory.row",
        ),
        (
            &[("memory.banks", "4"), ("memory.row", "32B")],
            "memory.row",
        ),
        (
            &[("memory.banks", "4"), ("dram.model", "ddr4-2400")],
            "dram.model",
        ),
    ] {
        let pairs = [&[("device.kind", "memory")], pairs].concat();
        let error = DeviceConfig::new(&set(&pairs)).unwrap_err().to_string();
        assert!(error.contains(key), "{error}");
    }
}

#[test]
fn a_memory_expander_can_have_banks() {
    let mut device = expander(&[("dram.model", "ddr5-4800"), ("dram.channels", "2")]);
    let layout = device.config().dram.unwrap();
    assert_eq!((layout.channels, layout.standard.name), (2, "ddr5-4800"));
    let protocol = Ps::from_ns(50);
    assert_eq!(
        device.config().hit_time(Op::Write),
        protocol + layout.idle_read()
    );
    let mut alone = Dram::new(&layout);
    for turn in 0..500u64 {
        let (now, addr) = (Ps::from_ns(7 * turn), turn * 7_777_728 % (16 << 20));
        let op = if turn % 3 == 0 { Op::Write } else { Op::Read };
        let expected = alone.access(now + protocol, addr, op).done_at;
        assert_eq!(
            at(&mut device, now, addr, op).done_at,
            expected,
            "access {turn}"
        );
    }
    device.balance().unwrap();
}

#[test]
fn a_memory_expander_has_nothing_to_command_or_to_write_back() {
    let mut device = expander(&[]);
    for command in [
        Command::Pin(Lpn(1)),
        Command::Prefetch(Lpn(1)),
        Command::Flush(Lpn(1)),
    ] {
        let refused = device.command(Ps::ZERO, command, &mut ());
        assert_eq!(refused, Err(Refused::IsMemory));
    }
    let request = BlockRequest::new(BlockOp::Write, Lpn(0), 1);
    assert_eq!(
        device.block(Ps::ZERO, request, &mut ()),
        Err(Refused::IsMemory)
    );
    device.write_back(Ps::ZERO, Lpn(1));
    device.discard(Ps::ZERO, Lpn(1));
    assert_eq!(
        (device.stats().flash_programs, device.stats().trims),
        (0, 1)
    );
    assert_eq!(device.stats().refused, 4);
    device.balance().unwrap();
}

/// A key that means nothing for the kind of device is refused, unless it says nothing.
#[test]
fn what_the_kind_of_device_has_not_is_refused() {
    let memory = ("device.kind", "memory");
    let said = |pairs: &[(&str, &str)]| DeviceConfig::new(&set(pairs)).unwrap_err().to_string();
    for (key, value) in [
        ("cache.policy", "lru"),
        ("cache.capacity", "1MiB"),
        ("nand.read", "3us"),
        ("mshr.entries", "8"),
        ("prefetch.degree", "1"),
    ] {
        let message = said(&[memory, (key, value)]);
        let start = format!("impossible configuration: device.kind = memory, {key} = {value}: ");
        assert!(message.starts_with(&start), "{message}");
        assert!(
            message.ends_with(&format!("; leave {key} out")),
            "{message}"
        );
        assert!(!message.contains('\n'), "{message}");
    }
    let message = said(&[("memory.read", "1ns")]);
    assert!(
        message.contains("device.kind = cxl-ssd, memory.read = 1ns: only"),
        "{message}"
    );
    DeviceConfig::new(&set(&[memory, ("cache.policy", "fifo")])).unwrap();
    DeviceConfig::new(&set(&[memory, ("device.capacity", "4096B")])).unwrap();
    let message = said(&[("dram.channels", "3")]);
    assert!(
        message.contains("dram.channels = 3: not a power of two; 4 is"),
        "{message}"
    );
    for bad in [
        "RoRaBaCoBg",
        "RoRaBaCoBgBg",
        "RoRaBaCoBgChCh",
        "roRaBaCoBgCh",
        "",
        "Ro Ra",
    ] {
        let message = DeviceConfig::builder()
            .set("dram.mapping", bad)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("Ro, Ra, Bg, Ba, Co, Ch in any order"),
            "{message}"
        );
    }
    let mut raw = DeviceConfig::builder();
    raw.set("dram.mapping", "ChRaBgBaRoCo").unwrap();
    assert_eq!(raw.get("dram.mapping").unwrap(), "ChRaBgBaRoCo");
}

/// 16 MiB behind 1 MiB of cache in DDR4-2400: 14.16 ns to open a row, 14.16 to read, 3.33 for data.
fn cached(extra: &[(&str, &str)]) -> (Device, DramLayout) {
    let sizes = [
        ("device.capacity", "16MiB"),
        ("cache.capacity", "1MiB"),
        ("dram.model", "ddr4-2400"),
    ];
    let device = device(&[&sizes[..], extra].concat());
    let layout = device.config().dram.unwrap();
    (device, layout)
}

#[test]
fn hits_take_the_time_of_their_row() {
    let (mut device, layout) = cached(&[]);
    let (idle, cycles) = (layout.idle_read(), |n: u64| Ps(n * 833));
    assert_eq!(idle, cycles(17 + 17 + 4));
    let miss = read(&mut device, Ps::ZERO, 5).done_at;
    assert_eq!(
        miss,
        Ps::from_us(40) + idle,
        "a miss is served by an idle bank"
    );
    // The page has been written long since; its row is still open, unless a refresh closed it.
    let refreshed = layout.standard.refi * 10 + layout.standard.rfc;
    let first = at(&mut device, refreshed, 5 * 4_096, Op::Read).done_at;
    assert_eq!(first, refreshed + idle);
    let later = refreshed + Ps::from_ns(500);
    let open = cycles(17 + 4);
    assert_eq!(
        at(&mut device, later, 5 * 4_096, Op::Read).done_at,
        later + open
    );
    assert_eq!(device.stats().hits, 2);
    assert_eq!(device.stats().parts.dram, idle + idle + open);
    device.balance().unwrap();
}

/// A page that has just arrived is 64 lines on the bus: a hit elsewhere at that time waits, one
/// after it does not.
#[test]
fn an_arriving_page_holds_up_a_hit() {
    let hit_after = |wait: Ps| {
        let (mut device, layout) = cached(&[]);
        read(&mut device, Ps::ZERO, 64);
        let ready_at = read(&mut device, Ps::from_us(41), 5).done_at;
        let now = ready_at + wait;
        at(&mut device, now, 64 * 4_096, Op::Read).done_at - now - layout.idle_read()
    };
    let burst = Ps(4 * 833);
    let waited = hit_after(Ps::ZERO);
    assert!(
        waited >= burst * 60,
        "64 bursts take {}, waited {waited}",
        burst * 64
    );
    let spent = Ps::from_us(1);
    assert_eq!(hit_after(spent), Ps::ZERO);
}

/// With no more than one page in flight, moves are kept to their bound and nothing is lost.
#[test]
fn a_burst_of_misses_at_one_moment_is_bounded() {
    let (mut device, _) = cached(&[("mshr.entries", "1"), ("nand.read", "1us")]);
    for lpn in 0..2_000 {
        access(&mut device, Ps::ZERO, lpn, Op::Write);
    }
    assert_eq!(device.stats().dirty_evictions, 2_000 - 256);
    device.balance().unwrap();
}
