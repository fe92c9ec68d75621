//! The counters of a session in Prometheus' text format.
//!
//! Counters are sums over all processes of the run, ended ones too, so that they never fall. Two
//! sums are kept apart by the label `memory`: what each process has for itself (`private`), and
//! the device of memory that they share (`shared`).

use prometheus::TextEncoder;
use prometheus::proto::{Bucket, Counter as Count, Gauge, LabelPair, Metric};
use prometheus::proto::{Histogram as Buckets, MetricFamily, MetricType};
use sluice_abi::Counter;
use sluice_region::is_running;
use sluice_results::{Others, Process, read_session};
use sluice_stats::Histogram;
use std::collections::HashMap;
use std::path::Path;

/// What stands before each name.
const PREFIX: &str = "sluice_";
const PS_PER_S: f64 = 1e12;
/// Upper bounds of the histograms' buckets, ns.
const BOUNDS_NS: [u64; 21] = {
    let (mut bounds, mut at, mut decade) = ([0; 21], 0, 100);
    while at < 21 {
        bounds[at] = decade;
        bounds[at + 1] = 2 * decade;
        bounds[at + 2] = 5 * decade;
        decade *= 10;
        at += 3;
    }
    bounds
};

/// What is the same during the whole run.
pub type About = Vec<(&'static str, String)>;

/// How a counter is published.
enum Kind {
    /// It counts events.
    Events,
    /// It sums up times; so many of its units are a second.
    Seconds(f64),
    /// Of the processes that run.
    Now,
    /// A time or a fact of the host, which all processes have alike; so many of its units are one.
    Same(f64),
    /// It is a part of the modelled time, which all are together.
    Part,
    /// Nothing for a curve.
    Hidden,
}

fn kind(counter: Counter) -> Kind {
    const NS: f64 = 1e9;
    match counter {
        Counter::StoreWaitNs | Counter::SampledWindowNs => Kind::Seconds(NS),
        Counter::PlacedBytes
        | Counter::ReservedBytes
        | Counter::PinnedPages
        | Counter::CachedPages => Kind::Now,
        Counter::EntryNs | Counter::ExitNs | Counter::HitNs => Kind::Same(NS),
        Counter::StoreQueued | Counter::StoreDirect => Kind::Same(1.),
        Counter::LastTrapNs | Counter::PinnedErrno => Kind::Hidden,
        part if Counter::PARTS.iter().any(|(_, of)| *of == part) => Kind::Part,
        _ => Kind::Events,
    }
}

/// Sums over the processes that share one value of `memory`.
struct Sums {
    counters: Vec<u64>,
    modelled: Histogram,
    achieved: Histogram,
    images: u64,
    running: u64,
}

impl Sums {
    fn new() -> Sums {
        Sums {
            counters: vec![0; Counter::ALL.len()],
            modelled: Histogram::default(),
            achieved: Histogram::default(),
            images: 0,
            running: 0,
        }
    }

    /// Of processes that have ended, each as by [`Sums::add`].
    fn add_others(&mut self, others: &Others) {
        self.images += others.images();
        for (sum, counter) in self.counters.iter_mut().zip(Counter::ALL) {
            // What all have alike, those that are listed say.
            if !matches!(kind(*counter), Kind::Now | Kind::Same(_)) {
                *sum += others.get(*counter);
            }
        }
        let latencies = others.latencies();
        self.modelled.add(&latencies.modelled);
        self.achieved.add(&latencies.achieved);
    }

    fn add(&mut self, process: &Process, runs: bool) {
        self.images += 1;
        self.running += u64::from(runs);
        for (sum, counter) in self.counters.iter_mut().zip(Counter::ALL) {
            let value = process.get(*counter);
            match kind(*counter) {
                Kind::Now if !runs => {}
                Kind::Same(_) => *sum = value.max(*sum),
                _ => *sum += value,
            }
        }
        if let Some(latencies) = &process.latencies {
            self.modelled.add(&latencies.modelled);
            self.achieved.add(&latencies.achieved);
        }
    }
}

/// All metrics of a session.
pub fn text(session: &Path, about: &About) -> prometheus::Result<String> {
    let (private, shared) = read_session(session, |others, images| sums(others, images));
    let sums = [("private", Some(private)), ("shared", shared)];
    let sums: Vec<(&str, Sums)> = sums
        .into_iter()
        .filter_map(|(memory, sums)| Some((memory, sums?)))
        .collect();
    TextEncoder::new().encode_to_string(&families(&sums, about))
}

/// The sums of a session: of private memory, and of shared memory if there is any.
fn sums(others: &Others, images: &mut dyn Iterator<Item = Process>) -> (Sums, Option<Sums>) {
    let (mut private, mut shared) = (Sums::new(), None);
    private.add_others(others);
    // Each has much to read: once, and only those that may run are kept until it is known which
    // image of each process is the last.
    let (mut last_images, mut may_run): (HashMap<u64, u64>, Vec<Process>) = Default::default();
    for process in images {
        if process.shared_memory {
            shared.get_or_insert_with(Sums::new).add(&process, true);
            continue;
        }
        let last = last_images.entry(process.pid).or_default();
        *last = process.image.max(*last);
        let pid = u32::try_from(process.pid).unwrap_or(0);
        match !process.ended && is_running(pid) {
            true => may_run.push(process),
            false => private.add(&process, false),
        }
    }
    for process in may_run {
        private.add(&process, last_images[&process.pid] == process.image);
    }
    (private, shared)
}

fn families(sums: &[(&str, Sums)], about: &About) -> Vec<MetricFamily> {
    let private = &sums[0].1;
    let info = about.iter().map(|(name, value)| label(name, value));
    let mut families = vec![
        family(
            "run_info",
            "What runs, always 1.",
            MetricType::GAUGE,
            vec![gauge(info.collect(), 1.)],
        ),
        family(
            "processes",
            "Processes of the run that are there.",
            MetricType::GAUGE,
            vec![gauge(Vec::new(), private.running as f64)],
        ),
        family(
            "programs_total",
            "Programs that ran on the device: one for each process, and one for each exec.",
            MetricType::COUNTER,
            vec![counter(Vec::new(), private.images as f64)],
        ),
    ];
    families.extend(Counter::ALL.iter().filter_map(|of| published(*of, sums)));
    let parts = sums.iter().flat_map(|(memory, sums)| {
        Counter::PARTS.map(|(part, of)| {
            let labels = vec![label("memory", memory), label("part", part)];
            counter(labels, sums.counters[of as usize] as f64 / PS_PER_S)
        })
    });
    families.push(family(
        "modelled_seconds_total",
        "Where the modelled time of traps went.",
        MetricType::COUNTER,
        parts.collect(),
    ));
    let latencies = sums.iter().flat_map(|(memory, sums)| {
        [("modelled", &sums.modelled), ("achieved", &sums.achieved)].map(|(time, found)| {
            let mut metric = labelled(vec![label("memory", memory), label("time", time)]);
            metric.set_histogram(buckets(found));
            metric
        })
    });
    families.push(family(
        "miss_latency_seconds",
        "Latencies of misses: what the model asked for (modelled), what the program saw \
         (achieved).",
        MetricType::HISTOGRAM,
        latencies.collect(),
    ));
    families
}

/// A counter as a family, with a line for each `memory`.
fn published(of: Counter, sums: &[(&str, Sums)]) -> Option<MetricFamily> {
    let (unit, is_event) = match kind(of) {
        Kind::Hidden | Kind::Part => return None,
        Kind::Events => (1., true),
        Kind::Seconds(unit) => (unit, true),
        Kind::Now => (1., false),
        Kind::Same(unit) => (unit, false),
    };
    let metrics = sums.iter().map(|(memory, sums)| {
        let value = sums.counters[of as usize] as f64 / unit;
        let labels = vec![label("memory", memory)];
        match is_event {
            true => counter(labels, value),
            false => gauge(labels, value),
        }
    });
    let kind = match is_event {
        true => MetricType::COUNTER,
        false => MetricType::GAUGE,
    };
    Some(family(&name(of), of.meaning(), kind, metrics.collect()))
}

/// A counter's name by Prometheus' rules: whole units, and `_total` where it counts.
fn name(of: Counter) -> String {
    let stem = match of {
        Counter::FilesWritable | Counter::FilesUnleased | Counter::FilesOther => {
            return format!("{}_bytes_total", of.name());
        }
        _ => of.name().trim_end_matches("_ns"),
    };
    match kind(of) {
        Kind::Events => format!("{stem}_total"),
        Kind::Seconds(_) => format!("{stem}_seconds_total"),
        Kind::Same(unit) if unit > 1. => format!("{stem}_seconds"),
        _ => stem.to_owned(),
    }
}

fn family(name: &str, help: &str, kind: MetricType, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(format!("{PREFIX}{name}"));
    family.set_help(help.to_owned());
    family.set_field_type(kind);
    family.set_metric(metrics);
    family
}

fn label(name: &str, value: &str) -> LabelPair {
    let mut label = LabelPair::default();
    label.set_name(name.to_owned());
    label.set_value(value.to_owned());
    label
}

fn labelled(labels: Vec<LabelPair>) -> Metric {
    Metric::from_label(labels)
}

fn counter(labels: Vec<LabelPair>, value: f64) -> Metric {
    let (mut metric, mut counter) = (labelled(labels), Count::default());
    counter.set_value(value);
    metric.set_counter(counter);
    metric
}

fn gauge(labels: Vec<LabelPair>, value: f64) -> Metric {
    let (mut metric, mut gauge) = (labelled(labels), Gauge::default());
    gauge.set_value(value);
    metric.set_gauge(gauge);
    metric
}

/// A latency counts in the bucket in which the middle of its own narrow one lies (0.8 %).
fn buckets(found: &Histogram) -> Buckets {
    let mut buckets = Buckets::default();
    buckets.set_sample_count(found.count());
    buckets.set_sample_sum(found.sum() as f64 / PS_PER_S);
    let below = |bound| {
        let counts = found.buckets().take_while(|(middle, _)| *middle <= bound);
        counts.map(|(_, count)| count).sum()
    };
    let each = BOUNDS_NS.map(|bound| {
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(bound as f64 / 1e9);
        bucket.set_cumulative_count(below(bound));
        bucket
    });
    buckets.set_bucket(each.into());
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reset begins anew is what a curve may rise by.
    #[test]
    fn what_counts_nothing_is_a_state() {
        for counter in Counter::ALL {
            let counts_nothing = matches!(kind(*counter), Kind::Now | Kind::Same(_) | Kind::Hidden);
            assert_eq!(counts_nothing, counter.is_state(), "{}", counter.name());
        }
    }
}
