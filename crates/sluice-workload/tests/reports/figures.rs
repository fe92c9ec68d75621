//! What holds of every report, whatever the program.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Map, Value};

use crate::common::{text, workload};

/// One run: what people read, what programs read, and how long it took from outside.
pub struct Run {
    pub heading: String,
    pub footer: String,
    pub report: Value,
}

impl Run {
    pub fn passes(&self) -> &[Value] {
        list(&self.report["passes"])
    }

    /// Of each pass its phase, or nothing where phases do not differ, and its accesses.
    pub fn phases(&self) -> Vec<(&str, u64)> {
        let of = |pass: &'_ Value| number(&pass["accesses"]);
        let passes = self.passes().iter();
        passes
            .map(|pass| (pass["phase"].as_str().unwrap_or_default(), of(pass)))
            .collect()
    }
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

pub fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value}: no whole number"))
}

pub fn float(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value}: no number"))
}

/// Whether two figures are the same but for rounding.
pub fn close(found: f64, due: f64) {
    assert!((found - due).abs() <= 1e-9 * due.abs(), "{found} for {due}");
}

/// Runs a program that prints its table and writes its object, and checks what holds of all.
pub fn run(flags: &str) -> Run {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.json");
    let started = Instant::now();
    let output = workload(&format!("{flags} --out {}", path.display()));
    let took_s = started.elapsed().as_secs_f64();
    assert!(output.status.success(), "{flags}: {}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(report["schema"], "sluice.workload/1");
    assert_eq!(report["workload"], flags.split(' ').next().unwrap());
    check_passes(&report, took_s);
    let table = text(&output.stdout);
    let lines: Vec<&str> = table.trim_end().lines().collect();
    let at = lines.iter().position(|line| line.starts_with("pass "));
    let (heading, rest) = lines.split_at(at.expect("a table"));
    let (rows, footer) = rest[1..].split_at(list(&report["passes"]).len());
    check_rows(&report, rest[0], rows);
    Run {
        heading: heading.join("\n").trim_end().to_owned(),
        footer: footer.join("\n"),
        report,
    }
}

/// The passes have the numbers from 1, and sum up to the whole, which lies within the time that the
/// run took.
fn check_passes(report: &Value, took_s: f64) {
    let mut wall_s = 0.0;
    let mut buckets = BTreeMap::new();
    for (n, pass) in (1..).zip(list(&report["passes"])) {
        assert_eq!(pass["pass"], n);
        let seconds = float(&pass["wall_s"]);
        assert!(seconds > 0.0, "pass {n} took no time");
        let accesses = number(&pass["accesses"]).max(1) as f64;
        close(float(&pass["ns_per_access"]) * accesses, seconds * 1e9);
        check_latencies(pass);
        let below = histogram(pass).into_iter().filter(|(ns, _)| *ns < 1_000);
        let below: u64 = below.map(|(_, count)| count).sum();
        match count(pass) {
            0 => assert!(pass.get("below_1us").is_none()),
            all => close(float(&pass["below_1us"]), below as f64 / all as f64),
        }
        wall_s += seconds;
        for (ns, count) in histogram(pass) {
            *buckets.entry(ns).or_insert(0) += count;
        }
    }
    check_latencies(report);
    assert_eq!(histogram(report), buckets.into_iter().collect::<Vec<_>>());
    close(float(&report["wall_s"]), wall_s);
    assert!(wall_s <= took_s, "{wall_s} s of {took_s} s");
}

fn histogram(of: &Value) -> Vec<(u64, u64)> {
    let buckets = list(&of["histogram"]).iter();
    buckets
        .map(|bucket| (number(&bucket[0]), number(&bucket[1])))
        .collect()
}

fn count(of: &Value) -> u64 {
    histogram(of).iter().map(|(_, count)| count).sum()
}

/// The figures of a histogram are those of its buckets. Nothing was timed where there are none.
pub fn check_latencies(of: &Value) {
    let (buckets, count) = (histogram(of), count(of));
    assert!(buckets.is_sorted_by(|one, next| one.0 < next.0));
    let Some((last, _)) = buckets.last().copied() else {
        assert!(of["latency_ns"].is_null());
        return;
    };
    let latency: &Map<String, Value> = of["latency_ns"].as_object().expect("latencies");
    assert_eq!(latency["count"], count);
    // Buckets are exact below 256 ns, and a 128th wide above.
    let max = number(&latency["max"]);
    assert!(
        max.abs_diff(last) <= max / 128 + 1,
        "{max} in the bucket of {last}"
    );
    let sum: f64 = buckets.iter().map(|(ns, count)| (ns * count) as f64).sum();
    let (mean, due) = (float(&latency["mean"]), sum / count as f64);
    assert!(
        (mean - due).abs() <= due / 100.0 + 0.001,
        "{mean} for {due}"
    );
    for (name, per_mille) in [("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999)] {
        let wanted = (count * per_mille).div_ceil(1_000);
        let mut seen = 0;
        let at = buckets.iter().find(|(_, count)| {
            seen += count;
            seen >= wanted
        });
        let due = at.expect("a bucket").0.min(max);
        assert_eq!(latency[name], due, "{name}");
    }
}

/// The row of each pass has its figures.
fn check_rows(report: &Value, titles: &str, rows: &[&str]) {
    assert!(
        titles.chars().count() <= 80,
        "wider than a terminal: {titles}"
    );
    let titles: Vec<&str> = titles.split_whitespace().collect();
    assert_eq!(
        titles.join(" "),
        "pass accesses wall s mean ns p50 p90 p99 p99.9 max <1us"
    );
    for (pass, row) in list(&report["passes"]).iter().zip(rows) {
        let name = pass["phase"].as_str().map(str::to_owned);
        let latency = pass.get("latency_ns");
        let mean = latency.map_or(&pass["ns_per_access"], |latency| &latency["mean"]);
        let cell = |name| latency.map_or("-".to_owned(), |latency| latency[name].to_string());
        let below = pass.get("below_1us");
        let mut due = vec![
            name.unwrap_or_else(|| pass["pass"].to_string()),
            pass["accesses"].to_string(),
            format!("{:.3}", float(&pass["wall_s"])),
            format!("{:.1}", float(mean)),
        ];
        due.extend(["p50", "p90", "p99", "p999", "max"].map(cell));
        due.push(below.map_or("-".to_owned(), |it| format!("{:.1}%", float(it) * 100.0)));
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), due);
    }
}
