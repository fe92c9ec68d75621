//! What is chosen has the effect that its line in the reference says.

use crate::rig::{drain, fabric, run, spec};
use sluice_net::{Access, Length, PATTERNS, PatternSettings, RequesterId};
use sluice_units::{Ps, Ratio, Rng};

/// The first lines that a pattern asks for.
fn lines(name: &str, footprint: u64, count: usize) -> Vec<u64> {
    let pattern = PATTERNS.iter().find(|pattern| pattern.name == name);
    let settings = PatternSettings {
        lines: footprint,
        reads: Ratio::percent(100),
        hot_requests: Ratio::percent(90),
        hot_lines: (footprint / 10).max(1),
    };
    let make = pattern.expect("a pattern of the registry").make;
    let mut source = make(&settings, Rng::stream(1, "lines")).expect("addresses of its own");
    let next = || source.next().expect("it has no end");
    let addrs: Vec<u64> = std::iter::repeat_with(next)
        .map(|access| access.addr)
        .take(count)
        .collect();
    assert!(addrs.iter().all(|addr| addr % 64 == 0), "{name}: lines");
    addrs.into_iter().map(|addr| addr / 64).collect()
}

#[test]
fn a_stream_goes_through_its_lines_again_and_again() {
    for footprint in [1, 2, 5, 64] {
        let expected: Vec<u64> = (0..footprint).cycle().take(300).collect();
        assert_eq!(lines("stream", footprint, 300), expected);
    }
}

#[test]
fn patterns_stay_in_their_footprint_and_use_all_of_it() {
    for name in ["random", "skewed", "stream"] {
        let mut seen = [0u32; 50];
        lines(name, 50, 20_000)
            .into_iter()
            .for_each(|line| seen[line as usize] += 1);
        assert!(seen.iter().all(|n| *n > 0), "{name}: {seen:?}");
        let (least, most) = (seen.iter().min().unwrap(), seen.iter().max().unwrap());
        assert_eq!(*most > 3 * *least, name == "skewed", "{name}: {seen:?}");
    }
}

/// A row that stays open is there for the next access; one that was closed is opened again.
#[test]
fn rows_stay_open_or_are_closed() {
    let latencies = |rows: &str| {
        let mut fabric = fabric(&spec(&[
            ("requester.count", "1"),
            ("requester.pattern", "external"),
            ("endpoint.count", "1"),
            ("endpoint.type", "dram"),
            ("endpoint.dram_rows", rows),
        ]));
        // One row twice, so that the second access finds it open.
        [0, 0].map(|addr| {
            let at = fabric.now() + Ps::from_us(1);
            let access = Access {
                addr,
                is_write: false,
            };
            fabric.send(at, RequesterId(0), access, 0).unwrap();
            drain(&mut fabric)[0].latency
        })
    };
    let [first, again] = latencies("open");
    assert!(again < first, "{first} {again}");
    let [first, again] = latencies("closed");
    assert_eq!(again, first, "each access opens the row");
}

/// Requests and responses took turns with one counter, so that all requests went over one spine.
#[test]
fn packets_of_one_host_take_ways_in_turn() {
    for policy in ["spray", "adaptive"] {
        let fabric = run(
            &[
                ("topology.kind", "spine-leaf"),
                ("topology.spines", "2"),
                ("requester.count", "1"),
                ("requester.depth", "1"),
                ("endpoint.count", "1"),
                ("routing.policy", policy),
            ],
            Length {
                warmup: 100,
                requests: 5_000,
            },
        );
        let graph = fabric.graph();
        let between = graph.directions().filter(|direction| {
            let (from, to) = graph.direction(*direction);
            graph.forwards(from) && graph.forwards(to)
        });
        for direction in between {
            let packets = fabric.links().carried(direction).packets;
            // Two spines, each with a link to two leaves: half of 5,000 go each way.
            assert!(packets.abs_diff(2_500) <= 1, "{policy}: {packets}");
        }
    }
}
