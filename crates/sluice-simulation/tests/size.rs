//! How large a cache a program needs, against plain lists and closed forms.

use sluice_model::{DeviceConfig, EVICTIONS};
use sluice_results::{SizeMethod, SizePoint, SizeResult};
use sluice_simulation::{SizePlan, Subject, Timing, Uses};
use sluice_units::{Bytes, PAGE_BYTES, Ps, Ratio, Rng};

fn device() -> DeviceConfig {
    let mut raw = sluice_config::load("cylon").unwrap();
    raw.set("device.capacity", "256MiB").unwrap();
    DeviceConfig::new(&raw).unwrap()
}

fn answer(uses: &Uses, policies: &[&str], sizes: &[u64], timing: &Timing<'_>) -> SizeResult {
    let config = device();
    let named = |name: &&str| EVICTIONS.iter().find(|e| e.info.name == *name).unwrap();
    let plan = SizePlan {
        of: Subject {
            device: "cylon",
            config: &config,
            workload: "test",
            seed: 1,
            uses,
        },
        target: Ratio::percent(90),
        policies: policies.iter().map(named).collect(),
        sizes: sizes
            .iter()
            .map(|pages| Bytes(pages * PAGE_BYTES))
            .collect(),
        method: SizeMethod::Trace,
        profile: None,
    };
    plan.run(timing, &|| false)
        .unwrap()
        .expect("nobody stopped it")
}

/// Misses but for first uses, of a list whose first entry leaves.
fn naive(pages: &[u64], size: usize, moves_hits: bool) -> u64 {
    let (mut list, mut seen) = (Vec::new(), std::collections::BTreeSet::new());
    let mut misses = 0;
    for page in pages {
        match list.iter().position(|other| other == page) {
            Some(at) if moves_hits => {
                list.remove(at);
                list.push(*page);
            }
            Some(_) => {}
            None => {
                misses += u64::from(!seen.insert(*page));
                if list.len() == size {
                    list.remove(0);
                }
                list.push(*page);
            }
        }
        seen.insert(*page);
    }
    misses
}

/// Pages of which the first are used most.
fn skewed(pages: u64, count: usize) -> Vec<u64> {
    let mut rng = Rng::stream(1, "test");
    let mut draw = move || {
        let most = 1 + rng.below(pages);
        let bound = 1 + rng.below(most);
        rng.below(bound)
    };
    (0..count).map(|_| draw()).collect()
}

fn all(pages: &[u64]) -> Uses {
    let mut uses = Uses::new(PAGE_BYTES);
    pages.iter().for_each(|page| uses.touch(*page));
    uses
}

fn hits(point: &SizePoint, policy: &str) -> f64 {
    point.policies[policy].hit_ratio.unwrap()
}

#[test]
fn misses_at_all_sizes_are_those_of_a_list() {
    let pages = skewed(300, 20_000);
    let sizes: Vec<u64> = vec![1, 2, 7, 40, 120, 250, 300];
    let result = answer(&all(&pages), &["fifo"], &sizes, &Timing::Unknown);
    let distinct = pages
        .iter()
        .collect::<std::collections::BTreeSet<_>>()
        .len() as u64;
    assert_eq!((result.accesses, result.first_accesses), (20_000, distinct));
    for (point, size) in result.sizes.iter().zip(&sizes) {
        for (name, moves) in [("lru", true), ("fifo", false)] {
            let misses = naive(&pages, *size as usize, moves);
            assert_eq!(point.policies[name].misses, misses, "{name}, {size} pages");
            let ratio = 1.0 - misses as f64 / (20_000 - distinct) as f64;
            assert!((hits(point, name) - ratio).abs() < 1e-9);
        }
    }
    // The smallest cache with 90 %: one page less has not.
    let needed = result.answers[0].cache_bytes.unwrap() / PAGE_BYTES;
    let most = (20_000 - distinct) / 10;
    assert!(naive(&pages, needed as usize, true) <= most);
    assert!(naive(&pages, needed as usize - 1, true) > most);
    assert!(
        result.knee.is_some(),
        "some pages are used more than others"
    );
}

