//! A memory model in C gives what the built-in one of its kind gives, and an object without a model
//! is refused in one line.

use sluice_net::{Fabric, FabricConfig, FabricSpec, Group, Length, Library, Part, Standstill};
use sluice_testkit::objects::{self, object, root};
use sluice_units::Ps;
use std::path::Path;

/// Four requesters and four memories on switches, with reads and writes.
fn spec(set: &[(&str, &str)], library: Option<Library>) -> FabricSpec {
    let mut spec = FabricSpec::default();
    for (key, value) in [
        ("requester.count", "4"),
        ("requester.depth", "16"),
        ("requester.reads", "60%"),
        ("endpoint.count", "4"),
        ("endpoint.controller", "41ns"),
        ("topology.kind", "ring"),
        ("link.bandwidth", "7919"),
    ]
    .iter()
    .chain(set)
    {
        spec.raw.set(key, value).unwrap();
    }
    if library.is_some() {
        spec.endpoints.push(Group {
            name: "m".to_owned(),
            set: vec![("type".to_owned(), "external".to_owned())],
            library,
            ..Group::default()
        });
    }
    spec
}

fn run(spec: &FabricSpec) -> Fabric {
    let config = FabricConfig::new(spec, 7).unwrap();
    let mut fabric = sluice_plugin_memory::fabric(&config).unwrap();
    let length = Length {
        warmup: 1_000,
        requests: 20_000,
    };
    fabric.run(length, &mut |_| true).unwrap();
    fabric.balance().unwrap();
    fabric
}

fn library(path: &str, argument: &str) -> Option<Library> {
    Some(Library {
        path: path.to_owned(),
        argument: argument.to_owned(),
    })
}

/// A fabric with the built-in memory, and beside it one with that in C.
fn both(define: &str, depth: &[(&str, &str)], read: u64, write: u64) -> [Fabric; 2] {
    let folder = tempfile::tempdir().unwrap();
    let source = root().join("examples/memory-c/fixed.c");
    let path = object(folder.path(), &source, &[define]);
    let [read_ns, write_ns] = [read, write].map(|ns| format!("{ns}ns"));
    let times = [("endpoint.read", &*read_ns), ("endpoint.write", &*write_ns)];
    let built_in = run(&spec(&[depth, &times].concat(), None));
    let argument = format!("{} {}", read * 1000, write * 1000);
    let own = run(&spec(depth, library(&path, &argument)));
    assert_eq!(own.refused(), 0);
    [built_in, own]
}

const TIMES: [(u64, u64); 3] = [(100, 101), (97, 251), (300, 20)];

#[test]
fn a_fixed_memory_in_c_is_the_built_in_one() {
    for (read, write) in TIMES {
        // A memory that answers at once, under load; and one that reports later, one request after
        // the other.
        let one = [("requester.count", "1"), ("requester.depth", "1")];
        for [built_in, own] in [
            both("-DAT_ONCE", &[], read, write),
            both("-DLATER", &one, read, write),
        ] {
            let [built_in, own] = [&built_in, &own].map(Fabric::stats);
            assert_eq!(own.hash, built_in.hash, "{read} and {write} ns");
            assert_eq!(own.parts(), built_in.parts());
            assert_eq!((own.completed(), own.time()), (20_000, built_in.time()));
        }
    }
}

/// A memory that reports later, under load: of two events at the same picosecond another one may be
/// the first, and nothing else differs.
#[test]
fn a_fixed_memory_that_tells_later_is_as_fast() {
    let later = TIMES.map(|(read, write)| ("-DLATER", read, write));
    // Built in, memory that takes the same time for reads and writes needs fewer events, so that
    // here too another one may be the first.
    for (define, read, write) in later.into_iter().chain([("-DAT_ONCE", 100, 100)]) {
        let [built_in, own] = both(define, &[], read, write);
        let [mean, expected] = [&own, &built_in].map(|f| f.stats().latency.mean().0);
        assert!(
            mean.abs_diff(expected) < expected / 1000,
            "{mean} instead of {expected} ps"
        );
        let part = |f: &Fabric| f.stats().parts()[Part::Memory];
        let [memory, expected] =
            [&own, &built_in].map(|f| part(f) / u128::from(f.stats().completed()));
        assert!(
            memory.abs_diff(expected) < expected / 100,
            "{memory} instead of {expected} ps"
        );
    }
}

const WRONG: &str = r#"
#include <stddef.h>
#include "sluice_memory.h"
static int state;
static uint32_t last;
static uint64_t due = SLUICE_NEVER;
static void *build(const struct sluice_memory_space *s) { (void)s; return BUILT; }
static void destroy(void *s) { (void)s; }
static uint64_t request(void *s, uint64_t now, uint32_t id, uint64_t addr, bool w) {
  (void)s; (void)now; (void)addr; (void)w; (void)state;
  last = id; due = now + 1000;
  return ANSWER;
}
static uint64_t next_at(void *s) { (void)s; return due; }
static void advance(void *s, uint64_t now, void (*done)(void *, uint32_t), void *context) {
  (void)s; (void)now;
  if (due <= now) { due = SLUICE_NEVER; done(context, last); done(context, last + 77); }
}
const struct sluice_memory NAME = { .abi = ABI, .size = SIZE, .build = build,
  .destroy = destroy, .request = REQUEST, .next_at = NEXT, .advance = advance };
"#;

/// What is right of it.
const RIGHT: [&str; 7] = [
    "BUILT=&state",
    "ANSWER=now",
    "NAME=sluice_memory",
    "ABI=SLUICE_MEMORY_ABI",
    "SIZE=sizeof(struct sluice_memory)",
    "REQUEST=request",
    "NEXT=next_at",
];

