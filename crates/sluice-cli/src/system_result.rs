//! The result of a simulated host: its output folder, and one screen.

use crate::output::Rows;
use serde_json::Value;
use sluice_results::Folder;

/// Writes the files of an output folder.
pub fn keep(folder: &Folder, config: &str, object: &Value) -> std::io::Result<()> {
    let list = |place| object.pointer(place).and_then(Value::as_array);
    folder.write("config.toml", config)?;
    folder.write_stats(object)?;
    for (name, place) in [
        ("latency.csv", "/latency_ns/histogram"),
        ("flash_read.csv", "/flash_read_ns/histogram"),
    ] {
        folder.write_distribution(name, list(place).map_or(&[], Vec::as_slice))?;
    }
    match list("/timeline") {
        Some(rows) if !rows.is_empty() => folder.write_rows("timeline.csv", rows),
        _ => Ok(()),
    }
}

pub fn number(object: &Value, place: &str) -> f64 {
    object.pointer(place).and_then(Value::as_f64).unwrap_or(0.0)
}

/// One screen: the result, where the time went, what memory did.
pub fn table(object: &Value) -> Rows {
    let at = |place: &str| number(object, place);
    let text = |place: &str| object.pointer(place).and_then(Value::as_str).unwrap_or("");
    let count = |place: &str| human(at(place));
    let percent = |place: &str| format!("{:.1} %", 100.0 * at(place));
    let mut rows = Rows::new(18);
    let mut row = |name: &str, value: String| rows.row(name, value);
    let scale = at("/scale");
    row("system", format!("{}, scale 1/{scale}", text("/system")));
    row(
        "workload",
        format!(
            "{}, {} threads, {:.0} MB",
            text("/workload"),
            at("/program/threads"),
            at("/program/footprint_bytes") / 1e6
        ),
    );
    row("at the start", start(text("/start")).to_owned());
    row("time", format!("{:.3} ms", at("/time_s") * 1e3));
    row("instructions", count("/instructions"));
    row("IPC of a core", format!("{:.3}", at("/ipc")));
    let bound = ["memory", "compute", "switching", "idle"]
        .map(|part| format!("{part} {}", percent(&format!("/bound/{part}"))));
    row("time of cores", bound.join(", "));
    let levels = ["l1", "l2", "l3"]
        .map(|level| format!("{level} {:.2}", at(&format!("/levels/{level}/mpki"))));
    row(
        "MPKI",
        format!("{}, TLB {:.2}", levels.join(", "), at("/tlb/mpki")),
    );
    add_memory(object, &mut rows);
    add_moves(object, &mut rows);
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
fn add_memory(object: &Value, rows: &mut Rows) {
    let mut row = |name: &str, value: String| rows.row(name, value);
    let at = |place: &str| number(object, place);
    let count = |place: &str| human(at(place));
    let shares = [
        ("H-R", "h_r"),
        ("H-W", "h_w"),
        ("S-R-H", "s_r_h"),
        ("S-R-M", "s_r_m"),
    ]
    .into_iter()
    .chain([("S-W", "s_w")])
    .map(|(name, key)| {
        let share = 100.0 * at(&format!("/requests/shares/{key}"));
        format!("{name} {share:.1} %")
    });
    let shares: Vec<String> = shares.collect();
    row(
        "off-chip accesses",
        format!("{}: {}", count("/requests/total"), shares.join(", ")),
    );
    let parts = ["host_dram", "protocol", "indexing", "device_dram", "flash"].map(|part| {
        format!(
            "{} {:.1}",
            part.replace('_', " "),
            at(&format!("/amat_ns/{part}"))
        )
    });
    row(
        "AMAT, ns",
        format!("{:.1}: {}", at("/amat_ns/total"), parts.join(", ")),
    );
    let quantiles = ["p50", "p90", "p99", "p999", "max"]
        .map(|q| format!("{q} {:.0}", at(&format!("/latency_ns/{q}"))));
    row("latency, ns", quantiles.join(", "));
    row(
        "flash",
        format!(
            "{} reads of {:.1} us, {} programs, {} erases",
            count("/flash/reads"),
            at("/flash_read_ns/mean") / 1e3,
            count("/flash/programs"),
            count("/flash/erases")
        ),
    );
}

/// What went over the link, and who and what moved.
fn add_moves(object: &Value, rows: &mut Rows) {
    let mut row = |name: &str, value: String| rows.row(name, value);
    let at = |place: &str| number(object, place);
    let count = |place: &str| human(at(place));
    row(
        "link, GB/s",
        format!(
            "to the device {:.2}, from it {:.2}",
            at("/link/gb_s_to_device"),
            at("/link/gb_s_from_device")
        ),
    );
    row(
        "context switches",
        format!(
            "{}, {} long delays, {} instructions squashed",
            count("/switches"),
            count("/long_delays"),
            count("/squashed")
        ),
    );
    row(
        "pages moved",
        format!(
            "{} to the host, {} back",
            count("/migration/promotions"),
            count("/migration/demotions")
        ),
    );
    row(
        "result hash",
        object["hash"].as_str().unwrap_or_default().to_owned(),
    );
}

/// A count with its thousands apart.
fn human(count: f64) -> String {
    let digits = format!("{count:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
