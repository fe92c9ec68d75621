//! Flash behind the cache, without a cache: what estimates see.

use super::*;
use crate::config::DeviceConfig;

impl<O: Observer> Back<O> {
    /// Panics if the mapping and the blocks contradict each other.
    pub(in crate::device) fn check(&self) {
        self.ftl.check();
    }
}

#[test]
fn an_estimate_sees_the_channel_of_its_page() {
    let mut raw = DeviceConfig::builder();
    for (key, value) in [
        ("device.capacity", "16MiB"),
        ("cache.capacity", "1MiB"),
        ("device.hint", "queue"),
        ("nand.channels", "2"),
        ("nand.dies", "1"),
    ] {
        raw.set(key, value).unwrap();
    }
    let mut back: Back<()> = Back::new(&DeviceConfig::new(&raw).unwrap(), 1);
    back.watch_queues();
    let stats = &mut Stats::default();
    // The first write goes to die 0, the second to die 1, on the other channel.
    for lpn in (0..3).map(Lpn) {
        back.write(Ps::ZERO, lpn, Placement::default(), stats);
    }
    back.read(Ps::ZERO, Lpn(4), Origin::Host, stats);
    let mut counts = |now, lpn| {
        back.pass(now, stats);
        let ppn = back.ppn_of(Lpn(lpn)).expect("a preconditioned page");
        let seen = back.nand.outlook(now, ppn);
        [seen.reads, seen.programs, seen.erases]
    };
    assert_eq!(counts(Ps::ZERO, 6), [1, 2, 0]);
    assert_eq!(counts(Ps::ZERO, 7), [0, 1, 0]);
    let program = Ps::from_us(200);
    assert_eq!(counts(program - Ps(1), 7), [0, 1, 0]);
    assert_eq!(counts(program, 7), [0, 0, 0]);
    assert_eq!(counts(program, 6), [1, 1, 0]);
}
