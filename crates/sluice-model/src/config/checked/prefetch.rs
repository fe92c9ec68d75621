//! Prefetching.

use super::take::{choice, count, impossible, named, share};
use crate::config::error::ConfigError;
use crate::config::raw::RawConfig;
use crate::prefetch::{PREFETCHES, PrefetchEntry, markov_table_bytes};
use sluice_units::Ratio;

const TABLE_KEYS: [&str; 2] = ["prefetch.markov_pages", "prefetch.markov_followers"];

/// The Markov prefetcher's table takes this part of the device at most ..
const TABLE_SHARE: u64 = 16;
/// .. but so much on the smallest, ..
const TABLE_MIN: u64 = 16 << 20;
/// .. and no more than so much on the largest.
const TABLE_MAX: u64 = 1 << 30;

/// The prefetcher's checked values.
#[derive(Clone, Debug)]
pub struct PrefetchSettings {
    /// The prefetcher.
    pub policy: &'static PrefetchEntry,
    /// Pages that one access brings in at most.
    pub degree: u32,
    /// How far ahead a followed stream runs.
    pub distance: u32,
    /// Streams followed at once.
    pub streams: u32,
    /// Pages around a stream that belong to it.
    pub stream_window: u32,
    /// The longest stride.
    pub stride_max: u32,
    /// The longest offset of best-offset.
    pub bo_offset_max: u32,
    /// Entries of its table of recent requests.
    pub bo_recent: u32,
    /// The score that ends its learning phase.
    pub bo_score_max: u32,
    /// The score up to which its winner is not used.
    pub bo_score_bad: u32,
    /// The rounds that end its learning phase.
    pub bo_round_max: u32,
    /// Pages in the Markov table.
    pub markov_pages: u32,
    /// Followers of each.
    pub markov_followers: u32,
    /// The throttle, if there is one.
    pub throttle: Option<ThrottleSettings>,
}

/// The feedback throttle's checked values.
#[derive(Clone, Copy, Debug)]
pub struct ThrottleSettings {
    /// Evictions between two decisions.
    pub interval: u32,
    /// Accuracy is high from this on.
    pub accuracy_high: Ratio,
    /// Accuracy is low below this.
    pub accuracy_low: Ratio,
    /// Prefetches are late above this.
    pub lateness: Ratio,
    /// Prefetches pollute above this.
    pub pollution: Ratio,
    /// Entries of the filter of pages pushed out.
    pub filter: u32,
}

impl PrefetchSettings {
    pub(super) fn new(raw: &RawConfig, device: u64) -> Result<PrefetchSettings, ConfigError> {
        check_table(raw, device)?;
        let number = |key| count(raw, key) as u32;
        Ok(PrefetchSettings {
            policy: named(raw, "prefetch.policy", PREFETCHES, |entry| entry.info.name),
            degree: degree(raw)?,
            distance: number("prefetch.distance"),
            streams: number("prefetch.streams"),
            stream_window: number("prefetch.stream_window"),
            stride_max: number("prefetch.stride_max"),
            bo_offset_max: number("prefetch.bo_offset_max"),
            bo_recent: number("prefetch.bo_recent"),
            bo_score_max: number("prefetch.bo_score_max"),
            bo_score_bad: bad_score(raw)?,
            bo_round_max: number("prefetch.bo_round_max"),
            markov_pages: number("prefetch.markov_pages"),
            markov_followers: number("prefetch.markov_followers"),
            throttle: throttle(raw)?,
        })
    }
}

/// Refuses a table out of all proportion to its device of so many bytes. Whoever commands a device
/// while it runs, a guest too, could make its host allocate that much.
fn check_table(raw: &RawConfig, device: u64) -> Result<(), ConfigError> {
    if choice(raw, "prefetch.policy") != "markov" {
        return Ok(());
    }
    let [pages, followers] = TABLE_KEYS.map(|key| count(raw, key));
    let bytes = markov_table_bytes(pages, followers);
    let most = (device / TABLE_SHARE).clamp(TABLE_MIN, TABLE_MAX);
    if bytes > most {
        let [mib, most] = [bytes, most].map(|bytes| bytes >> 20);
        let message = format!("a table of {mib} MiB; at most {most} is accepted for this device");
        return Err(impossible(raw, &TABLE_KEYS, message));
    }
    Ok(())
}

fn degree(raw: &RawConfig) -> Result<u32, ConfigError> {
    let degree = count(raw, "prefetch.degree");
    if degree == 0 && choice(raw, "prefetch.policy") != "none" {
        let message = "a prefetcher of degree 0 does nothing; give it a degree of 1 at least, \
                       or set prefetch.policy = none";
        let keys = ["prefetch.policy", "prefetch.degree"];
        return Err(impossible(raw, &keys, message.to_owned()));
    }
    Ok(degree as u32)
}

fn bad_score(raw: &RawConfig) -> Result<u32, ConfigError> {
    let (bad, max) = (
        count(raw, "prefetch.bo_score_bad"),
        count(raw, "prefetch.bo_score_max"),
    );
    if bad >= max {
        let message = "no offset could ever be used; give prefetch.bo_score_bad a smaller value";
        let keys = ["prefetch.bo_score_bad", "prefetch.bo_score_max"];
        return Err(impossible(raw, &keys, message.to_owned()));
    }
    Ok(bad as u32)
}

fn throttle(raw: &RawConfig) -> Result<Option<ThrottleSettings>, ConfigError> {
    let keys = ["prefetch.accuracy_low", "prefetch.accuracy_high"];
    let [low, high] = keys.map(|key| share(raw, key));
    if low > high {
        let message = "low accuracy cannot begin above high accuracy; swap the two";
        return Err(impossible(raw, &keys, message.to_owned()));
    }
    Ok(
        (choice(raw, "prefetch.throttle") == "feedback").then(|| ThrottleSettings {
            interval: count(raw, "prefetch.throttle_interval") as u32,
            accuracy_high: high,
            accuracy_low: low,
            lateness: share(raw, "prefetch.lateness"),
            pollution: share(raw, "prefetch.pollution"),
            filter: count(raw, "prefetch.throttle_filter") as u32,
        }),
    )
}
