//! What a run prints and keeps.

use crate::build::helper;
use crate::sluice::{Outcome, Running, Sluice, TRAPS, finish};
use serde_json::Value;
use std::ffi::OsStr;
use std::process::Command;

/// Promised of every measuring run.
const FIELDS: &[&str] = &[
    "/schema",
    "/device",
    "/seed",
    "/config",
    "/version",
    "/traps",
    "/cache/hits",
    "/cache/hits_are",
    "/cache/misses",
    "/cache/hit_ratio",
    "/cache/evictions",
    "/cache/dirty_evictions",
    "/cache/prefetch_issued",
    "/cache/prefetch_used",
    "/latency_ns/modelled/count",
    "/latency_ns/modelled/mean",
    "/latency_ns/modelled/p50",
    "/latency_ns/modelled/p90",
    "/latency_ns/modelled/p99",
    "/latency_ns/modelled/p999",
    "/latency_ns/modelled/max",
    "/flash/reads",
    "/flash/programs",
    "/flash/erases",
    "/flash/gc_moves",
    "/flash/write_amplification",
];
/// The fields of a live result.
const LIVE_FIELDS: &[&str] = &[
    "/latency_ns/achieved/count",
    "/latency_ns/achieved/mean",
    "/latency_ns/achieved/p50",
    "/latency_ns/achieved/p90",
    "/latency_ns/achieved/p99",
    "/latency_ns/achieved/p999",
    "/latency_ns/achieved/max",
    "/late/count",
    "/late/ratio",
    "/wall_s",
    "/command",
    "/trap_mode",
    "/place",
    "/exit/code",
    "/processes",
];

fn has(json: &Value, fields: &[&str]) {
    for field in fields {
        let value = json.pointer(field);
        assert!(
            value.is_some_and(|v| !v.is_null()),
            "no {field} in {json:#}"
        );
    }
}

fn chase(trap: &str) -> Sluice {
    Sluice::run(trap).cache("1MiB")
}

const CHASE: &str = "chase --size 2MiB --stride 4096 --passes 2 --write";

/// Behind `abc` it stood on the same line, which is no JSON.
#[test]
fn the_object_has_a_line_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out");
    for (program, own, in_file) in [
        ("printf abc", "abc", "abc\n"),
        ("echo abc", "abc\n", "abc\n"),
        ("true", "", ""),
    ] {
        let mut command = chase("event").prepare(program.split(' '));
        let out = finish(&mut command);
        out.json();
        assert_eq!(out.own_stdout(), own, "{out:#?}");
        // Of a file it is known how it ends.
        let file = std::fs::File::create(&path).expect("a file");
        command.stdout(file);
        assert!(command.status().expect("a run").success());
        let text = std::fs::read_to_string(&path).expect("text");
        let object = text.strip_prefix(in_file).expect("the program's own");
        assert!(object.starts_with('{'), "{text}");
        crate::schema::checked(object.as_bytes());
        // What is appended to an open line of before.
        std::fs::write(&path, "before").expect("room");
        let file = std::fs::File::options().append(true).open(&path);
        command.stdout(file.expect("the file"));
        assert!(command.status().expect("a run").success());
        let text = std::fs::read_to_string(&path).expect("text");
        let object = text.lines().last().expect("a line");
        crate::schema::checked(object.as_bytes());
    }
}

