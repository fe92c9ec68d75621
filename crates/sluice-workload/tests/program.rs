//! The program as a user runs it: what it prints, and with which status it ends.

mod common;

use common::{json, text, workload};

#[test]
fn a_chase_reports_each_pass() {
    let output = workload("chase --size 256KiB --stride 512 --passes 3 --random --seed 9 --json");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = json(&output);
    assert_eq!(report["schema"], "sluice.workload/1");
    assert_eq!(report["params"]["seed"], 9);
    let passes = report["passes"].as_array().unwrap();
    assert_eq!(passes.len(), 3);
    for pass in passes {
        assert_eq!(pass["accesses"], 512);
        assert_eq!(pass["latency_ns"]["count"], 512);
        let buckets = pass["histogram"].as_array().unwrap();
        assert_eq!(
            buckets.iter().map(|b| b[1].as_u64().unwrap()).sum::<u64>(),
            512
        );
    }
    assert_eq!(report["latency_ns"]["count"], 3 * 512);
}

#[test]
fn a_bare_chase_goes_round_until_its_loads_take_time() {
    for (flags, accesses) in [
        ("--size 4KiB", 1 << 18),
        ("--size 1MiB --stride 8", 1 << 18),
    ] {
        let report = json(&workload(&format!(
            "chase --bare --json --passes 3 {flags}"
        )));
        let passes = report["passes"].as_array().unwrap();
        assert_eq!(passes.len(), 3);
        let times = passes.iter().map(|pass| {
            assert_eq!(pass["accesses"], accesses, "{flags}");
            pass["ns_per_access"].as_f64().unwrap()
        });
        let mut times: Vec<f64> = times.collect();
        times.sort_by(f64::total_cmp);
        assert_eq!(report["pass_ns"]["min"], times[0]);
        assert_eq!(report["pass_ns"]["median"], times[1]);
    }
}

