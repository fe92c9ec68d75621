//! `sluice fabric run --workload` and `--trace`: requesters that replay programs.

use crate::sluice;
use serde_json::Value;
use sluice_trace::{Access, Header, Kind, Writer};

fn run(words: &[&str]) -> Value {
    let short = ["--warmup", "1k", "--requests", "4k", "--json"];
    let output = sluice(&[&["fabric", "run", "esf"], words, &short].concat());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    crate::schema::checked(&output.stdout)
}

fn refusal(words: &[&str]) -> String {
    let output = sluice(&[&["fabric", "run", "esf"], words].concat());
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

#[test]
fn requesters_replay_a_program_and_say_so() {
    let words = [
        "--workload",
        "silo:bytes=4MB,start=empty",
        "--caches",
        "32KiB:8",
        "--accesses",
        "8k",
        "--window",
        "500",
    ];
    let object = run(&words);
    assert_eq!(object, run(&words));
    let told = &object["workload"];
    assert_eq!(told["accesses"], 8_000);
    assert_eq!(told["spread"], "each");
    assert!(told["mix_degree"].as_f64() > Some(0.1));
    assert_eq!(object["requests"], 4_000);
    let points = object["windows"]["mix_degree_and_mb_s"].as_array().unwrap();
    assert_eq!(points.len(), 8);
    assert!(points.iter().all(|point| point[1].as_f64() > Some(0.0)));
    assert_eq!(run(&[])["workload"], Value::Null);
}

#[test]
fn every_way_to_deal_out_asks_for_as_much() {
    for (spread, requests) in [("each", 4_000), ("dealt", 2_000), ("cpus", 2_000)] {
        let words = [
            "--workload",
            "btree:bytes=4MB",
            "--accesses",
            "3k",
            "--threads",
            "8",
        ];
        let object = run(&[&words[..], &["--spread", spread]].concat());
        assert_eq!(object["requests"], requests, "{spread}");
    }
}

/// A trace of line addresses is what a program behind no caches asks for.
#[test]
fn a_trace_is_replayed_as_it_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let [csv, trace] = ["in.csv", "out.trace"].map(|name| folder.path().join(name));
    let rows: String = (0..600)
        .map(|n| {
            let kind = if n % 3 == 0 { "Write" } else { "Read" };
            format!("{},host,0,{kind},{},64,0\n", 1_000 + n, n * 64)
        })
        .collect();
    std::fs::write(&csv, rows).unwrap();
    let [csv, trace] = [&csv, &trace].map(|path| path.to_str().unwrap());
    let output = sluice(&["trace", "convert", csv, trace, "--from", "msr-csv"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    let words = [
        "--trace", trace, "--caches", "none", "--spread", "dealt", "--warmup", "0",
    ];
    let output = sluice(&[&["fabric", "run", "esf", "--json"], &words[..]].concat());
    let object: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(
        (&object["reads"], &object["writes"]),
        (&400.into(), &200.into())
    );
    // Behind caches that hold all of it, a line is read once and never written back.
    let output = sluice(&[
        "fabric", "run", "esf", "--json", "--trace", trace, "--warmup", "0",
    ]);
    let object: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(object["workload"]["accesses"], 600);
    assert_eq!(object["workload"]["writes"], 0);
}

/// Four CPUs in turn: of the first accesses of all, each has made as many.
#[test]
fn the_first_accesses_of_a_trace_are_of_all_its_cpus() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("four.trace");
    let mut writer = Writer::create(&path, &Header::new("a test")).unwrap();
    for number in 0..12_000 {
        let access = Access {
            cpu: (number % 4) as u32,
            instructions: number / 4,
            address: number * 64,
            size: 8,
            kind: Kind::Load,
        };
        writer.push(&access).unwrap();
    }
    writer.finish(&[3_000; 4]).unwrap();
    let sets = [
        "topology.kind=star",
        "requester.count=4",
        "endpoint.count=4",
    ];
    let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    let trace = path.to_str().unwrap();
    let words = [
        "fabric",
        "run",
        "esf",
        "--trace",
        trace,
        "--caches",
        "none",
        "--spread",
        "cpus",
        "--accesses",
        "2k",
        "--warmup",
        "0",
        "--requests",
        "100k",
        "--json",
    ];
    let output = sluice(&[&words[..], &sets].concat());
    let object = crate::schema::checked(&output.stdout);
    let requesters = object["requesters"].as_array().expect("requesters");
    let each = requesters.iter().map(|one| one["requests"].as_u64());
    assert_eq!(each.collect::<Vec<_>>(), [Some(500); 4]);
}

#[test]
fn what_cannot_be_replayed_is_one_line() {
    let large = ["--workload", "btree:bytes=64MB", "--accesses", "1k"];
    let message = refusal(&[&large[..], &["--set", "endpoint.capacity=16MiB"]].concat());
    assert!(
        message.contains("btree") && message.contains("--spread each"),
        "{message}"
    );
    let message = refusal(&["--workload", "btree", "--caches", "32KiB"]);
    assert!(message.contains("expected size:ways"), "{message}");
    assert!(refusal(&["--workload", "bees"]).contains("bees"));
    assert!(refusal(&["--trace", "no.trace"]).contains("no.trace"));
}
