//! Policies that see hits live: pages that they let go are unmapped, and come back if used.

use crate::build::helper;
use crate::sluice::{Outcome, Sluice, TRAPS};
use std::collections::VecDeque;

const PAGES: usize = 2_048;
const CACHE: usize = 512;
const READS: usize = 30_000;

/// Misses of a cache on a trace of pages: of CLOCK with one bit, or of FIFO, which is CLOCK that
/// sees no hit.
fn misses(trace: &[u32], sees_hits: bool) -> u64 {
    let (mut queue, mut misses) = (VecDeque::new(), 0);
    let mut cached = vec![None; PAGES];
    for page in trace {
        if let Some(used) = &mut cached[*page as usize] {
            *used = sees_hits;
            continue;
        }
        misses += 1;
        while queue.len() == CACHE {
            let oldest: u32 = queue.pop_front().expect("a page");
            match cached[oldest as usize] {
                Some(true) => {
                    cached[oldest as usize] = Some(false);
                    queue.push_back(oldest);
                }
                _ => cached[oldest as usize] = None,
            }
        }
        queue.push_back(*page);
        cached[*page as usize] = Some(false);
    }
    misses
}

/// The program on a device that is slow enough for the bound on the time of samples to matter
/// little, and the pages that it read.
fn run(trap: &str, set: &[(&str, &str)], args: &[&str]) -> (Outcome, Vec<u32>) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pages");
    let program = helper!("zipf.c").to_str().expect("plain letters");
    let counts = [PAGES.to_string(), READS.to_string()];
    let words = [
        program,
        &counts[0],
        &counts[1],
        file.to_str().expect("plain letters"),
    ];
    let run = Sluice::run(trap)
        .cache("2MiB")
        .set("cache.policy", "clock")
        .set("nand.read", "300us")
        .args(args);
    let run = set
        .iter()
        .fold(run, |run, (key, value)| run.set(key, value));
    let out = run.program(words).evicted();
    assert_eq!(out.own_stdout(), "well\n");
    let pages = std::fs::read(&file).expect("the program's pages");
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
    (out, pages.chunks_exact(4).map(number).collect())
}

/// The share of the way from CLOCK that sees no hit to CLOCK that sees all. Other memory of the
/// program misses some ten times.
fn share_of_the_way(out: &Outcome, pages: &[u32]) -> f64 {
    let (hidden, seen) = (misses(pages, false) as f64, misses(pages, true) as f64);
    assert!(hidden > 1.1 * seen, "{hidden} {seen}");
    (hidden - out.number("/cache/misses") as f64) / (hidden - seen)
}

#[test]
fn clock_comes_more_than_half_of_the_way_to_what_it_does_if_it_sees_all_hits() {
    for trap in TRAPS {
        let (plain, pages) = run(trap, &[], &[]);
        let share = share_of_the_way(&plain, &pages);
        assert!(share.abs() < 0.02, "{trap} {share}");
        assert_eq!(plain.number("/cache/deactivated"), 0);

        let (sampled, pages) = run(trap, &[], &["--sample-hits", "20ms"]);
        let share = share_of_the_way(&sampled, &pages);
        assert!((0.5..1.0).contains(&share), "{trap} {share}");
        let (back, soft) = (
            sampled.number("/cache/reactivated"),
            sampled.number("/cache/hits"),
        );
        assert!(back > 150 && back <= soft, "{trap} {back} {soft}");
    }
}

#[test]
fn the_share_of_inactive_pages_is_what_is_set() {
    let (none, _) = run(
        "event",
        &[("cache.inactive", "none")],
        &["--sample-hits", "20ms"],
    );
    assert_eq!(none.number("/cache/deactivated"), 0);
    let (alone, _) = run("event", &[("cache.inactive", "30%")], &[]);
    assert!(alone.number("/cache/reactivated") > 150);
    assert_eq!(alone.json()["cache"]["sampled"], serde_json::Value::Null);
}

/// Pages that are put aside and evicted by one access, and pages that are written while they are
/// inactive, are right.
#[test]
fn nothing_is_lost_with_small_sets_and_many_prefetches() {
    for trap in TRAPS {
        for ways in ["1", "2", "4"] {
            let set = [
                ("cache.ways", ways),
                ("cache.inactive", "50%"),
                ("nand.read", "5us"),
                ("prefetch.policy", "nextn"),
                ("prefetch.degree", "8"),
            ];
            let (out, _) = run(trap, &set, &["--sample-hits", "5ms"]);
            assert_eq!(out.number("/cache/deactivated") > 0, ways != "1", "{trap}");
        }
    }
}
