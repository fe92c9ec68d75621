//! A policy in C does what the built-in one of its name does, and an object without a policy is
//! refused in one line.

use crate::rig;
use sluice_model::{Device, DeviceConfig, DeviceError};
use sluice_testkit::objects::{self, object, root};
use sluice_testkit::traces;
use std::path::Path;

pub fn config(policy: &str, cache_pages: u64, ways: u64) -> DeviceConfig {
    let ways = ways.to_string();
    rig::config(
        cache_pages,
        &[("cache.ways", &ways), ("cache.policy", policy)],
    )
}

/// The pages that leave, in order, over a trace with discards in it.
fn evictions(device: &mut Device, pages: &[u64]) -> Vec<u64> {
    rig::evictions(device, pages, |_| false)
}

#[test]
fn lru_in_c_is_lru() {
    let folder = tempfile::tempdir().unwrap();
    let path = object(folder.path(), &root().join("examples/policy-c/lru.c"), &[]);
    for trace in traces::all() {
        for (cache_pages, ways) in [(256, 256), (99, 99), (240, 8), (7, 1)] {
            let mut built_in = Device::new(&config("lru", cache_pages, ways), 1).unwrap();
            let mut own = sluice_plugin::device(&config(&path, cache_pages, ways), 1).unwrap();
            let expected = evictions(&mut built_in, &trace.pages);
            assert_eq!(
                evictions(&mut own, &trace.pages),
                expected,
                "{}",
                trace.name
            );
            assert_eq!(own.stats(), built_in.stats());
        }
    }
}

const WRONG: &str = r#"
#include <stddef.h>
#include "sluice_policy.h"
static int state;
static void *build(const struct sluice_policy_space *s) { (void)s; return BUILT; }
static void destroy(void *s) { (void)s; }
static void on(void *s, const struct sluice_policy_event *e) { (void)s; (void)e; }
static uint32_t victim(void *s, const struct sluice_policy_event *e,
                       const struct sluice_policy_slots *slots) {
  (void)s; (void)e; (void)slots; (void)state; return ANSWER;
}
const struct sluice_policy NAME = { .abi = ABI, .size = SIZE, .build = build, .destroy = destroy,
  .insert = on, .hit = HIT, .victim = victim, .remove = on };
"#;

/// What is right of it.
const RIGHT: [&str; 6] = [
    "BUILT=&state",
    "ANSWER=SLUICE_NO_SLOT",
    "NAME=sluice_policy",
    "ABI=SLUICE_POLICY_ABI",
    "SIZE=sizeof(struct sluice_policy)",
    "HIT=on",
];

/// An object with one thing wrong.
fn wrong(folder: &Path, define: &str) -> String {
    objects::wrong(folder, WRONG, &RIGHT, define)
}

fn refusal(path: &str) -> String {
    let error = sluice_plugin::check(&config(path, 64, 64))
        .and_then(|()| sluice_plugin::device(&config(path, 64, 64), 1).map(drop))
        .unwrap_err();
    assert!(matches!(error, DeviceError::Plugin { .. }));
    let text = error.to_string();
    assert!(text.contains(path) && text.contains("cache.policy") && !text.contains('\n'));
    assert!(text.contains("expected one of fifo, "), "{text}");
    text
}

#[test]
fn what_is_no_policy_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for (define, says) in [
        ("ABI=7", "is of policy ABI 7, this Sluice takes 1 to 2;"),
        ("SIZE=40", "says it has 40 bytes instead of"),
        ("HIT=NULL", "`sluice_policy.hit` is a null pointer"),
        ("NAME=slice_policy", "defines no `sluice_policy`"),
        ("BUILT=NULL", "its build function failed"),
    ] {
        // The header declares the right name, so that the wrong one is merely another constant.
        let text = refusal(&wrong(folder.path(), define));
        assert!(text.contains(says), "{define}: {text}");
    }
    let text = folder.path().join("text.so");
    std::fs::write(&text, "not an object").unwrap();
    assert!(refusal(text.to_str().unwrap()).contains("cannot be loaded"));
    assert!(refusal("./no/such.so").contains("No such file"));
    let class = folder.path().join("lifo.py");
    std::fs::write(&class, "class Lifo: pass").unwrap();
    assert!(refusal(class.to_str().unwrap()).contains("a class in Python"));
}

