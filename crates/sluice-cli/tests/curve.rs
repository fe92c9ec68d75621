//! `sluice curve` and `sluice files`.

#[path = "schema/mod.rs"]
mod schema;

use serde_json::Value;
use std::process::{Command, Output};

fn sluice(words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command.args(words.split_whitespace());
    command.output().expect("the command starts")
}

fn told(words: &str) -> Value {
    let output = sluice(&format!("{words} --json"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words}: {said}");
    schema::checked(&output.stdout)
}

const SMALL: &str = "curve --device cmm-h --set device.capacity=256MiB --set cache.capacity=96MiB \
                     --size 1MiB --threads 8 --depth 29";

fn rates(curve: &Value) -> Vec<f64> {
    let loads = curve["loads"].as_array().expect("a list");
    let rate = |load: &Value| load["bytes_per_s"].as_f64().expect("a number");
    loads.iter().map(rate).collect()
}

#[test]
fn a_simulated_curve_rises_to_the_links_bandwidth_and_bends_there() {
    let curve = told(SMALL);
    assert_eq!(curve["on"], "simulated");
    let rates = rates(&curve);
    assert!(rates.is_sorted() && rates.len() == 9, "{rates:?}");
    // 8 threads of 64 B each 5 us, and 25 GB/s of the link.
    assert!(
        (rates[0] / (8.0 * 64.0 / 5e-6) - 1.0).abs() < 0.02,
        "{rates:?}"
    );
    assert!((rates[8] / 25e9 - 1.0).abs() < 0.03, "{rates:?}");
    let knee = curve["knee"].as_u64().expect("a place");
    assert!(rates[knee as usize] > 24e9, "{knee} of {rates:?}");
    assert_eq!(told(SMALL), curve, "the same again");
}

#[test]
fn a_curve_of_the_hosts_memory_has_no_device() {
    let curve = told("curve --on host --threads 2 --size 256KiB --pace 1us,0ns --chase 64KiB");
    assert_eq!(
        (&curve["on"], &curve["device"]),
        (&"host".into(), &Value::Null)
    );
    let rates = rates(&curve);
    assert!(
        rates[0] > 0.0 && rates[0] < 2.0 * 64.0 / 1e-6 && rates[1] > rates[0],
        "{rates:?}"
    );
    let latency = &curve["loads"][1]["chase_latency_ns"];
    assert!(
        latency["count"].as_u64().is_some_and(|count| count > 0),
        "{latency}"
    );
}

#[test]
fn a_live_curve_misses_each_cold_page_once() {
    let curve = told(
        "curve --on live --device cylon --set device.capacity=64MiB --set cache.capacity=32MiB \
         --threads 1 --size 1MiB --passes 1 --pace 0ns --chase 0B --start cold",
    );
    assert_eq!(curve["on"], "live");
    // And some of what the program itself allocates.
    let misses = curve["loads"][0]["misses"].as_u64().expect("a number");
    assert!((256..400).contains(&misses), "{misses}");
    // 256 misses of 40 us at least.
    assert!(rates(&curve)[0] < f64::from(1 << 20) / (256.0 * 40e-6) * 1.01);
}

const FILES: &str = "files --device cmm-h --set device.capacity=256MiB --set cache.capacity=96MiB \
                     --size 4MiB --threads 4 --cores 1";

#[test]
fn a_page_cache_lets_threads_share_a_core_and_memory_does_not() {
    let rate = |words: &str| {
        let of = told(&format!("{FILES} {words}"));
        of["bytes_per_s"].as_f64().expect("a number")
    };
    let (memory, mapped) = (
        rate("--through file"),
        rate("--through mmap --readahead 0B"),
    );
    let ahead = rate("--through mmap --readahead 1MiB");
    // Four that wait 79 us for each page together, or one after another.
    assert!(
        mapped > 3.0 * memory && ahead > 3.0 * mapped,
        "{memory} {mapped} {ahead}"
    );
}

#[test]
fn mistakes_are_named() {
    let refused = |words: &str| {
        let output = sluice(words);
        assert_eq!(output.status.code(), Some(2), "{words}");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    for (words, expected) in [
        ("curve --threads 0 --chase 0B", "--threads 0"),
        (
            "curve --stride 100B",
            "expected a positive multiple of 64 bytes",
        ),
        (
            "curve --size 65B",
            "expected a positive multiple of the stride, 64B",
        ),
        ("curve --size 100GiB", "device"),
        ("curve --on host --start cold", "no flash behind it"),
        ("curve --on host --set nand.read=1us", "no settings"),
        ("curve --on host --device cmm-h", "leave --device out"),
        ("curve --on live --depth 4", "the processor decides"),
        ("curve --on host --ahead 64KiB", "helpers"),
        ("files --through mmap --io 8KiB", "a fault is of a page"),
        ("files --through mmap --write", "read alone"),
        (
            "files --through file --io 100B",
            "a positive multiple of a page",
        ),
        (
            "files --through direct --device cxl-dram",
            "memory expander",
        ),
        (
            "files --through direct --size 5KiB",
            "a positive multiple of --io",
        ),
    ] {
        let said = refused(words);
        assert!(said.contains(expected), "{words}: {said}");
    }
}
