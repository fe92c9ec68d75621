//! Does each prefetcher find what it is made to find? Streams with closed-form results.

use proptest::prelude::*;
use sluice_model::prefetch::{Arrival, External, Outcome, Picks, Reach, Seen};
use sluice_model::{Device, DeviceConfig, PREFETCHES, Stats};
use sluice_testkit::rig::{device, read};
use sluice_units::{Lpn, Ps};

/// Longer than a miss, so that every prefetch is in time.
const PAUSE: Ps = Ps::from_us(100);

fn prefetcher(policy: &str, extra: &[(&str, &str)]) -> Device {
    let named = [("prefetch.policy", policy), ("device.capacity", "64MiB")];
    device(&[&named[..], extra].concat())
}

/// Reads the pages one after the other, with a pause after each.
fn read_all(device: &mut Device, pages: impl IntoIterator<Item = u64>) -> Stats {
    for (turn, page) in pages.into_iter().enumerate() {
        read(device, PAUSE * turn as u64, page);
    }
    *device.stats()
}

fn misses_and_used(stats: &Stats) -> (u64, u64) {
    (stats.misses, stats.prefetch_used)
}

#[test]
fn nextn_misses_one_of_n_plus_one() {
    for degree in [1, 3, 8] {
        let mut device = prefetcher("nextn", &[("prefetch.degree", &degree.to_string())]);
        let stats = read_all(&mut device, 0..1_080);
        let missed = 1_080 / (degree + 1);
        assert_eq!(
            misses_and_used(&stats),
            (missed, 1_080 - missed),
            "degree {degree}"
        );
    }
}

/// Two accesses make a stride and the third confirms it: nothing misses after that.
#[test]
fn a_stride_misses_three_times() {
    for stride in [1i64, 2, 7, 64, -1, -5] {
        for degree in ["1", "4"] {
            let mut device = prefetcher("stride", &[("prefetch.degree", degree)]);
            let start = if stride < 0 { 8_000 } else { 3 };
            let stats = read_all(
                &mut device,
                (0..200).map(|step| (start + step * stride) as u64),
            );
            assert_eq!(
                misses_and_used(&stats),
                (3, 197),
                "stride {stride}, degree {degree}"
            );
            assert_eq!(stats.prefetch_late, 0);
            let coverage = stats.prefetch_coverage().unwrap();
            assert_eq!((coverage.num(), coverage.den()), (197, 200));
        }
    }
}

/// A single access near a stream whose stride is known neither ends nor bends it.
#[test]
fn a_confirmed_stride_is_left_alone() {
    let mut device = prefetcher(
        "stride",
        &[("prefetch.degree", "1"), ("prefetch.distance", "1")],
    );
    let pages = (0..100).map(|step| step * 3);
    let stats = read_all(
        &mut device,
        pages.flat_map(|page| match page {
            60 => vec![60, 161],
            page => vec![page],
        }),
    );
    assert_eq!(misses_and_used(&stats), (3 + 1, 97));
}

/// A stride of one page more than is looked for is no stride.
#[test]
fn a_stride_beyond_the_longest_is_not_followed() {
    for (stride, missed) in [(32, 3), (33, 100)] {
        let extra = [("prefetch.degree", "1"), ("prefetch.stride_max", "32")];
        let mut device = prefetcher("stride", &extra);
        let stats = read_all(&mut device, (0..100).map(|step| step * stride));
        assert_eq!(stats.misses, missed, "stride {stride}");
    }
}

/// Streams in turn, far apart: each trains for itself.
#[test]
fn interleaved_streams_are_told_apart() {
    for (policy, steps) in [("stride", [3i64, -2]), ("stream", [1, -1])] {
        let mut device = prefetcher(policy, &[("prefetch.degree", "2")]);
        let pages = (0..400).map(|turn| match turn % 2 {
            0 => 1_000 + steps[0] * (turn / 2),
            _ => 9_000 + steps[1] * (turn / 2),
        });
        let stats = read_all(&mut device, pages.map(|page| page as u64));
        assert_eq!(misses_and_used(&stats), (6, 394), "{policy}");
    }
}

