//! `sluice trace`, and traces as workloads of `sluice sim`, as a user runs them.

use crate::rig::{figures, object, record, refusal, sluice, write};
use sluice_testkit::child;
use sluice_trace::{Access, Header, Kind, Writer};
use std::path::Path;
use tempfile::TempDir;

#[test]
fn a_replayed_chase_has_the_statistics_of_the_chase() {
    let spec = "chase:size=2MiB,stride=1024,passes=3,write=true,random=true";
    let dir = TempDir::new().unwrap();
    let path = record(&dir, spec);
    let path = path.to_str().unwrap();
    for more in [
        &["--hits", "all", "--bound"][..],
        &["--hits", "misses"],
        &[
            "--set",
            "cache.policy=s3fifo",
            "--set",
            "prefetch.policy=nextn",
            "--set",
            "prefetch.degree=2",
        ],
    ] {
        let plain = figures(&[&["--workload", spec], more].concat());
        let replayed = figures(&[&["--trace", path], more].concat());
        assert_eq!(replayed, plain, "{more:?}");
        assert!(plain["cache"]["misses"].as_u64() > Some(512));
    }
}

#[test]
fn a_trace_of_threads_is_a_requester_for_each() {
    let spec = "chase:size=1MiB,stride=4096,passes=2,threads=3";
    let dir = TempDir::new().unwrap();
    let path = record(&dir, spec);
    let path = path.to_str().unwrap();
    let plain = figures(&["--workload", spec]);
    let replayed = figures(&["--trace", path, "--place", "address"]);
    assert_eq!(replayed, plain);
    // In order of the first touches the threads' pages lie in turns.
    let touched = figures(&["--trace", path]);
    assert_ne!(touched["hash"], plain["hash"]);
    assert_eq!(touched["accesses"], plain["accesses"]);
}

#[test]
fn every_line_of_a_trace_leaves_the_host_once() {
    let dir = TempDir::new().unwrap();
    let path = record(&dir, "chase:size=256KiB,stride=64,passes=1,threads=2");
    let path = path.to_str().unwrap();
    let told = object(&["sim", "--json", "--system", "base-cssd", "--trace", path]);
    assert_eq!(told["levels"]["l3"]["misses"], 2 * 256 * 16);
    assert_eq!(
        (&told["loads"], &told["stores"]),
        (&8192.into(), &8192.into())
    );
    let info = object(&["trace", "info", "--json", path]);
    assert_eq!(info["footprint"]["lines"], told["levels"]["l3"]["misses"]);
}

#[test]
fn info_counts_what_is_there() {
    let dir = TempDir::new().unwrap();
    let path = record(&dir, "chase:size=64KiB,stride=1024,passes=3");
    let told = object(&["trace", "info", "--json", "--reuse", path.to_str().unwrap()]);
    assert_eq!(told["schema"], "sluice.trace-info/1");
    assert_eq!((&told["loads"], &told["stores"]), (&192.into(), &64.into()));
    assert_eq!(told["footprint"]["pages"], 16);
    assert_eq!(told["footprint"]["lines"], 64);
    assert_eq!(told["instructions"], 5 * 255);
    // Of four accesses of a page the first comes from 15 other pages, or never was.
    let misses = |n: usize| told["reuse"]["lru"][n]["misses"].as_u64();
    assert_eq!(
        (misses(0), misses(3), misses(4)),
        (Some(64), Some(64), Some(16))
    );
}

#[test]
fn a_trace_is_told_and_converted() {
    let dir = TempDir::new().unwrap();
    let path = record(&dir, "chase:size=8KiB,stride=4096,passes=1");
    let path = path.to_str().unwrap();
    let dumped = sluice(&["trace", "dump", path, "--from", "1", "-n", "2"]);
    let text = "1 0 5 S 0x7f1234568000 8\n2 0 10 L 0x7f1234567000 8\n";
    assert_eq!(String::from_utf8(dumped.stdout).unwrap(), text);
    let late = sluice(&["trace", "dump", path, "--from-instruction", "11"]);
    assert_eq!(
        String::from_utf8(late.stdout).unwrap(),
        "3 0 15 L 0x7f1234568000 8\n"
    );
    let told = sluice(&["trace", "convert", path, "-", "--to", "lackey"]);
    let text = " S 7f1234567000,8\n S 7f1234568000,8\n L 7f1234567000,8\n L 7f1234568000,8\n";
    assert_eq!(String::from_utf8(told.stdout).unwrap(), text);
    let said = String::from_utf8(told.stderr).unwrap();
    assert!(
        said.ends_with("lost, as lackey has no place for it: instruction counts\n"),
        "{said}"
    );
    let out = dir.path().join("out");
    let out = out.to_str().unwrap();
    let report = object(&[
        "trace",
        "convert",
        path,
        out,
        "--to",
        "oracle-general",
        "--json",
    ]);
    assert_eq!(report["accesses"], 4);
    assert_eq!(report["lost"][0], "which accesses are stores");
}

