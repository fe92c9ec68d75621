//! What the two key-value workloads report alike.

use std::fmt::Write as _;

use serde::Serialize;
use sluice_units::Bytes;

use crate::error::Error;
use crate::hist::{Histogram, Summary};
use crate::value::{Mismatch, VALUE_BYTES_MAX, VALUE_BYTES_MIN};
use sluice_streams::BadValue;
use sluice_streams::ycsb::Op;

/// Latencies of one kind of operation.
#[derive(Serialize)]
pub struct OpReport {
    op: &'static str,
    latency_ns: Summary,
    histogram: Vec<(u64, u64)>,
}

/// One report for each kind that occurred; `by_op` is in the order of [`Op::ALL`].
pub fn op_reports(by_op: &[Histogram]) -> Vec<OpReport> {
    let pairs = Op::ALL
        .iter()
        .zip(by_op)
        .filter(|(_, hist)| hist.count() > 0);
    pairs
        .map(|(op, hist)| OpReport {
            op: op.name(),
            latency_ns: hist.summary(),
            histogram: hist.buckets().collect(),
        })
        .collect()
}

/// One line for each kind.
pub fn table(reports: &[OpReport]) -> String {
    reports.iter().fold(String::new(), |mut text, report| {
        let OpReport {
            op, latency_ns: l, ..
        } = report;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{op:<8} {:>11} {:>9} {:>10.1} {:>9} {:>9} {:>9} {:>9} {:>10}",
            l.count, "", l.mean, l.p50, l.p90, l.p99, l.p999, l.max
        );
        text
    })
}

/// Clean, or the first mismatches in words.
pub fn verdict(mismatches: u64, told: &[Mismatch]) -> Result<(), Error> {
    if mismatches == 0 {
        return Ok(());
    }
    Err(Error::Mismatch {
        wrong: format!("{mismatches} values wrong"),
        examples: told.iter().map(Mismatch::to_string).collect(),
    })
}

/// A size that a value can have.
pub fn check_value_size(bytes: u64) -> Result<(), BadValue> {
    if (VALUE_BYTES_MIN..=VALUE_BYTES_MAX).contains(&bytes) {
        return Ok(());
    }
    let (least, most) = (Bytes(VALUE_BYTES_MIN), Bytes(VALUE_BYTES_MAX));
    Err(BadValue::new(
        "--value-size",
        Bytes(bytes),
        format!("a size from {least} to {most}"),
    ))
}
