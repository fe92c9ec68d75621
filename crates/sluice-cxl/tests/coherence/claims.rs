//! What follows from the set-up of ESF's sections V-B and V-C, one access after the other.

use sluice_cxl::coherence::serial::Serial;
use sluice_cxl::coherence::{Blocks, CacheSetup, DcohSetup, Replacement, Victim};
use sluice_params::Registered;
use sluice_units::Rng;

/// Section V-B: accesses to four endpoints, 4,000 each.
const ACCESSES: u64 = 16_000;

/// Counts of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Replay {
    misses: u64,
    invalidated: u64,
    /// Entries that left the filters, each with a snoop.
    snooped: u64,
    /// Requests whose line the filter knew.
    known: u64,
}

/// One host, 90 % of its loads to a tenth of `footprint` lines, a cache of a fifth, and `filters`
/// filters of that size.
fn skewed(policy: &str, footprint: u64, filters: u32, warm_up: u64, accesses: u64) -> Replay {
    let fifth = (footprint / 5) as u32;
    let cache = CacheSetup {
        lines: fifth,
        ways: fifth,
        replacement: Replacement::Lru,
        notify: false,
        accesses: 1,
        watched: true,
    };
    let agent = DcohSetup {
        hosts: 1,
        entries: fifth,
        ways: fifth,
        trackers: 1,
        requests_max: 1,
        victim: Victim::named(policy).unwrap(),
        blocks: Blocks {
            lines_max: 1,
            aligned: true,
            extends: false,
        },
    };
    let mut serial = Serial::new(&cache, &agent, filters, 1);
    let mut rng = Rng::stream(7, "skewed");
    let hot = footprint / 10;
    let mut run = |serial: &mut Serial, accesses| {
        for _ in 0..accesses {
            let line = match rng.below(10) {
                0 => hot + rng.below(footprint - hot),
                _ => rng.below(hot),
            };
            serial.access(0, line, false).unwrap();
        }
    };
    run(&mut serial, warm_up);
    serial.caches[0].reset_count();
    serial
        .agents
        .iter_mut()
        .for_each(|agent| agent.reset_count());
    run(&mut serial, accesses);
    Replay {
        misses: serial.caches[0].count().misses,
        invalidated: serial.caches[0].count().invalidated,
        snooped: serial
            .agents
            .iter()
            .map(|agent| agent.count().evictions)
            .sum(),
        known: serial.agents.iter().map(|agent| agent.count().hits).sum(),
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// A filter as large as the cache holds the same lines, and so makes it a FIFO or LIFO cache. FIFO:
/// let t be the mean stay of a line over that of an average one. Hot lines are there 9t / (1 + 9t)
/// of the time and cold ones (t/9) / (1 + t/9). Hot lines are a tenth of the footprint and cold
/// ones nine tenths; a fifth of it is there in all. LIFO: hot lines stay, and so does a ninth of
/// the cold ones.
#[test]
fn one_filter_as_large_as_the_cache_has_closed_forms() {
    let held = |t: f64| 0.1 * 9.0 * t / (1.0 + 9.0 * t) + 0.9 * (t / 9.0) / (1.0 + t / 9.0);
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if held(middle) < 0.2 {
            low = middle
        } else {
            high = middle
        }
    }
    let fifo = 0.9 / (1.0 + 9.0 * low) + 0.1 / (1.0 + low / 9.0);
    assert!((fifo - 0.1625).abs() < 0.0001);
    let lifo = 0.1 * 8.0 / 9.0;
    let long = 400_000;
    for (policy, expected) in [("fifo", fifo), ("lifo", lifo)] {
        let replay = skewed(policy, 4_000, 1, long, long);
        let share = ratio(replay.misses, long);
        println!("{policy}: {share:.4} misses a load, closed form {expected:.4}");
        assert!((share / expected - 1.0).abs() < 0.02, "{policy}: {share}");
        // A full filter that knows none of the lines invalidates one for each request.
        assert_eq!((replay.known, replay.invalidated), (0, replay.misses));
    }
}

#[test]
fn with_one_filter_recency_is_insertion_and_lifo_takes_half_the_lines_away() {
    for footprint in [500, 1_000, 4_000, 16_000] {
        // The filter is full before counting begins.
        let of = |policy| skewed(policy, footprint, 1, 4 * footprint + ACCESSES, ACCESSES);
        let (fifo, lifo, lfi) = (of("fifo"), of("lifo"), of("lfi"));
        assert_eq!(of("lru"), fifo);
        assert_eq!(of("mru"), lifo);
        let lifo = ratio(lifo.invalidated, fifo.invalidated);
        let lfi = ratio(lfi.invalidated, fifo.invalidated);
        println!("{footprint} lines: LIFO {lifo:.3}, LFI {lfi:.3} of FIFO's invalidations");
        // The closed form is 0.547. The paper has 0.84, which does not follow.
        assert!((0.51..0.58).contains(&lifo), "{footprint}: {lifo}");
        assert!(lfi < 1.0, "{footprint}: {lfi}");
    }
}

#[test]
fn lfi_lies_between_as_long_as_counts_are_short() {
    for footprint in [500, 1_000, 2_000, 4_000] {
        let of = |policy| skewed(policy, footprint, 1, ACCESSES, ACCESSES).invalidated;
        let lfi = ratio(of("lfi"), of("fifo"));
        println!("{footprint} lines: LFI {lfi:.3}");
        // The paper has 0.85.
        assert!((0.55..0.85).contains(&lfi), "{footprint}: {lfi}");
    }
}

/// Four filters as large as the cache know four fifths of all lines: that contradicts the paper's
/// explanation by a filter without hits. What LFI gains depends on the footprint.
#[test]
fn with_a_filter_for_each_endpoint_most_requests_find_their_line() {
    for (footprint, gains) in [(1_000, false), (2_000, true)] {
        let of = |policy| skewed(policy, footprint, 4, 4 * footprint + ACCESSES, ACCESSES);
        let fifo = of("fifo");
        let lfi = ratio(of("lfi").snooped, fifo.snooped);
        println!("{footprint} lines: LFI {lfi:.3} of FIFO's snoops");
        assert_eq!(lfi < 0.9, gains, "{footprint}: {lfi}");
        assert!(ratio(fifo.known, fifo.misses) > 0.5);
    }
}

/// A host that gives a line up, dirty or with notice, is snooped no more; a host that drops it
/// silently is.
#[test]
fn a_line_that_was_given_up_costs_no_snoop() {
    for (notify, store, snoops) in [(false, false, 1), (true, false, 0), (false, true, 0)] {
        let cache = CacheSetup {
            lines: 1,
            ways: 1,
            replacement: Replacement::Lru,
            notify,
            accesses: 1,
            watched: true,
        };
        let agent = DcohSetup {
            hosts: 2,
            entries: 8,
            ways: 8,
            trackers: 1,
            requests_max: 2,
            victim: Victim::named("fifo").unwrap(),
            blocks: Blocks {
                lines_max: 1,
                aligned: true,
                extends: false,
            },
        };
        let mut serial = Serial::new(&cache, &agent, 1, 1);
        serial.access(0, 0, store).unwrap();
        serial.access(0, 1, false).unwrap();
        assert_eq!(serial.agents[0].knows(0, 0), snoops == 1);
        serial.access(1, 0, true).unwrap();
        assert_eq!(serial.agents[0].count().conflict_snoops, snoops);
    }
}
