//! `sluice sim --system`, from outside: its object, its folder, its errors, Ctrl-C.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A program of 64 MB, a million instructions.
const SMALL: [&str; 8] = [
    "--workload",
    "srad",
    "--scale",
    "128",
    "--instructions",
    "1M",
    "--warmup",
    "200k",
];

fn sluice() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sluice"))
}

fn sim(system: &str, more: &[&str]) -> Output {
    let mut command = sluice();
    command.args(["sim", "--system", system]).args(more);
    command.output().unwrap()
}

fn object(system: &str, more: &[&str]) -> Value {
    let small = match more.contains(&"--warmup") {
        true => &SMALL[..6],
        false => &SMALL[..],
    };
    let output = sim(system, &[small, more, &["--json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What is refused, in one line and with status 2.
fn refusal(system: &str, more: &[&str]) -> String {
    let output = sim(system, more);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(output.stdout.is_empty());
    said
}

fn number(object: &Value, place: &str) -> f64 {
    let value = object.pointer(place).and_then(Value::as_f64);
    value.unwrap_or_else(|| panic!("no {place} in {object}"))
}

fn close(ours: f64, expected: f64) {
    assert!(
        (ours - expected).abs() <= expected.abs() * 1e-9,
        "{ours} for {expected}"
    );
}

#[test]
fn the_object_agrees_with_itself() {
    let object = object("skybyte-full", &[]);
    let at = |place: &str| number(&object, place);
    assert_eq!(object["kind"], "system");
    assert_eq!(object["config"]["cpu.threads"], "24");
    assert_eq!(
        object["config"]["write_log.capacity"], "1MiB",
        "two of 64 MiB / 128"
    );
    assert_eq!(at("/program/threads"), 24.0);
    assert!(
        (at("/instructions") - 1e6).abs() < 1e4,
        "{}",
        at("/instructions")
    );
    let shares = |place: &str| -> f64 {
        let shares = object.pointer(place).and_then(Value::as_object).unwrap();
        shares.values().filter_map(Value::as_f64).sum()
    };
    close(shares("/bound"), 1.0);
    close(shares("/requests/shares"), 1.0);
    let kinds = ["h_r", "h_w", "s_r_h", "s_r_m", "s_w"];
    let sum: f64 = kinds
        .iter()
        .map(|kind| at(&format!("/requests/{kind}")))
        .sum();
    close(sum, at("/requests/total"));
    let parts = ["host_dram", "protocol", "indexing", "device_dram", "flash"];
    let sum: f64 = parts
        .iter()
        .map(|part| at(&format!("/amat_ns/{part}")))
        .sum();
    close(sum, at("/amat_ns/total"));
    // 4 GHz, 8 cores.
    close(
        at("/ipc"),
        at("/instructions") / (at("/time_s") * 4e9 * 8.0),
    );
    let gb_s = at("/link/bytes_from_device") / at("/time_s") / 1e9;
    close(at("/link/gb_s_from_device"), gb_s);
    let misses = at("/levels/l3/misses") * 1e3 / at("/instructions");
    close(at("/levels/l3/mpki"), misses);
    let counted = |place: &str| -> f64 {
        let pairs = object.pointer(place).and_then(Value::as_array).unwrap();
        pairs.iter().filter_map(|pair| pair[1].as_f64()).sum()
    };
    close(counted("/latency_ns/histogram"), at("/latency_ns/count"));
    close(
        counted("/flash_read_ns/histogram"),
        at("/flash_read_ns/count"),
    );
    let fields = object.as_object().unwrap();
    assert!(!fields.contains_key("wall_s"), "wall time is no result");
}

/// What the host says of moved pages and what the device says are the same pages.
#[test]
fn both_ends_count_the_pages_that_move() {
    let more = [
        "--set",
        "migration.capacity=16MiB",
        "--set",
        "nand.bad_blocks=1%",
    ];
    let object = object("skybyte-full", &more);
    let at = |place: &str| number(&object, place);
    let device = |count: &str| at(&format!("/migration/device/{count}"));
    assert!(device("taken") > 0.0 && device("taken") == at("/migration/promotions"));
    assert_eq!(device("given"), at("/migration/dirty_demotions"));
    assert!(device("taken_dirty") <= device("taken"));
    // A page that comes back goes to the write log.
    assert_eq!(device("fills") + device("programs"), 0.0);
    assert!(at("/flash/factory_bad_blocks") > 0.0);
}

/// The device's counters are of the measured part, as the host's are.
#[test]
fn the_warm_up_is_not_counted() {
    let served = |warmup| {
        let object = object(
            "skybyte-w",
            &["--set", "prefetch.policy=none", "--warmup", warmup],
        );
        let served: f64 = ["cache", "merge", "flash", "write_log"]
            .iter()
            .map(|door| number(&object, &format!("/served/{door}")))
            .sum();
        (served, number(&object, "/requests/total"))
    };
    for warmup in ["0", "2M"] {
        let (served, asked) = served(warmup);
        // Those under way at either end may be on one side of it or the other.
        assert!(
            (served - asked).abs() <= 64.0,
            "{served} of {asked} after {warmup}"
        );
    }
}

#[test]
fn a_run_is_the_same_twice() {
    let run = |seed: &str| {
        let output = sim(
            "skybyte-c",
            &[
                &SMALL[..],
                &["--json", "--set", "os.scheduler=random", "--seed", seed],
            ]
            .concat(),
        );
        assert!(output.status.success());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.lines().count() == 1 && !said.contains('\u{1b}'),
            "{said}"
        );
        output.stdout
    };
    let first = run("1");
    assert_eq!(first, run("1"));
    let hash = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap()["hash"].clone();
    assert_ne!(hash(&first), hash(&run("2")));
}

#[test]
fn pages_are_where_the_system_has_them() {
    let shares = |system| {
        let object = object(system, &[]);
        ["h_r", "h_w", "s_r_h", "s_r_m", "s_w"]
            .map(|kind| number(&object, &format!("/requests/shares/{kind}")))
    };
    let [reads, writes, ..] = shares("dram-only");
    close(reads + writes, 1.0);
    let [reads, writes, ..] = shares("base-cssd");
    assert_eq!((reads, writes), (0.0, 0.0));
}

#[test]
fn a_folder_has_all_that_a_second_run_needs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let more = [
        "--out",
        out,
        "--timeline",
        "20us",
        "--set",
        "nand.read=5us",
        "--seed",
        "3",
    ];
    let first = object("skybyte-wp", &more);
    let config = format!("{out}/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    assert!(text.starts_with("# System as resolved, at full size; run it again with"));
    let again = ["--timeline", "20us", "--seed", "3"];
    let second = object(&config, &again);
    assert_eq!(first["hash"], second["hash"]);
    assert_eq!(first["config"], second["config"]);
    let stats = std::fs::read_to_string(format!("{out}/stats.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&stats).unwrap(), first);
    let lines = |name: &str| -> Vec<String> {
        let text = std::fs::read_to_string(format!("{out}/{name}")).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    let rows = first["timeline"].as_array().unwrap().len();
    assert!(rows > 1);
    let timeline = lines("timeline.csv");
    assert_eq!(timeline.len(), rows + 1);
    assert!(timeline[0].starts_with("t_s,"), "{}", timeline[0]);
    let buckets = first["latency_ns"]["histogram"].as_array().unwrap().len();
    assert_eq!(lines("latency.csv").len(), buckets + 1);
}

#[test]
fn the_timeline_adds_up() {
    let object = object("skybyte-c", &["--timeline", "10us"]);
    let rows = object["timeline"].as_array().unwrap();
    for (row, ticks) in rows.iter().zip(1..) {
        close(row["t_s"].as_f64().unwrap(), f64::from(ticks) * 1e-5);
    }
    let sum = |field: &str| {
        rows.iter()
            .filter_map(|row| row[field].as_u64())
            .sum::<u64>()
    };
    let all = object["instructions"].as_u64().unwrap();
    // The last stretch is not over.
    assert!(sum("instructions") <= all && sum("instructions") * 10 >= all * 8);
    let switches = object["switches"].as_u64().unwrap();
    assert!(sum("switches") > 0 && sum("switches") <= switches);
}

/// A kernel with rounds runs to its end, whatever the system, and computes what it should.
#[test]
fn a_kernel_with_rounds_ends_and_is_checked() {
    let run = |system, threads| {
        let more = [
            "--threads",
            threads,
            "--workload",
            "srad:rounds=1",
            "--scale",
            "1024",
            "--warmup",
            "0",
            "--check",
        ];
        let output = sim(system, &[&more[..], &["--json"]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(object["program"]["rounds"], 1);
        assert_eq!(object["program"]["checked"], true);
        object["instructions"].as_u64().unwrap()
    };
    let (eight, many) = (run("base-cssd", "8"), run("skybyte-wp", "24"));
    // The work is the same; threads add a little of their own.
    assert!(eight.abs_diff(many) * 20 <= eight, "{eight} and {many}");
}

#[test]
fn the_table_is_one_screen() {
    let output = sim("skybyte-full", &SMALL);
    assert!(output.status.success() && output.stderr.is_empty());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().count() <= 24, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 120),
        "{text}"
    );
    for said in [
        "scale 1/128",
        "IPC",
        "memory ",
        "AMAT, ns",
        "program made in",
        "MIPS",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn bad_input_is_one_line_that_says_what_would_do() {
    let small = |more: &[&'static str]| [&SMALL[..], more].concat();
    let cases: &[(&str, Vec<&str>, &str)] = &[
        (
            "skybite",
            small(&[]),
            "unknown system `skybite`: give a path ending in .toml, or one of",
        ),
        (
            "skybyte-c",
            vec!["--workload", "chases"],
            "workload: \"chases\" is not known; a simulated host runs one of ",
        ),
        (
            "skybyte-c",
            vec!["--workload", "srad:sed=1"],
            "srad: there is no key \"sed\"; keys: seed, rounds",
        ),
        (
            "skybyte-c",
            small(&["--threads", "4"]),
            "cpu.threads = 4, cpu.cores = 8: a core without a thread; at least 8 threads",
        ),
        (
            "skybyte-c",
            small(&["--set", "l3.mshrs=0"]),
            "l3.mshrs = 0: a cache without MSHRs could not miss; give it 1 at least",
        ),
        (
            "skybyte-c",
            small(&["--set", "cpu.coers=4"]),
            "unknown key `cpu.coers`: did you mean `cpu.cores`? valid keys are cpu.cores, ",
        ),
        (
            "skybyte-c",
            small(&["--set", "cpu.cores"]),
            "expected KEY=VALUE",
        ),
        (
            "skybyte-c",
            small(&[
                "--set",
                "device.capacity=4GiB",
                "--set",
                "ftl.gc_threshold=2",
            ]),
            "workload: srad uses ",
        ),
        (
            "dram-only",
            small(&["--set", "host.memory=4GiB"]),
            "at scale 128, but host.memory is 32MiB; give a larger host.memory, or a larger scale",
        ),
        (
            "skybyte-c",
            vec!["--workload", "srad", "--scale", "6"],
            "system.scale = 6: does not divide into whole pages of 4KiB",
        ),
    ];
    for (system, more, said) in cases {
        let message = refusal(system, more);
        assert!(message.contains(said), "{message}\n{said}");
    }
    let message = refusal("skybyte-c", &cases[7].1);
    let said = "at scale 128, but device.capacity is 32MiB; give a larger device.capacity";
    assert!(message.contains(said), "{message}");
}

#[test]
fn counts_and_flags_are_checked_by_the_command_line() {
    let refused = |arguments: &[&str], said: &str| {
        let output = sluice().arg("sim").args(arguments).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(said), "{message}");
    };
    let system = ["--system", "skybyte-c", "--workload", "srad"];
    let with = |more: &[&'static str]| [&system[..], more].concat();
    refused(
        &with(&["--instructions", "many"]),
        "such as 250000, 100M or 1.5G",
    );
    refused(&with(&["--hits", "misses"]), "cannot be used with");
    refused(&with(&["--device", "cylon"]), "cannot be used with");
    refused(
        &["--workload", "chase", "--scale", "2"],
        "--system <SYSTEM>",
    );
}

/// Whether the process has a handler for SIGINT.
fn catches_ctrl_c(id: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    u64::from_str_radix(caught.unwrap().trim(), 16).unwrap() & 2 != 0
}

#[test]
fn ctrl_c_ends_it_with_130() {
    let mut child = sluice()
        .args(["sim", "--system", "base-cssd", "--json"])
        .args([
            "--workload",
            "srad",
            "--scale",
            "128",
            "--instructions",
            "1000G",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !catches_ctrl_c(child.id()) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert!(said.starts_with("sluice: stopped after "), "{said}");
    let mut told = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut told)
        .unwrap();
    assert_eq!(told, "", "no result");
}

#[test]
fn systems_are_listed_shown_and_checked() {
    let run = |arguments: &[&str]| {
        let output = sluice().arg("system").args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).unwrap()
    };
    let listed: Value = serde_json::from_str(&run(&["list", "--json"])).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 16);
    let shown: Value = serde_json::from_str(&run(&["show", "skybyte-c", "--json"])).unwrap();
    let value = |shown: &Value, key: &str| {
        let rows = shown.as_array().unwrap();
        let row = rows.iter().find(|row| row["key"] == key).unwrap();
        row["value"].as_str().unwrap().to_owned()
    };
    assert_eq!(value(&shown, "cpu.threads"), "24");
    assert_eq!(value(&shown, "cache.capacity"), "512MiB");
    let shown = run(&["show", "skybyte-c", "--scale", "8", "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(value(&shown, "cache.capacity"), "64MiB");
    assert_eq!(
        run(&["check", "skybyte-full", "--scale", "8"]),
        "skybyte-full: well, 8 cores, 24 threads, a device of 12GiB\n"
    );
}

/// CXL-SSD-Sim Figure 5: one run tells each kind of operation, and its answers are checked.
#[test]
fn the_phases_of_a_kernel_are_told_apart() {
    let run = |system: &str| -> Value {
        let spec = "viper:rounds=1,records=700,ops=500";
        let more = ["--scale", "1", "--warmup", "0", "--check", "--json"];
        let arguments = ["sim", "--system", system, "--workload", spec];
        let output = sluice().args(arguments).args(more).output().unwrap();
        assert!(output.status.success());
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let [dram, pmem] = ["cxl-ssd-sim-dram", "cxl-ssd-sim-pmem"].map(run);
    let time = |of: &Value, phase: &str| of["phases"][phase]["time_s"].as_f64().unwrap();
    let names = ["write", "insert", "query", "update", "delete"];
    for name in names {
        assert!(time(&dram, name) < time(&pmem, name), "{name}");
        assert_eq!(pmem["phases"][name]["times"], 1);
    }
    let sum: f64 = names.iter().map(|name| time(&pmem, name)).sum();
    assert!((sum / pmem["time_s"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    // What a pair is written with is waited for: a query sends nothing.
    let writes = |phase: &str| pmem["phases"][phase]["requests"]["s_w"].as_u64().unwrap();
    assert!(writes("query") < writes("update") / 4 && writes("update") >= 500);
}