#[test]
fn the_last_line_is_the_object_and_the_folder_holds_it() {
    for trap in TRAPS {
        let folder = tempfile::tempdir().expect("a folder");
        let out_dir = folder.path().join("deep/inside");
        let out = chase(trap).record(&out_dir).workload(CHASE).evicted();
        let json = out.json();
        has(&json, FIELDS);
        has(&json, LIVE_FIELDS);
        assert_eq!(json["trap_mode"], trap);
        assert_eq!(json["config"]["cache.capacity"], "1MiB");
        let kept = std::fs::read(out_dir.join("stats.json")).expect("statistics");
        let kept: Value = serde_json::from_slice(&kept).expect("JSON");
        assert_eq!(kept, json);
        consistent(&out);
        let names = ["config.toml", "latency.csv", "timeline.csv", "traps.bin"];
        assert_eq!(heat(&out_dir), out.number("/cache/misses"));
        for name in names
            .into_iter()
            .chain(["latency_modelled.hdr", "latency_achieved.hdr"])
        {
            let len = std::fs::metadata(out_dir.join(name)).expect(name).len();
            assert!(len > 0, "{name} is empty");
        }
        let config = out_dir.join("config.toml");
        let again = sluice_config::load(config.to_str().expect("plain letters"));
        let pairs = again.expect("a device").to_pairs();
        for (key, value) in pairs {
            assert_eq!(json["config"][key], value, "{key}");
        }
    }
}

/// The misses of a heat map, all in the 2 MiB that the program uses and what is beside them.
fn heat(folder: &std::path::Path) -> u64 {
    let text = std::fs::read_to_string(folder.join("heat.csv")).expect("a heat map");
    let rows = text.lines().skip(1).map(|row| {
        let cells: Vec<f64> = row
            .split(',')
            .map(|cell| cell.parse().expect(row))
            .collect();
        let [from, to, first, pages, misses] = cells[..] else {
            panic!("{row}");
        };
        assert!(from < to && first % pages == 0. && pages >= 64., "{row}");
        misses as u64
    });
    rows.sum()
}

/// The counts of a run with one thread add up, whatever the machine does meanwhile.
fn consistent(out: &Outcome) {
    let n = |path| out.number(path);
    assert_eq!(
        n("/traps"),
        n("/cache/misses")
            + n("/trap_kinds/soft")
            + n("/trap_kinds/spurious")
            + n("/trap_kinds/host")
    );
    assert_eq!(n("/latency_ns/modelled/count"), n("/cache/misses"));
    assert_eq!(n("/latency_ns/achieved/count"), n("/cache/misses"));
    assert_eq!(n("/flash/reads"), n("/cache/misses"));
    assert!(n("/cache/dirty_evictions") <= n("/cache/evictions"));
    assert_eq!(
        n("/flash/programs"),
        n("/cache/dirty_evictions") + n("/flash/gc_moves")
    );
    // 1 MiB of cache: what came in and did not leave fills it.
    assert_eq!(n("/cache/misses") - n("/cache/evictions"), 256);
    assert!(n("/latency_ns/modelled/p50") >= 5_000);
}

#[test]
fn only_written_pages_cost_a_program() {
    for trap in TRAPS {
        let folder = tempfile::tempdir().expect("a folder");
        let read = "chase --size 2MiB --stride 4096 --passes 8";
        let out = chase(trap).record(folder.path()).workload(read).evicted();
        // The pass that builds writes each of the 512 pages once; the heap has a few.
        let dirty = out.number("/cache/dirty_evictions");
        assert!((512..600).contains(&dirty), "{trap}: {dirty}");
        assert!(out.number("/cache/evictions") > 4_000);
    }
}

#[test]
fn the_programs_own_output_is_untouched() {
    let script = "printf 'a\\0b\\n\\n'; echo error >&2; printf 'last\\n'";
    let plain = finish(Command::new("sh").args(["-c", script]));
    for trap in TRAPS {
        let out = Sluice::run(trap).program(["sh", "-c", script]).well();
        assert_eq!(out.own_stdout(), plain.stdout);
        assert_eq!(out.stderr, plain.stderr, "and nothing else is said");
    }
    let mut quiet = Sluice::command();
    let out = finish(quiet.args(["run", "--", "sh", "-c", script]));
    assert_eq!(out.stdout, plain.stdout, "without --json nothing is added");
    let (own, lines) = out.stderr.split_once('\n').expect("some lines");
    assert_eq!(
        (own, lines.lines().count()),
        ("error", 2),
        "what the device did, and what hits take"
    );
}