/// With one place fewer than streams, each pushes out the next and none is ever learned.
#[test]
fn more_streams_than_places_are_not_followed() {
    for (policy, streams, missed) in [
        ("stride", "4", 12),
        ("stride", "3", 400),
        ("stream", "4", 12),
        ("stream", "3", 400),
    ] {
        let extra = [("prefetch.degree", "2"), ("prefetch.streams", streams)];
        let mut device = prefetcher(policy, &extra);
        let stats = read_all(
            &mut device,
            (0..400).map(|turn| turn % 4 * 4_000 + turn / 4),
        );
        assert_eq!(stats.misses, missed, "{policy} with {streams} places");
    }
}

/// A stream that leaves pages out and steps back is still one stream.
#[test]
fn a_stream_may_be_ragged() {
    let mut device = prefetcher("stream", &[("prefetch.degree", "8")]);
    let swapped = (0..400u64).map(|turn| match turn % 4 {
        1 => turn + 1,
        2 => turn - 1,
        _ => turn,
    });
    let stats = read_all(&mut device, swapped.filter(|page| page % 10 != 7));
    assert!(stats.misses <= 6, "{stats:?}");
    let mut device = prefetcher("stream", &[("prefetch.degree", "16")]);
    let apart = [("prefetch.degree", "16"), ("prefetch.stream_window", "8")];
    let near = read_all(&mut device, (0..100).map(|step| step * 9));
    let far = read_all(
        &mut prefetcher("stream", &apart),
        (0..100).map(|step| step * 9),
    );
    assert_eq!(
        (near.misses, far.misses),
        (3, 100),
        "steps of 9 in windows of 16 and 8"
    );
}

/// A stream asks for `distance` pages ahead and no further.
#[test]
fn a_stream_runs_ahead_by_its_distance() {
    for policy in ["stream", "stride"] {
        for distance in [1u64, 5, 20] {
            let text = distance.to_string();
            let extra = [("prefetch.degree", "64"), ("prefetch.distance", &text)];
            let stats = read_all(&mut prefetcher(policy, &extra), 0..3);
            assert_eq!(stats.prefetch_issued, distance, "{policy}");
            let stats = read_all(&mut prefetcher(policy, &extra), 0..50);
            assert_eq!(
                (stats.misses, stats.prefetch_issued),
                (3, 47 + distance),
                "{policy}"
            );
        }
    }
}

/// Once around a cycle teaches it all, whatever the order; the second time, nothing misses. The
/// cache holds a fraction of the cycle.
#[test]
fn markov_repeats_a_cycle_after_one_pass() {
    let length = 1_021;
    let cycle = |turn: u64| turn * 517 % length;
    for degree in ["1", "4"] {
        let mut device = prefetcher("markov", &[("prefetch.degree", degree)]);
        let first = read_all(&mut device, (0..length + 1).map(cycle));
        assert_eq!(misses_and_used(&first), (length + 1, 0));
        for turn in length + 1..3 * length {
            read(&mut device, PAUSE * turn, cycle(turn));
        }
        let stats = *device.stats();
        assert_eq!(
            misses_and_used(&stats),
            (length + 1, 2 * length - 1),
            "degree {degree}"
        );
    }
}