/// The loader waited for a pipe without end, died of an object that was cut, and said of one for
/// another machine that there is no such file.
#[test]
fn what_the_loader_cannot_say_is_said_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let bytes = std::fs::read(wrong(folder.path(), RIGHT[0])).unwrap();
    let cut = path("cut.so");
    for len in [100, bytes.len() / 8, bytes.len() / 3] {
        std::fs::write(&cut, &bytes[..len]).unwrap();
        let says = format!("is cut: it has {len} bytes, and by its header ");
        assert!(refusal(&cut).contains(&says), "{len}");
    }
    let (other, mut bytes) = (path("other.so"), bytes);
    bytes[18] = 243;
    std::fs::write(&other, &bytes).unwrap();
    assert!(refusal(&other).contains("is built for machine 243, and this Sluice for "));
    let pipe = path("pipe.so");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for name in [pipe, path(".")] {
        assert!(refusal(&name).contains("is no regular file"), "{name}");
    }
}

/// What an object has made is its own to give back.
#[test]
fn a_policy_that_goes_is_destroyed_once() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let text = objects::with_mark(WRONG, &mark);
    let path = objects::wrong(folder.path(), &text, &RIGHT, RIGHT[0]);
    let device = sluice_plugin::device(&config(&path, 64, 8), 1).unwrap();
    assert!(!mark.exists());
    drop(device);
    assert_eq!(std::fs::read_to_string(mark).unwrap(), "x");
}

/// Whatever the object answers, the device stays what it is: FIFO decides, and it is counted.
#[test]
fn nonsense_is_refused_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let pages = &traces::all()[0].pages;
    let mut fifo = Device::new(&config("fifo", 64, 8), 1).unwrap();
    let expected = evictions(&mut fifo, pages);
    for answer in ["SLUICE_NO_SLOT", "64", "0x7fffffff", "0xfffffffe"] {
        let path = wrong(folder.path(), &format!("ANSWER={answer}"));
        let mut device = sluice_plugin::device(&config(&path, 64, 8), 1).unwrap();
        assert_eq!(evictions(&mut device, pages), expected, "{answer}");
        assert_eq!(device.stats().policy_refused, expected.len() as u64);
        assert_eq!(device.stats().misses, fifo.stats().misses);
    }
    // A slot of another set is refused in seven sets of eight.
    let path = wrong(folder.path(), "ANSWER=3");
    let mut device = sluice_plugin::device(&config(&path, 64, 8), 1).unwrap();
    let left = evictions(&mut device, pages).len() as u64;
    let refused = device.stats().policy_refused;
    assert!(refused > left / 2 && refused < left, "{refused} of {left}");
}

#[test]
fn a_relative_path_becomes_absolute() {
    let mut raw = DeviceConfig::builder();
    raw.set("cache.policy", "./Cargo.toml").unwrap();
    sluice_plugin::make_absolute(&mut raw).unwrap();
    let absolute = raw.get("cache.policy").unwrap();
    assert!(absolute.starts_with('/') && absolute.ends_with("/Cargo.toml"));
    raw.set("cache.policy", "./no-such.so").unwrap();
    let text = sluice_plugin::make_absolute(&mut raw)
        .unwrap_err()
        .to_string();
    assert!(text.contains("./no-such.so") && text.contains("No such file"));
    raw.set("cache.policy", "lru").unwrap();
    raw.set("prefetch.policy", "./src/lib.rs").unwrap();
    sluice_plugin::make_absolute(&mut raw).unwrap();
    assert_eq!(raw.get("cache.policy").unwrap(), "lru");
    let absolute = raw.get("prefetch.policy").unwrap();
    assert!(absolute.starts_with('/') && absolute.ends_with("/src/lib.rs"));
}
