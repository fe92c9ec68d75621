//! `sluice run --simulate`: programs on simulated hosts while QEMU executes them.

use crate::rig::{compile, plain, record, sluice};
use crate::schema;
use serde_json::Value;
use sluice_testkit::build;
use std::path::Path;
use std::process::Output;

const FREE: &[&str] = &["-nostdlib", "-static", "-ffreestanding", "-no-pie"];

fn simulate(args: &[&str], program: &[&str]) -> Output {
    let mut command = sluice();
    command.args(["run", "--simulate", "--json"]);
    command.args(args).arg("--").args(program);
    command.output().expect("sluice")
}

fn object(args: &[&str], program: &Path) -> Value {
    let out = simulate(args, &[&program.to_string_lossy()]);
    let stdout = String::from_utf8_lossy(&out.stdout);
    let last = stdout.lines().last().unwrap_or_default();
    schema::checked(last.as_bytes())
}

fn number(object: &Value, place: &str) -> f64 {
    let found = object.pointer(place).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("{place} in {object}"))
}

#[test]
fn two_runs_are_the_same_run() {
    for args in [["--device", "cylon"], ["--system", "skybyte-full"]] {
        let run = || object(&args, plain());
        let (first, second) = (run(), run());
        assert_eq!(first, second, "{args:?}");
        assert_eq!(first["exit"]["code"], 40);
    }
}

/// Its variables came in another order, and a program that looks one up took other steps.
#[test]
fn a_run_again_is_the_same_run() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("kept");
    let ours = sluice();
    let run = |args: &[&std::ffi::OsStr]| {
        let mut command = std::process::Command::new("env");
        let given = ours.get_envs();
        command.envs(given.filter_map(|(key, value)| Some((key, value?))));
        command.args(["ZONE=1", "AREA=2"]).arg(ours.get_program());
        let out = command.args(args).output().expect("sluice");
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        [out.stdout, out.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let words = ["run", "--simulate", "--out"].map(std::ffi::OsStr::new);
    let program = ["--", "env"].map(std::ffi::OsStr::new);
    let [first, _] = run(&[&words[..], &[kept.as_os_str()], &program].concat());
    let [again, said] = run(&["again".as_ref(), kept.as_os_str()]);
    // QEMU turns them round.
    assert!(first.contains("AREA=2\nZONE=1\n"), "{first}");
    assert_eq!(again, first);
    assert!(said.contains("every figure is what it was"), "{said}");
}

/// 1024 pages of flash that takes 40 us: one after another if each address needs the load before,
/// and otherwise as many at a time as the L1 has MSHRs.
#[test]
fn loads_wait_for_the_loads_that_their_addresses_need() {
    let flash_us = 40.0;
    let settings = ["--set", "nand.read=40us", "--set", "l1.mshrs=8"];
    let run = |flags: &[&str]| {
        let program = compile("loads.c", &[FREE, flags].concat());
        object(&settings, &program)
    };
    let (dependent, independent) = (run(&["-DDEPENDENT"]), run(&[]));
    let us = |object| number(object, "/time_s") * 1e6 / 1024.0 / flash_us;
    assert!((1.0..1.03).contains(&us(&dependent)), "{}", us(&dependent));
    let at_a_time = 1.0 / us(&independent);
    assert!((4.0..8.0).contains(&at_a_time), "{at_a_time} at a time");
    for object in [&dependent, &independent] {
        assert_eq!(object["flash"]["reads"], 1024);
        assert_eq!(object["cache"]["misses"], 1024);
        assert_eq!(object["program"]["accesses"], 1024);
        assert_eq!(object["program"]["footprint_bytes"], 1024 * 4096);
        // Three before the loop, four for each load, three to end.
        assert_eq!(object["instructions"], 3 + 4 * 1024 + 3);
    }
}

/// A program whose addresses need no load: recorded and replayed it is the same run, to the last
/// bit, by two ways that have only the simulated host in common.
#[test]
fn recorded_and_replayed_it_is_the_same_run() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let program = compile("loads.c", FREE);
    record(&trace, "none", &[&program.to_string_lossy()]);
    let settings = "--system base-cssd --set cpu.cores=1 --set host.start=empty --set host.rest=no";
    let mut replay = sluice();
    replay.args(["sim", "--json", "--trace"]).arg(&trace);
    let out = replay.args(settings.split(' ')).output().expect("sluice");
    let replayed: Value = serde_json::from_slice(&out.stdout).expect("an object");
    let in_line = object(&["--system", "base-cssd"], &program);
    for key in [
        "time_s",
        "instructions",
        "levels",
        "tlb",
        "requests",
        "amat_ns",
        "hash",
    ] {
        assert_eq!(in_line[key], replayed[key], "{key}");
    }
}

