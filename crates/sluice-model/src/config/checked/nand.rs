//! The flash array's timing and wear.

use super::take::{choice, count, impossible, maybe, time};
use crate::config::error::ConfigError;
use crate::config::raw::RawConfig;
use crate::config::value::Value;
use sluice_units::{Ps, Ratio};

/// Bits of a cell, at most.
const TYPES_MAX: usize = 4;

/// How the commands of the flash array follow each other.
#[derive(Clone, Debug)]
pub struct NandTiming {
    /// Time of a page read, by the page's number in its block modulo `pages_per_cell`.
    pub read_by_type: [Ps; TYPES_MAX],
    /// Time of a page program, likewise.
    pub program_by_type: [Ps; TYPES_MAX],
    /// Pages that share a cell: its bits.
    pub pages_per_cell: u32,
    /// Time of a command on its channel.
    pub command: Ps,
    /// Whether a die senses a page while the former one is transferred.
    pub cache_read: bool,
    /// Which operations of a die's planes run together: off, same_page or any.
    pub multi_plane: &'static str,
    /// How reads go before other work; in the order of requests if absent.
    pub read_first: Option<ReadFirst>,
}

/// Read-first scheduling.
#[derive(Clone, Debug)]
pub struct ReadFirst {
    /// Programs, erases and moves that may wait at a die.
    pub write_queue: u32,
    /// What a read suspends: none, program, erase or both.
    pub suspend: &'static str,
    /// Time from the suspension of an operation to the command after it.
    pub suspend_latency: Ps,
    /// Time from resuming an operation to its going on.
    pub resume_latency: Ps,
    /// Reads that may go before an operation that has begun.
    pub suspend_reads: u32,
}

/// What use does to the cells.
#[derive(Clone, Debug)]
pub struct WearSettings {
    /// Erases of a block that cost each of its reads one retry.
    pub retry_erases: Option<u64>,
    /// Reads of a block since its erase that cost each further read one retry.
    pub retry_reads: Option<u64>,
    /// Retries of a read, at most.
    pub retries_max: u64,
    /// Time of a retry; that of the read if absent.
    pub retry_latency: Option<Ps>,
    /// Erases that a block stands.
    pub endurance: Option<u64>,
    /// How far from the endurance a block may fail.
    pub endurance_spread: Ratio,
    /// One program in so many fails.
    pub program_failure: Option<u64>,
}

/// Time of a page on its channel.
pub(super) fn transfer(raw: &RawConfig, page_bytes: u64) -> Ps {
    match maybe(raw, "nand.transfer") {
        Some(Value::Time(time)) => time,
        _ => {
            let bits = u128::from(page_bytes) * 8;
            let wires = count(raw, "nand.bus_width") * count(raw, "nand.bus_rate");
            // A million transfers a second take a million picoseconds each.
            Ps((bits * 1_000_000).div_ceil(u128::from(wires)) as u64)
        }
    }
}

impl NandTiming {
    pub(super) fn new(raw: &RawConfig) -> Result<NandTiming, ConfigError> {
        let order = choice(raw, "nand.priority");
        Ok(NandTiming {
            read_by_type: by_type(
                raw,
                [
                    "nand.read",
                    "nand.read_csb",
                    "nand.read_msb",
                    "nand.read_tsb",
                ],
            )?,
            program_by_type: by_type(
                raw,
                [
                    "nand.program",
                    "nand.program_csb",
                    "nand.program_msb",
                    "nand.program_tsb",
                ],
            )?,
            pages_per_cell: types(raw).len() as u32,
            command: time(raw, "nand.command"),
            cache_read: choice(raw, "nand.cache_read") == "on",
            multi_plane: choice(raw, "nand.multi_plane"),
            read_first: match order {
                "read_first" => Some(ReadFirst::new(raw)),
                _ => fifo(raw)?,
            },
        })
    }
}

/// Nothing to schedule: but then nothing can be suspended either.
fn fifo(raw: &RawConfig) -> Result<Option<ReadFirst>, ConfigError> {
    if choice(raw, "nand.suspend") == "none" {
        return Ok(None);
    }
    let message = "a read suspends other work only where it goes first: set nand.priority to \
                   read_first, or nand.suspend to none";
    let keys = ["nand.suspend", "nand.priority"];
    Err(impossible(raw, &keys, message.to_owned()))
}

impl ReadFirst {
    fn new(raw: &RawConfig) -> ReadFirst {
        ReadFirst {
            write_queue: count(raw, "nand.write_queue") as u32,
            suspend: choice(raw, "nand.suspend"),
            suspend_latency: time(raw, "nand.suspend_latency"),
            resume_latency: time(raw, "nand.resume_latency"),
            suspend_reads: count(raw, "nand.suspend_reads") as u32,
        }
    }
}

/// The places, among the keys of LSB, CSB, MSB and TSB, of the page types that a cell has.
fn types(raw: &RawConfig) -> &'static [usize] {
    match choice(raw, "nand.cell") {
        "slc" => &[0],
        "mlc" => &[0, 2],
        "tlc" => &[0, 1, 2],
        _ => &[0, 1, 2, 3],
    }
}

/// The times of the page types that there are. One that is not given is the first one's.
fn by_type(raw: &RawConfig, keys: [&'static str; 4]) -> Result<[Ps; TYPES_MAX], ConfigError> {
    let types = types(raw);
    let mut times = [time(raw, keys[0]); TYPES_MAX];
    for (place, key) in keys.iter().enumerate().skip(1) {
        let Some(Value::Time(time)) = maybe(raw, key) else {
            continue;
        };
        let Some(index) = types.iter().position(|known| *known == place) else {
            let message = "such a cell has no page of this type: leave it at \"same\"";
            return Err(impossible(raw, &[key, "nand.cell"], message.to_owned()));
        };
        times[index] = time;
    }
    Ok(times)
}

impl WearSettings {
    pub(super) fn new(raw: &RawConfig) -> Result<Option<WearSettings>, ConfigError> {
        let number = |key| match maybe(raw, key) {
            Some(Value::Count(count)) => Some(count),
            _ => None,
        };
        let wear = WearSettings {
            retry_erases: number("nand.retry_erases"),
            retry_reads: number("nand.retry_reads"),
            retries_max: count(raw, "nand.retries_max"),
            retry_latency: match maybe(raw, "nand.retry_latency") {
                Some(Value::Time(time)) => Some(time),
                _ => None,
            },
            endurance: number("nand.endurance"),
            endurance_spread: match maybe(raw, "nand.endurance_spread") {
                Some(Value::Share(share)) => share,
                _ => Ratio::ZERO,
            },
            program_failure: number("nand.program_failure"),
        };
        let wears = [
            wear.retry_erases,
            wear.retry_reads,
            wear.endurance,
            wear.program_failure,
        ];
        Ok(wears.iter().any(Option::is_some).then_some(wear))
    }
}