/// An object with one thing wrong.
fn wrong(folder: &Path, define: &str) -> String {
    objects::wrong(folder, WRONG, &RIGHT, define)
}

fn refusal(library: Option<Library>) -> String {
    let mut spec = spec(&[], library);
    if spec.endpoints.is_empty() {
        spec.raw.set("endpoint.type", "external").unwrap();
    }
    let config = FabricConfig::new(&spec, 7).unwrap();
    let text = sluice_plugin_memory::fabric(&config)
        .err()
        .unwrap()
        .to_string();
    assert!(text.starts_with("`m0`") && !text.contains('\n'), "{text}");
    text
}

/// What an object has made is its own to give back.
#[test]
fn a_memory_that_goes_is_destroyed_once() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let text = objects::with_mark(WRONG, &mark);
    let path = objects::wrong(folder.path(), &text, &RIGHT, RIGHT[0]);
    let config = FabricConfig::new(&spec(&[], library(&path, "")), 7).unwrap();
    let fabric = sluice_plugin_memory::fabric(&config).unwrap();
    assert!(!mark.exists());
    drop(fabric);
    // Each of the four.
    assert_eq!(std::fs::read_to_string(mark).unwrap(), "xxxx");
}

#[test]
fn what_is_no_memory_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for (define, says) in [
        ("ABI=7", "is of memory ABI 7, this Sluice takes 1"),
        ("SIZE=40", "`sluice_memory` says it has 40 bytes instead of"),
        ("REQUEST=NULL", "`sluice_memory.request` is a null pointer"),
        (
            "NEXT=NULL",
            "has one of `next_at` and `advance`; they go together",
        ),
        (
            "NAME=slice_memory",
            "defines no `sluice_memory`; sluice_memory.h declares it",
        ),
        ("BUILT=NULL", "its build function failed"),
    ] {
        let path = wrong(folder.path(), define);
        let text = refusal(library(&path, ""));
        assert!(
            text.contains(says) && text.contains(&path),
            "{define}: {text}"
        );
    }
    let example = object(
        folder.path(),
        &root().join("examples/memory-c/fixed.c"),
        &[],
    );
    let text = refusal(library(&example, "fast"));
    assert!(text.contains("its build function failed"), "{text}");
    let text = refusal(library("./no/such.so", ""));
    assert!(
        text.contains("cannot be loaded") && text.contains("No such file"),
        "{text}"
    );
    let none = "`m0` is of type external and has no model; give library = \"./model.so\"";
    assert_eq!(refusal(None), none);
}

/// A model that reports a request as done before it came: Sluice completes it at once, and counts
/// it. A model that reports requests that it never had, or one twice: Sluice counts the reports and
/// ignores them.
#[test]
fn nonsense_is_refused_and_counted() {
    // Each in a folder of its own: an object that is loaded already is not loaded again.
    let ran = |answer: &str, set: &[(&str, &str)]| {
        let folder = tempfile::tempdir().unwrap();
        let path = wrong(folder.path(), &format!("ANSWER={answer}"));
        let fabric = run(&spec(set, library(&path, "")));
        (fabric.refused(), fabric.stats().parts()[Part::Memory])
    };
    assert!(ran("now/2", &[("requester.depth", "1")]).0 > 20_000);
    // The one constant state of four endpoints serves one request at a time.
    let one = [("requester.count", "1"), ("requester.depth", "1")];
    assert!(ran("SLUICE_NEVER", &one).0 > 20_000);
    // Times that no clock has, or that sums of them would leave.
    for far in ["SLUICE_NEVER-1", "(1ull<<63)", "(now+1000000000001)"] {
        let (refused, memory) = ran(far, &one);
        assert!(refused > 20_000 && memory == 0, "{far}: {memory}");
    }
    let second = Ps::from_ms(1_000);
    assert_eq!(
        ran("(now+1000000000000)", &one).1,
        u128::from(second.0) * 20_000
    );
}

/// What came of a run with a model that owes every answer.
fn owing(text: &str) -> (Result<(), Standstill>, u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = objects::wrong(folder.path(), text, &RIGHT, "ANSWER=SLUICE_NEVER");
    let one = [("requester.count", "1"), ("requester.depth", "1")];
    let config = FabricConfig::new(&spec(&one, library(&path, "")), 7).unwrap();
    let mut fabric = sluice_plugin_memory::fabric(&config).unwrap();
    let length = Length {
        warmup: 0,
        requests: 10,
    };
    let ran = fabric.run(length, &mut |_| true);
    (ran, fabric.refused())
}

/// A model that wants to be advanced when no clock is there any more: that is counted, and what it
/// owes never comes.
#[test]
fn a_model_that_tells_too_late_never_does() {
    for far in ["SLUICE_NEVER-1", "(1ull<<63)", "(now+1000000000001)"] {
        let (ran, refused) = owing(&WRONG.replace("due = now + 1000", &format!("due = {far}")));
        assert!(ran.is_err() && refused > 0, "{far}: {ran:?}");
    }
}

/// A model that owes an answer and never gives it, and wants to be advanced all the same: at once,
/// or a picosecond or a millisecond later each time. The fabric advanced it without end.
#[test]
fn a_model_that_never_tells_ends_the_run() {
    for again in ["0", "now", "now + 1", "now + 1000000000"] {
        let silent = format!("due = {again}; if (due == 1) {{");
        let (ran, refused) = owing(&WRONG.replace("if (due <= now) {", &silent));
        let message = ran.expect_err(again).to_string();
        let says = format!("a memory model gave {refused} answers that are refused");
        assert!(refused > 0 && message.contains(&says), "{again}: {message}");
    }
}
