//! Lines of pages that were used, against sets of lines.

use sluice_model::{Op, Request};
use sluice_testkit::rig::{Recorder, device};
use sluice_units::{Lpn, PAGE_BYTES, Ps, Rng};
use std::collections::{BTreeMap, BTreeSet};

/// Lines of a page of 4 KiB.
const LINES: usize = 64;

#[derive(Default)]
struct Page {
    touched: BTreeSet<u64>,
    written: BTreeSet<u64>,
}

/// Four pages of cache: slots are used again and again by pages of which more or less is used.
#[test]
fn lines_of_pages_that_leave_are_those_used_since_they_came() {
    let settings = [
        ("cache.capacity", "16KiB"),
        ("cache.policy", "fifo"),
        ("cache.track_lines", "yes"),
        ("prefetch.policy", "none"),
    ];
    let mut device = device(&settings);
    let mut rng = Rng::stream(5, "lines");
    let mut cached = BTreeMap::<u64, Page>::new();
    let (mut touched, mut written) = (vec![0u64; LINES + 1], vec![0u64; LINES + 1]);
    for step in 0..20_000 {
        // Some pages are walked through, of others a line or two is used.
        let lpn = rng.below(12);
        let line = rng.below(if lpn.is_multiple_of(3) { 64 } else { 2 });
        let op = [Op::Read, Op::Write][usize::from(rng.below(4) == 0)];
        let mut host = Recorder::default();
        let addr = Lpn::of(lpn).addr(PAGE_BYTES) + line * 64;
        device.access(Ps::from_ms(step), Request { addr, op }, &mut host);
        for left in host.unmapped {
            let page = cached.remove(&left).expect("what leaves was cached");
            touched[page.touched.len()] += 1;
            if !page.written.is_empty() {
                written[page.written.len()] += 1;
            }
        }
        let page = cached.entry(lpn).or_default();
        page.touched.insert(line);
        if op == Op::Write {
            page.written.insert(line);
        }
        assert!(cached.len() <= 4, "{step}");
    }
    let lines = device.line_use().expect("they are tracked");
    assert_eq!(lines.touched_of_evicted(), touched);
    assert_eq!(lines.written_of_programmed(), written);
    assert!(
        touched.iter().filter(|n| **n > 0).count() > 5,
        "{touched:?}"
    );
}

/// Ten stores to ten lines: each is programmed by itself.
#[test]
fn a_program_that_its_store_waits_for_counts_the_line_of_that_store() {
    for (done, miss) in [
        ("held", "rmw"),
        ("held", "merge"),
        ("programmed", "rmw"),
        ("programmed", "merge"),
    ] {
        for apart in [Ps::ZERO, Ps::from_ms(1)] {
            let mut device = device(&[
                ("cache.write", "through"),
                ("cache.store_done", done),
                ("cache.store_miss", miss),
                ("cache.track_lines", "yes"),
            ]);
            for line in 0..10 {
                let (addr, op) = (line * 64, Op::Write);
                device.access(apart * line, Request { addr, op }, &mut ());
            }
            let lines = device.line_use().expect("they are tracked");
            let mut due = vec![0; LINES + 1];
            due[1] = 10;
            assert_eq!(
                lines.written_of_programmed(),
                due,
                "{done}, {miss}, {apart}"
            );
        }
    }
}
