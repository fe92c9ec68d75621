//! Histograms against the plain list of their values.

use proptest::prelude::*;
use sluice_stats::{AtomicHistogram, Histogram, share};
use sluice_units::{Ps, bucket_middle, bucket_of, buckets_below};
use std::collections::BTreeMap;

const PS_PER_NS: u64 = 1_000;

/// The values of a histogram by what a bucket holds.
fn by_bucket(values: &[u64]) -> BTreeMap<usize, u64> {
    let mut counts = BTreeMap::new();
    for ps in values {
        *counts.entry(bucket_of(ps / PS_PER_NS)).or_default() += 1;
    }
    counts
}

fn is_of(histogram: &Histogram, values: &[u64]) {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let sum: u128 = sorted.iter().copied().map(u128::from).sum();
    let count = sorted.len() as u64;
    let mean = sum.checked_div(count.into()).unwrap_or(0) as u64;
    assert_eq!(histogram.count(), count);
    assert_eq!(histogram.sum(), sum);
    assert_eq!(histogram.mean(), Ps(mean));
    let ends = [sorted.first(), sorted.last()].map(|end| end.copied().unwrap_or(0));
    assert_eq!([histogram.min(), histogram.max()], ends.map(Ps));
    has_the_buckets(histogram, values);
    for per_million in [0, 1, 250_000, 500_000, 900_000, 990_000, 999_000, 1_000_000] {
        let rank = (count * per_million).div_ceil(1_000_000).max(1) as usize;
        let exact = sorted.get(rank - 1).copied().unwrap_or(0);
        let ours = histogram.percentile(per_million).0;
        let off = exact / 256 + PS_PER_NS;
        assert!(ours.abs_diff(exact) <= off, "{per_million}: {ours} {exact}");
        assert!((ends[0]..=ends[1]).contains(&ours), "{per_million}: {ours}");
    }
    let summary = histogram.summary();
    let ns = |ps: u64| ps as f64 / PS_PER_NS as f64;
    assert_eq!((summary.count, summary.max), (count, ns(ends[1])));
    assert_eq!(summary.mean, ns(mean));
    assert_eq!(summary.p99, ns(histogram.percentile(990_000).0));
    let whole = histogram.summary_in_ns();
    assert_eq!(
        (whole.count, whole.max, whole.p999),
        (
            count,
            ends[1] / PS_PER_NS,
            histogram.percentile(999_000).as_ns()
        )
    );
    assert_eq!(
        whole.mean,
        (sum / u128::from(PS_PER_NS)) as f64 / count.max(1) as f64
    );
}

fn has_the_buckets(histogram: &Histogram, values: &[u64]) {
    let truth = by_bucket(values);
    let told: Vec<(u64, u64)> = histogram.buckets().collect();
    let wanted: Vec<(u64, u64)> = truth
        .iter()
        .map(|(bucket, count)| (bucket_middle(*bucket), *count))
        .collect();
    assert_eq!(told, wanted);
    for (bucket, count) in truth {
        assert_eq!(histogram.at(bucket), count);
    }
}

fn pairs() -> impl Strategy<Value = Vec<(u64, u64)>> {
    // Up to the end of time.
    let value = prop_oneof![
        20 => 0_u64..9_000_000_000,
        1 => (1 << 62)..=u64::MAX,
        1 => Just(u64::MAX),
    ];
    prop::collection::vec((value, 1_u64..5), 0..60)
}

/// Each value as often as its pair says.
fn repeated(pairs: &[(u64, u64)]) -> Vec<u64> {
    let each = pairs.iter().flat_map(|(ps, n)| vec![*ps; *n as usize]);
    each.collect()
}

fn counted(pairs: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::default();
    for (ps, n) in pairs {
        histogram.record_n(Ps(*ps), *n);
    }
    histogram
}

proptest! {
    #[test]
    fn a_histogram_is_the_list_of_its_values(first in pairs(), then in pairs()) {
        let (first_values, then_values) = (repeated(&first), repeated(&then));
        let before = counted(&first);
        is_of(&before, &first_values);
        let mut all = before.clone();
        all.add(&counted(&then));
        is_of(&all, &[first_values.clone(), then_values.clone()].concat());
        let since = all.since(&before);
        prop_assert_eq!(since.count(), then_values.len() as u64);
        prop_assert_eq!(since.sum(), then_values.iter().copied().map(u128::from).sum::<u128>());
        has_the_buckets(&since, &then_values);
        let bucket = |ps: u64| bucket_of(ps / PS_PER_NS);
        let ends = [then_values.iter().min(), then_values.iter().max()];
        let ends = ends.map(|end| end.map_or(0, |end| bucket(*end)));
        prop_assert_eq!([since.min(), since.max()].map(|end| bucket(end.0)), ends);
        // The largest was above all that were ever recorded, or below its own mean.
        prop_assert!(since.min() <= since.mean() && since.mean() <= since.max());
        prop_assert!(since.count() == 0 || all.min() <= since.min() && since.max() <= all.max());
    }

    #[test]
    fn a_shared_histogram_is_the_list_of_its_values(
        left in prop::collection::vec(0_u64..9_000_000, 0..60),
        right in prop::collection::vec(0_u64..9_000_000, 0..60),
        edge in 0_u64..9_000_000,
    ) {
        let one: AtomicHistogram<{ buckets_below(40) }> = AtomicHistogram::new();
        left.iter().for_each(|ns| one.record(*ns));
        let other = AtomicHistogram::default();
        right.iter().for_each(|ns| other.record(*ns));
        one.merge(&other);
        let values = [left, right].concat();
        let in_ps: Vec<u64> = values.iter().map(|ns| ns * PS_PER_NS).collect();
        is_of(&one.read(), &in_ps);
        let wanted: Vec<(u64, u64)> = one.read().buckets().collect();
        prop_assert_eq!(one.buckets().collect::<Vec<_>>(), wanted);
        let below = values.iter().filter(|ns| bucket_of(**ns) < bucket_of(edge));
        let below = below.count() as f64 / values.len().max(1) as f64;
        prop_assert_eq!(one.share_below(edge), below);
    }
}

#[test]
fn a_share_is_a_quotient_and_nothing_of_nothing() {
    assert_eq!(share(3, 4), Some(0.75));
    assert_eq!(share(0, 1), Some(0.0));
    assert_eq!(share(6, 1), Some(6.0));
    assert_eq!([share(0, 0), share(7, 0)], [None, None]);
}