/// A page with two followers in turn: with one of them remembered it is always the wrong one.
#[test]
fn markov_remembers_as_many_followers_as_it_is_told() {
    // 0 1 0 2 0 1 0 2 ..., each with its own tail that pushes everything out of a tiny cache.
    let turn = |turn: u64| [[0, 1, 10, 11, 12, 13], [0, 2, 20, 21, 22, 23]][(turn % 2) as usize];
    let used = |followers: &str| {
        let extra = [
            ("prefetch.degree", followers),
            ("prefetch.markov_followers", followers),
            ("cache.capacity", "16KiB"),
        ];
        let mut device = prefetcher("markov", &extra);
        let warm = read_all(&mut device, (0..6).flat_map(turn));
        let mut misses = Vec::new();
        for (step, page) in (6..8).flat_map(turn).enumerate() {
            let before = device.stats().misses;
            read(&mut device, PAUSE * (36 + step as u64), page);
            misses.push((page, device.stats().misses > before));
        }
        assert!(warm.misses > 0);
        misses
            .into_iter()
            .filter(|(page, miss)| *miss && (*page == 1 || *page == 2))
            .count()
    };
    assert_eq!(used("1"), 2, "the other follower each time");
    assert_eq!(used("2"), 0);
}

/// One page a microsecond from a device that takes 40.15: an offset of 41 pages is the first that
/// would be in time, and the first without a prime factor above 5 from there on is 45. At half
/// the pace, 21 pages and 24.
#[test]
fn best_offset_finds_the_offset_that_is_in_time() {
    for (pace_ns, offset) in [(1_000u64, 45), (2_000, 24), (10_000, 5), (50_000, 1)] {
        let config = DeviceConfig::new(&DeviceConfig::builder()).unwrap();
        let entry = PREFETCHES
            .iter()
            .find(|e| e.info.name == "best-offset")
            .unwrap();
        let mut policy = (entry.build)(config.raw());
        let reach = Reach {
            degree: 1,
            distance: 1,
        };
        let latency = Ps::from_ns(40_150);
        let mut last = 0;
        for lpn in 1_000..20_000u64 {
            let at = Ps::from_ns(pace_ns * lpn);
            let mut picks = Picks::new();
            policy.access(
                Seen {
                    at,
                    lpn: Lpn::of(lpn),
                    outcome: Outcome::FirstUse,
                    is_store: false,
                    thread: None,
                },
                reach,
                &mut picks,
            );
            for pick in picks.as_slice() {
                last = pick - lpn;
                let at = at + latency;
                policy.arrives(Arrival {
                    at,
                    lpn: Lpn::of(*pick),
                    cause: Lpn::of(lpn),
                });
            }
        }
        assert_eq!(last, offset, "a page every {pace_ns} ns");
    }
}

/// On the device: a scan too fast for its neighbours' prefetches is covered in time in the end.
#[test]
fn best_offset_makes_a_fast_scan_timely() {
    let timely = |policy: &str| {
        let mut device = prefetcher(policy, &[("prefetch.degree", "1")]);
        let mut before = Stats::default();
        for lpn in 0..12_000u64 {
            if lpn == 8_000 {
                before = *device.stats();
            }
            // 25 us a page: a prefetch of the next page is late, of the one after it in time.
            read(&mut device, Ps::from_us(25 * lpn), lpn);
        }
        let stats = device.stats();
        (
            stats.misses - before.misses,
            stats.prefetch_late - before.prefetch_late,
        )
    };
    assert_eq!(timely("best-offset"), (0, 0));
    let (missed, late) = timely("nextn");
    assert_eq!(
        (missed, late),
        (2_000, 2_000),
        "every prefetch of nextn is late"
    );
}

/// Random pages score nothing, and nothing is prefetched.
#[test]
fn best_offset_gives_up_where_there_is_no_pattern() {
    let extra = [("prefetch.degree", "1"), ("device.capacity", "16GiB")];
    let mut device = prefetcher("best-offset", &extra);
    let mut rng = sluice_units::Rng::stream(3, "pages");
    let pages = std::iter::repeat_with(|| rng.below(4 << 20));
    let stats = read_all(&mut device, pages.take(30_000));
    // It begins with an offset of 1 and finds after 100 rounds of 52 offsets that none is good.
    assert_eq!(stats.prefetch_issued, 52 * 100 - 1, "{stats:?}");
}

fn throttled(policy: &str, degree: &str, extra: &[(&str, &str)]) -> Device {
    let own = [
        ("prefetch.degree", degree),
        ("prefetch.throttle", "feedback"),
        ("prefetch.throttle_interval", "64"),
    ];
    prefetcher(policy, &[&own[..], extra].concat())
}

