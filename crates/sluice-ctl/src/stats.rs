//! Statistics of one moment, for people and for programs.

use serde_json::{Map, Value, json};
use sluice_abi::{Counter, Hist, StatsBlock};
use sluice_stats::{Histogram, share};
use std::fmt::{Display, Write};

/// Figures that belong together.
pub struct Snapshot {
    counters: Vec<u64>,
    modelled: Histogram,
    achieved: Histogram,
    /// Changes of the figures before this moment; `None` if they never stood still.
    sequence: Option<u64>,
    /// Since when they count: since the last reset, s ago, or since the start.
    reset_s: Option<f64>,
}

impl Snapshot {
    /// The figures as they stand.
    pub fn of(stats: &StatsBlock) -> Snapshot {
        let ((counters, modelled, achieved), sequence) = stats.at_rest(|stats| {
            let counters: Vec<u64> = Counter::ALL.iter().map(|one| stats.get(*one)).collect();
            let [modelled, achieved] = [&stats.modelled, &stats.achieved].map(Hist::read);
            (counters, modelled, achieved)
        });
        Snapshot {
            counters,
            modelled,
            achieved,
            sequence,
            reset_s: None,
        }
    }

    /// What has come since they were reset, so long ago.
    pub fn since(&self, ago_ns: u64, reset: &StatsBlock) -> Snapshot {
        let then = Snapshot::of(reset);
        let since = |counter: &Counter| counter.since(self.get(*counter), then.get(*counter));
        Snapshot {
            counters: Counter::ALL.iter().map(since).collect(),
            modelled: self.modelled.since(&then.modelled),
            achieved: self.achieved.since(&then.achieved),
            sequence: self.sequence,
            reset_s: Some(ago_ns as f64 / 1e9),
        }
    }

    fn get(&self, counter: Counter) -> u64 {
        self.counters[counter as usize]
    }

    /// As an object.
    pub fn object(&self) -> Value {
        let all = Counter::ALL.iter();
        let counters: Map<String, Value> = all
            .map(|counter| (counter.name().to_owned(), self.get(*counter).into()))
            .collect();
        json!({
            "sequence": self.sequence,
            "since_reset_s": self.reset_s,
            "counters": counters,
            "latency_ns": {
                "modelled": self.modelled.summary_in_ns(),
                "achieved": self.achieved.summary_in_ns(),
            },
        })
    }

    /// As text: a line for each subject with a counter that is not zero.
    pub fn text(&self) -> String {
        use Counter::*;
        let mut lines = Rows::default();
        if let Some(ago_s) = self.reset_s {
            lines.put("since the reset, s", format!("{ago_s:.1}"), "");
        }
        let traps = self.get(Misses) + self.get(SoftTraps);
        lines.counts(
            self,
            "traps",
            Traps,
            &[Misses, SoftTraps, Spurious, HostHits],
        );
        lines.ratio("hit ratio of traps", self.get(SoftTraps), traps);
        lines.latency("modelled miss, us", &self.modelled);
        lines.latency("achieved miss, us", &self.achieved);
        lines.ratio("late", self.get(Late), self.achieved.count());
        self.mean_trap(&mut lines, traps);
        let pages = [DirtyEvictions, CachedPages, PinnedPages, Pinned];
        lines.counts(self, "evictions", Evictions, &pages);
        let fates = [PrefetchUsed, PrefetchLate, PrefetchUnused, PrefetchDropped];
        lines.counts(self, "prefetches", PrefetchIssued, &fates);
        lines.ratio(
            "prefetch accuracy",
            self.get(PrefetchUsed),
            self.get(PrefetchIssued),
        );
        let flash = [FlashPrograms, HostPrograms, Erases, GcMoves];
        lines.counts(self, "flash reads", FlashReads, &flash);
        if let Some(amplification) = share(self.get(FlashPrograms), self.get(HostPrograms)) {
            lines.put("write amplification", format!("{amplification:.3}"), "");
        }
        let moved = [Demotions, DirtyDemotions, NoRoom];
        lines.counts(self, "promotions", Promotions, &moved);
        let commands = [
            CommandsRefused,
            CommandPrefetches,
            CommandEvictions,
            Flushes,
            Pins,
            Tunes,
        ];
        lines.counts(self, "commands", Commands, &commands);
        let memory = [
            FileBytes,
            FilesWritable,
            FilesUnleased,
            FilesOther,
            SharedBytes,
            Trims,
            HostPages,
            DeviceFull,
            KernelFaults,
            PrivateDax,
            Forks,
        ];
        lines.counts(self, "placed bytes", PlacedBytes, &memory);
        self.sampled(&mut lines);
        lines.counts(self, "refused writes", WritesRefused, &[]);
        lines.counts(self, "refused policy answers", PolicyRefused, &[]);
        lines.counts(self, "refused prefetches", PrefetchRefused, &[]);
        lines.0
    }