/// A walk over P pages, each use of a page at random: a cache of C pages hits C / P.
#[test]
fn a_random_walk_needs_nine_tenths_of_its_pages_and_has_no_knee() {
    const PAGES: u64 = 1024;
    let mut rng = Rng::stream(7, "walk");
    let mut uses = Uses::new(PAGE_BYTES);
    for at in 0..400 * PAGES {
        if at == 20 * PAGES {
            uses.warm();
        }
        uses.touch(rng.below(PAGES));
    }
    let sizes = [102, 256, 512, 768, 922];
    let result = answer(&uses, &["fifo"], &sizes, &Timing::Unknown);
    assert_eq!((result.accesses, result.first_accesses), (380 * PAGES, 0));
    for (point, size) in result.sizes.iter().zip(sizes) {
        let truth = size as f64 / PAGES as f64;
        for policy in ["lru", "fifo"] {
            assert!(
                (hits(point, policy) - truth).abs() < 0.01,
                "{policy}, {size}"
            );
        }
    }
    for answer in &result.answers {
        let pages = answer.cache_bytes.unwrap() / PAGE_BYTES;
        assert!((912..=932).contains(&pages), "{pages}, truth 922");
        assert!((answer.twice_adds.unwrap() - 0.1).abs() < 0.01);
    }
    assert_eq!(result.knee, None);
}

#[test]
fn a_sample_of_pages_tells_of_all() {
    let pages = skewed(32_768, 600_000);
    let sizes = [2_048, 4_096, 8_192, 16_384, 28_000];
    let whole = answer(&all(&pages), &["fifo"], &sizes, &Timing::Unknown);
    let is_watched = |page: u64| page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 == 0;
    let mut some = Uses::of_some(PAGE_BYTES, 128, whole.first_accesses);
    let watched = pages.iter().filter(|page| is_watched(**page));
    watched.for_each(|page| some.touch(*page));
    let some = answer(&some, &["fifo"], &sizes, &Timing::Unknown);
    assert_eq!(some.footprint_bytes, whole.footprint_bytes);
    for (one, other) in some.sizes.iter().zip(&whole.sizes) {
        for policy in ["lru", "fifo"] {
            let [one, other] = [one, other].map(|point| point.policies[policy].misses as f64);
            // Of all accesses: what the smallest cache hits is left out of the sample's.
            assert!(
                (one - other).abs() / 600_000.0 < 0.02,
                "{policy}: {one} {other}"
            );
        }
    }
}

/// Sizes of the sample are rounded twice: its answer named a size whose own row missed the target.
#[test]
fn a_sample_s_answer_reaches_the_target() {
    let mut pages = skewed(1_000, 40_000);
    pages.extend(0..1_000);
    let mut missed = Vec::new();
    for part in 5..40_u64 {
        let mut some = Uses::of_some(PAGE_BYTES, 1, 1_000);
        let watched = pages
            .iter()
            .filter(|page| (**page * 7_919 + part) % part == 0);
        watched.for_each(|page| some.touch(*page));
        let found = answer(&some, &[], &[], &Timing::Unknown).answers[0].cache_bytes;
        let size = found.unwrap() / PAGE_BYTES;
        let point = &answer(&some, &[], &[size], &Timing::Unknown).sizes[0];
        if hits(point, "lru") < 0.9 {
            missed.push((part, size));
        }
    }
    assert_eq!(missed, []);
}

#[test]
fn sizes_of_which_nothing_is_known_have_no_row() {
    let mut some = Uses::of_some(PAGE_BYTES, 64, 1_000);
    (0..4)
        .flat_map(|_| 0..100)
        .for_each(|page| some.touch(page));
    let found = answer(&some, &[], &[8, 63, 64, 500], &Timing::Unknown);
    let sizes: Vec<u64> = found.sizes.iter().map(|point| point.cache_bytes).collect();
    assert_eq!(sizes, [64 * PAGE_BYTES, 500 * PAGE_BYTES]);
}

#[test]
fn a_run_takes_its_own_time_and_what_its_misses_take() {
    let pages: Vec<u64> = (0..4).flat_map(|_| 0..1_000).collect();
    let uses = all(&pages);
    let timing = Timing::Live {
        without: Ps::from_ms(5),
        written_per_million: 0,
    };
    // Round and round: FIFO misses all in a cache that is too small.
    for (size, misses) in [(500, 4_000), (1_000, 1_000)] {
        let result = answer(&uses, &[], &[size], &timing);
        let expected = 5e-3 + f64::from(misses) * 40.15e-6;
        let told = result.sizes[0].run_time_s.unwrap();
        assert!(
            (told - expected).abs() < 1e-9,
            "{told}, expected {expected}"
        );
    }
    let result = answer(&uses, &[], &[500], &Timing::Unknown);
    assert_eq!(result.sizes[0].run_time_s, None);
}