/// Random reads with nextn: every prefetch is useless, and what it displaces is missed.
#[test]
fn the_throttle_holds_back_a_prefetcher_that_pollutes() {
    let run = |throttle: &str| {
        let mut device = throttled("nextn", "8", &[("prefetch.throttle", throttle)]);
        let mut rng = sluice_units::Rng::stream(3, "pages");
        // A hot set that fits the cache of 256 pages, and cold pages far apart.
        let page = |rng: &mut sluice_units::Rng| match rng.below(10) {
            0 => 1_000 + rng.below(900) * 16,
            _ => rng.below(20) * 10,
        };
        let pages: Vec<u64> = (0..20_000).map(|_| page(&mut rng)).collect();
        read_all(&mut device, pages)
    };
    let (free, held) = (run("none"), run("feedback"));
    assert_eq!(
        (held.prefetch_raised, held.prefetch_lowered),
        (0, 2),
        "to the lowest level"
    );
    // A quarter of the degree, once the first intervals are over.
    assert!(
        held.prefetch_issued * 3 < free.prefetch_issued,
        "{held:?} {free:?}"
    );
    assert!(held.misses < free.misses);
}

/// A scan that outruns its prefetches: accurate and late, so it is let further ahead.
#[test]
fn the_throttle_lets_a_late_stream_run_further_ahead() {
    let extra = [("prefetch.distance", "64")];
    let mut device = throttled("stream", "8", &extra);
    let mut late = [0; 2];
    for lpn in 0..12_000u64 {
        // A page every 2 us: 21 pages ahead are in time; the middle level allows 16, the next 32.
        read(&mut device, Ps::from_us(2 * lpn), lpn);
        late[usize::from(lpn >= 6_000)] = device.stats().prefetch_late;
    }
    let stats = *device.stats();
    // Twice, because the late ones of the intervals before the first still count.
    assert_eq!(
        (stats.prefetch_raised, stats.prefetch_lowered),
        (2, 0),
        "{stats:?}"
    );
    assert!(late[0] > 100, "late before: {late:?}");
    assert_eq!(late[1], late[0], "in time after it");
}

/// The plain tables: what came after a page, the latest first, and nothing forgotten.
fn plain_markov(pages: &[u64], degree: usize, followers: usize) -> Vec<u64> {
    let mut after: std::collections::BTreeMap<u64, Vec<u64>> = Default::default();
    for pair in pages.windows(2).filter(|pair| pair[0] != pair[1]) {
        let known = after.entry(pair[0]).or_default();
        known.retain(|page| *page != pair[1]);
        known.insert(0, pair[1]);
        known.truncate(followers);
    }
    let (mut picks, mut from) = (Vec::new(), *pages.last().unwrap());
    while let Some(known) = after.get(&from).filter(|_| picks.len() < degree) {
        picks.extend(known.iter().copied().take(degree - picks.len()));
        from = known[0];
    }
    picks
}

