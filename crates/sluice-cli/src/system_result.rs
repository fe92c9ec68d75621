//! The result of a simulated host: its output folder, and one screen.

use crate::output::Rows;
use sluice_results::{Distribution, Folder, SystemResult};

/// Writes the files of an output folder.
pub fn keep(folder: &Folder, config: &str, result: &SystemResult) -> std::io::Result<()> {
    folder.write("config.toml", config)?;
    folder.write_stats(result)?;
    let write = |name, of: &Distribution| folder.write_distribution(name, &of.histogram);
    write("latency.csv", &result.figures.latency_ns)?;
    write("flash_read.csv", &result.figures.flash_read_ns)?;
    match &*result.timeline {
        [] => Ok(()),
        rows => folder.write_timeline("timeline.csv", rows),
    }
}

/// One screen: the result, where the time went, what memory did.
pub fn table(result: &SystemResult) -> Rows {
    let mut rows = Rows::new(18);
    let mut row = |name: &str, value: String| rows.row(name, value);
    row(
        "system",
        format!("{}, scale 1/{}", result.system, result.scale),
    );
    row(
        "workload",
        format!(
            "{}, {} threads, {:.0} MB",
            result.workload,
            result.program.threads(),
            result.program.footprint_bytes() as f64 / 1e6
        ),
    );
    row("at the start", start(&result.start).to_owned());
    row("time", format!("{:.3} ms", result.figures.time_s * 1e3));
    row("instructions", human(result.figures.instructions));
    row(
        "IPC of a core",
        format!("{:.3}", or_zero(result.figures.ipc)),
    );
    let bound = [
        ("memory", result.figures.bound.memory),
        ("compute", result.figures.bound.compute),
        ("switching", result.figures.bound.switching),
        ("idle", result.figures.bound.idle),
    ]
    .map(|(name, share)| format!("{name} {}", percent(share)));
    row("time of cores", bound.join(", "));
    let levels = [
        ("l1", &result.figures.levels.l1),
        ("l2", &result.figures.levels.l2),
        ("l3", &result.figures.levels.l3),
    ]
    .map(|(name, level)| format!("{name} {:.2}", or_zero(level.mpki)));
    let tlb = or_zero(result.figures.tlb.mpki);
    row("MPKI", format!("{}, TLB {tlb:.2}", levels.join(", ")));
    add_memory(result, &mut row);
    add_moves(result, &mut row);
    rows
}

/// Where the program's pages were before it began.
fn start(state: &str) -> &str {
    match state {
        "host" => "all pages in host memory",
        "full" => {
            "host memory and device cache have what they can of the program (host.start=full)"
        }
        "others" => "host memory and device cache are full of others' pages (host.start=others)",
        _ => "all pages in flash (host.start=empty)",
    }
}

/// The off-chip half of the table.
fn add_memory(result: &SystemResult, row: &mut dyn FnMut(&str, String)) {
    let shares = &result.figures.requests.shares;
    let shares = [
        ("H-R", shares.h_r),
        ("H-W", shares.h_w),
        ("S-R-H", shares.s_r_h),
        ("S-R-M", shares.s_r_m),
        ("S-W", shares.s_w),
    ]
    .map(|(name, share)| format!("{name} {}", percent(share)));
    row(
        "off-chip accesses",
        format!(
            "{}: {}",
            human(result.figures.requests.total),
            shares.join(", ")
        ),
    );
    let amat = &result.figures.amat_ns;
    let parts = [
        ("host dram", amat.host_dram),
        ("protocol", amat.protocol),
        ("indexing", amat.indexing),
        ("device dram", amat.device_dram),
        ("flash", amat.flash),
    ]
    .map(|(name, ns)| format!("{name} {:.1}", or_zero(ns)));
    row(
        "AMAT, ns",
        format!("{:.1}: {}", or_zero(amat.total), parts.join(", ")),
    );
    let latency = &result.figures.latency_ns.summary;
    let quantiles = [
        ("p50", latency.p50),
        ("p90", latency.p90),
        ("p99", latency.p99),
        ("p999", latency.p999),
        ("max", latency.max),
    ]
    .map(|(name, ns)| format!("{name} {ns:.0}"));
    row("latency, ns", quantiles.join(", "));
    let flash = &result.flash.counts;
    row(
        "flash",
        format!(
            "{} reads of {:.1} us, {} programs, {} erases",
            human(flash.reads),
            result.figures.flash_read_ns.summary.mean / 1e3,
            human(flash.programs),
            human(flash.erases)
        ),
    );
}

/// What went over the link, what asked for it, and what moved.
fn add_moves(result: &SystemResult, row: &mut dyn FnMut(&str, String)) {
    row(
        "link, GB/s",
        format!(
            "to the device {:.2}, from it {:.2}",
            or_zero(result.figures.link.gb_s_to_device),
            or_zero(result.figures.link.gb_s_from_device)
        ),
    );
    row(
        "context switches",
        format!(
            "{}, {} long delays, {} instructions squashed",
            human(result.figures.switches),
            human(result.figures.long_delays),
            human(result.figures.squashed)
        ),
    );
    row(
        "pages moved",
        format!(
            "{} to the host, {} back",
            human(result.figures.migration.promotions),
            human(result.figures.migration.demotions)
        ),
    );
    row("result hash", result.hash.clone());
}

/// A ratio of nothing is shown as 0.
fn or_zero(ratio: Option<f64>) -> f64 {
    ratio.unwrap_or_default()
}

fn percent(share: Option<f64>) -> String {
    format!("{:.1} %", 100.0 * or_zero(share))
}

/// A count with its thousands apart.
fn human(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
