//! `sluice vm --demo`: Debian's own kernel and tools on Debian's own QEMU see the device as what
//! it is attached as, and meet it as its model says.

mod disk;
mod endings;
mod guest_program;
mod programs;
mod refused;
mod ring;
mod several;

use crate::sluice::{Outcome, Sluice, finish};
use serde_json::{Value, json};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Guests boot one after another: two would share the CPUs that one needs.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const PAGE: u64 = 4096;
/// Part of all accesses that a command bound to node 1 may miss besides: its own code, data and
/// page tables are on the device as well, once. On a DAX device there is nothing else.
const BESIDES: f64 = 0.015;

fn my_turn() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn demo(attach: &str, command: &str, more: &[&str]) -> Outcome {
    let _turn = my_turn();
    let mut sluice = Sluice::command();
    sluice.args(["vm", "--demo", "--json", "--attach", attach]);
    sluice.args(["--set", "cache.capacity=8MiB", "--set", "nand.read=20us"]);
    sluice.args(["--set", "nand.program=1us", "--guest-command", command]);
    finish(sluice.args(more))
}

/// The object of a guest whose command ended well, with the lines that show how it sees the device.
fn well(outcome: &Outcome) -> (Value, String) {
    assert!(outcome.status.success(), "{outcome:#?}");
    let object = outcome.json();
    assert_eq!(object["guest"]["status"], 0, "{object:#}");
    // QEMU only asks whether there could be one.
    assert!(
        !outcome.stderr.contains("filter of system calls"),
        "{outcome:#?}"
    );
    let lines = object["guest"]["topology"].as_array().expect("lines");
    let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
    (object.clone(), lines.join("\n"))
}

/// Commands of a guest that write and check every byte of `size`, then chase through it. `map` says
/// where, where that is not plain memory.
fn bytes_then_chase(size: &str, chase: &str, map: &str) -> String {
    format!(
        "sluice workload pattern --size {size} --threads 1 --seconds 0 {map} && \
         sluice workload chase --size {size} {chase} --write --json {map}"
    )
}

/// Insists on the hits of both: the pattern visits every page once to write and once to check it,
/// the chase `visits` times in a row in each of its passes, and in one that builds and one that
/// checks. With FIFO and a working set larger than the cache the first of the visits in a row
/// misses and the others hit.
fn assert_closed_form(object: &Value, size: u64, visits: u64, passes: u64, besides: f64) {
    let output = &object["guest"]["output"];
    assert_eq!(output["mismatches"], 0, "{output}");
    let pages = size / PAGE;
    let expected = pages * (2 + passes + 2);
    let accesses = pages * (2 + visits * (passes + 2));
    let most = expected + (accesses as f64 * besides) as u64;
    let misses = object["workload"]["trap_kinds"]["miss"].as_u64();
    let misses = misses.expect("misses");
    assert!(
        (expected..=most).contains(&misses),
        "{misses} of {accesses} accesses missed, expected {expected} to {most}"
    );
}

#[test]
fn a_node_without_cpus_hits_as_the_closed_form_says() {
    let command = bytes_then_chase("24MiB", "--stride 512 --passes 8", "");
    let outcome = demo("numa", &command, &[]);
    let (object, nodes) = well(&outcome);
    assert!(nodes.contains("node 0 cpus: 0\n"), "{nodes}");
    assert!(nodes.contains("node 1 cpus:\n"), "node 1 has CPUs: {nodes}");
    assert!(nodes.contains("available: 2 nodes (0-1)"), "{nodes}");
    assert_closed_form(&object, 24 << 20, 8, 8, BESIDES);
}

/// A kernel that tiers memory goes by it.
#[test]
fn the_firmware_says_what_the_device_takes() {
    let speeds = r#"
        at() { cat /sys/devices/system/node/node$1/access0/initiators/$2; }
        of() { echo "[$(at $1 read_latency), $(at $1 write_latency),
                      $(at $1 read_bandwidth), $(at $1 write_bandwidth)]"; }
        echo "{\"local\": $(of 0), \"device\": $(of 1)}" | tr -d '\n'; echo"#;
    let more = ["--device", "cmm-h", "--set", "device.capacity=256MiB"];
    let outcome = demo("numa", speeds, &more);
    let (object, _) = well(&outcome);
    let said = &object["guest"]["output"];
    // A hit of 602 ns, 25,000 MB/s of the link and 102,400 assumed, in units of 2^20 bytes.
    assert_eq!(said["device"], json!([602, 602, 23_842, 23_842]), "{said}");
    assert_eq!(said["local"], json!([95, 95, 97_658, 97_658]), "{said}");
}

#[test]
fn a_dax_device_hits_as_the_closed_form_says_and_keeps_every_byte() {
    let command = bytes_then_chase("24MiB", "--stride 512 --passes 8", "--file $DEVICE");
    let outcome = demo("dax", &command, &[]);
    let (object, devices) = well(&outcome);
    assert!(devices.contains("\"chardev\":\"dax0.0\""), "{devices}");
    assert_closed_form(&object, 24 << 20, 8, 8, 0.0);
}

/// A chase in less than a large page of the device, one in two of them, and the results of both.
#[test]
fn a_baseline_has_the_same_machine_and_nothing_is_trapped() {
    let chase = "sluice workload chase --bare --json --file $DEVICE --passes 1 --size";
    let command = format!("{chase} 16KiB && {chase} 4MiB && echo not an object");
    let (object, devices) = well(&demo("dax", &command, &["--baseline"]));
    assert!(devices.contains("\"chardev\":\"dax0.0\""), "{devices}");
    assert_eq!(object["vm"]["emulated"], false);
    assert_eq!(object["processes"], Value::Array(Vec::new()));
    assert_eq!(object["workload"], Value::Null);
    let size = |at: usize| &object["guest"]["outputs"][at]["params"]["size_bytes"];
    assert_eq!([size(0), size(1)], [16 << 10, 4 << 20]);
    assert_eq!(object["guest"]["output"], Value::Null);
}

/// Booting it simulated takes a minute, which `cargo bench --bench boot` does.
#[test]
fn a_simulated_demo_is_the_same_guest_with_a_clock_that_counts() {
    let outcome = demo("numa", "true", &["--simulate", "--dry-run"]);
    assert!(outcome.status.success(), "{outcome:#?}");
    for part in [
        "-icount shift=0",
        " -kernel ",
        " -initrd ",
        "sluice.attach=numa",
    ] {
        assert!(outcome.stdout.contains(part), "no {part}: {outcome:#?}");
    }
}

#[test]
fn a_cxl_device_is_enumerated_and_keeps_every_byte() {
    let command = bytes_then_chase("12MiB", "--stride 1024 --passes 6", "--file $DEVICE");
    let outcome = demo("cxl", &command, &[]);
    let (object, devices) = well(&outcome);
    for seen in [
        "\"memdev\":\"mem0\"",
        "\"region\":\"region0\"",
        "\"decoder\":\"decoder0.0\"",
    ] {
        assert!(devices.contains(seen), "no {seen}: {devices}");
    }
    assert_closed_form(&object, 12 << 20, 4, 6, 0.0);
}
