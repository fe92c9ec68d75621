//! The adapter for DRAMsim3 (`examples/memory-dramsim3`), with a stand-in that is easy to foretell,
//! and with DRAMsim3 itself where `SLUICE_DRAMSIM3` names its folder.

use crate::adapter::{self, build, memory, run};
use std::path::Path;

fn adapter(folder: &Path, mut more: Vec<String>) -> String {
    more.push("-std=c++17".to_owned());
    build("memory-dramsim3/dramsim3.cpp", folder, &more)
}

fn stand_in(folder: &Path) -> String {
    adapter(folder, vec![adapter::stand_in()])
}

const ALONE: [(&str, &str); 2] = [("requester.depth", "1"), ("requester.reads", "60%")];

/// Every time of this fabric is a multiple of 250 ps.
#[test]
fn a_request_enters_with_the_next_cycle_and_takes_its_cycles() {
    let folder = tempfile::tempdir().unwrap();
    let path = stand_in(folder.path());
    assert_eq!(memory(&run(&path, "0.25", &ALONE)), 40 * 250);
    // One that comes within a cycle waits for the next.
    let mean = memory(&run(&path, "1.5", &ALONE));
    assert!((40 * 1_500..41 * 1_500).contains(&mean), "{mean} ps");
}

#[test]
fn what_the_queue_has_no_room_for_waits_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let fabric = run(&stand_in(folder.path()), "1", &[("requester.depth", "64")]);
    // Four at once, of 40 ns each.
    let each = fabric.stats().time().0 / 20_000;
    assert!((9_990..=10_010).contains(&each), "{each} ps a request");
}

/// Its mean is some 46 ns from the cycle in which a read enters to that of its callback; by how
/// requests meet refreshes it is 45 to 51.
#[test]
fn dramsim3_itself_takes_its_time() {
    let Some(folder) = adapter::folder("SLUICE_DRAMSIM3", "DRAMsim3") else {
        return;
    };
    let built = tempfile::tempdir().unwrap();
    let path = adapter(built.path(), adapter::with(&folder, "dramsim3"));
    let config = folder.join("configs/DDR4_8Gb_x8_2400.ini");
    let alone = [
        ("requester.depth", "1"),
        ("requester.reads", "100%"),
        ("requester.interval", "260ns"),
        ("endpoint.capacity", "1GiB"),
    ];
    let mean = memory(&run(&path, config.to_str().unwrap(), &alone));
    assert!((45_000..52_000).contains(&mean), "{mean} ps");
}