/// Hit ratios of LRU with 0, 1, 2 and so on pages, by plain lists.
fn naive_curve(pages: &[u64], distinct: u64) -> Vec<f64> {
    let reachable = pages.len() as u64 - distinct;
    let ratio = |size: u64| match size {
        0 => 0.0,
        _ => 1.0 - naive(pages, size as usize, true) as f64 / reachable as f64,
    };
    (0..=distinct).map(ratio).collect()
}

fn distinct(pages: &[u64]) -> u64 {
    let all: std::collections::BTreeSet<_> = pages.iter().collect();
    all.len() as u64
}

/// Four of five uses are of 12 pages, the others of 60.
fn hot_and_cold() -> Vec<u64> {
    let mut rng = Rng::stream(3, "hot");
    let mut draw = move || match rng.below(5) {
        0 => 12 + rng.below(60),
        _ => rng.below(12),
    };
    (0..6_000).map(|_| draw()).collect()
}

#[test]
fn a_curve_is_that_of_lists_and_its_knee_stands_out_most() {
    let pages = hot_and_cold();
    let truth = naive_curve(&pages, distinct(&pages));
    let result = answer(&all(&pages), &[], &[], &Timing::Unknown);
    assert_eq!(result.footprint_bytes, 72 * PAGE_BYTES);
    assert_eq!(result.smallest_bytes, 0);
    // So small a program has a point for each of its pages.
    assert_eq!(result.curve.len(), truth.len());
    for (size, (point, ratio)) in (0..).zip(result.curve.iter().zip(&truth)) {
        assert_eq!(point.cache_bytes, size * PAGE_BYTES);
        assert!((point.hit_ratio - ratio).abs() < 1e-9, "{size} pages");
    }
    let knee = result.knee.expect("12 pages are used more than others");
    let size = (knee.cache_bytes / PAGE_BYTES) as usize;
    assert!((12..=30).contains(&size), "{size}");
    assert!((knee.hit_ratio - truth[size]).abs() < 1e-9);
    // How far each point is above the line between the ends.
    let above = |size: usize| truth[size] / truth[72] - size as f64 / 72.0;
    let most = above(size) + 1e-9;
    assert!((0..=72).all(|other| above(other) <= most), "{size}");
}

#[test]
fn sizes_are_halves_of_the_footprint_and_the_answers() {
    let pages = hot_and_cold();
    let result = answer(&all(&pages), &["fifo"], &[], &Timing::Unknown);
    let most = (pages.len() as u64 - 72) / 10;
    let mut wanted = vec![72, 36, 18, 9, 5, 3, 2, 1];
    for (answer, moves) in result.answers.iter().zip([true, false]) {
        let size = answer.cache_bytes.expect("there is one") / PAGE_BYTES;
        let misses = |size: u64| naive(&pages, size as usize, moves);
        assert!(
            misses(size) <= most && misses(size - 1) > most,
            "{answer:?}"
        );
        let reachable = (pages.len() - 72) as f64;
        let adds = (misses(size) - misses(2 * size)) as f64 / reachable;
        assert!(
            (answer.twice_adds.unwrap() - adds).abs() < 1e-9,
            "{answer:?}"
        );
        wanted.push(size);
    }
    let names: Vec<&str> = result.answers.iter().map(|of| &of.policy[..]).collect();
    assert_eq!(names, ["lru", "fifo"]);
    wanted.sort_unstable();
    wanted.dedup();
    let told = result.sizes.iter().map(|of| of.cache_bytes / PAGE_BYTES);
    assert_eq!(told.collect::<Vec<u64>>(), wanted);
}

/// A program that uses no page twice has nothing that a cache could hit.
#[test]
fn pages_that_are_used_once_need_no_cache() {
    let pages: Vec<u64> = (0..100).collect();
    let result = answer(&all(&pages), &["fifo"], &[10], &Timing::Unknown);
    assert_eq!((result.accesses, result.first_accesses), (100, 100));
    assert!(result.answers.iter().all(|of| of.cache_bytes.is_none()));
    assert_eq!(result.sizes[0].policies["lru"].hit_ratio, None);
    assert_eq!(result.sizes[0].policies["lru"].misses, 0);
    assert_eq!((result.knee, result.curve.len()), (None, 0));
}
