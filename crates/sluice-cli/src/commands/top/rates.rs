//! From two looks at the counters to rates.

use sluice_abi::Counter;
use sluice_results::{Process, TopLatency, TopRow};
use sluice_stats::share;

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

fn row(before: &Process, now: &Process, seconds: f64) -> TopRow {
    let grown = |counter| now.get(counter).saturating_sub(before.get(counter));
    let rate = |counter| grown(counter) as f64 / seconds;
    let (hits, misses) = (grown(Counter::SoftTraps), grown(Counter::Misses));
    let latency = now.latency().achieved;
    TopRow {
        pid: now.pid,
        command: now.command.join(" "),
        traps_per_s: rate(Counter::Traps),
        misses_per_s: rate(Counter::Misses),
        hit_ratio: share(hits, hits + misses),
        late_ratio: share(grown(Counter::Late), misses),
        latency_us: TopLatency {
            p50: latency.p50 as f64 / 1e3,
            p99: latency.p99 as f64 / 1e3,
        },
        evictions_per_s: rate(Counter::Evictions),
        flash_reads_per_s: rate(Counter::FlashReads),
        flash_programs_per_s: rate(Counter::FlashPrograms),
        gc_moves_per_s: rate(Counter::GcMoves),
        cached_pages: now.get(Counter::CachedPages),
        pinned_pages: now.get(Counter::PinnedPages),
    }
}

/// The columns of a row as text.
pub fn cells(row: &TopRow) -> [String; 13] {
    let whole = |n: f64| format!("{n:.0}");
    let percent = |share: Option<f64>| share.map_or("-".into(), |n| format!("{:.1}", n * 100.));
    [
        row.pid.to_string(),
        whole(row.traps_per_s),
        whole(row.misses_per_s),
        percent(row.hit_ratio),
        percent(row.late_ratio),
        format!("{:.1}", row.latency_us.p50),
        format!("{:.1}", row.latency_us.p99),
        whole(row.evictions_per_s),
        whole(row.flash_reads_per_s),
        whole(row.flash_programs_per_s),
        whole(row.gc_moves_per_s),
        row.cached_pages.to_string(),
        row.pinned_pages.to_string(),
    ]
}

/// The processes that were there at both looks, those with most misses first.
pub fn rows(before: &[Process], now: &[Process], seconds: f64) -> Vec<TopRow> {
    let same =
        |a: &Process, b: &Process| (a.pid, a.image, a.started_ns) == (b.pid, b.image, b.started_ns);
    let both = now.iter().filter_map(|now| {
        let before = before.iter().find(|before| same(before, now))?;
        Some(row(before, now, seconds))
    });
    let mut rows: Vec<TopRow> = both.collect();
    rows.sort_by(|a, b| {
        b.misses_per_s
            .total_cmp(&a.misses_per_s)
            .then(a.pid.cmp(&b.pid))
    });
    rows
}
