//! Counters of a run for Prometheus: what they say while it goes on, and at its end.

use crate::commons::commons;
use crate::sluice::{Running, Sluice};
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// Values by name and labels, as they stand before the last blank of a line. Every family has its
/// help and kind, before its values, and comes once.
fn parsed(text: &str) -> HashMap<String, f64> {
    let mut values = HashMap::new();
    let (mut families, mut current) = (Vec::new(), String::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a name and a help");
            assert!(help.ends_with('.'), "{line}");
            assert!(!families.contains(&name.to_owned()), "twice: {name}");
            families.push(name.to_owned());
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a name and a kind");
            assert_eq!(families.last().map(String::as_str), Some(name));
            let counts = name.ends_with("_total");
            assert_eq!(kind == "counter", counts, "{line}");
            current = name.to_owned();
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            assert!(name.starts_with(&current), "{line} among {current}");
            let value = value.parse().expect("a number");
            assert!(values.insert(name.to_owned(), value).is_none(), "{line}");
        }
    }
    values
}

/// The whole answer to a request.
fn ask(address: SocketAddr, request: &str) -> String {
    let mut client = TcpStream::connect(address).expect("somebody listens");
    client
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a time");
    client.write_all(request.as_bytes()).expect("it is taken");
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("an answer");
    answer
}

fn scrape(address: SocketAddr) -> HashMap<String, f64> {
    let answer = ask(address, "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let text = "Content-Type: text/plain; version=0.0.4; charset=utf-8";
    assert!(head.lines().any(|line| line == text), "{head}");
    let len = format!("Content-Length: {}", body.len());
    assert!(head.lines().any(|line| line == len), "{head}");
    parsed(body)
}

/// An address that nobody listens at.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address")
}

fn await_it(what: &str, mut is_there: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_there() {
        assert!(started.elapsed().as_secs() < 60, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Misses in private memory, then in shared memory, and then it waits for a file.
fn program(done: &Path) -> Vec<OsString> {
    let script = "\"$1\" workload chase --size 2MiB --stride 4096 --passes 2 && shift && \
                  while [ ! -e \"$1\" ]; do sleep 0.02; done && shift && exec \"$@\"";
    let mut words: Vec<OsString> = ["sh", "-c", script, "sh"].map(OsString::from).into();
    words.push(env!("CARGO_BIN_EXE_sluice").into());
    words.push(done.into());
    words.extend(commons("anonymous 64 2 4"));
    words
}

fn run(file: &Path) -> Sluice {
    let kinds = ["--place", "heap", "--place", "shared"];
    let file = [OsString::from("--metrics"), file.into()];
    Sluice::run("event").cache("128KiB").args(kinds).args(file)
}

/// Sums and distributions are those of all processes in the result.
fn are_of_the_result(values: &HashMap<String, f64>, json: &Value) {
    let processes = json["processes"].as_array().expect("a list");
    for (memory, is_shared) in [("private", false), ("shared", true)] {
        let own = processes
            .iter()
            .filter(|each| each["shared_memory"] == is_shared);
        let sum = |key: &str| {
            own.clone()
                .map(|each| each[key].as_u64().expect(key))
                .sum::<u64>()
        };
        assert!(sum("misses") > 0, "{json}");
        for key in ["traps", "misses", "late", "evictions", "dirty_evictions"] {
            let name = format!("sluice_{key}_total{{memory=\"{memory}\"}}");
            assert_eq!(values[&name], sum(key) as f64, "{name}");
        }
        for time in ["modelled", "achieved"] {
            let labels = format!("memory=\"{memory}\",time=\"{time}\"");
            // A wait for a page that another process has missed is one of a miss too.
            let counted = values[&format!("sluice_miss_latency_seconds_count{{{labels}}}")];
            assert!(counted >= sum("misses") as f64, "{labels}: {counted}");
            assert!(
                is_shared || counted == sum("misses") as f64,
                "{labels}: {counted}"
            );
            let name = format!("sluice_miss_latency_seconds_bucket{{{labels},le=\"+Inf\"}}");
            assert_eq!(values[&name], counted, "{name}");
        }
    }
}

#[test]
fn they_are_what_the_result_says() {
    let folder = tempfile::tempdir().expect("room");
    let (file, done) = (folder.path().join("run.prom"), folder.path().join("done"));
    let address = free_address();
    let run = run(&file).args(["--metrics", &address.to_string()]);
    let running = Running::start(&mut run.prepare(program(&done)));
    let misses = "sluice_misses_total{memory=\"private\"}";
    await_it("it listens", || TcpStream::connect(address).is_ok());
    // Clients that say nothing keep nobody waiting: each had been given 2 s before the next.
    let silent = || TcpStream::connect(address).expect("it listens");
    let _silent: Vec<TcpStream> = (0..100).map(|_| silent()).collect();
    let mut before = scrape(address);
    await_it("no misses", || {
        let now = scrape(address);
        for (name, value) in &before {
            let is_counter = name.contains("_total") || name.contains("_bucket");
            assert!(!is_counter || now[name] >= *value, "{name} has fallen");
        }
        before = now;
        before[misses] >= 1024.
    });
    assert!(before["sluice_processes"] >= 1.);
    let answers = |request: &str| {
        ask(address, request)
            .lines()
            .next()
            .unwrap_or("")
            .to_owned()
    };
    assert_eq!(answers("GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found");
    assert_eq!(
        answers("POST /metrics HTTP/1.1\r\n\r\n"),
        "HTTP/1.1 400 Bad Request"
    );
    assert_eq!(answers("what?\r\n\r\n"), "HTTP/1.1 400 Bad Request");
    std::fs::write(&done, "").expect("room");
    let out = running.finish().well();

    let values = parsed(&std::fs::read_to_string(&file).expect("a file"));
    are_of_the_result(&values, &out.json());
    assert_eq!(values["sluice_processes"], 0.);
    assert_eq!(
        std::fs::read_dir(folder.path())
            .expect("it is there")
            .count(),
        2
    );
    assert!(TcpStream::connect(address).is_err(), "somebody listens");
}

#[test]
fn no_file_of_others_and_no_port_of_others_is_taken() {
    let folder = tempfile::tempdir().expect("room");
    let file = folder.path().join("other.prom");
    let ends_at_once = |to: &str| {
        let run = Sluice::run("event").args(["--metrics", to]);
        let out = run.program(["true"]);
        assert_eq!(out.status.code(), Some(2), "{out:?}");
        out.stderr
    };
    std::fs::write(&file, "node_load1 0.5\n").expect("room");
    let name = file.to_str().expect("text");
    assert_eq!(
        ends_at_once(name),
        format!(
            "sluice: bad value for --metrics: \"{name}\"; it is there and no file of --metrics: it \
             is not replaced\n"
        )
    );
    assert_eq!(
        std::fs::read_to_string(&file).expect("a file"),
        "node_load1 0.5\n"
    );
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    let said = ends_at_once(&address);
    assert!(
        said.contains("nobody can listen there: Address already in use"),
        "{said}"
    );
    // Its own of an earlier run is.
    let own = folder.path().join("own.prom");
    for _ in 0..2 {
        let run = Sluice::run("signal").args(["--metrics", own.to_str().expect("text")]);
        assert!(run.program(["true"]).status.success());
        assert!(!parsed(&std::fs::read_to_string(&own).expect("a file")).is_empty());
    }
    assert_eq!(
        std::fs::read_dir(folder.path())
            .expect("it is there")
            .count(),
        2
    );
}
