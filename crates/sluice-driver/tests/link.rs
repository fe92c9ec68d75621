//! `device.link_bandwidth` against closed forms.

use sluice_driver::{Access, Options, SimResult, run};
use sluice_model::{Device, DeviceConfig};
use sluice_units::Ps;

const LINES: u64 = 4_096;
const REQUESTERS: u64 = 64;
/// Of a hit, without the link.
const HIT: Ps = Ps(150_000);
/// Of a line at 8 GB/s.
const LINE: Ps = Ps(8_000);

/// Loads or stores of lines of one cached page, by some requesters.
fn run_hits(bandwidth: &str, requesters: u64, writes: fn(u64) -> bool) -> SimResult {
    let mut raw = DeviceConfig::builder();
    for (key, value) in [
        ("device.capacity", "4MiB"),
        ("cache.capacity", "2MiB"),
        ("device.link_bandwidth", bandwidth),
        ("nand.read", "0ns"),
        ("nand.transfer", "0ns"),
    ] {
        raw.set(key, value).unwrap();
    }
    let mut device = Device::new(&DeviceConfig::new(&raw).unwrap(), 1).unwrap();
    let stream = |of: u64| {
        (0..LINES).map(move |at| Access {
            addr: at % 64 * 64,
            write: writes(of),
        })
    };
    let streams = (0..requesters).map(stream).collect();
    run(&mut device, streams, Options::default()).unwrap()
}

/// Within a part in a thousand, for the first accesses and the last.
fn near(found: Ps, expected: Ps) {
    let off = found.0.abs_diff(expected.0) as f64 / expected.0 as f64;
    assert!(off < 0.001, "{found:?}, expected {expected:?}");
}

#[test]
fn one_line_at_a_time_takes_its_own_time_more() {
    for writes in [|_| false, |_| true] {
        let none = run_hits("none", 1, writes);
        near(none.sim_time, HIT * LINES);
        near(run_hits("8000", 1, writes).sim_time, (HIT + LINE) * LINES);
    }
}

/// As many lines a second as the link carries, if there are more requesters than it takes: each
/// waits for all others' lines.
#[test]
fn many_requesters_get_the_bandwidth_and_no_more() {
    for writes in [|_| false, |_| true] {
        let run = run_hits("8000", REQUESTERS, writes);
        near(run.sim_time, LINE * LINES * REQUESTERS);
    }
}

/// Loads and stores have a direction each.
#[test]
fn loads_and_stores_do_not_wait_for_each_other() {
    let run = run_hits("8000", REQUESTERS, |of| of % 2 == 0);
    near(run.sim_time, LINE * LINES * (REQUESTERS / 2));
}