/// `convert a.trace b.csv` wrote one of Sluice's own traces with that name.
#[test]
fn a_name_tells_the_format() {
    let dir = TempDir::new().unwrap();
    let path = record(&dir, "chase:size=8KiB,stride=4096,passes=1");
    let path = path.to_str().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let names = [
        ("a.csv", "msr-csv"),
        ("a.b.Lackey", "lackey"),
        ("a.champsimtrace", "champsim"),
        ("a.oracleGeneral.bin", "oracle-general"),
        ("a.sluice", "sluice"),
    ];
    for (name, format) in names {
        let report = object(&["trace", "convert", "--json", path, &at(name)]);
        assert_eq!(
            (&report["from"], &report["to"]),
            (&"sluice".into(), &format.into())
        );
        let back = at("back.trace");
        let report = object(&["trace", "convert", "--json", "--force", &at(name), &back]);
        assert_eq!(report["from"], format);
    }
    // A flag goes before the name.
    let lackey = at("in-truth-lackey.csv");
    object(&[
        "trace", "convert", "--json", path, &lackey, "--to", "lackey",
    ]);
    assert!(std::fs::read_to_string(lackey).unwrap().starts_with(" S "));
    for (from, to, flag) in [
        (path, at("a.bin"), "--to"),
        (path, at("csv"), "--to"),
        (path, at("a.csv.gz"), "--to"),
        (path, "-".to_owned(), "--to"),
        ("-", at("none.csv"), "--from"),
        ("605.mcf.xz", at("none.csv"), "--from"),
        ("605.mcf.trace.xz", at("none.csv"), "--from"),
    ] {
        let text = refusal(&["trace", "convert", from, &to]);
        let expected = format!("the name does not show the format; give {flag}: sluice (.trace, ");
        assert!(text.contains(&expected), "{text}");
        assert!(!Path::new(&to).exists());
    }
}

