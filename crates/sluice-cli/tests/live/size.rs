//! `sluice size`: one run gives the hit ratios of caches of all sizes.

use crate::sluice::Sluice;
use serde_json::Value;

/// A random walk of 20 rounds over 16 MiB.
const WALK: &str = "workload chase --size 16MiB --stride 4096 --uniform --batch --passes 20 --json";
const PAGES: f64 = 4096.0;

/// The result, after what the program printed.
fn size(arguments: &str) -> Value {
    let mut command = Sluice::command();
    let words = format!("size --json --sizes 4MiB,8MiB,12MiB,15MiB {arguments} --");
    command.args(words.split_whitespace());
    command.arg(env!("CARGO_BIN_EXE_sluice"));
    command.args(WALK.split_whitespace());
    let told = command.output().expect("the command starts");
    let errors = String::from_utf8_lossy(&told.stderr);
    assert_eq!(told.status.code(), Some(0), "{errors}");
    let text = String::from_utf8(told.stdout).expect("UTF-8");
    let mut lines = text.lines().rev().filter(|line| !line.is_empty());
    let result = crate::schema::checked(lines.next().expect("a result").as_bytes());
    let own: Value = serde_json::from_str(lines.next().expect("the program's")).expect("JSON");
    assert_eq!(
        own["schema"], "sluice.workload/1",
        "its output is untouched"
    );
    result
}

#[test]
fn sizes_of_which_the_run_knows_nothing_are_named() {
    let mut command = Sluice::command();
    command.args(["size", "--filter", "1MiB", "--sizes", "64KiB,2MiB", "--"]);
    command.arg(env!("CARGO_BIN_EXE_sluice"));
    command.args("workload chase --size 4MiB --stride 4096 --passes 2".split(' '));
    let told = command.output().expect("the command starts");
    let errors = String::from_utf8_lossy(&told.stderr);
    assert_eq!(told.status.code(), Some(0), "{errors}");
    let said = "--sizes 64KiB: this run knows nothing of caches below 1MiB";
    assert!(errors.contains(said), "{errors}");
    let text = String::from_utf8(told.stdout).expect("UTF-8");
    let rows: Vec<&str> = text.lines().filter(|row| row.starts_with("  ")).collect();
    assert!(
        rows.last().is_some_and(|row| row.contains("2 MiB")),
        "{text}"
    );
    assert!(!text.contains("64 KiB"), "{text}");
}

/// A cache of C pages hits C / P of the walk; all of the program's pages are known, and it touches
/// few besides.
fn check(result: &Value, tolerance: f64) {
    let first = result["first_accesses"].as_f64().unwrap();
    assert!((PAGES..PAGES + 300.0).contains(&first), "{first}");
    for (point, mib) in result["sizes"]
        .as_array()
        .unwrap()
        .iter()
        .zip([4, 8, 12, 15])
    {
        let truth = f64::from(mib) / 16.0;
        let told = point["policies"]["fifo"]["hit_ratio"].as_f64().unwrap();
        assert!(
            (told - truth).abs() < tolerance,
            "{mib} MiB: {told}, truth {truth}"
        );
        let misses = (1.0 - truth) * 20.0 * PAGES;
        let seconds = point["run_time_s"].as_f64().unwrap();
        assert!(seconds > 0.9 * misses * 40e-6, "{mib} MiB: {seconds} s");
    }
}

#[test]
fn watched_pages_tell_of_all() {
    let result = size("--sample 512");
    assert_eq!(result["method"], "sampled");
    let profile = &result["profile"];
    let share = profile["sampled_share"].as_f64().unwrap();
    assert!((1.0 / 16.0..=1.0 / 4.0).contains(&share), "{share}");
    // Of 86,000 accesses, and once for each page.
    let traps = profile["traps"].as_f64().unwrap();
    assert!(traps < 30_000.0, "{traps}");
    check(&result, 0.05);
}

#[test]
fn misses_of_a_small_cache_tell_of_all() {
    let result = size("--filter 256KiB");
    assert_eq!(result["method"], "filtered");
    assert_eq!(result["smallest_bytes"], 256 << 10);
    check(&result, 0.03);
}

/// Without the traps it took 0.0 s: the first thread only waits.
#[test]
fn a_time_without_the_traps_of_several_threads_is_not_known() {
    let run = |json: &[&str]| {
        let mut command = Sluice::command();
        command.arg("size").args(json).arg("--");
        command.arg(env!("CARGO_BIN_EXE_sluice"));
        command.args("workload pattern --size 4MiB --threads 2 --seconds 1".split(' '));
        let told = command.output().expect("the command starts");
        let errors = String::from_utf8_lossy(&told.stderr);
        assert_eq!(told.status.code(), Some(0), "{errors}");
        String::from_utf8(told.stdout).expect("UTF-8")
    };
    let text = run(&["--json"]);
    let line = text.lines().last().expect("a result");
    let profile = &crate::schema::checked(line.as_bytes())["profile"];
    assert!(profile["threads"].as_u64() > Some(1), "{profile}");
    assert!(profile["without_traps_s"].is_null(), "{profile}");
    let text = run(&[]);
    assert!(
        text.contains("so its time without them is not known\n"),
        "{text}"
    );
}
