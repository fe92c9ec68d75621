//! The plugin in a whole machine: firmware, and a guest that loads from 1024 pages.

use crate::rig::{accesses, compile, plugin, sluice};
use serde_json::Value;
use sluice_trace::{Kind, Reader, Space};
use std::path::Path;
use std::process::Command;

/// The guest's loads: pages from 16 MiB on.
const FROM: u64 = 16 << 20;
const PAGES: u64 = 1024;

const FLAGS: [&str; 7] = [
    "-m32",
    "-nostdlib",
    "-static",
    "-ffreestanding",
    "-no-pie",
    "-Wl,--build-id=none",
    "-Wl,-Ttext=0x100000",
];

/// Boots the guest with the plugin.
fn boot(options: &str, result: &Path) -> Value {
    let guest = compile("guest.c", &FLAGS);
    let machine = "-accel tcg -machine pc -m 64M -nodefaults -no-user-config -display none \
                   -icount shift=0,sleep=off -rtc base=2026-01-01,clock=vm -seed 1 \
                   -device isa-debug-exit,iobase=0xf4,iosize=4";
    let plugin = plugin().display();
    let out = Command::new("qemu-system-x86_64")
        .args(machine.split_whitespace())
        .arg("-kernel")
        .arg(&guest)
        .arg("-plugin")
        .arg(format!("{plugin},{options},result={}", result.display()))
        .output()
        .expect("QEMU, which `scripts/system emulator` installs");
    // What the device for it makes of the guest's 0.
    assert_eq!(out.status.code(), Some(1), "{out:?}");
    let text = std::fs::read_to_string(result).expect("a result");
    serde_json::from_str(&text).expect("an object")
}

#[test]
fn a_guest_is_recorded_by_physical_address() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let options = format!("mode=record,out={}", trace.display());
    let said = boot(&options, &dir.path().join("result"));
    assert_eq!(
        Reader::open(&trace).unwrap().header().space,
        Space::Physical
    );
    let all = accesses(&trace);
    assert_eq!(said["accesses"], all.len());
    let is_ours = |address: &u64| (FROM..FROM + PAGES * 4096).contains(address);
    let ours: Vec<_> = all.iter().filter(|a| is_ours(&a.address)).collect();
    let expected = (0..PAGES).map(|page| (FROM + page * 4096, 4, Kind::Load));
    // The firmware clears no memory there.
    let told = ours.iter().map(|a| (a.address, a.size, a.kind));
    assert!(told.eq(expected), "{} accesses", ours.len());
    let instructions = |at: usize| ours[at].instructions;
    assert_eq!(instructions(1023) - instructions(0), 4 * 1023);
    assert!(all.len() > 100_000, "firmware too: {}", all.len());
}

#[test]
fn a_guest_is_simulated_the_same_twice() {
    let dir = tempfile::tempdir().unwrap();
    let run = |name| {
        let options = "mode=simulate,device=cylon,set=cache.capacity=1MiB,range=0x1000000+4MiB,\
                       local=64MiB";
        boot(options, &dir.path().join(name))
    };
    let (first, second) = (run("first"), run("second"));
    assert_eq!(first, second);
    assert_eq!(first["program"]["device_bytes"], PAGES * 4096);
    assert_eq!(first["flash"]["reads"], PAGES);
    assert_eq!(first["requests"]["s_r_m"], PAGES);
    assert!(first["requests"]["h_r"].as_u64() > Some(1_000), "{first}");
}

#[test]
fn a_node_of_a_guest_is_the_simulated_device() {
    let guest = compile("guest.c", &[&FLAGS[..], &["-DNODE"]].concat());
    let vm = |args: &[&str]| {
        let mut command = sluice();
        command.args(["vm", "--simulate", "--json"]).args(args);
        command.args(["--node", "256MiB", "--", "-m", "64M"]);
        command.args("-nodefaults -no-user-config -display none".split(' '));
        command.args(["-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-kernel"]);
        command.arg(&guest).output().expect("sluice")
    };
    let out = vm(&["--set", "cache.capacity=1MiB"]);
    assert_eq!(out.status.code(), Some(1), "{out:?}");
    let object: Value = serde_json::from_slice(&out.stdout).expect("an object");
    assert_eq!(object["program"]["device_bytes"], PAGES * 4096);
    assert_eq!(object["flash"]["reads"], PAGES);
    assert_eq!(object["vm"]["node_bytes"], 256 << 20);
    for (args, message) in [
        (["--attach", "dax"], "expected numa"),
        (["--accel", "kvm"], "expected auto or tcg"),
        (["--set", "nand.raed=1us"], "nand.read"),
    ] {
        let out = vm(&args);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(
            (out.status.code(), said.lines().count()),
            (Some(2), 1),
            "{said}"
        );
        assert!(said.contains(message), "{said}");
    }
}
