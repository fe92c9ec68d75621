//! Results of live processes, from statistics that a test wrote.

mod common;

use common::{block, set, write};
use serde_json::Value;
use sluice_abi::{Counter, Hist};
use sluice_model::DeviceConfig;
use sluice_results::{
    Exit, Folder, KeptCommand, Others, Process, Run, Timeline, read_processes, read_run, to_json,
};
use std::path::Path;

/// Latencies of a long tail, some of them large.
fn values(count: u64, from: u64) -> Vec<u64> {
    let tail = |n: u64| if n.is_multiple_of(50) { n * 90 } else { 0 };
    (0..count)
        .map(|n| from + n * 7_919 % count + tail(n))
        .collect()
}

fn record(hist: &Hist, values: &[u64]) {
    values.iter().for_each(|value| hist.record(*value));
}

fn read(dir: &Path) -> Vec<Process> {
    read_processes(dir)
}

/// Two images of one process, and its child.
fn family(dir: &Path) {
    for (pid, image, traps) in [(10, 0, 100), (10, 1, 20), (11, 0, 3)] {
        let block = block(pid, pid * 100 + image);
        set(
            &block,
            &[(Counter::Traps, traps), (Counter::Misses, traps / 2)],
        );
        record(&block.modelled, &values(traps, 40_000));
        record(&block.achieved, &values(traps, 41_000));
        write(dir, image, &block);
    }
}

#[test]
fn a_timeline_is_of_all_images_of_one_process() {
    let dir = tempfile::tempdir().unwrap();
    family(dir.path());
    let mut timeline = Timeline::default();
    timeline.sample(0.5, dir.path(), 10);
    // An image that has become another one is not read again.
    std::fs::write(dir.path().join("proc-10-0.stats"), "").unwrap();
    let last = block(10, 1_001);
    let counted = [
        (Counter::Traps, 30),
        (Counter::Misses, 11),
        (Counter::Reactivated, 7),
    ];
    set(&last, &counted);
    write(dir.path(), 1, &last);
    timeline.sample(1.25, dir.path(), 10);
    let csv = timeline.to_csv();
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(names[..3], ["t_s", "traps", "misses"]);
    let reactivated = names.iter().position(|name| *name == "reactivated");
    assert!(lines.next().unwrap().starts_with("0.500,120,60,"), "{csv}");
    let last: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(last[..3], ["1.250", "130", "61"], "{csv}");
    assert_eq!(last[reactivated.expect("a column")], "7", "{csv}");
}

/// 72 KiB of histograms for each program of a script.
#[test]
fn only_the_run_s_own_image_has_every_latency() {
    let dir = tempfile::tempdir().unwrap();
    family(dir.path());
    let whole = |p: &Process| (p.pid, p.image, p.latencies.is_some());
    let of_run: Vec<_> = read_run(dir.path(), 10).listed.iter().map(whole).collect();
    assert_eq!(of_run, [(10, 0, false), (10, 1, true), (11, 0, false)]);
    for (one, other) in read(dir.path()).iter().zip(read_run(dir.path(), 10).listed) {
        assert!(one.latencies.is_none());
        assert_eq!(one.result(), other.result());
        assert_eq!(one.latency().achieved.count, one.get(Counter::Traps));
    }
}

fn summary_is_of(summary: &Value, mut values: Vec<u64>) {
    values.sort_unstable();
    let count = values.len();
    assert_eq!(summary["count"], count);
    for (name, per_mille) in [("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999)] {
        let exact = values[(count * per_mille).div_ceil(1_000) - 1] as f64;
        let ours = summary[name].as_f64().unwrap();
        assert!(
            (ours - exact).abs() <= exact * 0.005,
            "{name}: {ours}, not {exact}"
        );
    }
    assert_eq!(summary["max"], values[count - 1]);
    let mean = values.iter().sum::<u64>() as f64 / count as f64;
    assert!((summary["mean"].as_f64().unwrap() - mean).abs() < 1e-6 * mean);
}

fn object(dir: &Path, pid: u64) -> Value {
    let raw = sluice_config::load("cylon").unwrap();
    let (config, processes) = (DeviceConfig::new(&raw).unwrap(), read(dir));
    let run = Run {
        device: "cylon",
        config: &config,
        seed: 1,
        command: &[],
        trap_mode: "event",
        place: "heap",
        store: "dram",
        live_config: &[],
        exit: Exit::Code(0),
        wall_s: 1.0,
        pid,
        processes: &processes,
        others: &Others::default(),
    };
    to_json(&run.result())
}

#[test]
fn a_process_has_the_words_of_its_command() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), 0, &block(10, 1));
    std::fs::write(dir.path().join("proc-10-0.cmd"), b"one\0\0two words\0").unwrap();
    let process = &object(dir.path(), 10)["processes"][0];
    assert_eq!(process["command"], serde_json::json!(["one", "two words"]));
}

