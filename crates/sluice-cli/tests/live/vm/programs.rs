//! Programs of every day in a guest, bound to the device: right answers, and figures of the device
//! that match what they did.

use super::{PAGE, demo, well};
use crate::sluice::Sluice;
use serde_json::Value;

const CACHE_PAGES: u64 = (8 << 20) / PAGE;
/// Records of Redis, four to a page at most. It is given all, then asked for all.
const RECORDS: u64 = 16_000;
const RECORD_BYTES: u64 = 1024;
const GRAPH: &str = "graph --scale 16 --sources 1 --iterations 2 --json";

/// A server is loaded, changed and read back, and prints its pages on node 1; then comes a graph.
fn commands() -> String {
    format!(
        "redis-server --save '' --port 0 --unixsocket /tmp/redis --logfile /tmp/redis.log & \
         for i in $(seq 300); do [ -S /tmp/redis ] && break; sleep 0.1; done; \
         sluice workload redis --socket /tmp/redis --records {RECORDS} --ops 2000 --mix A \
             --value-size {RECORD_BYTES} --connections 1 --phase all --json || exit 3; \
         grep -o ' N1=[0-9]*' /proc/$!/numa_maps; \
         kill $!; wait $!; \
         sluice workload {GRAPH}"
    )
}

/// What a graph's answers are, without the times they took.
fn answers(object: &Value) -> Vec<&Value> {
    let answer = |path| object.pointer(path).unwrap_or_else(|| panic!("no {path}"));
    let paths = [
        "/validated",
        "/mismatches",
        "/vertices",
        "/edges",
        "/bfs/searches/0/source",
        "/bfs/searches/0/reached",
        "/bfs/searches/0/depth",
        "/bfs/searches/0/edges",
        "/pagerank/checksum",
    ];
    paths.into_iter().map(answer).collect()
}

#[test]
fn redis_and_a_graph_have_right_answers_and_the_device_counts_what_they_did() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_str().expect("plain letters");
    let more = ["--with", "redis-server", "--out", out];
    let outcome = demo("numa", &commands(), &more);
    let (object, _) = well(&outcome);
    // What the translator takes after a miss is in no figure.
    let is_told = outcome.stderr.contains("QEMU's translator runs this guest");
    assert_eq!(
        is_told,
        object["vm"]["accelerator"] == "tcg",
        "{outcome:#?}"
    );
    let said = std::fs::read_to_string(folder.path().join("guest.out")).expect("what it said");
    let redis = said.lines().find(|line| line.contains("\"redis\""));
    let redis: Value = serde_json::from_str(redis.expect("a result")).expect("JSON");
    assert_eq!(redis["mismatches"], 0, "{said}");
    let graph = &object["guest"]["output"];
    let mut here = Sluice::command();
    let here = here.arg("workload").args(GRAPH.split_whitespace());
    let here = here.output().expect("the same graph on the host");
    let here: Value = serde_json::from_slice(&here.stdout).expect("JSON");
    assert_eq!(answers(graph), answers(&here));
    assert_eq!(graph["mismatches"], 0);

    let pages: u64 = said
        .lines()
        .filter_map(|line| line.trim().strip_prefix("N1="))
        .map(|n| n.parse::<u64>().expect("pages"))
        .sum();
    assert_figures(&object["workload"], pages, graph);
}

/// The guest has one CPU and nobody else touches the device, so that traps are misses, one by one,
/// each of them read from flash, or from the controller while it still programs the page. Of `n`
/// pages that were touched at most those that fit into the cache were there.
fn assert_figures(figures: &Value, redis_pages: u64, graph: &Value) {
    let figure = |path: &str| -> u64 {
        let value = figures.pointer(path).and_then(Value::as_u64);
        value.unwrap_or_else(|| panic!("no number {path} in {figures:#}"))
    };
    let misses = figure("/cache/misses");
    assert_eq!(figure("/traps"), misses);
    assert_eq!(figure("/trap_kinds/miss"), misses);
    assert_eq!(figure("/flash/reads") + figure("/flash/held_reads"), misses);
    assert_eq!(figure("/flash/programs"), figure("/cache/dirty_evictions"));
    assert_eq!(figure("/latency_ns/achieved/count"), misses);
    let came_to_stay = misses.checked_sub(figure("/cache/evictions"));
    assert!(came_to_stay <= Some(CACHE_PAGES), "{figures:#}");

    let values = RECORDS * RECORD_BYTES / PAGE;
    assert!(redis_pages >= values, "{redis_pages} pages of Redis");
    let graph_pages = graph["memory_bytes"].as_u64().expect("bytes") / PAGE;
    let missed = |pages: u64| pages.saturating_sub(CACHE_PAGES);
    // Redis' pages as they came, its values once more, and the graph.
    let least = missed(redis_pages) + missed(values) + missed(graph_pages);
    assert!(
        least > 0 && misses >= least,
        "{misses} misses, {least} pages"
    );
}