#[test]
fn threads_share_the_cores() {
    let program = compile("threads.c", &[]);
    let of = |cores: &str| object(&["--set", &format!("cpu.cores={cores}")], &program);
    let (one, four) = (of("1"), of("4"));
    for object in [&one, &four] {
        assert_eq!(object["program"]["threads"], 5);
        let executed = object["program"]["instructions"].as_array().unwrap();
        let sum: u64 = executed.iter().filter_map(Value::as_u64).sum();
        let told = number(object, "/instructions");
        // Instructions with two accesses count twice where nothing makes up for it.
        assert!(
            (0.99..1.02).contains(&(told / sum as f64)),
            "{told} of {sum}"
        );
        // Four parts of 64 pages.
        assert!(number(object, "/program/footprint_bytes") > 4.0 * 64.0 * 4096.0);
    }
    assert_eq!(number(&one, "/bound/idle").round(), 0.0);
    assert!(number(&four, "/bound/idle") > 0.1);
}

/// A simulated thread that is several of the program's is said to be.
#[test]
fn more_threads_than_the_host_has_are_warned_of() {
    let program = compile("threads.c", &[]).to_string_lossy().into_owned();
    for (threads, expected) in [("4", Some("1 of them")), ("5", None)] {
        let setting = format!("cpu.threads={threads}");
        let out = simulate(&["--set", &setting], &[&program]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success(), "{said}");
        let warning = said.lines().find(|line| line.contains("warning"));
        match expected {
            Some(text) => {
                let warning = warning.unwrap_or_else(|| panic!("no warning: {said}"));
                let begin = format!("5 threads, but cpu.threads is {threads}");
                assert!(warning.contains(&begin) && warning.contains(text), "{said}");
            }
            None => assert_eq!(warning, None),
        }
    }
}

/// Marks by the library, as a live run has them: 512 pages once, `loaded`, the same again, `done`,
/// and 64 others. What the loader, the C library and the stack touch comes besides.
#[test]
fn marks_of_a_program_part_what_is_simulated() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let command = env!("CARGO_BIN_EXE_sluice");
    let library = build::library(command, "sluice-control", "libsluice_control.so");
    let folder = library.parent().expect("in a folder").display().to_string();
    let flags = [
        &format!("-I{}", here.join("../sluice-control/include").display()),
        "-Wl,--no-as-needed",
        &format!("-L{folder}"),
        "-lsluice_control",
        &format!("-Wl,-rpath,{folder}"),
    ];
    let program = compile("regions.c", &flags);
    let settings = [
        "--set",
        "device.capacity=256MiB",
        "--set",
        "cache.capacity=16MiB",
    ];
    let run = |more: &[&str]| object(&[&settings[..], more].concat(), &program);
    let first = |of: &Value| of["cache"]["first_misses"].as_u64().expect("a number");
    let all = run(&[]);
    assert_eq!(all, run(&[]));
    let regions = all["regions"].as_array().expect("regions");
    let names: Vec<_> = regions.iter().map(|of| of["from"].as_str()).collect();
    assert_eq!(names, [None, Some("loaded"), Some("done")]);
    assert!(first(&regions[0]) > 512, "{all}");
    assert!(first(&regions[1]) < 4, "{}", first(&regions[1]));
    assert!(
        (64..80).contains(&first(&regions[2])),
        "{}",
        first(&regions[2])
    );
    let sum: u64 = regions.iter().map(first).sum();
    assert_eq!(first(&all), sum);
    let part = run(&["--count-after", "marker:done"]);
    assert_eq!(first(&part), first(&regions[2]));
    assert_eq!(part["time_s"], regions[2]["time_s"]);
    let bad = simulate(&["--count-after", "10s"], &["true"]);
    let said = String::from_utf8_lossy(&bad.stderr).into_owned();
    assert!(said.contains("expected marker:NAME"), "{said}");
    let program = program.to_string_lossy().into_owned();
    let bad = simulate(&[], &[&program, "bad"]);
    assert_eq!(bad.status.code(), Some(0), "{bad:?}");
}

#[test]
fn what_cannot_be_simulated_is_said_in_one_line() {
    let plain = plain().to_string_lossy().into_owned();
    let cases: [(&[&str], &str); 4] = [
        (&["--system", "nowhere"], "unknown system `nowhere`"),
        (&["--set", "cpu.cores=65"], "cpu.threads"),
        (&["--set", "nand.raed=1us"], "nand.read"),
        (&["--set", "device.page=16KiB"], "4KiB"),
    ];
    for (args, message) in cases {
        let out = simulate(args, &[&plain]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains(message), "{said}");
    }
    let small = [
        "--set",
        "device.capacity=40KiB",
        "--set",
        "cache.capacity=16KiB",
    ];
    let out = simulate(
        &[&small[..], &["--set", "cache.ways=1"]].concat(),
        &[&plain],
    );
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("device.capacity is"), "{said}");
}
