//! Regions that count: marks of a program, of `sluice ctl`, and what `sluice run` waits for.

use crate::control::programs::c_program;
use crate::control::rig::Rig;
use crate::sluice::{Outcome, Sluice, TRAPS, finish};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The program, built by the first test that asks.
fn program() -> &'static str {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let source = "crates/sluice-cli/tests/programs/regions.c";
    let path = PROGRAM.get_or_init(|| c_program(source, "regions"));
    path.to_str().expect("plain letters")
}

fn run(trap: &str, arguments: &[&str], program: &[&str]) -> Outcome {
    Sluice::run(trap)
        .args(["--device", "cylon"])
        .cache("1MiB")
        .args(arguments)
        .program(program)
}

/// Misses, and those of them that were the first of their page.
fn misses(of: &Value) -> (u64, u64) {
    let cache = &of["cache"];
    let number = |key: &str| cache[key].as_u64().expect("a number");
    assert_eq!(
        cache["reuse_hit_ratio"].is_null(),
        number("misses") == number("first_misses")
    );
    (number("misses"), number("first_misses"))
}

fn names(json: &Value) -> Vec<&str> {
    let regions = json["regions"].as_array().expect("regions").iter();
    regions
        .map(|of| of["from"].as_str().unwrap_or("-"))
        .collect()
}

#[test]
fn marks_of_a_program_part_its_figures() {
    let program = program();
    for trap in TRAPS {
        let out = run(trap, &["--count-after", "marker:loaded"], &[program]).well();
        let json = out.json();
        assert_eq!(names(&json), ["-", "loaded", "done"]);
        let regions = &json["regions"];
        // Before main, the C library may have used a page or two.
        let (all, first) = misses(&regions[0]);
        assert!(
            (512..530).contains(&all) && all == first,
            "{trap}: {all} {first}"
        );
        assert_eq!(misses(&regions[1]), (1024, 0), "{trap}");
        assert_eq!(misses(&regions[2]), (64, 64), "{trap}");
        // What counts is the second and the third.
        assert_eq!(misses(&json), (1088, 64), "{trap}");
        assert_eq!(json["latency_ns"]["achieved"]["count"], 1088, "{trap}");
        assert_eq!(json["counted"]["from"], "loaded");
        let [from, counted, all] = [
            &json["counted"]["from_s"],
            &json["counted"]["wall_s"],
            &json["wall_s"],
        ]
        .map(|of| of.as_f64().expect("seconds"));
        assert!(
            from > 0.0 && (from + counted - all).abs() < 1e-6,
            "{trap}: {json}"
        );
        // Without being asked for, nothing is left out.
        let whole = run(trap, &[], &[program]).well().json();
        let (all, first) = misses(&whole);
        assert!(
            (1600..1618).contains(&all) && first == all - 1024,
            "{trap}: {all} {first}"
        );
        assert_eq!(names(&whole), ["-", "loaded", "done"]);
        assert!(whole["counted"]["from"].is_null());
    }
}

#[test]
fn counting_begins_when_a_file_appears_or_at_a_time() {
    let program = program();
    let dir = tempfile::tempdir().expect("room");
    let path = dir.path().join("ready");
    let path = path.to_str().expect("plain letters");
    let file = format!("file:{path}");
    for (after, how) in [(&file[..], vec!["file", path]), ("1500ms", vec!["sleep"])] {
        let words = [&[program][..], &how].concat();
        let json = run("event", &["--count-after", after], &words)
            .well()
            .json();
        assert_eq!(misses(&json), (1088, 64), "{after}: {json}");
        assert_eq!(json["counted"]["from"], after);
        let from = json["counted"]["from_s"].as_f64().expect("seconds");
        assert!((0.0..3.0).contains(&from), "{after}: {from}");
    }
}

/// Nobody looked for the moment in the first 100 ms.
#[test]
fn counting_begins_soon_after_a_short_time() {
    let begins = || {
        let json = run("event", &["--count-after", "1ms"], &[program(), "sleep"]);
        let json = json.well().json();
        json["counted"]["from_s"].as_f64().expect("seconds")
    };
    // A busy host may start the program late, but not every time.
    let tries: Vec<f64> = (0..5).map(|_| begins()).collect();
    assert!(
        tries.iter().any(|from| (0.001..0.08).contains(from)),
        "{tries:?}"
    );
}

#[test]
fn a_mark_that_never_comes_is_an_error_after_the_result() {
    let program = program();
    let out = run("event", &["--count-after", "marker:begun"], &[program]);
    assert_eq!(out.status.code(), Some(2), "{out:#?}");
    let told = "--count-after marker:begun: the program set other marks (loaded, done), so that \
                the figures are of the whole run";
    assert!(out.stderr.contains(told), "{out:#?}");
    assert!(misses(&out.json()).0 >= 1600);
    assert!(out.json()["counted"]["from_s"].is_null());
}

