//! What every workload prints: a table for people, or one JSON object for programs.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::Error;
use crate::hist::{Histogram, Summary};

/// Version of the JSON objects.
pub const SCHEMA: &str = "sluice.workload/1";
const NS_PER_S: f64 = 1e9;
const NS_PER_US: u64 = 1_000;

/// Where the report goes; flags that all workloads share.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Output {
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
    /// Write the JSON object to this file too
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// One pass or phase.
#[derive(Clone, Debug, Serialize)]
pub struct Pass {
    /// Number, from 1.
    pub pass: usize,
    /// What the phase is called, where phases differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<&'static str>,
    /// Accesses or requests.
    pub accesses: u64,
    /// Wall time in seconds.
    pub wall_s: f64,
    /// Wall nanoseconds an access, over all threads at once.
    pub ns_per_access: f64,
    /// Latencies of single accesses, where they were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<Summary>,
    /// Share of accesses below one microsecond, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below_1us: Option<f64>,
    /// Non-empty buckets: midpoint in nanoseconds, and count.
    pub histogram: Vec<(u64, u64)>,
}

impl Pass {
    /// The report of one pass; an empty histogram means that accesses were not timed.
    #[must_use]
    pub fn new(pass: usize, accesses: u64, wall_ns: u64, hist: &Histogram) -> Self {
        let timed = hist.count() > 0;
        Self {
            pass,
            phase: None,
            accesses,
            wall_s: wall_ns as f64 / NS_PER_S,
            ns_per_access: wall_ns as f64 / accesses.max(1) as f64,
            latency_ns: timed.then(|| hist.summary()),
            below_1us: timed.then(|| hist.share_below(NS_PER_US)),
            histogram: hist.buckets().collect(),
        }
    }

    /// Names the phase of which this is a pass.
    #[must_use]
    pub fn named(mut self, phase: &'static str) -> Self {
        self.phase = Some(phase);
        self
    }
}

/// The whole report of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Report<P, X> {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    pub workload: &'static str,
    /// The parameters as resolved, with the seed.
    pub params: P,
    /// Passes or phases in order.
    pub passes: Vec<Pass>,
    /// Latencies over all passes, where single accesses were measured.
    pub latency_ns: Option<Summary>,
    pub histogram: Vec<(u64, u64)>,
    /// Wall time of all passes in seconds.
    pub wall_s: f64,
    /// What only this workload reports.
    #[serde(flatten)]
    pub extra: X,
}

impl<P: Serialize, X: Serialize> Report<P, X> {
    /// A report of `passes`, with `total` over all of them.
    pub fn new(
        workload: &'static str,
        params: P,
        passes: Vec<Pass>,
        total: &Histogram,
        extra: X,
    ) -> Self {
        Self {
            schema: SCHEMA,
            workload,
            params,
            latency_ns: (total.count() > 0).then(|| total.summary()),
            histogram: total.buckets().collect(),
            wall_s: passes.iter().map(|pass| pass.wall_s).sum(),
            passes,
            extra,
        }
    }

    /// The JSON object, one line.
    ///
    /// # Errors
    /// What the serialiser says; not expected of these types.
    pub fn json(&self) -> Result<String, Error> {
        serde_json::to_string(self)
            .map_err(|error| Error::system("writing JSON")(io::Error::other(error)))
    }

    /// The table of passes, for a terminal of 80 columns.
    #[must_use]
    pub fn table(&self) -> String {
        use std::fmt::Write as _;
        let mut text = format!(
            "{:<5} {:>9} {:>7} {:>8} {:>7} {:>7} {:>7} {:>7} {:>8} {:>6}\n",
            "pass", "accesses", "wall s", "mean ns", "p50", "p90", "p99", "p99.9", "max", "<1us"
        );
        for pass in &self.passes {
            let name = pass
                .phase
                .map_or_else(|| pass.pass.to_string(), str::to_owned);
            let mean = pass.latency_ns.map_or(pass.ns_per_access, |l| l.mean);
            let cell = |of: fn(&Summary) -> u64| {
                pass.latency_ns
                    .as_ref()
                    .map_or_else(|| "-".to_owned(), |l| of(l).to_string())
            };
            let below = pass
                .below_1us
                .map_or_else(|| "-".to_owned(), |b| format!("{:.1}%", b * 100.0));
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{name:<5} {:>9} {:>7.3} {mean:>8.1} {:>7} {:>7} {:>7} {:>7} {:>8} {below:>6}",
                pass.accesses,
                pass.wall_s,
                cell(|l| l.p50),
                cell(|l| l.p90),
                cell(|l| l.p99),
                cell(|l| l.p999),
                cell(|l| l.max),
            );
        }
        text
    }
}

/// An output that is known to be writable before the workload starts.
pub struct Sink {
    json: bool,
    file: Option<(PathBuf, File)>,
}

impl Sink {
    /// Opens the file that was asked for.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn open(output: &Output) -> Result<Self, Error> {
        let open = |path: &Path| {
            let file = File::create(path).map_err(Error::file(path))?;
            Ok::<_, Error>((path.to_owned(), file))
        };
        Ok(Self {
            json: output.json,
            file: output.out.as_deref().map(open).transpose()?,
        })
    }

    /// Prints the report, with `heading` above the table and `footer` below it.
    ///
    /// # Errors
    /// When standard output or the file cannot be written.
    pub fn write<P: Serialize, X: Serialize>(
        self,
        report: &Report<P, X>,
        heading: &str,
        footer: &str,
    ) -> Result<(), Error> {
        let line = report.json()?;
        if let Some((path, mut file)) = self.file {
            writeln!(file, "{line}").map_err(Error::file(&path))?;
        }
        let text = match self.json {
            true => format!("{line}\n"),
            false => format!("{heading}\n{}{footer}\n", report.table()),
        };
        let mut stdout = io::stdout().lock();
        let printed = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush());
        printed.map_err(Error::system("standard output"))
    }
}
