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
    // The misses are those of the loads, and some of what the program itself allocates.
    let misses = curve["loads"][0]["misses"].as_u64().expect("a number");
    assert!((256..400).contains(&misses), "{misses}");
    // 256 misses of 40 us at least.
    assert!(rates(&curve)[0] < f64::from(1 << 20) / (256.0 * 40e-6) * 1.01);
}

/// A host of round numbers. A load that misses its L3 takes an issue slot (62.5 ps), then 100 ns to
/// know it, 30 ns of the link, 20 ns of the device's index and 50 ns of its memory.
const HOST: &str = "curve --system base-cssd --set l3.capacity=1MiB --set l3.latency=100ns \
                    --set device.protocol_latency=30ns --set cache.index_latency=20ns \
                    --set cache.hit_latency=50ns --set tlb.walk=0ps --set cache.capacity=64MiB";
const LOAD_NS: f64 = 0.0625 + 100.0 + 30.0 + 20.0 + 50.0;

fn idle_ns(words: &str) -> f64 {
    let curve = told(&format!(
        "{HOST} --threads 0 --chase 8MiB --passes 1 --pace 0ns {words}"
    ));
    assert_eq!(curve["loads"][0]["chase_latency_ns"]["count"], 131_072);
    let latency = curve["loads"][0]["chase_latency_ns"]["p50"].as_f64();
    latency.expect("a number")
}

#[test]
fn an_idle_hosts_latency_is_the_sum_of_its_parts() {
    for (words, expected) in [
        ("", LOAD_NS),
        // A TLB of 48 KiB never has the page.
        ("--set tlb.walk=10ns --set tlb.entries=12", LOAD_NS + 10.0),
        ("--set device.protocol_latency=130ns", LOAD_NS + 100.0),
    ] {
        let found = idle_ns(words);
        assert!(
            (found / expected - 1.0).abs() < 0.008,
            "{words}: {found} of {expected}"
        );
    }
}

#[test]
fn a_hosts_bandwidth_is_that_of_its_narrowest_part() {
    let peak = |words: &str| {
        let curve = told(&format!(
            "{HOST} --size 1MiB --chase 4MiB --pace 0ns {words}"
        ));
        assert_eq!(
            (&curve["on"], &curve["device"]),
            (&"system".into(), &"base-cssd".into())
        );
        rates(&curve)[0]
    };
    // 8 misses of a core under way, each from the L2 (2.75 ns) to its line.
    let of_misses = |threads: f64| threads * 8.0 * 64.0 / ((LOAD_NS - 2.75) * 1e-9);
    // Beside 56 requests under way the dependent load has its part of the link.
    let of_link = |bandwidth: f64| bandwidth * 56.0 / 57.0;
    for (words, expected) in [
        ("--threads 2", of_misses(2.0)),
        ("--threads 7 --set link.bandwidth=32000", of_misses(7.0)),
        ("--threads 7", of_link(16e9)),
        ("--threads 7 --set link.bandwidth=2000", of_link(2e9)),
    ] {
        let found = peak(words);
        assert!(
            (found / expected - 1.0).abs() < 0.02,
            "{words}: {found} of {expected}"
        );
    }
}

#[test]
fn a_host_keeps_the_pace_and_its_stores_go_both_ways() {
    let curve = told(&format!(
        "{HOST} --threads 4 --size 1MiB --passes 1 --chase 4MiB --pace 1us,0ns --reads 50"
    ));
    let rates = rates(&curve);
    // A thread computes for 1 us, and waits for its load if the window ends before it.
    assert!(
        (rates[0] / (4.0 * 64.0 / 1.2e-6) - 1.0).abs() < 0.1,
        "{rates:?}"
    );
    assert!(rates[1] > 4.0 * rates[0], "{rates:?}");
    assert_eq!(curve["loads"][0]["accesses"], 4 * 16_384);
    let cold = told(&format!(
        "{HOST} --threads 1 --size 1MiB --passes 2 --chase 0B --pace 0ns --start cold"
    ));
    assert_eq!(cold["loads"][0]["misses"], 256, "each page once");
    let warm = told(&format!(
        "{HOST} --threads 1 --size 1MiB --chase 0B --pace 0ns"
    ));
    assert_eq!(warm["loads"][0]["misses"], 0);
}

/// Two requesters and one memory on one link of 8 GB/s, whose packets have no headers.
const FABRIC: &str = "curve --fabric esf-validation --set requester.count=2 --set \
                      requester.depth=256 --set endpoint.count=1 --set endpoint.type=fixed \
                      --set endpoint.read=50ns --set link.bandwidth=8000";

