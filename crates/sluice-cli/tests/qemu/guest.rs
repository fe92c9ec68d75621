//! The plugin in a whole machine: firmware, and a guest that loads from 1024 pages.

use crate::rig::{accesses, compile, plugin, sluice};
use crate::schema;
use serde_json::Value;
use sluice_trace::{Kind, Reader, Space};
use std::path::{Path, PathBuf};
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

/// The guest, compiled with more flags.
fn guest(more: &[&str]) -> PathBuf {
    compile("guest.c", &[&FLAGS[..], more].concat())
}

/// Boots the guest with the plugin.
fn boot(options: &str, result: &Path) -> Value {
    boot_this(&guest(&[]), options, result)
}

fn boot_this(guest: &Path, options: &str, result: &Path) -> Value {
    let machine = "-accel tcg -machine pc -m 64M -nodefaults -no-user-config -display none \
                   -icount shift=0,sleep=off -rtc base=2026-01-01,clock=vm -seed 1 \
                   -device isa-debug-exit,iobase=0xf4,iosize=4";
    let plugin = plugin().display();
    let out = Command::new("qemu-system-x86_64")
        .args(machine.split_whitespace())
        .arg("-kernel")
        .arg(guest)
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

/// What was behind a page's end counted in the physically next page, wherever the guest's next was.
#[test]
fn an_access_across_pages_is_in_the_memory_of_both() {
    let dir = tempfile::tempdir().unwrap();
    let (trace, result) = (dir.path().join("trace"), dir.path().join("result"));
    let guest = compile("guest_across.c", &FLAGS);
    let options = format!("mode=record,out={}", trace.display());
    let said = boot_this(&guest, &options, &result);
    let all = accesses(&trace);
    assert_eq!(said["accesses"], all.len());
    assert_eq!(said["accesses_seen"], all.len());
    // The firmware has what is behind.
    let ours = all.iter().filter(|a| (FROM..32 << 20).contains(&a.address));
    let told: Vec<_> = ours.map(|a| (a.address, a.size, a.kind)).collect();
    let (load, store) = (Kind::Load, Kind::Store);
    let apart = [
        (0x100_0ffe, 2, load),
        (0x140_0000, 2, load),
        (0x100_0ffd, 3, store),
        (0x140_0000, 1, store),
        (0x100_0fff, 1, load),
        (0x140_0000, 3, load),
        (0x100_0fff, 1, store),
        (0x140_0000, 3, store),
    ];
    let together = [
        (0x180_0ffe, 4, load),
        (0x180_0ffd, 4, store),
        (0x180_0fff, 4, load),
        (0x180_0fff, 4, store),
    ];
    assert_eq!(told, [&apart[..], &together].concat());
    let options = "mode=simulate,device=cylon,range=0x1400000+4KiB,local=64MiB";
    let simulated = boot_this(&guest, options, &result);
    assert_eq!(simulated["program"]["device_bytes"], 4096);
}

/// QEMU ended on one CPU while the others went on: what these had gathered was sent twice or never,
/// and of three such traces one broke off.
#[test]
fn a_cpu_that_ends_the_machine_ends_the_recording_of_all() {
    let guest = compile("guest_cpus.c", &FLAGS);
    let dir = tempfile::tempdir().unwrap();
    let (trace, result) = (dir.path().join("trace"), dir.path().join("result"));
    for round in 0..3 {
        let out = Command::new("qemu-system-x86_64")
            .args("-accel tcg -machine pc -m 64M -smp 4".split(' '))
            .args("-nodefaults -no-user-config -display none".split(' '))
            .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=4"])
            .arg("-kernel")
            .arg(&guest)
            .arg("-plugin")
            .arg(format!(
                "{},mode=record,out={},result={}",
                plugin().display(),
                trace.display(),
                result.display()
            ))
            .output()
            .expect("QEMU, which `scripts/system emulator` installs");
        assert_eq!(out.status.code(), Some(1), "{round}: {out:?}");
        assert!(out.stderr.is_empty(), "{round}: {out:?}");
        let said = std::fs::read_to_string(&result).expect("a result");
        let said: Value = serde_json::from_str(&said).expect("an object");
        let (seen, kept) = (&said["accesses_seen"], &said["accesses"]);
        assert!(kept.as_u64() > Some(2_000_000), "{round}: {said}");
        assert_eq!(seen, kept, "{round}");
        assert_eq!(accesses(&trace).len() as u64, kept.as_u64().unwrap());
    }
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

/// Misses of the device: of all that was counted, and from each mark to the next.
fn misses(object: &Value) -> (&Value, Vec<(&str, u64)>) {
    let regions = object["regions"].as_array().expect("regions").iter();
    let regions = regions.map(|region| {
        let misses = region["cache"]["misses"].as_u64().expect("a number");
        assert_eq!(region["flash"]["reads"], misses);
        assert_eq!(region["cache"]["first_misses"], misses);
        (region["from"].as_str().unwrap_or("-"), misses)
    });
    (&object["cache"]["misses"], regions.collect())
}

/// What the boot did is no part of what is behind the mark, and nothing else is there.
#[test]
fn marks_of_a_guest_part_its_figures_exactly() {
    let dir = tempfile::tempdir().unwrap();
    let run = |last: u64, part: &str, name: &str| {
        let options = format!(
            "mode=simulate,device=cylon,set=cache.capacity=1MiB,range=0x1000000+4MiB,\
             local=64MiB{part}"
        );
        let guest = guest(&["-DMARKS", &format!("-DLAST={last}")]);
        boot_this(&guest, &options, &dir.path().join(name))
    };
    let mut touch = Vec::new();
    for last in [100, 1000] {
        let (first, second) = (run(last, "", "first"), run(last, "", "second"));
        assert_eq!(first, second);
        let parts = vec![("-", PAGES - last), ("m", last), ("e", 0)];
        assert_eq!(misses(&first), (&PAGES.into(), parts.clone()));
        assert!(first["counted"].is_null(), "{}", first["counted"]);
        let part = run(last, ",from=m,to=e", "part");
        assert_eq!(misses(&part), (&last.into(), parts));
        assert_eq!(part["counted"]["from"], "m");
        assert_eq!(part["flash"]["reads"], last);
        assert_eq!(part["hash"], first["hash"]);
        // Of the three, only the part with the boot has its instructions.
        let executed = |at: usize| first["regions"][at]["instructions"].as_u64().expect("some");
        assert_eq!(part["instructions"], executed(1));
        touch.push(executed(1));
        let sum: u64 = (0..3).map(executed).sum();
        assert_eq!(first["instructions"], sum);
    }
    assert_eq!(touch[1] - touch[0], 4 * 900);
}

#[test]
fn a_part_of_a_guest_is_chosen_by_its_marks() {
    let guest = guest(&["-DNODE", "-DMARKS", "-DLAST=24"]);
    let vm = |args: &[&str]| {
        let mut command = sluice();
        command.args(["vm", "--simulate", "--json"]).args(args);
        command.args(["--", "-m", "64M"]);
        command.args("-nodefaults -no-user-config -display none".split(' '));
        command.args(["-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-kernel"]);
        command.arg(&guest).output().expect("sluice")
    };
    for args in [
        &["--from", "m", "--to", "e"][..],
        &["--count-after", "marker:m", "--to", "e"],
        &["--from", "m"],
    ] {
        let out = vm(args);
        let object = schema::checked(&out.stdout);
        assert_eq!(misses(&object).0, 24, "{out:?}");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(said.contains("sluice: from m to e: "), "{said}");
        assert!(said.contains("what follows counts from m to "), "{said}");
        assert_eq!(out.status.code(), Some(1), "{said}");
    }
    for (args, message) in [
        (
            ["--from", "e", "--to", "m"],
            "the marks e, m: it set the marks m, e in this order",
        ),
        (
            ["--from", "begun", "--to", "m"],
            "so that the figures are of the whole run",
        ),
    ] {
        let out = vm(&args);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(message), "{said}");
        assert_eq!(misses(&schema::checked(&out.stdout)).0, PAGES);
    }
}

/// There was a table of zeros, and an object.
#[test]
fn a_qemu_that_executes_nothing_has_no_figures() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace");
    let record = ["--record", trace.to_str().expect("plain letters")];
    for (how, message) in [
        (&["--simulate"][..], "there is no result"),
        (&record, "before it executed anything"),
    ] {
        let mut command = sluice();
        command.args(["vm", "--json"]).args(how);
        command.args(["--", "-display", "none", "-kernel", "/no/such/kernel"]);
        let out = command.output().expect("sluice");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(1), "{said}");
        assert!(said.contains("/no/such/kernel"), "{said}");
        assert!(said.contains(message), "{said}");
        assert!(out.stdout.is_empty(), "{out:?}");
    }
}

#[test]
fn a_node_of_a_guest_is_the_simulated_device() {
    let guest = guest(&["-DNODE"]);
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
