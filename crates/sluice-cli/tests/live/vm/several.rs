//! Several devices of one guest: each is a node of its own, with its own cache, flash, figures and
//! name.

use super::refused::refused_vm;
use super::{demo, well};
use crate::sluice::{Outcome, Running, Sluice, finish};
use serde_json::Value;
use sluice_control::home::{FIRST, sessions};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Two devices that differ in their flash.
const FAST: &str = "20us";
const SLOW: &str = "80us";

/// A program that says it is QEMU, and uses the memory of each device as its number says.
pub fn stand_in() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/several_devices.c");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("several_devices");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]);
    let status = cc.arg(&program).arg(root).status().expect("a compiler");
    assert!(status.success());
    program.to_str().expect("plain letters").to_owned()
}

fn with_stand_in(more: &[&str]) -> Outcome {
    finish(stand_in_command(more).args(["--", "-kernel", "none"]))
}

fn stand_in_command(more: &[&str]) -> Command {
    let mut sluice = Sluice::command();
    sluice.args(["vm", "--accel", "tcg", "--qemu", &stand_in(), "--json"]);
    for device in ["", "slow:"] {
        for set in [
            "device.capacity=128MiB",
            "cache.capacity=4MiB",
            "nand.program=1us",
        ] {
            sluice.args(["--set", &format!("{device}{set}")]);
        }
    }
    sluice.args([
        "--set",
        &format!("nand.read={FAST}"),
        "--another",
        "slow=cylon",
    ]);
    sluice.args(["--set", &format!("slow:nand.read={SLOW}")]);
    sluice.args(more);
    sluice
}