#[test]
fn what_cannot_be_a_moment_is_refused_before_the_program_starts() {
    for (given, told) in [
        (
            "soon",
            "expected a time such as 10s, marker:NAME or file:PATH",
        ),
        (
            "marker:a b",
            "expected marker: and a name of 1 to 64 letters",
        ),
        ("file:/", "expected a file that appears during the run"),
    ] {
        let out = run("event", &["--count-after", given], &["/bin/echo", "ran"]);
        assert_eq!(out.status.code(), Some(2), "{out:#?}");
        assert!(
            out.stderr.contains(told) && out.stderr.contains(given),
            "{out:#?}"
        );
        assert!(!out.stdout.contains("ran"), "{out:#?}");
    }
}

#[test]
fn a_program_has_a_bounded_number_of_marks() {
    let program = program();
    let many = run("event", &[], &[program, "many"]);
    assert_eq!(many.status.code(), Some(64), "{many:#?}");
    assert_eq!(names(&many.json()).len(), 65);
    for trap in TRAPS {
        let bad = run(trap, &[], &[program, "bad"]);
        assert!(bad.status.success(), "{bad:#?}");
    }
    // Without Sluice the first mark is refused, which the program says.
    let alone = finish(&mut Command::new(program));
    assert_eq!(alone.status.code(), Some(4), "{alone:#?}");
}

#[test]
fn another_process_marks_and_resets() {
    for trap in TRAPS {
        let mut rig = Rig::start(trap, &[("prefetch.policy", "none")]);
        rig.tell("write 0 4096");
        let marked = rig.ctl_outcome(&["mark", "filled"]);
        assert!(
            marked.status.success() && marked.stdout.is_empty(),
            "{marked:#?}"
        );
        rig.tell("read 0 4096");
        assert!(rig.ctl_outcome(&["reset"]).status.success());
        rig.tell("read 0 100");
        let stats = rig.ctl(&["stats"]);
        assert!(stats["since_reset_s"].is_number(), "{stats}");
        assert_eq!(stats["counters"]["misses"], 100, "{trap}: since the start?");
        assert_eq!(stats["latency_ns"]["achieved"]["count"], 100);
        let bad = rig.ctl_outcome(&["mark", "a b"]);
        assert_eq!(bad.status.code(), Some(2), "{bad:#?}");
        assert!(
            bad.stderr
                .contains("bad mark \"a b\": expected 1 to 64 letters"),
            "{bad:#?}"
        );
        let json = rig.quit();
        assert_eq!(names(&json), ["-", "filled", "reset"], "{trap}");
        assert_eq!(misses(&json["regions"][1]), (4096, 0), "{trap}");
        assert_eq!(misses(&json), (100, 0), "{trap}");
        assert_eq!(json["counted"]["from"], "reset");
    }
}

/// What `sluice size` answers of a part: a cache of the 512 pages that are used there is enough.
#[test]
fn a_part_of_a_program_is_sized_alone() {
    let size = |arguments: &[&str]| {
        let mut command = Sluice::command();
        let words = "size --json --filter 64KiB --device cylon --policies fifo".split(' ');
        command.args(words).args(arguments);
        finish(command.args(["--", program(), "sizes"]))
    };
    let pages = |json: &Value| {
        let lru = json["answers"].as_array().expect("answers").iter();
        let mut lru = lru.filter(|answer| answer["policy"] == "lru");
        let bytes = lru.next().expect("LRU")["cache_bytes"].as_u64();
        bytes.map(|bytes| bytes / 4096)
    };
    let out = size(&["--from", "loaded", "--to", "done"]);
    assert!(out.status.success(), "{out:#?}");
    let part = out.json();
    assert_eq!(part["accesses"], 5120, "{part}");
    assert_eq!(part["first_accesses"], 0);
    assert!(
        (512..520).contains(&pages(&part).expect("a size")),
        "{part}"
    );
    assert!(part["sizes"][0]["run_time_s"].is_null(), "{part}");
    let whole = size(&[]).json();
    assert!((9216..9240).contains(&whole["accesses"].as_u64().expect("a number")));
    assert!((2048..2060).contains(&whole["first_accesses"].as_u64().expect("a number")));
    for (arguments, told) in [
        (
            ["--from", "begun"],
            "bad value for --from: \"begun\"; the program set the marks loaded, done, last",
        ),
        (
            ["--from", "last"],
            "bad value for --from: \"last\"; the program used nothing after it",
        ),
        (["--from", "a b"], "expected 1 to 64 letters"),
    ] {
        let out = size(&arguments);
        assert_eq!(out.status.code(), Some(2), "{out:#?}");
        assert!(out.stderr.contains(told), "{out:#?}");
    }
}
