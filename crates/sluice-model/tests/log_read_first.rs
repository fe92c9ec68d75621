//! Compaction of the write log where reads go first: closed forms on one die.

use sluice_model::{Device, DeviceConfig, Op, Request, ServedBy};
use sluice_units::{LINE_BYTES, Lpn, PAGE_BYTES, Ps};

const READ: Ps = Ps::from_us(3);
const PROGRAM: Ps = Ps::from_us(100);
const DRAM: Ps = Ps::from_ns(46);
/// Compaction begins when the store that fills the buffer has looked it up; a load that misses is
/// at the die as long after it was sent.
const AT_LOG: Ps = Ps::from_ns(72);
const PAGES: u64 = 6;

/// One die, two buffers of as many lines as there are pages, each a line of its own page.
fn compacting(pairs: &[(&str, &str)]) -> Device {
    let log = (PAGES * 2 * LINE_BYTES).to_string() + "B";
    let base = [
        ("device.capacity", "16MiB"),
        ("cache.capacity", "1MiB"),
        ("cache.index_latency", "49ns"),
        ("cache.hit_latency", "46ns"),
        ("nand.read", "3us"),
        ("nand.program", "100us"),
        ("nand.channels", "1"),
        ("nand.dies", "1"),
        ("nand.priority", "read_first"),
        ("write_log.capacity", log.as_str()),
    ];
    let mut raw = DeviceConfig::builder();
    for (key, value) in base.iter().chain(pairs) {
        raw.set(key, value).unwrap();
    }
    let mut device = Device::new(&DeviceConfig::new(&raw).unwrap(), 1).unwrap();
    for lpn in 0..PAGES {
        let addr = Lpn::of(lpn).addr(PAGE_BYTES);
        let op = Op::Write;
        device.access(Ps::ZERO, Request { addr, op }, &mut ());
    }
    device
}

/// Loads a page that is neither cached nor logged. Says when it is done.
fn load(device: &mut Device, now: Ps, lpn: u64) -> Ps {
    let addr = Lpn::of(lpn).addr(PAGE_BYTES);
    let completion = device.access(now, Request { addr, op: Op::Read }, &mut ());
    assert_eq!(completion.served_by, ServedBy::Flash);
    completion.done_at
}

fn ends_at(device: &mut Device, end: Ps) {
    device.advance(end - Ps(1));
    assert_eq!(device.stats().write_log.compactions, 0, "before {end}");
    device.advance(end);
    assert_eq!(device.stats().write_log.compactions, 1, "at {end}");
}

/// Its own reads go before its programs: all of them, if the coalescing buffers hold all pages.
#[test]
fn alone_it_takes_its_reads_and_its_programs() {
    for coalescing_buffers in ["1", "256"] {
        let pairs = [("write_log.coalescing_buffers", coalescing_buffers)];
        let end = AT_LOG + (READ + PROGRAM) * PAGES;
        ends_at(&mut compacting(&pairs), end);
    }
}

/// Pages of two planes are read and programmed together.
#[test]
fn planes_halve_what_it_takes() {
    let end = AT_LOG + (READ + PROGRAM) * (PAGES / 2);
    ends_at(&mut compacting(&[("nand.planes", "2")]), end);
    let apart = [("nand.planes", "2"), ("nand.multi_plane", "off")];
    ends_at(&mut compacting(&apart), AT_LOG + (READ + PROGRAM) * PAGES);
}

/// A load waits for the program under way and not for those after it, which end a read later.
#[test]
fn a_load_waits_for_one_program() {
    for program in 0..PAGES {
        let mut device = compacting(&[]);
        let begin = AT_LOG + READ * PAGES + PROGRAM * program;
        let done_at = load(&mut device, begin + Ps(1) - AT_LOG, 9);
        assert_eq!(done_at, begin + PROGRAM + READ + DRAM, "program {program}");
        let later = match program + 1 < PAGES {
            true => READ,
            false => Ps::ZERO,
        };
        ends_at(&mut device, AT_LOG + (READ + PROGRAM) * PAGES + later);
    }
}

/// One that may suspend it waits for the suspension alone; compaction ends later by all of that.
#[test]
fn a_load_suspends_a_program() {
    let pairs = [
        ("nand.suspend", "program"),
        ("nand.suspend_latency", "5us"),
        ("nand.resume_latency", "2us"),
    ];
    let (suspend, resume) = (Ps::from_us(5), Ps::from_us(2));
    for into in [Ps(1), Ps::from_us(50), PROGRAM - Ps(1)] {
        let mut device = compacting(&pairs);
        let at = AT_LOG + READ * PAGES + PROGRAM * 2 + into;
        let done_at = load(&mut device, at - AT_LOG, 9);
        let left = PROGRAM - into;
        // Less than a suspension is left: it is waited for.
        let (wait, later) = match left < suspend {
            true => (left, READ),
            false => (suspend, suspend + READ + resume),
        };
        assert_eq!(done_at, at + wait + READ + DRAM, "{into} into the program");
        ends_at(&mut device, AT_LOG + (READ + PROGRAM) * PAGES + later);
    }
}
