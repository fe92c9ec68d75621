//! From two looks at the counters to rates.

use super::Seen;
use sluice_abi::{Counter, HEAT_PAGES};
use sluice_results::{HotRange, Process, TopLatency, TopRow, heat_since};
use sluice_stats::share;
use sluice_units::{PAGE_BYTES, printable};

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

/// The most ranges that are shown of a process.
const HOTTEST: usize = 5;

/// The ranges that missed most between two looks.
fn hottest(before: &Seen, now: &Seen, seconds: f64) -> Vec<HotRange> {
    let mut grown = heat_since(&now.heat, &before.heat);
    grown.sort_by_key(|(range, misses)| (std::cmp::Reverse(*misses), *range));
    let hottest = grown.into_iter().take(HOTTEST);
    let ranges = hottest.map(|(range, misses)| {
        let first = range * HEAT_PAGES;
        HotRange {
            address: now.process.heap_at.wrapping_add(first * PAGE_BYTES),
            bytes: HEAT_PAGES.min(now.process.pages.saturating_sub(first)) * PAGE_BYTES,
            misses_per_s: f64::from(misses) / seconds,
        }
    });
    ranges.collect()
}

/// A range as a line of text.
pub fn range_line(range: &HotRange, of: &TopRow) -> String {
    let share = range.misses_per_s / of.misses_per_s * 100.;
    format!(
        "{:#014x} + {:<8} {:>9.0} {share:>6.1}",
        range.address,
        sluice_units::Bytes(range.bytes).to_string(),
        range.misses_per_s
    )
}

/// What stands above such lines.
pub const RANGE_TITLE: &str = "HOTTEST RANGES             MISSES/s SHARE%";

fn row(seen: (&Seen, &Seen), seconds: f64) -> TopRow {
    let (before, now): (&Process, &Process) = (&seen.0.process, &seen.1.process);
    let grown = |counter| now.get(counter).saturating_sub(before.get(counter));
    let rate = |counter| grown(counter) as f64 / seconds;
    let (hits, misses) = (grown(Counter::SoftTraps), grown(Counter::Misses));
    let latency = now.latency().achieved;
    let timed = latency
        .count
        .saturating_sub(before.latency().achieved.count);
    TopRow {
        pid: now.pid,
        command: now.command.join(" "),
        device: seen.1.device.clone(),
        traps_per_s: rate(Counter::Traps),
        misses_per_s: rate(Counter::Misses),
        hit_ratio: share(hits, hits + misses),
        late_ratio: share(grown(Counter::Late), timed),
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
        hottest: hottest(seen.0, seen.1, seconds),
    }
}

/// The command of a row as text, behind the name of its device.
pub fn command(row: &TopRow) -> String {
    let command = printable(&row.command);
    match &row.device {
        Some(name) => format!("({}) {command}", printable(name)),
        None => command.into_owned(),
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
pub fn rows(before: &[Seen], now: &[Seen], seconds: f64) -> Vec<TopRow> {
    let name = |of: &Seen| (of.process.pid, of.process.image, of.process.started_ns);
    let both = now.iter().filter_map(|now| {
        let before = before.iter().find(|before| name(before) == name(now))?;
        Some(row((before, now), seconds))
    });
    let mut rows: Vec<TopRow> = both.collect();
    rows.sort_by(|a, b| {
        b.misses_per_s
            .total_cmp(&a.misses_per_s)
            .then(a.pid.cmp(&b.pid))
    });
    rows
}