fn number(of: &Value, path: &str) -> u64 {
    let found = of.pointer(path).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no number {path} in {of:#}"))
}

/// The misses of both devices are those of their threads, and their waits those of their flash.
fn assert_flash(figures: [&Value; 2]) {
    let time = |of: &Value, which: &str| number(of, &format!("/latency_ns/{which}/p50"));
    for (of, flash_ns) in figures.into_iter().zip([20_000, 80_000]) {
        let modelled = time(of, "modelled");
        assert!((flash_ns..flash_ns + 4_000).contains(&modelled), "{of:#}");
        assert!(time(of, "achieved") + 500 >= modelled, "{of:#}");
    }
}

#[test]
fn each_device_counts_what_a_thread_of_its_own_does_and_waits_for_its_own_flash() {
    let out = with_stand_in(&[]);
    assert!(out.status.success(), "{out:#?}");
    assert!(
        out.stdout.starts_with("devices 2 wrong 0\nchild 0\n"),
        "{out:#?}"
    );
    let object = out.json();
    let devices = object["devices"].as_array().expect("devices");
    let [first, slow] = &devices[..] else {
        panic!("{devices:#?}");
    };
    assert_eq!([&first["name"], &slow["name"]], ["first", "slow"]);
    assert_eq!([&first["node"], &slow["node"]], [1, 2]);
    // FIFO, and more pages than the cache has: each access misses. Both read one page at the end.
    for (device, expected) in [(first, 2_000 * 2 + 1), (slow, 2_500 * 3 + 1)] {
        assert_eq!(number(device, "/trap_kinds/miss"), expected, "{device:#}");
    }
    assert_flash([first, slow]);
    assert_eq!(
        number(&object, "/trap_kinds/miss"),
        number(first, "/trap_kinds/miss")
    );
    assert_eq!(slow["config"]["nand.read"], SLOW);
    assert_eq!(first["config"]["nand.read"], FAST);
    assert_eq!(object["vm"]["attach"], "numa");
}

#[test]
fn each_device_has_a_folder_and_without_them_the_program_does_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out");
    let out = with_stand_in(&["--out", path.to_str().expect("plain letters")]);
    assert!(out.status.success(), "{out:#?}");
    let stats = |path: PathBuf| {
        let text = std::fs::read_to_string(path.join("stats.json")).expect("a result");
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    let (first, slow) = (stats(path.clone()), stats(path.join("slow")));
    assert_eq!(number(&slow, "/trap_kinds/miss"), 7_501);
    assert_eq!(slow["schema"], first["schema"]);
    assert!(slow.get("devices").is_none() && first["devices"].is_array());
    let out = with_stand_in(&["--baseline"]);
    assert!(out.status.success(), "{out:#?}");
    assert!(
        out.stdout.starts_with("devices 2 wrong 0\nchild 0\n"),
        "{out:#?}"
    );
}

/// Asks a device of a running guest for something.
fn ctl(pid: i32, device: &str, what: &[&str]) -> Outcome {
    let mut sluice = Sluice::command();
    let pid = pid.to_string();
    finish(sluice.args(["ctl", &pid, "--device", device]).args(what))
}

#[test]
fn each_device_is_commanded_by_its_name_and_a_killed_command_leaves_none() {
    let mut command = stand_in_command(&[]);
    let running = Running::start(command.args(["--", "-kernel", "wait"]));
    let pid = running.id();
    let started = Instant::now();
    let misses = |device| {
        let out = ctl(pid, device, &["stats", "--as-is", "--json"]);
        let object = serde_json::from_str::<Value>(&out.stdout).ok();
        object.map_or(0, |of| number(&of, "/counters/misses"))
    };
    // What the program does before it waits.
    while [misses(FIRST), misses("slow")] != [4_001, 7_501] {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "{}",
            misses("slow")
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    for (device, read) in [("slow", "60us"), (FIRST, "30us"), ("slow", "70us")] {
        let out = ctl(pid, device, &["set", &format!("nand.read={read}")]);
        assert!(out.status.success(), "{out:#?}");
    }
    let tunes = |device| {
        let out = ctl(pid, device, &["stats", "--json"]);
        number(
            &serde_json::from_str(&out.stdout).expect("JSON"),
            "/counters/tunes",
        )
    };
    assert_eq!([tunes(FIRST), tunes("slow")], [1, 2]);
    let out = ctl(pid, "none", &["stats"]);
    assert_eq!(out.status.code(), Some(2), "{out:#?}");
    assert!(
        out.stderr.contains("`none`; expected one of: first, slow"),
        "{out:#?}"
    );
    // Longer than keepers take to look for processes that have ended.
    std::thread::sleep(Duration::from_millis(1_200));
    assert_eq!([misses(FIRST), misses("slow")], [4_001, 7_501]);
    // SAFETY: no pointers; the process is our own child.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    running.finish();
    let name = format!("{pid}-");
    let is_its = |path: &Path| {
        let file = path.file_name().unwrap_or_default();
        file.to_string_lossy().starts_with(&name)
    };
    while sessions().iter().any(|session| is_its(&session.path)) {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "a session stays"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One device has the keys that it had.
#[test]
fn one_device_has_no_list() {
    let mut sluice = Sluice::command();
    sluice.args(["vm", "--accel", "tcg", "--qemu", &stand_in(), "--json"]);
    sluice.args(["--set", "device.capacity=64MiB", "--", "-kernel", "none"]);
    let out = finish(&mut sluice);
    assert!(out.stdout.starts_with("devices 1 wrong 0\n"), "{out:#?}");
    assert!(out.json().get("devices").is_none(), "{out:#?}");
}

/// What the guest's commands may miss besides: pages of the kernel's own on the nodes.
const BESIDES: u64 = 600;

#[test]
fn a_guest_has_a_node_for_each_device() {
    let chase = "numactl --membind=0 sluice workload chase --stride 4096 --json --numa-node";
    let latency = "cat /sys/devices/system/node/node2/access0/initiators/read_latency";
    let command = format!(
        "{chase} 1 --size 12MiB && {chase} 2 --size 16MiB && \
                           echo \"{{\\\"read_latency\\\":$({latency})}}\""
    );
    let slow = ["nand.read=80us", "nand.program=1us", "cache.capacity=8MiB"];
    let slow = slow.map(|set| format!("slow:{set}"));
    let mut more = vec![
        "--another",
        "slow=cylon",
        "--set",
        "slow:cache.hit_latency=400ns",
    ];
    more.extend(slow.iter().flat_map(|set| ["--set", set]));
    let outcome = demo("numa", &command, &more);
    let (object, nodes) = well(&outcome);
    for node in [
        "available: 3 nodes (0-2)",
        "node 1 cpus:\n",
        "node 2 cpus:\n",
    ] {
        assert!(nodes.contains(node), "{nodes}");
    }
    let devices = object["devices"].as_array().expect("devices");
    // Five times in turn over more than the cache: once to build, and four passes.
    for (device, pages) in devices.iter().zip([3_072, 4_096]) {
        let misses = number(&device["workload"], "/trap_kinds/miss");
        let expected = pages * 5;
        assert!(
            (expected..expected + BESIDES).contains(&misses),
            "{misses}, {device:#}"
        );
    }
    assert_flash([&devices[0]["workload"], &devices[1]["workload"]]);
    let outputs = object["guest"]["outputs"].as_array().expect("outputs");
    assert_eq!(outputs.len(), 3, "{outputs:#?}");
    assert_eq!(
        [&outputs[0]["mismatches"], &outputs[1]["mismatches"]],
        [0, 0]
    );
    let said = number(&outputs[2], "/read_latency");
    let hit = |of: &Value| of["hit_times"]["modelled_ns"].as_f64().expect("a time") as u64;
    assert_eq!(said, hit(&devices[1]), "{devices:#?}");
    assert_ne!(hit(&devices[0]), hit(&devices[1]));
}

#[test]
fn what_several_devices_cannot_have_is_refused() {
    let two = "--another a=cylon";
    for (flags, names) in [
        ("--another slow", &["--another", "slow", "NAME=DEVICE"][..]),
        (
            "--another first=cylon",
            &["--another", "first=cylon", "--device"],
        ),
        ("--another 1=cylon", &["--another", "1=cylon", "a letter"]),
        (
            &format!("{two} {two}"),
            &["--another", "\"a\"", "a name of its own"],
        ),
        ("--another a=no-such.toml", &["--another a", "no-such.toml"]),
        ("--another a=no-such", &["--another a", "no-such"]),
        (
            &format!("{two} --set b:nand.read=1us"),
            &["--set", "b:nand.read=1us", "expected a"],
        ),
        (
            &format!("{two} --set a:nand.raed=1us"),
            &["--another a", "nand.raed"],
        ),
        (&format!("{two} --attach dax"), &["--attach", "dax", "numa"]),
        (&format!("{two} --attach cxl"), &["--attach", "cxl", "numa"]),
        (&format!("{two} --disk"), &["--another", "--disk"]),
        (
            &format!("{two} --store file:/tmp/x"),
            &["--another", "--store"],
        ),
        (&format!("{two} --simulate"), &["--another", "--simulate"]),
        (&format!("{two} --record x"), &["--another", "--record"]),
        (
            &format!("{two} --metrics x.prom"),
            &["--another", "--metrics"],
        ),
        (
            &format!("{two} --set a:device.persistent=yes"),
            &["--another a", "device.persistent", "yes"],
        ),
        (
            &format!("{two} --set a:device.capacity=130MiB"),
            &["device.capacity", "a", "130MiB", "128MiB"],
        ),
        (
            &format!(
                "{two} --set cache.capacity=1GiB --set a:cache.capacity=1GiB \
                 --set device.capacity=600GiB --set a:device.capacity=600GiB"
            ),
            &["device.capacity", "1200GiB", "1007GiB more"],
        ),
        (
            &(b'a'..=b'h').fold(String::new(), |text, name| {
                format!("{text} --another {}=cylon", char::from(name))
            }),
            &["--another", "8 times", "8 devices at most"],
        ),
    ] {
        refused_vm(flags, names);
    }
}