#[test]
fn an_idle_fabrics_latency_is_the_fabrics_own() {
    let run = Command::new(env!("CARGO_BIN_EXE_sluice"))
        .args([
            "fabric",
            "run",
            "esf-validation",
            "--json",
            "--requests",
            "1k",
            "--warmup",
            "1k",
        ])
        .args(["--set", "endpoint.count=1", "--set", "endpoint.type=fixed"])
        .args(["--set", "link.bandwidth=8000"])
        .output()
        .expect("the command starts");
    let run: Value = serde_json::from_slice(&run.stdout).expect("an object");
    let unloaded = run["latency_mean_ns"].as_f64().expect("a number");
    let curve = told(&format!("{FABRIC} --threads 0"));
    assert_eq!(
        (&curve["on"], &curve["knee"]),
        (&"fabric".into(), &Value::Null)
    );
    let loads = curve["loads"].as_array().expect("a list");
    assert_eq!(loads.len(), 1, "nobody has a pace");
    let latency = &loads[0]["chase_latency_ns"];
    for figure in ["mean", "max"] {
        let found = latency[figure].as_f64().expect("a number");
        assert!(
            (found - unloaded).abs() < 0.001,
            "{figure}: {found} of {unloaded}"
        );
    }
    assert_eq!(latency["count"], 2 * (1 << 20) / 64);
}

#[test]
fn a_fabrics_bandwidth_is_the_links() {
    let curve = told(&format!("{FABRIC} --size 256KiB --pace 1us,0ns"));
    let rates = rates(&curve);
    assert!((rates[0] / 64e6 - 1.0).abs() < 0.01, "{rates:?}");
    // The dependent load has its part of the link beside 256 requests.
    let of_link = 8e9 * 256.0 / 257.0;
    assert!(
        (rates[1] / of_link - 1.0).abs() < 0.01,
        "{rates:?} of {of_link}"
    );
    let mean = |load: usize| {
        curve["loads"][load]["chase_latency_ns"]["mean"]
            .as_f64()
            .unwrap()
    };
    assert!(mean(1) > 5.0 * mean(0), "it waits behind them");
    assert_eq!(
        told(&format!("{FABRIC} --size 256KiB --pace 1us,0ns")),
        curve,
        "the same again"
    );
}

#[test]
fn pages_of_a_fabrics_device_miss_only_cold() {
    let misses = |start: &str, granules: &str| {
        let curve = told(&format!(
            "curve --fabric skybyte-pool-64th --threads 3 --size 256KiB --chase 0B --pace 0ns \
             --set ssd.prefetch.policy=none --start {start} --set map.granularity={granules}"
        ));
        curve["loads"][0]["misses"].as_u64().expect("devices")
    };
    // Three regions of 64 pages, also where the host's pages lie across the devices.
    for granules in ["4KiB", "256B"] {
        let both = (misses("cold", granules), misses("warm", granules));
        assert_eq!(both, (192, 0), "{granules}");
    }
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
fn dependent_loads_alone_have_no_knee() {
    let curve = told("curve --threads 0 --pace 1us,0ns");
    assert_eq!(curve["knee"], Value::Null);
    assert_eq!(curve["loads"][1]["accesses"], 0);
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
        ("curve --passes 281474976710656", "16 EiB to go"),
        ("curve --on host --start cold", "no flash behind it"),
        ("curve --on host --set nand.read=1us", "no settings"),
        ("curve --on host --device cmm-h", "leave --device out"),
        ("curve --on live --depth 4", "the processor decides"),
        ("curve --on host --ahead 64KiB", "helpers"),
        (
            "curve --system base-cssd --on live",
            "--system is simulated",
        ),
        ("curve --system base-cssd --depth 4", "l1.mshrs"),
        ("curve --system base-cssd --cores 4", "cpu.cores"),
        (
            "curve --system base-cssd --store nontemporal",
            "past its caches",
        ),
        ("curve --system base-cssd --set cpu.threads=4", "--threads"),
        ("curve --system base-cssd --size 100GiB", "is 67108860KiB"),
        ("curve --system base-csd", "base-csd"),
        ("curve --fabric esff", "esff"),
        ("curve --fabric esf --threads 8", "expected at most 7"),
        ("curve --fabric esf --depth 4", "requester.depth"),
        ("curve --fabric esf --on live", "--fabric is simulated"),
        (
            "curve --fabric esf --size 100GiB",
            "a requester reaches 8 GiB",
        ),
        ("curve --numa-node 0", "only --on host"),
        ("curve --on host --numa-node 1000", "NUMA node"),
        ("files --through mmap --io 8KiB", "a fault is of a page"),
        (
            "files --through mmap --write",
            "it is of direct, block-cache, file",
        ),
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
