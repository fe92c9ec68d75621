//! Memory expanders, and DRAM with banks and rows.

use super::{DeviceKind, PARAMS};
use crate::dram::{DramLayout, FIELDS, Standard};
use sluice_params::{ConfigError, Declared, Kind, RawConfig};
use sluice_units::{Bytes, LINE_BYTES, Ps};

sluice_params::params! {
    /// A memory expander.
    pub(super) struct MemoryParams {
        read: Ps {
            key: "memory.read",
            default: "95ns",
            meaning: "time of a load, with dram.model = fixed",
            source: "Cylon Figure 2: local DRAM",
        }
        write: Ps {
            key: "memory.write",
            default: "95ns",
            meaning: "time of a store, with dram.model = fixed",
            source: "assumed: as a load",
        }
        transfer: Ps {
            key: "memory.transfer",
            default: "0ns",
            meaning: "time for which a line of 64 bytes occupies the device; 0: no bound",
            source: "assumed: no bound",
        }
        banks: Option<u64> {
            key: "memory.banks",
            kind: Kind::Or("none", &Kind::Count { min: 1, max: 65_536 }),
            default: "none",
            meaning: "banks, over which rows are spread; each serves one load at a time, and \
                      writes one row at a time, with all stores to it meanwhile; none: accesses do \
                      not wait for each other's latency",
            source: "assumed: no bound",
        }
        row: Bytes {
            key: "memory.row",
            default: "256B",
            meaning: "with memory.banks: bytes of a bank's row, a power of two from 64B; the row \
                      of the last load is open",
            source: "CXL-SSD-Sim Table I: a row buffer of 256 B in persistent memory",
        }
        row_hit: Ps {
            key: "memory.row_hit",
            default: "17500ps",
            meaning: "with memory.banks: time of a load whose row is open",
            source: "gem5's interface of the same times as CXL-SSD-Sim's Table I: 14.16 ns and a \
                     burst of 3.33 ns",
        }
    }
}

sluice_params::params! {
    /// DRAM with banks and rows, of the cache or of a memory expander.
    pub(super) struct DramParams {
        model: Option<&'static Standard> {
            key: "dram.model",
            kind: Kind::Or("fixed", &<&Standard>::KIND),
            default: "fixed",
            meaning: "fixed: an access takes cache.hit_latency, or memory.read or memory.write; \
                      otherwise its time comes from banks, rows and refresh",
            source: "Cylon section 4.8: one time for every hit",
        }
        channels: u64 {
            key: "dram.channels",
            kind: Kind::Count { min: 1, max: 64 },
            default: "1",
            meaning: "channels, a power of two",
            source: "CXL-SSD-Sim Table I: one",
        }
        ranks: u64 {
            key: "dram.ranks",
            kind: Kind::Count { min: 1, max: 8 },
            default: "1",
            meaning: "ranks on each channel, a power of two",
            source: "CXL-SSD-Sim Table I: DDR4_2400_8x8 of gem5, taken with one rank",
        }
        mapping: [u8; 6] {
            key: "dram.mapping",
            kind: Kind::Order(&FIELDS),
            default: "RoRaBaCoBgCh",
            meaning: "fields of an address, most significant first: row, rank, bank group, bank, \
                      column, channel",
            source: "assumed: neighbouring lines in different bank groups, as controllers do",
        }
        closes_rows: bool {
            key: "dram.rows",
            kind: Kind::Flag { off: "open", on: "closed" },
            default: "open",
            meaning: "open: a row stays open until another is needed; closed: it is closed after \
                      each access",
            source: "assumed: as gem5 and Ramulator do by default",
        }
    }
}

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
pub(super) fn memory(
    raw: &RawConfig,
    kind: DeviceKind,
    dram: Option<&DramLayout>,
) -> Result<Option<MemorySettings>, ConfigError> {
    check_tables(raw, kind)?;
    let given = MemoryParams::new(raw);
    let rows = rows(raw, &given)?;
    if rows.is_some() && dram.is_some() {
        let message = "DRAM has banks of its own; leave memory.banks at none";
        return Err(raw.impossible(&["memory.banks", "dram.model"], message));
    }
    let idle = dram.map(DramLayout::idle_read);
    let settings = MemorySettings {
        rows,
        read: idle.unwrap_or(given.read),
        write: idle.unwrap_or(given.write),
        transfer: given.transfer,
    };
    Ok((kind == DeviceKind::Memory).then_some(settings))
}

/// Refuses a key that makes no sense for the kind of device, unless it is at its default.
fn check_tables(raw: &RawConfig, kind: DeviceKind) -> Result<(), ConfigError> {
    for param in PARAMS {
        let table = param.key.split('.').next().unwrap_or(param.key);
        let foreign = match kind {
            DeviceKind::Memory => !OF_MEMORY.contains(&table),
            DeviceKind::CxlSsd => table == "memory",
        };
        if foreign && !raw.is_default(param) {
            let message = match kind {
                DeviceKind::Memory => format!(
                    "a memory expander has none of that, only the tables {}; leave {} out",
                    OF_MEMORY.join(", "),
                    param.key
                ),
                DeviceKind::CxlSsd => {
                    format!(
                        "only a device of kind memory has it; leave {} out",
                        param.key
                    )
                }
            };
            return Err(raw.impossible(&["device.kind", param.key], message));
        }
    }
    Ok(())
}

fn rows(raw: &RawConfig, given: &MemoryParams) -> Result<Option<RowSettings>, ConfigError> {
    let Bytes(bytes) = given.row;
    if !bytes.is_power_of_two() || bytes < LINE_BYTES {
        let message = format!("not a power of two from {LINE_BYTES}B");
        return Err(raw.impossible(&["memory.row"], message));
    }
    Ok(given.banks.map(|banks| RowSettings {
        banks,
        shift: bytes.trailing_zeros(),
        hit: given.row_hit,
    }))
}

/// The DRAM's layout, or `None` if its times are fixed.
pub(super) fn dram(raw: &RawConfig) -> Result<Option<DramLayout>, ConfigError> {
    let given = DramParams::new(raw);
    for (key, value) in [
        ("dram.channels", given.channels),
        ("dram.ranks", given.ranks),
    ] {
        if !value.is_power_of_two() {
            let next = value.next_power_of_two();
            let message = format!("not a power of two; {next} is the next");
            return Err(raw.impossible(&[key], message));
        }
    }
    Ok(given.model.map(|standard| DramLayout {
        standard,
        channels: given.channels,
        ranks: given.ranks,
        mapping: given.mapping,
        hashes_banks: false,
        closes_rows: given.closes_rows,
    }))
}
