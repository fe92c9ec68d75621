//! From two looks at the counters to rates.

use serde_json::{Value, json};
use sluice_abi::Counter;
use sluice_results::Process;
use sluice_stats::share;

/// What a process did in a while, and what it is now.
#[derive(Debug)]
pub struct Row {
    /// Its command line.
    pub command: String,
    pid: u64,
    traps: f64,
    misses: f64,
    hit_ratio: Option<f64>,
    late: Option<f64>,
    p50_us: f64,
    p99_us: f64,
    evictions: f64,
    reads: f64,
    programs: f64,
    gc_moves: f64,
    cached: u64,
    pinned: u64,
}

impl Row {
    /// Titles of the columns, with their widths.
    pub const TITLES: [(&str, usize); 13] = [
        ("PID", 8),
        ("TRAPS/s", 9),
        ("MISSES/s", 9),
        ("HIT%", 6),
        ("LATE%", 6),
        ("P50us", 8),
        ("P99us", 8),
        ("EVICT/s", 9),
        ("READS/s", 9),
        ("PROGS/s", 9),
        ("GC/s", 8),
        ("CACHED", 9),
        ("PINNED", 8),
    ];

    fn new(before: &Process, now: &Process, seconds: f64) -> Row {
        let grown = |counter| now.get(counter).saturating_sub(before.get(counter));
        let rate = |counter| grown(counter) as f64 / seconds;
        let (hits, misses) = (grown(Counter::SoftTraps), grown(Counter::Misses));
        let us = |per_million| now.achieved.percentile(per_million).as_ns() as f64 / 1e3;
        Row {
            command: now.command.join(" "),
            pid: now.pid,
            traps: rate(Counter::Traps),
            misses: rate(Counter::Misses),
            hit_ratio: share(hits, hits + misses),
            late: share(grown(Counter::Late), misses),
            p50_us: us(500_000),
            p99_us: us(990_000),
            evictions: rate(Counter::Evictions),
            reads: rate(Counter::FlashReads),
            programs: rate(Counter::FlashPrograms),
            gc_moves: rate(Counter::GcMoves),
            cached: now.get(Counter::CachedPages),
            pinned: now.get(Counter::PinnedPages),
        }
    }

    /// The columns as text.
    pub fn cells(&self) -> [String; 13] {
        let whole = |n: f64| format!("{n:.0}");
        let percent = |share: Option<f64>| share.map_or("-".into(), |n| format!("{:.1}", n * 100.));
        [
            self.pid.to_string(),
            whole(self.traps),
            whole(self.misses),
            percent(self.hit_ratio),
            percent(self.late),
            format!("{:.1}", self.p50_us),
            format!("{:.1}", self.p99_us),
            whole(self.evictions),
            whole(self.reads),
            whole(self.programs),
            whole(self.gc_moves),
            self.cached.to_string(),
            self.pinned.to_string(),
        ]
    }

    /// The same as an object.
    pub fn object(&self) -> Value {
        json!({
            "pid": self.pid,
            "command": self.command,
            "traps_per_s": self.traps,
            "misses_per_s": self.misses,
            "hit_ratio": self.hit_ratio,
            "late_ratio": self.late,
            "latency_us": { "p50": self.p50_us, "p99": self.p99_us },
            "evictions_per_s": self.evictions,
            "flash_reads_per_s": self.reads,
            "flash_programs_per_s": self.programs,
            "gc_moves_per_s": self.gc_moves,
            "cached_pages": self.cached,
            "pinned_pages": self.pinned,
        })
    }
}

/// The processes that were there at both looks, those with most misses first.
pub fn rows(before: &[Process], now: &[Process], seconds: f64) -> Vec<Row> {
    let same =
        |a: &Process, b: &Process| (a.pid, a.image, a.started_ns) == (b.pid, b.image, b.started_ns);
    let both = now.iter().filter_map(|now| {
        let before = before.iter().find(|before| same(before, now))?;
        Some(Row::new(before, now, seconds))
    });
    let mut rows: Vec<Row> = both.collect();
    rows.sort_by(|a, b| b.misses.total_cmp(&a.misses).then(a.pid.cmp(&b.pid)));
    rows
}