#[test]
fn a_simulation_twice_is_the_same_and_another_seed_is_not() {
    let simulate = |seed: &str, out: &str| {
        let mut command = Sluice::command();
        command.args([
            "sim",
            "--json",
            "--set",
            "cache.policy=random",
            "--seed",
            seed,
        ]);
        command.args([
            "--set",
            "device.capacity=64MiB",
            "--set",
            "cache.capacity=2MiB",
        ]);
        let workload = "chase:size=4MiB,stride=1024,passes=3,random=1,write=1";
        command.args([
            "--hits",
            "misses",
            "--workload",
            workload,
            "--force",
            "--out",
            out,
        ]);
        finish(&mut command)
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("plain letters");
    let (first, second) = (simulate("1", path), simulate("1", path));
    let json = first.json();
    has(&json, FIELDS);
    assert_eq!(json, second.json());
    assert_eq!(first.stdout.lines().count(), 1);
    assert_ne!(json["hash"], simulate("2", path).json()["hash"]);
    let kept = std::fs::read(folder.path().join("stats.json")).expect("statistics");
    let kept: Value = serde_json::from_slice(&kept).expect("JSON");
    assert_eq!(kept["seed"], 2);
}

/// A program that ends at once still has its line, and no division by nothing.
#[test]
fn a_program_that_does_nothing() {
    let out = Sluice::run("event").program(["true"]);
    assert!(out.status.success(), "{out:#?}");
    let json = out.json();
    assert_eq!(json["traps"], json["cache"]["misses"]);
    let path = helper!("signals.c").to_str().expect("plain letters");
    let out = Sluice::run("event").program([path]);
    assert_eq!(out.status.code(), Some(2), "its own status: {out:#?}");
    assert_eq!(out.json()["exit"]["code"], 2);
}

/// The one that ended last had the folder, or either some of its files.
#[test]
fn two_runs_do_not_share_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let sleep = |time: &str| {
        let run = Sluice::run("event").args([OsStr::new("--out"), folder.path().as_os_str()]);
        run.args(["--force"]).prepare(["sleep", time])
    };
    let first = Running::start(&mut sleep("60"));
    // It has the folder before its program starts.
    first.await_session();
    let second = finish(&mut sleep("0"));
    assert_eq!(second.status.code(), Some(2), "{second:#?}");
    assert!(
        second.stderr.contains("another run writes there"),
        "{second:#?}"
    );
    first.signal_group(libc::SIGINT);
    first.finish();
    assert!(finish(&mut sleep("0")).status.success(), "it is free again");
}

/// Redis on flash that this host cannot keep up with ended with status 0 and no word of it.
#[test]
fn a_host_that_is_too_slow_says_how_far_off_why_and_what_helps() {
    let own = [env!("CARGO_BIN_EXE_sluice"), "workload", "chase"];
    let flags = ["--size", "4MiB", "--stride", "4096", "--passes", "1"];
    let words = own.iter().chain(&flags);
    // No host traps in no time.
    let run = Sluice::run("event").cache("1MiB").set("nand.read", "0ns");
    let out = run.set("cache.hit_latency", "0ns").program(words).well();
    let told = out.stderr.lines().last().unwrap_or_default();
    for part in [
        "% of misses were late",
        "a trap alone takes",
        "`--trap signal`",
        "nand.read",
    ] {
        assert!(told.contains(part), "{part}: {out:#?}");
    }
}

/// Without the time that a page takes on its channel it was 75.6 us.
#[test]
fn check_says_what_a_miss_takes() {
    let out = Sluice::command()
        .args(["device", "check", "cmm-h"])
        .output();
    let said = String::from_utf8(out.expect("sluice").stdout).expect("text");
    // 75 us of the die, 3.4 us of the channel and 0.6 us of a hit.
    assert!(said.ends_with("and a miss 79.0 us\n"), "{said}");
}
