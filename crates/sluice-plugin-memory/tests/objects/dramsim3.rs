//! The adapter for DRAMsim3 (`examples/memory-dramsim3`), with a stand-in that is easy to foretell,
//! and with DRAMsim3 itself where `SLUICE_DRAMSIM3` names its folder.

use sluice_net::{Fabric, FabricConfig, FabricSpec, Group, Length, Library, Part};
use sluice_testkit::objects::root;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the adapter. `more` says where DRAMsim3 is.
fn adapter(folder: &Path, more: &[String]) -> String {
    let object = folder.join("dramsim3.so");
    let status = Command::new("c++")
        .args([
            "-std=c++17",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-shared",
            "-fPIC",
        ])
        .arg("-I")
        .arg(root().join("crates/sluice-abi/include"))
        .arg(root().join("examples/memory-dramsim3/dramsim3.cpp"))
        .args(more)
        .arg("-o")
        .arg(&object)
        .status()
        .expect("a C++ compiler");
    assert!(status.success());
    object.to_str().expect("text").to_owned()
}

fn stand_in(folder: &Path) -> String {
    let include = root().join("crates/sluice-plugin-memory/tests/objects/standin");
    adapter(folder, &[format!("-I{}", include.display())])
}

/// One requester, and one memory behind the adapter.
fn run(path: &str, argument: &str, set: &[(&str, &str)]) -> Fabric {
    let mut spec = FabricSpec::default();
    let one = [
        ("requester.count", "1"),
        ("endpoint.count", "1"),
        ("topology.kind", "bus"),
    ];
    for (key, value) in one.iter().chain(set) {
        spec.raw.set(key, value).unwrap();
    }
    spec.endpoints.push(Group {
        name: "m".to_owned(),
        set: vec![("type".to_owned(), "external".to_owned())],
        library: Some(Library {
            path: path.to_owned(),
            argument: argument.to_owned(),
        }),
        ..Group::default()
    });
    let config = FabricConfig::new(&spec, 7).unwrap();
    let mut fabric = sluice_plugin_memory::fabric(&config).unwrap();
    let length = Length {
        warmup: 1_000,
        requests: 20_000,
    };
    fabric.run(length, &mut |_| true).unwrap();
    fabric.balance().unwrap();
    assert_eq!((fabric.refused(), fabric.stats().completed()), (0, 20_000));
    fabric
}

/// The mean time in the memory, ps.
fn memory(fabric: &Fabric) -> u64 {
    let stats = fabric.stats();
    stats.parts()[Part::Memory].0 / stats.completed()
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
    let Some(folder) = std::env::var_os("SLUICE_DRAMSIM3").map(PathBuf::from) else {
        println!("unchecked: SLUICE_DRAMSIM3 names no folder of DRAMsim3");
        return;
    };
    let at = folder.display();
    let built = tempfile::tempdir().unwrap();
    let more = [
        format!("-I{at}/src"),
        format!("-L{at}"),
        "-ldramsim3".to_owned(),
        format!("-Wl,-rpath,{at}"),
    ];
    let path = adapter(built.path(), &more);
    let config = format!("{at}/configs/DDR4_8Gb_x8_2400.ini");
    let alone = [
        ("requester.depth", "1"),
        ("requester.reads", "100%"),
        ("requester.interval", "260ns"),
        ("endpoint.capacity", "1GiB"),
    ];
    let mean = memory(&run(&path, &config, &alone));
    assert!((45_000..52_000).contains(&mean), "{mean} ps");
}
