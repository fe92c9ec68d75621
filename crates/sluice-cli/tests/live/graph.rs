//! A graph larger than the cache: right answers, and those of plain memory.

use crate::sluice::{Sluice, TRAPS, finish};
use serde_json::Value;

const FLAGS: &str = "graph --scale 11 --sources 2 --iterations 3 --seed 7 --json";

/// What does not depend on time.
fn answers(stdout: &str) -> Value {
    let line = stdout.lines().last().expect("a line");
    let mut report: Value = serde_json::from_str(line).expect("an object");
    assert_eq!(
        (&report["mismatches"], &report["validated"]),
        (&0.into(), &true.into())
    );
    let searches = report["bfs"]["searches"].take();
    let plain =
        |search: &Value| ["source", "reached", "depth", "edges"].map(|key| search[key].clone());
    let searches: Vec<_> = searches
        .as_array()
        .expect("a list")
        .iter()
        .map(plain)
        .collect();
    serde_json::json!([
        searches,
        report["pagerank"]["checksum"],
        report["pagerank"]["sum"]
    ])
}

#[test]
fn a_graph_on_the_device_has_the_answers_of_plain_memory() {
    let flags = FLAGS.split_whitespace();
    let plain = finish(Sluice::command().arg("workload").args(flags));
    let plain = answers(&plain.stdout);
    for (trap, threads) in TRAPS.into_iter().zip([1, 2]) {
        let sluice = Sluice::run(trap).cache("256KiB");
        let out = sluice
            .workload(&format!("{FLAGS} --threads {threads}"))
            .evicted();
        assert_eq!(answers(out.own_stdout()), plain, "{trap}");
        // The neighbours alone fill the cache, and are gone through time and again.
        let pages = out.number("/memory/placed_bytes") / 4096;
        assert!(out.number("/cache/misses") > 2 * pages, "{trap}: {out:#?}");
    }
}
