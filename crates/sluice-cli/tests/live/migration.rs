//! Pages that move to host memory because they are hot.

use crate::sluice::{Outcome, Sluice, TRAPS};

/// A table of 20 MiB of which each value is checked, half of the accesses stores, in a cache of
/// 4 MiB beside host memory of as much.
fn table(trap: &str, policy: &str, more: &[(&str, &str)]) -> Outcome {
    let run = Sluice::run(trap)
        .cache("4MiB")
        .set("cache.policy", "lru")
        .set("nand.read", "5us")
        .set("host.migration.policy", policy)
        .set("host.migration.capacity", "4MiB");
    let run = more
        .iter()
        .fold(run, |run, (key, value)| run.set(key, value));
    run.workload("kv --mix A --records 18000 --ops 40000")
        .evicted()
}

fn moved(out: &Outcome) -> [u64; 3] {
    ["promotions", "demotions", "dirty_demotions"]
        .map(|key| out.number(&format!("/migration/{key}")))
}

/// Without host memory the popular records leave the cache for others again and again.
#[test]
fn hot_pages_stay_and_their_values_too() {
    for trap in TRAPS {
        let [none, adaptive, tpp] = ["none", "adaptive", "tpp"].map(|of| table(trap, of, &[]));
        assert_eq!(moved(&none), [0; 3]);
        let misses = |out: &Outcome| out.number("/cache/misses");
        for out in [&adaptive, &tpp] {
            let [promotions, demotions, dirty] = moved(out);
            assert!(promotions > 1_000, "{trap}: {promotions}");
            // No more stay than there is room for.
            assert!(
                promotions - demotions <= 1024,
                "{trap}: {promotions}, {demotions}"
            );
            assert!(
                0 < dirty && dirty < demotions,
                "{trap}: {dirty} of {demotions}"
            );
            assert!(out.number("/trap_kinds/host") > 0);
            let (with, without) = (misses(out), misses(&none));
            assert!(
                with * 10 < without * 8,
                "{trap}: {with} misses, {without} before"
            );
        }
    }
}

/// Room for all that is ever hot: nothing comes back, and in the end hardly anything misses.
#[test]
fn what_fits_into_host_memory_stays_there() {
    let out = table("event", "adaptive", &[("host.migration.capacity", "64MiB")]);
    let [promotions, demotions, _] = moved(&out);
    assert!(
        promotions > 1_000 && demotions == 0,
        "{promotions}, {demotions}"
    );
    assert_eq!(out.number("/trap_kinds/host"), 0);
}

/// A page is hot after as many traps as the threshold says: of the 2,048 that are swept none has so
/// many. A few of the program's own may.
#[test]
fn a_sweep_moves_nothing() {
    for trap in TRAPS {
        let run = Sluice::run(trap)
            .cache("1MiB")
            .set("host.migration.policy", "adaptive");
        let out = run
            .workload("pattern --size 8MiB --threads 1 --seconds 0")
            .evicted();
        let [promotions, ..] = moved(&out);
        assert!(promotions < 32, "{trap}: {promotions}");
    }
}

/// The most that a program had in memory, KiB, which does nothing with a device of 256 GiB.
fn peak(policy: &str) -> u64 {
    let run = Sluice::run("signal")
        .set("device.capacity", "256GiB")
        .set("host.migration.policy", policy);
    let out = run.program(["grep", "VmHWM", "/proc/self/status"]);
    let words: Vec<&str> = out.own_stdout().split_whitespace().collect();
    words[1].parse().expect("a number")
}

/// What is kept of each page is untouched until the page is.
#[test]
fn a_large_device_takes_no_memory_at_the_start() {
    let none = peak("none");
    for policy in ["adaptive", "tpp"] {
        let with = peak(policy);
        assert!(with < none + 8192, "{policy}: {with} KiB, {none} without");
    }
}