#[test]
fn percentiles_of_a_run_are_those_of_its_misses() {
    let dir = tempfile::tempdir().unwrap();
    let block = block(10, 1);
    let (modelled, achieved) = (values(20_000, 40_000), values(19_000, 45_000));
    record(&block.modelled, &modelled);
    record(&block.achieved, &achieved);
    write(dir.path(), 0, &block);
    let object = object(dir.path(), 10);
    for told in [&object, &object["processes"][0]] {
        summary_is_of(&told["latency_ns"]["modelled"], modelled.clone());
        summary_is_of(&told["latency_ns"]["achieved"], achieved.clone());
    }
    let told = &object["latency_ns"]["modelled"];
    let ns = |name: &str| told[name].as_f64().unwrap();
    assert!(
        ns("p50") * 1.01 < ns("p90") && ns("p90") * 1.01 < ns("p99"),
        "{told}"
    );
    assert!(ns("p99") * 1.01 < ns("p999"), "{told}");
}

/// 300 samples of windows of 2 ms, 6 pages used in each of 50 mapped.
#[test]
fn the_hit_ratio_of_samples_is_pages_used_over_pages_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let block = block(10, 1);
    let (samples, window_ns, mapped) = (300, 2_000_000, 50);
    set(
        &block,
        &[
            (Counter::SampledPages, samples),
            (Counter::SampledTouched, 36),
            (Counter::SampledMapped, samples * mapped),
            (Counter::SampledWindowNs, samples * window_ns),
            (Counter::LastTrapNs, 500 * window_ns),
            (Counter::Misses, 1_000),
        ],
    );
    write(dir.path(), 0, &block);
    let object = object(dir.path(), 10);
    let told = &object["cache"]["sampled"];
    let near = |key: &str, expected: f64| {
        let ours = told[key]
            .as_f64()
            .unwrap_or_else(|| panic!("no {key}: {object:#}"));
        assert!(
            (ours - expected).abs() < 1e-9,
            "{key}: {ours}, not {expected}"
        );
    };
    // 36 of 300 samples were used, so of 50 pages six.
    near("cached_pages_used_per_window", 6.0);
    near("misses_per_window", 2.0);
    near("hit_ratio", 6.0 / 8.0);
    near("reuse_hit_ratio", 6.0 / 8.0);
    near("window_s", 0.002);
}

#[test]
fn what_happened_since_a_look_is_what_happened_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let block = block(10, 1);
    let (before, after) = (values(500, 90_000), values(300, 10_000));
    set(&block, &[(Counter::Traps, 500)]);
    record(&block.modelled, &before);
    record(&block.achieved, &before);
    write(dir.path(), 0, &block);
    let first = read_run(dir.path(), 10).listed.remove(0);
    set(&block, &[(Counter::Traps, 800)]);
    record(&block.modelled, &after[..200]);
    record(&block.achieved, &after);
    write(dir.path(), 0, &block);
    let since = read_run(dir.path(), 10).listed.remove(0).since(&first);
    assert_eq!(since.get(Counter::Traps), 300);
    let latencies = since.latencies.as_ref().expect("of the run");
    assert_eq!(since.latency().achieved, latencies.achieved.summary_in_ns());
    let mean = |values: &[u64]| values.iter().sum::<u64>() as f64 / values.len() as f64;
    for (of, values) in [
        (&latencies.modelled, &after[..200]),
        (&latencies.achieved, &after),
    ] {
        let summary = of.summary_in_ns();
        assert_eq!(
            (summary.count, summary.mean),
            (values.len() as u64, mean(values))
        );
        assert!(summary.max < 90_000);
    }
}

/// A latency that one of the two had alone is in the file as well.
#[test]
fn a_folder_has_every_latency_of_either_kind() {
    let dir = tempfile::tempdir().unwrap();
    let block = block(10, 1);
    record(&block.modelled, &[100, 100, 5_000]);
    record(&block.achieved, &[100, 70_000]);
    let [modelled, achieved] = [&block.modelled, &block.achieved].map(Hist::read);
    let folder = Folder::create(&dir.path().join("out"), false, &KeptCommand::default()).unwrap();
    folder.write_latencies(&modelled, &achieved).unwrap();
    let text = std::fs::read_to_string(dir.path().join("out/latency.csv")).unwrap();
    let mut rows = text.lines().skip(1).map(|line| {
        let cells = line.split(',').map(|cell| cell.parse().unwrap());
        cells.collect::<Vec<u64>>()
    });
    for (ns, modelled, achieved) in [(100, 2, 1), (5_000, 1, 0), (70_000, 0, 1)] {
        let row = rows.next().unwrap_or_else(|| panic!("no {ns} in {text}"));
        assert!(row[0].abs_diff(ns) * 200 <= ns, "{text}");
        assert_eq!(row[1..], [modelled, achieved], "{text}");
    }
    assert_eq!(rows.next(), None, "{text}");
}
