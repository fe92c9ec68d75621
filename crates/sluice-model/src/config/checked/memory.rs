//! Memory expanders, and DRAM with banks and rows.

use super::take::{choice, count, impossible, time};
use crate::config::error::ConfigError;
use crate::config::params::PARAMS;
use crate::config::raw::RawConfig;
use crate::config::value::Value;
use crate::dram::{DramLayout, STANDARDS};
use sluice_units::{LINE_BYTES, Ps};

/// A memory expander's checked values.
#[derive(Clone, Copy, Debug)]
pub struct MemorySettings {
    /// Time of a load.
    pub read: Ps,
    /// Time of a store.
    pub write: Ps,
    /// Time for which a line occupies the device.
    pub transfer: Ps,
    /// Banks with a row each, if accesses wait for them.
    pub rows: Option<RowSettings>,
}

/// Banks that each have one row open.
#[derive(Clone, Copy, Debug)]
pub struct RowSettings {
    /// Banks.
    pub banks: u64,
    /// The binary logarithm of a row's bytes.
    pub shift: u32,
    /// Time of an access to the open row.
    pub hit: Ps,
}

/// Tables that a memory expander takes. It has nothing of what the others describe.
const OF_MEMORY: [&str; 3] = ["device", "memory", "dram"];

/// The expander's values, if the device is one.
///
/// A key that makes no sense for the kind of device is refused unless it is at its default.
pub(super) fn memory(
    raw: &RawConfig,
    dram: Option<&DramLayout>,
) -> Result<Option<MemorySettings>, ConfigError> {
    let is_memory = choice(raw, "device.kind") == "memory";
    for param in PARAMS {
        let table = param.key.split('.').next().unwrap_or(param.key);
        let foreign = match is_memory {
            true => !OF_MEMORY.contains(&table),
            false => table == "memory",
        };
        if foreign && param.kind.parse(param.default) != Some(raw.value(param.key)) {
            let message = match is_memory {
                true => format!(
                    "a memory expander has none of that, only the tables {}; leave it at {}",
                    OF_MEMORY.join(", "),
                    param.default
                ),
                false => format!(
                    "only a device of kind memory has it; leave it at {}",
                    param.default
                ),
            };
            return Err(impossible(raw, &["device.kind", param.key], message));
        }
    }
    let idle = dram.map(DramLayout::idle_read);
    let rows = rows(raw)?;
    if rows.is_some() && dram.is_some() {
        let message = "DRAM has banks of its own; leave memory.banks at none".to_owned();
        return Err(impossible(raw, &["memory.banks", "dram.model"], message));
    }
    Ok(is_memory.then(|| MemorySettings {
        rows,
        read: idle.unwrap_or_else(|| time(raw, "memory.read")),
        write: idle.unwrap_or_else(|| time(raw, "memory.write")),
        transfer: time(raw, "memory.transfer"),
    }))
}

fn rows(raw: &RawConfig) -> Result<Option<RowSettings>, ConfigError> {
    let Value::Count(banks) = raw.value("memory.banks") else {
        return Ok(None);
    };
    let bytes = raw.bytes("memory.row").map_or(0, |bytes| bytes.0);
    if !bytes.is_power_of_two() || bytes < LINE_BYTES {
        let message = format!("not a power of two from {LINE_BYTES}B");
        return Err(impossible(raw, &["memory.row"], message));
    }
    Ok(Some(RowSettings {
        banks,
        shift: bytes.trailing_zeros(),
        hit: time(raw, "memory.row_hit"),
    }))
}

/// The DRAM's layout, or `None` if its times are fixed.
pub(super) fn dram(raw: &RawConfig) -> Result<Option<DramLayout>, ConfigError> {
    let [channels, ranks] = ["dram.channels", "dram.ranks"].map(|key| (key, count(raw, key)));
    for (key, value) in [channels, ranks] {
        if !value.is_power_of_two() {
            let message = format!(
                "not a power of two; {} is the next",
                value.next_power_of_two()
            );
            return Err(impossible(raw, &[key], message));
        }
    }
    let Value::Order(_, mapping) = raw.value("dram.mapping") else {
        unreachable!("dram.mapping is an order")
    };
    let model = choice(raw, "dram.model");
    let standard = STANDARDS.iter().find(|standard| standard.name == model);
    Ok(standard.map(|standard| DramLayout {
        standard,
        channels: channels.1,
        ranks: ranks.1,
        mapping,
        hashes_banks: false,
        closes_rows: choice(raw, "dram.rows") == "closed",
    }))
}