    /// What a trap's modelled time is made of.
    fn mean_trap(&self, lines: &mut Rows, traps: u64) {
        let us = |ps: u64| share(ps, traps).map(|ps| ps / 1e6);
        let parts = Counter::PARTS.map(|(name, counter)| (name, self.get(counter)));
        let Some(all) = us(parts.iter().map(|(_, ps)| ps).sum()) else {
            return;
        };
        let told = parts.into_iter().filter(|(_, ps)| *ps > 0);
        let told = told.filter_map(|(name, ps)| Some(format!("{} {:.2}", words(name), us(ps)?)));
        let told: Vec<String> = told.collect();
        lines.put("mean trap, us", format!("{all:.2}"), &told.join(", "));
    }

    /// The ratio of hits on mapped pages, if it is sampled.
    fn sampled(&self, lines: &mut Rows) {
        let (touched, pages) = (Counter::SampledTouched, Counter::SampledPages);
        lines.counts(self, "sampled pages", pages, &[touched]);
    }
}

/// Rows of a name, a number and more.
#[derive(Default)]
struct Rows(String);

impl Rows {
    fn put(&mut self, name: &str, value: impl Display, rest: &str) {
        let _ = writeln!(
            self.0,
            "{}",
            format!("{name:<24}{value:>14}  {rest}").trim_end()
        );
    }

    /// A counter, with those of others that are not zero.
    fn counts(&mut self, of: &Snapshot, name: &str, first: Counter, others: &[Counter]) {
        let others = others.iter().filter(|one| of.get(**one) > 0);
        let others = others.map(|one| format!("{} {}", words(one.name()), of.get(*one)));
        let others: Vec<String> = others.collect();
        if of.get(first) > 0 || !others.is_empty() {
            self.put(name, of.get(first), &others.join(", "));
        }
    }

    fn latency(&mut self, name: &str, of: &Histogram) {
        let latency = of.summary_in_ns();
        if latency.count > 0 {
            let us = |ns: u64| ns as f64 / 1e3;
            let (p50, p99, max) = (us(latency.p50), us(latency.p99), us(latency.max));
            let mean = latency.mean / 1e3;
            let rest = format!("mean; p50 {p50:.1}, p99 {p99:.1}, max {max:.1}");
            self.put(name, format!("{mean:.2}"), &rest);
        }
    }

    fn ratio(&mut self, name: &str, part: u64, whole: u64) {
        if let Some(ratio) = share(part, whole) {
            let percent = format!("{:.2} %", 100.0 * ratio);
            self.put(name, percent, &format!("{part} of {whole}"));
        }
    }
}

/// A name of the object's, as people write it.
fn words(name: &str) -> String {
    name.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_get_means_and_ratios() {
        // SAFETY: all fields are atomics of integers, for which zeros are valid.
        let block: Box<StatsBlock> = Box::new(unsafe { std::mem::zeroed() });
        assert_eq!(Snapshot::of(&block).text(), "");
        let change = block.change();
        change.set(Counter::Traps, 5);
        change.set(Counter::Misses, 3);
        change.set(Counter::SoftTraps, 1);
        change.set(Counter::Spurious, 1);
        change.set(Counter::PartsDram, 4 * 150_000);
        change.set(Counter::PartsFlashService, 3 * 40_000_000);
        for ns in [40_000, 40_000, 41_000] {
            change.achieved.record(ns);
        }
        change.set(Counter::Late, 1);
        change.set(Counter::FlashReads, 3);
        drop(change);
        let snapshot = Snapshot::of(&block);
        let text = snapshot.text();
        let expected = [
            "traps                                5  misses 3, soft 1, spurious 1",
            "hit ratio of traps             25.00 %  1 of 4",
            "achieved miss, us                40.33  mean; p50 40.1, p99 41.0, max 41.0",
            "late                           33.33 %  1 of 3",
            "mean trap, us                    30.15  dram 0.15, flash service 30.00",
            "flash reads                          3",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{text}");
        assert_eq!(snapshot.object()["sequence"], 1);
        assert_eq!(snapshot.object()["counters"]["parts_dram_ps"], 600_000);
    }
}
