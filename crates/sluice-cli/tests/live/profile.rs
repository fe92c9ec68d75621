//! Which allocations and which threads the misses belong to (`--profile`).

use crate::build::compile;
use crate::sluice::{Outcome, Sluice, TRAPS};
use serde_json::Value;
use std::process::Command;

/// Pages of 8 and 2 MiB.
const LARGE: u64 = 2_048;
const SMALL: u64 = 512;
/// The header of a chunk may lie in a page before it, and its end in one behind it.
const EDGE: u64 = 4;

fn profiled(trap: &str, arguments: &[&str]) -> Outcome {
    Sluice::run(trap)
        .args(["--set", "device.capacity=64MiB", "--set", "nand.read=40us"])
        .cache("1MiB")
        .args(arguments)
        .program([compile("profiled.c", &["-g", "-O1", "-pthread"])])
        .well()
}

fn misses(of: &Value) -> u64 {
    of["misses"].as_u64().expect("a number")
}

/// The site whose calls begin with this function.
fn site<'a>(profile: &'a Value, function: &str) -> &'a Value {
    let sites = profile["sites"].as_array().expect("sites");
    let is_called = |site: &&Value| site["calls"][0]["function"] == function;
    let found = sites.iter().find(is_called);
    found.unwrap_or_else(|| panic!("no {function} in {profile:#}"))
}

#[test]
fn misses_belong_to_who_allocated_their_pages_and_to_their_thread() {
    for trap in TRAPS {
        let out = profiled(trap, &["--profile"]);
        let json = out.json();
        let profile = &json["profile"];
        let of = |name| misses(site(profile, name));
        let about = |pages: u64| pages..=pages + EDGE;
        // Three rounds over what is eight times the cache.
        assert!(
            about(3 * LARGE).contains(&of("make_large")),
            "{trap}: {profile:#}"
        );
        assert!(about(SMALL).contains(&of("reuse")), "{trap}: {profile:#}");
        assert!(about(SMALL).contains(&of("pieces")), "{trap}: {profile:#}");
        // By the thread, and by the child after others have had the cache.
        assert!(
            about(2 * SMALL).contains(&of("make_small")),
            "{trap}: {profile:#}"
        );
        // What `realloc` copies misses before the new place is known.
        let grown = SMALL / 4..=SMALL / 2 + EDGE;
        assert!(grown.contains(&of("grow")), "{trap}: {profile:#}");
        // 4,000 pieces of 1,000 bytes, in what was freed.
        assert!(
            misses(&profile["other_pages"]) >= 2 * 480,
            "{trap}: {profile:#}"
        );
        let calls = &site(profile, "make_large")["calls"];
        assert!(
            calls[0]["file"]
                .as_str()
                .expect("a file")
                .ends_with("profiled.c")
        );
        assert_eq!(calls[1]["function"], "main");
        assert_eq!(site(profile, "make_large")["bytes"], 8 << 20);
        assert_eq!(site(profile, "make_large")["allocations"], 1);

        let processes = json["processes"].as_array().expect("processes");
        assert_eq!(processes.len(), 2, "{trap}");
        let all: u64 = processes.iter().map(misses).sum();
        for (list, others) in [("sites", "other_pages"), ("threads", "other_threads")] {
            let listed = profile[list].as_array().expect("a list");
            let sum: u64 = listed.iter().map(misses).sum();
            assert_eq!(sum + misses(&profile[others]), all, "{trap}: {list}");
        }
        let threads = profile["threads"].as_array().expect("threads");
        let reader = threads.iter().find(|thread| thread["name"] == "reader");
        let reader = reader.expect("a thread of that name");
        assert!(about(SMALL).contains(&misses(reader)), "{trap}: {reader}");
        let pid = |of: &Value| of["pid"].as_u64().expect("a number");
        let of_child = threads.iter().filter(|of| pid(of) == pid(&processes[1]));
        assert_eq!(
            of_child.map(misses).sum::<u64>(),
            misses(&processes[1]),
            "{trap}"
        );
        // A miss takes 40 us, and is waited for by one thread.
        let waited = reader["waited_ns"].as_u64().expect("a number");
        assert!(waited >= misses(reader) * 39_000, "{trap}: {reader}");
    }
}

#[test]
fn a_profile_changes_nothing_that_the_program_sees() {
    let program = compile("profiled.c", &["-g", "-O1", "-pthread"]);
    let native = Command::new(program).output().expect("the program");
    for trap in TRAPS {
        for from in ["--profile=1", "--profile=1GiB"] {
            let out = profiled(trap, &[from]);
            assert_eq!(out.own_stdout().as_bytes(), native.stdout, "{trap} {from}");
            let sites = out.json()["profile"]["sites"].as_array().map(Vec::len);
            assert_eq!(sites == Some(0), from.ends_with("GiB"), "{trap} {from}");
        }
    }
}

#[test]
fn without_being_asked_for_there_is_none() {
    let out = profiled("event", &[]);
    assert!(out.json().get("profile").is_none());
}

/// `sluice run --profile PROG` must not take the program for a size.
#[test]
fn the_size_stands_behind_an_equals_sign() {
    let text = |arguments: &[&str]| {
        let out = Sluice::run("event").args(arguments).program(["true"]);
        (out.status.code(), out.stderr.clone())
    };
    assert_eq!(text(&["--profile"]).0, Some(0));
    let (code, told) = text(&["--profile=large"]);
    assert_eq!(code, Some(2));
    assert!(
        told.contains("--profile") && told.contains("large"),
        "{told}"
    );
}

/// In event mode the names of libraries that a program loads itself are on the device. They were
/// read under a lock that the miss of their page needs.
#[test]
fn libraries_that_the_program_loads_itself_have_names() {
    let script = "import zlib, decimal, ctypes, json, sqlite3\n\
                  kept = [zlib.compress(bytes(1 << 20)) + bytes(1 << 18) for _ in range(8)]\n\
                  db = sqlite3.connect(':memory:')\n\
                  db.execute('create table t(x)')\n\
                  db.executemany('insert into t values(?)', ((str(n),) for n in range(20000)))\n\
                  print(sum(map(len, kept)) > 0)";
    for trap in TRAPS {
        let out = Sluice::run(trap)
            .args(["--profile=1", "--set", "device.capacity=128MiB"])
            .cache("512KiB")
            .program(["python3", "-c", script])
            .well();
        assert_eq!(out.own_stdout(), "True\n", "{trap}");
        let json = out.json();
        let sites = json["profile"]["sites"].as_array().expect("sites");
        let modules = sites.iter().flat_map(|site| site["calls"].as_array());
        let mut modules = modules.flatten().filter_map(|call| call["module"].as_str());
        assert!(modules.any(|name| name.contains(".so")), "{trap}");
    }
}