fn settings(extra: &[(&str, &str)]) -> sluice_model::DeviceConfig {
    let mut raw = DeviceConfig::builder();
    for (key, value) in extra {
        raw.set(key, value).unwrap();
    }
    DeviceConfig::new(&raw).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(128)))]

    #[test]
    fn markov_equals_its_plain_table(
        pages in prop::collection::vec(0u64..30, 1..200),
        degree in 1usize..9,
        followers in 1usize..5,
    ) {
        let config = settings(&[
            ("prefetch.markov_pages", "32"),
            ("prefetch.markov_followers", &followers.to_string()),
        ]);
        let entry = PREFETCHES.iter().find(|e| e.info.name == "markov").unwrap();
        let mut policy = (entry.build)(config.raw());
        let reach = Reach { degree: degree as u32, distance: 1 };
        for (index, lpn) in pages.iter().enumerate() {
            let mut picks = Picks::new();
            let (at, lpn, outcome) = (Ps::ZERO, Lpn::of(*lpn), Outcome::Miss);
            let seen = Seen { at, lpn, outcome, is_store: false, thread: None };
            policy.access(seen, reach, &mut picks);
            let plain = plain_markov(&pages[..=index], degree, followers);
            prop_assert_eq!(picks.as_slice(), &plain[..], "step {}", index);
        }
    }

    /// Whatever comes: no panic, no more than the degree, and the same again from the same input.
    #[test]
    fn every_prefetcher_keeps_to_its_reach(
        steps in prop::collection::vec((0u64..5_000, 0u8..3, 0u64..60), 1..300),
        reach in (1u32..64, 1u32..100),
    ) {
        let reach = Reach { degree: reach.0, distance: reach.1 };
        let config = settings(&[("prefetch.streams", "3"), ("prefetch.markov_pages", "16")]);
        for entry in PREFETCHES {
            let mut twins = [(entry.build)(config.raw()), (entry.build)(config.raw())];
            let mut now = Ps::ZERO;
            for (lpn, kind, gap) in &steps {
                now += Ps::from_us(*gap);
                let outcomes = [Outcome::Miss, Outcome::FirstUse, Outcome::LateUse];
                let outcome = outcomes[usize::from(*kind)];
                let picks = twins.each_mut().map(|policy| {
                    let mut picks = Picks::new();
                    let (at, lpn) = (now, Lpn::of(*lpn));
                    let seen = Seen { at, lpn, outcome, is_store: false, thread: None };
                    policy.access(seen, reach, &mut picks);
                    for pick in picks.as_slice() {
                        let at = now + Ps::from_us(40);
                        policy.arrives(Arrival { at, lpn: Lpn::of(*pick), cause: lpn });
                    }
                    picks.as_slice().to_vec()
                });
                prop_assert!(picks[0].len() <= reach.degree as usize, "{}", entry.info.name);
                prop_assert_eq!(&picks[0], &picks[1], "{}", entry.info.name);
            }
        }
    }
}

/// What `nextn` is, brought along by the caller.
struct Next;

impl External for Next {
    fn access(&mut self, seen: Seen, reach: Reach, picks: &mut Picks) {
        if seen.outcome == Outcome::Miss {
            let next = u64::from(seen.lpn) + 1;
            (next..next + u64::from(reach.degree)).for_each(|page| picks.push(page));
        }
    }

    fn arrives(&mut self, _arrival: Arrival) {}
}

#[test]
fn one_of_the_callers_is_in_the_place_of_the_policy() {
    let own = |degree| {
        let extra = [("prefetch.degree", degree)];
        prefetcher("none", &extra).with_prefetcher(Box::new(Next))
    };
    let mut built_in = prefetcher("nextn", &[("prefetch.degree", "3")]);
    assert_eq!(
        read_all(&mut own("3"), 0..1_080),
        read_all(&mut built_in, 0..1_080)
    );
    assert_eq!(
        misses_and_used(&read_all(&mut own("0"), 0..1_080)),
        (1_080, 0)
    );
}

#[test]
fn one_of_the_callers_stays_when_parameters_change() {
    let mut device =
        prefetcher("none", &[("prefetch.degree", "3")]).with_prefetcher(Box::new(Next));
    read_all(&mut device, 0..4);
    assert_eq!(device.tune(&[("prefetch.degree", "1")], 1), Ok(true));
    for (turn, page) in (100..104).enumerate() {
        read(&mut device, Ps::from_ms(10 + turn as u64), page);
    }
    // One miss of four pages, then one of each two.
    assert_eq!(misses_and_used(device.stats()), (1 + 2, 3 + 2));
    // Named anew, another is in its place.
    assert_eq!(device.tune(&[("prefetch.policy", "none")], 1), Ok(false));
    let stride = [("prefetch.policy", "stride"), ("prefetch.degree", "2")];
    assert_eq!(device.tune(&stride, 1), Ok(true));
    assert!(!device.asks_who());
}
