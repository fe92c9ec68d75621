//! Kv, the store in the process itself.

use serde_json::{Value, json};

use crate::figures::{Run, check_latencies, float, list, number, run};

/// The rows of operations and what stands below them.
pub fn check_operations(run: &Run) -> String {
    let ops = list(&run.report["ops"]);
    let lines: Vec<&str> = run.footer.lines().collect();
    let (rows, rest) = lines.split_at(ops.len());
    for (op, row) in ops.iter().zip(rows) {
        check_latencies(op);
        let latency = &op["latency_ns"];
        let mut due = vec![
            op["op"].as_str().unwrap().to_owned(),
            latency["count"].to_string(),
            format!("{:.1}", float(&latency["mean"])),
        ];
        due.extend(["p50", "p90", "p99", "p999", "max"].map(|name| latency[name].to_string()));
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), due);
    }
    let requests: u64 = ops
        .iter()
        .map(|op| number(&op["latency_ns"]["count"]))
        .sum();
    match requests {
        0 => assert!(run.report["latency_ns"].is_null()),
        _ => assert_eq!(run.report["latency_ns"]["count"], requests),
    }
    rest.join("\n")
}

/// How many operations of a kind there were.
pub fn count(report: &Value, kind: &str) -> u64 {
    let ops = list(&report["ops"]).iter();
    ops.filter(|op| op["op"] == kind)
        .map(|op| number(&op["latency_ns"]["count"]))
        .sum()
}

fn kv(mix: &str, distribution: &str, flags: &str, threads: u64, sweep: bool) -> Run {
    let run = run(&format!(
        "kv --mix {mix} --records 3000 --ops 1001 --value-size 40 --seed 2 --threads {threads} \
         {flags}"
    ));
    let params = json!({
        "mix": mix, "distribution": distribution, "records": 3000, "ops": 1001, "value_bytes": 40,
        "threads": threads, "seed": 2, "sweep": sweep,
    });
    assert_eq!(run.report["params"], params);
    assert_eq!(
        run.heading,
        format!("kv: YCSB-{mix}, 3000 records of 40B, 1001 operations, {threads} threads, seed 2")
    );
    let figure = |name: &str| number(&run.report[name]);
    assert_eq!(
        (figure("requests"), figure("errors"), figure("mismatches")),
        (1001, 0, 0)
    );
    let at_end = 3000 + count(&run.report, "insert");
    assert_eq!(figure("records_at_end"), at_end);
    let mut phases = vec![("load", 3000), ("run", 1001)];
    if sweep {
        phases.push(("sweep", at_end));
    }
    assert_eq!(run.phases(), phases);
    let checked = figure("values_checked");
    assert_eq!(
        check_operations(&run),
        format!("{checked} values checked, 0 wrong")
    );
    run
}

#[test]
fn a_store_reports_its_operations_and_what_it_checked() {
    for (mix, distribution, threads) in [
        ("A", "zipfian", 1),
        ("B", "zipfian", 2),
        ("C", "zipfian", 3),
        ("D", "latest", 3),
        ("F", "zipfian", 2),
    ] {
        for sweep in [false, true] {
            let flag = if sweep { "--sweep" } else { "" };
            let run = kv(mix, distribution, flag, threads, sweep);
            let report = &run.report;
            let at_end = if sweep {
                number(&report["records_at_end"])
            } else {
                0
            };
            let read = count(report, "read") + count(report, "rmw");
            assert_eq!(number(&report["values_checked"]), read + at_end, "{mix}");
        }
    }
    let other = kv("C", "uniform", "--distribution uniform", 1, false);
    assert_eq!(count(&other.report, "read"), 1001);
}

/// A scan reads from 1 to 100 records, and fewer only at the end of all.
#[test]
fn scans_check_fifty_records_each() {
    let run = kv("E", "zipfian", "--distribution zipfian", 2, false);
    let scans = count(&run.report, "scan") as f64;
    let checked = float(&run.report["values_checked"]);
    // The variance of 1 to 100 is 833; one scan in 60 begins within 50 of the end.
    let due = 50.5 * scans;
    let off = 4.0 * (scans * 833.0).sqrt() + scans * 50.0 / 60.0;
    assert!(
        (checked - due).abs() < off,
        "{checked} for {due} within {off}"
    );
}