#[test]
fn the_checksum_is_a_function_of_the_flags() {
    let checksum = |flags: &str| {
        let all = format!("chase --size 64KiB --json --passes 2 {flags}");
        json(&workload(&all))["checksum"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let plain = checksum("--random");
    assert_eq!(
        checksum("--random --batch"),
        plain,
        "how it is measured does not matter"
    );
    assert_eq!(checksum("--random --bare"), plain);
    assert_eq!(checksum("--random --write"), plain);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("buffer").display().to_string();
    assert_eq!(checksum(&format!("--random --file {file}")), plain);
    assert_ne!(checksum("--random --seed 2"), plain);
    assert_ne!(checksum("--uniform"), plain);
    assert_ne!(checksum(""), plain);
}

#[test]
fn the_file_holds_the_object_that_was_printed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.json");
    let flags = format!("chase --size 64KiB --json --out {}", path.display());
    let output = workload(&flags);
    assert_eq!(std::fs::read(&path).unwrap(), output.stdout);
}

#[test]
fn people_get_a_table() {
    let output = workload("chase --size 64KiB --passes 2");
    let lines = text(&output.stdout);
    assert_eq!(lines.lines().count(), 5, "{lines}");
    assert!(lines.contains("p99.9"));
}

#[test]
fn every_mix_of_the_store_is_right() {
    for (mix, kinds) in [
        ("A", vec!["read", "update"]),
        ("B", vec!["read", "update"]),
        ("C", vec!["read"]),
        ("D", vec!["read", "insert"]),
        ("E", vec!["insert", "scan"]),
        ("F", vec!["read", "rmw"]),
    ] {
        let flags = "--records 2000 --ops 4000 --value-size 300 --threads 2 --sweep --json";
        let output = workload(&format!("kv --mix {mix} {flags}"));
        assert!(output.status.success(), "{mix}: {}", text(&output.stderr));
        let report = json(&output);
        assert_eq!(report["mismatches"], 0);
        assert_eq!(report["requests"], 4000);
        let ops = report["ops"].as_array().unwrap();
        let names: Vec<_> = ops.iter().map(|op| op["op"].as_str().unwrap()).collect();
        assert_eq!(names, kinds, "{mix}");
        let inserts = ops.iter().find(|op| op["op"] == "insert");
        let added = inserts.map_or(0, |op| op["latency_ns"]["count"].as_u64().unwrap());
        assert_eq!(report["records_at_end"].as_u64().unwrap(), 2000 + added);
    }
}

#[test]
fn the_graph_does_not_depend_on_threads() {
    let run = |flags: &str| {
        let output = workload(&format!("graph --scale 11 --json {flags}"));
        assert!(output.status.success(), "{}", text(&output.stderr));
        json(&output)
    };
    let found = |report: &serde_json::Value| {
        assert_eq!(report["mismatches"], 0);
        let searches = report["bfs"]["searches"].as_array().unwrap().iter();
        let counts = |search: &serde_json::Value| {
            ["source", "reached", "depth", "edges"].map(|key| search[key].as_u64().unwrap())
        };
        let searches: Vec<_> = searches.map(counts).collect();
        (searches, report["pagerank"]["checksum"].clone())
    };
    let one = found(&run(""));
    assert_eq!(one.0.len(), 8);
    // Nearly all of Graph500's edges are in one component.
    let edges = 16 << 11;
    assert!(
        one.0
            .iter()
            .all(|[_, _, _, inside]| inside * 100 > edges * 98)
    );
    assert_eq!(one, found(&run("--threads 3")));
    assert_ne!(one, found(&run("--seed 2")));
    let bare = run("--sources 0 --iterations 0 --skip-validation");
    assert!(bare["bfs"].is_null() && bare["pagerank"].is_null());
    assert_eq!(bare["passes"].as_array().unwrap().len(), 1);
}

#[test]
fn the_pattern_holds_in_memory_and_in_files() {
    let dir = tempfile::tempdir().unwrap();
    let file = format!("--file {}", dir.path().join("buffer").display());
    for place in ["", &file] {
        let flags = format!("pattern --size 2MiB --threads 3 --seconds 1 --json {place}");
        let output = workload(&flags);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(json(&output)["mismatches"], 0);
    }
}

#[test]
fn the_pattern_is_written_and_checked_once_in_no_time() {
    let found = json(&workload(
        "pattern --size 2MiB --threads 2 --seconds 0 --json",
    ));
    let words = (2 << 20) / 8;
    assert_eq!(found["words_written"], words, "{found}");
    assert_eq!(
        found["words_checked"],
        2 * words,
        "fresh memory is zero, then as written"
    );
    assert_eq!(found["mismatches"], 0);
}

#[test]
fn bad_input_is_one_line_and_status_2() {
    for (flags, told) in [
        (
            "chase --stride 100",
            "stride: \"100\" is not accepted; expected a power of two",
        ),
        (
            "chase --size 0",
            "size: \"0B\" is not accepted; expected a positive multiple",
        ),
        (
            "chase --passes 65",
            "passes: \"65\" is not accepted; expected a number from 1 to 64",
        ),
        (
            "chase --stride 8 --write",
            "expected at least 16 bytes with write",
        ),
        ("chase --bare --write", "cannot be used with"),
        ("chase --size 4EiB", "number with a unit"),
        (
            "chase --size 4194304TiB --stride 4194304TiB",
            "mapping 4194304TiB of memory: ",
        ),
        ("chase --random --uniform", "cannot be used with"),
        (
            "chase --out /nowhere/out.json",
            "/nowhere/out.json: No such file",
        ),
        (
            "chase --file /nowhere/buffer",
            "/nowhere/buffer: No such file",
        ),
        ("chase --size 256KiB --revisit", "more than 256KiB, 4096"),
        ("traffic --pace 0.9ns", "expected whole nanoseconds"),
        // So many are none, in 64 bits.
        (
            "traffic --reads 50 --passes 17592186044416",
            "passes: \"17592186044416\" is not accepted; expected 1 or more, and less than 16 EiB",
        ),
        ("kv --mix G", "invalid value 'G'"),
        (
            "kv --records 0",
            "--records: \"0\" is not accepted; expected a number from 1",
        ),
        (
            "kv --value-size 3",
            "--value-size: \"3B\" is not accepted; expected a size from 16B",
        ),
        (
            "redis --mix E",
            "--mix: \"E\" is not accepted; expected A, B, C, D or F",
        ),
        (
            "redis --bgsave-at 1.5",
            "--bgsave-at: \"150%\" is not accepted",
        ),
        (
            "redis --bgsave-at 0.5 --phase load",
            "expected a phase that runs operations",
        ),
        (
            "pattern --size 100",
            "--size: \"100B\" is not accepted; expected whole pages",
        ),
        ("pattern --threads 65", "--threads: \"65\" is not accepted"),
    ] {
        refused(flags, told);
    }
}

#[test]
fn a_graph_that_cannot_be_is_one_line_and_status_2() {
    for (flags, told) in [
        (
            "graph --scale 32",
            "--scale: \"32\" is not accepted; expected a number from 1 to 31",
        ),
        (
            "graph --sources 65",
            "--sources: \"65\" is not accepted; expected a number from 0 to 64",
        ),
        (
            "graph --scale 31 --edges-per-vertex 1024",
            "an array of 4398046511104 elements of 4 bytes: ",
        ),
    ] {
        refused(flags, told);
    }
}

fn refused(flags: &str, told: &str) {
    let output = workload(flags);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{flags}: {message}");
    assert!(message.contains(told), "{flags}: {message}");
    assert!(output.stdout.is_empty(), "{flags}");
}
