//! When the device comes to rest, and what a measurement pays for then.

use crate::artifact;
use sluice_host::{HostStats, RunLength};
use sluice_model::Device;
use sluice_skybyte_artifact::simulate;
use sluice_testkit::core_rig::{Loop, config, host, store, work};
use sluice_units::Ps;

/// Stores before counting begins, and while it goes on. Each is to a page of its own, and of
/// 16 instructions the first.
const WARMUP: u64 = 40_000;
const MEASURED: u64 = 10_000;

/// A write log that never fills, before flash that is fast.
fn logging() -> Device {
    let settings = [
        ("device.capacity", "1GiB"),
        ("cache.capacity", "16MiB"),
        ("nand.read", "1us"),
        ("nand.program", "1us"),
        ("write_log.capacity", "64MiB"),
    ];
    Device::new(&config(&settings), 1).expect("a device")
}

fn run(rest: &str) -> (HostStats, Device) {
    let rests = artifact(&[("host.rest", rest)]);
    let length = RunLength {
        warmup: WARMUP * 16,
        measured: MEASURED * 16,
        sample_every: Ps::ZERO,
    };
    let mut program = Loop::new(1, vec![store(0, 0), work(15)], 4096, u64::MAX);
    simulate(&host(), rests, logging(), &mut program, length, &mut |_| {
        true
    })
}

/// Pages that were compacted before counting began, and while it went on.
fn compacted(rest: &str) -> (u64, u64) {
    let (stats, device) = run(rest);
    let [all, counted] = [device.stats(), &stats.device].map(|s| s.write_log.pages_flushed);
    (all - counted, counted)
}

#[test]
fn a_measurement_pays_for_what_was_logged_in_as_many_instructions() {
    assert_eq!(compacted("no"), (0, 0));
    let (at_the_end, nothing) = compacted("end");
    assert_eq!(nothing, 0);
    let (before, counted) = compacted("before");
    // A line is written back for each that comes, but for what fits the caches. A core runs a
    // microsecond ahead, and retires a window's worth late.
    assert!(counted.abs_diff(MEASURED) <= 300, "{counted} pages");
    assert!(
        (before + counted).abs_diff(at_the_end) <= 300,
        "{before} and {counted} pages"
    );
}

/// The host does not see the time that the device takes for itself.
#[test]
fn rest_takes_no_time_of_the_host() {
    let [never, end] = ["no", "end"].map(|rest| run(rest).0.time);
    let longest = Ps::from_us(1) * (WARMUP / 64);
    assert!(
        never.0.abs_diff(end.0) < longest.0 / 10,
        "{never} and {end}"
    );
}