/// Where a program's pages are before it begins was nowhere said, and a trace met the state that
/// a system's kernels leave: all of a small program in host memory.
#[test]
fn a_trace_begins_from_nothing_and_says_so() {
    let dir = TempDir::new().unwrap();
    let path = record(&dir, "chase:size=256KiB,stride=64,passes=1");
    let words = ["sim", "--system", "skybyte-full", "--trace"];
    let words = [&words[..], &[path.to_str().unwrap()]].concat();
    let told = object(&[&words[..], &["--json"]].concat());
    assert_eq!(told["start"], "empty");
    assert!(told["requests"]["s_r_m"].as_u64() > Some(0), "{told}");
    let text = String::from_utf8(sluice(&words).stdout).unwrap();
    let row = "at the start       all pages in flash (host.start=empty)\n";
    assert!(text.contains(row), "{text}");
    // It can be had as the kernels have it.
    let full = [&words[..], &["--set", "host.start=full"]].concat();
    let told = object(&[&full[..], &["--json"]].concat());
    assert_eq!(told["start"], "full");
    assert_eq!(told["requests"]["s_r_m"], 0);
    let text = String::from_utf8(sluice(&full).stdout).unwrap();
    assert!(
        text.contains("of the program (host.start=full)\n"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_is_one_line() {
    let dir = TempDir::new().unwrap();
    let path = record(&dir, "chase:size=2MiB,stride=4096,passes=1");
    let path = path.to_str().unwrap();
    let none = dir.path().join("none");
    let none = none.to_str().unwrap();
    assert_eq!(
        refusal(&["trace", "info", none]),
        format!(
            "sluice: {none}: no such file; give a trace, or make one: `sluice trace record -- \
             PROG` or `sluice trace convert`"
        )
    );
    assert_eq!(
        refusal(&["sim", "--trace", path, "--set", "device.capacity=1MiB"]),
        format!(
            "sluice: workload \"trace:{path}\" touches 2MiB, but the device has 1MiB \
             (device.capacity)"
        )
    );
    assert_eq!(
        refusal(&[
            "sim",
            "--system",
            "base-cssd",
            "--trace",
            path,
            "--set",
            "cpu.threads=9"
        ]),
        "sluice: --set cpu.threads=9: a trace has its own threads, and this one 1"
    );
    assert_eq!(
        refusal(&["trace", "dump", path, "--from", "9999"]),
        format!("sluice: {path}: cannot seek to access 9999: the trace ends at 1024")
    );
    assert_eq!(
        refusal(&["trace", "convert", path, "-", "--to", "sluice"]),
        format!("sluice: {path}: -: sluice cannot be written to a pipe; name a file")
    );
    let whole = std::fs::read(path).unwrap();
    std::fs::write(path, &whole[..whole.len() - 9]).unwrap();
    for words in [&["trace", "info", path][..], &["sim", "--trace", path]] {
        let text = refusal(words);
        assert!(
            text.contains(": truncated trace: the file ends at byte"),
            "{text}"
        );
    }
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 4;
    std::fs::write(path, &damaged).unwrap();
    for words in [&["trace", "info", path][..], &["sim", "--trace", path]] {
        let text = refusal(words);
        assert!(text.contains(": damaged trace: byte"), "{text}");
    }
}

/// 48 KB of rows with times became hundreds of megabytes of instructions without memory, and what
/// was there of them stayed when the command was killed.
#[test]
fn a_conversion_that_cannot_end_well_leaves_nothing() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (rows, out) = (at("a.csv"), at("out.champsim"));
    let row = |n: u64| format!("{},host,0,Read,{},4096,0\n", 10_000_000 * n, 4096 * n);
    std::fs::write(&rows, (0..1000).map(row).collect::<String>()).unwrap();
    let why = refusal(&["trace", "convert", &rows, &out]);
    for word in ["--instructions-per-second", "--max-fill", "bytes"] {
        assert!(why.contains(word), "{why}");
    }
    let files = || std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(files(), 1);
    let slower = ["--instructions-per-second", "1000"];
    let told = sluice(&[&["trace", "convert", &rows, &out][..], &slower].concat());
    assert!(told.status.success() && files() == 2, "{told:?}");
    // Again, over the one that is there.
    let why = refusal(&[&["trace", "convert", &rows, &out][..], &slower].concat());
    assert!(
        why.ends_with("it is there already; replace it with --force"),
        "{why}"
    );
    let again = ["trace", "convert", "--force", &rows, &out];
    let told = sluice(&[&again[..], &slower].concat());
    assert!(told.status.success() && files() == 2, "{told:?}");
}

#[test]
fn a_conversion_that_is_killed_leaves_nothing() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("out.trace");
    let mut command = child::program(env!("CARGO_BIN_EXE_sluice"));
    command
        .args(["trace", "convert", "--from", "msr-csv", "-"])
        .arg(&out);
    command
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut rows = child.stdin.take().unwrap();
    // It has its file when it has taken more than a pipe holds.
    for n in 0..100_000u64 {
        let row = format!("{n},host,0,Read,{},4096,0\n", 4096 * n);
        std::io::Write::write_all(&mut rows, row.as_bytes()).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// It counted pages where the program had them, and not where they lie on the device.
#[test]
fn size_counts_the_misses_that_sim_counts_whatever_a_page_is() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("far.trace");
    let load = |n: u64| Access {
        cpu: 0,
        instructions: n,
        address: 0x7f00_0000_0000 + 16_384 * ((n * n + n / 7) % 100) + 60 + 1024 * (n % 3),
        size: 8,
        kind: Kind::Load,
    };
    write(&path, (0..3000).map(load));
    let path = path.to_str().unwrap();
    for page in ["512B", "4KiB", "16KiB"] {
        let page = format!("device.page={page}");
        let set = [
            "--set",
            "device.capacity=64MiB",
            "--set",
            &page,
            "--trace",
            path,
        ];
        let small = ["--set", "cache.capacity=64KiB", "--set", "cache.policy=lru"];
        let ran = object(&[&["sim", "--json"], &set[..], &small].concat());
        let sizes = ["--sizes", "64KiB", "--policies", "lru"];
        let told = object(&[&["size", "--json"], &set[..], &sizes].concat());
        let misses = &told["sizes"][0]["policies"]["lru"]["misses"];
        let first = told["first_accesses"].as_u64().unwrap();
        assert!(misses.as_u64() > Some(0), "{page}: {told}");
        let all = misses.as_u64().unwrap() + first;
        assert_eq!(ran["cache"]["misses"], all, "{page}");
    }
}

/// A header may say anything, and a trace may have nothing in it.
#[test]
fn info_prints_letters_and_numbers_alone() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("odd.trace");
    let header = Header::new("odd \u{1b}[2J name\n");
    let writer = Writer::create(&path, &header).unwrap();
    writer.finish(&[]).unwrap();
    let told = sluice(&["trace", "info", "--reuse", path.to_str().unwrap()]);
    assert!(told.status.success());
    let text = String::from_utf8(told.stdout).unwrap();
    assert!(text.contains("odd \\u{1b}[2J name\\n\n"), "{text}");
    assert!(!text.contains("NaN"), "{text}");
}

/// The time of what came before was in the run time.
#[test]
fn size_tells_the_time_after_the_warm_up() {
    let dir = TempDir::new().unwrap();
    let path = record(&dir, "uniform:size=2MiB,ops=3000");
    let path = path.to_str().unwrap();
    let all = ["--set", "device.capacity=64MiB", "--trace", path];
    let all = [&all[..], &["--warmup", "2000"]].concat();
    let small = ["--set", "cache.capacity=1MiB"];
    let ran = object(&[&["sim", "--json"], &all[..], &small].concat());
    let told = object(&[&["size", "--json", "--sizes", "1MiB"], &all[..]].concat());
    assert_eq!(told["sizes"][0]["run_time_s"], ran["sim_time_s"]);
    assert!(ran["sim_time_s"].as_f64() > Some(0.0));
}
