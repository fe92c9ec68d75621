//! Requesters and endpoints from their groups.

use super::coherence;
use crate::endpoint::{EndpointSettings, EndpointType, MemorySettings};
use crate::error::FabricError;
use crate::requester::RequesterSettings;
use crate::spec::{FabricSpec, Group, with};
use sluice_model::dram::DramLayout;
use sluice_params::{ConfigError, RawConfig};
use sluice_units::{LINE_BYTES, Ratio};

/// Nodes of one kind.
pub(super) struct Nodes<T> {
    pub names: Vec<String>,
    pub settings: Vec<T>,
    /// What differs in the links of each.
    pub links: Vec<Vec<(String, String)>>,
}

/// The nodes of all groups of a table; of one group called `prefix` if there is none.
pub(super) fn expand<T: Clone>(
    raw: &RawConfig,
    table: &'static str,
    prefix: &str,
    groups: &[Group],
    make: impl Fn(&RawConfig, &Group) -> Result<T, ConfigError>,
) -> Result<Nodes<T>, FabricError> {
    let default = [Group {
        name: prefix.to_owned(),
        ..Group::default()
    }];
    let named = !groups.is_empty();
    let groups = if named { groups } else { &default };
    let mut nodes = Nodes {
        names: Vec::new(),
        settings: Vec::new(),
        links: Vec::new(),
    };
    for group in groups {
        let made = with(raw, table, &group.set)
            .and_then(|raw| Ok((count(&raw, table), make(&raw, group)?)));
        let (count, made) = made.map_err(|source| FabricError::Element {
            element: format!("{table} group `{}`", group.name),
            source,
        })?;
        for index in 0..count {
            nodes.names.push(if named && count == 1 {
                group.name.clone()
            } else {
                format!("{}{index}", group.name)
            });
            nodes.settings.push(made.clone());
            nodes.links.push(group.link.clone());
        }
    }
    Ok(nodes)
}

fn count(raw: &RawConfig, table: &str) -> u64 {
    raw.count(match table {
        "requester" => "requester.count",
        "endpoint" => "endpoint.count",
        _ => "switch.count",
    })
}

pub(super) fn requesters(spec: &FabricSpec) -> Result<Nodes<RequesterSettings>, FabricError> {
    expand(&spec.raw, "requester", "r", &spec.requesters, |raw, _| {
        let share = |key| raw.share(key).unwrap_or(Ratio::ZERO);
        Ok(RequesterSettings {
            depth: raw.count("requester.depth") as u32,
            interval: raw.time("requester.interval"),
            process: raw.time("requester.process"),
            cache_access: raw.time("requester.cache_access"),
            pattern: raw.read("requester.pattern"),
            footprint: raw.bytes("requester.footprint").map(|bytes| bytes.0),
            reads: share("requester.reads"),
            cache: coherence::cache(raw)?,
            hot_requests: share("requester.hot_requests"),
            hot_lines: share("requester.hot_lines"),
        })
    })
}

pub(super) fn endpoints(spec: &FabricSpec) -> Result<Nodes<EndpointSettings>, FabricError> {
    expand(&spec.raw, "endpoint", "m", &spec.endpoints, |raw, group| {
        let given = raw.bytes("endpoint.capacity").map_or(0, |bytes| bytes.0);
        let (memory, capacity) = match raw.read("endpoint.type") {
            EndpointType::Fixed => {
                let memory = MemorySettings::Fixed {
                    read: raw.time("endpoint.read"),
                    write: raw.time("endpoint.write"),
                };
                (memory, given)
            }
            EndpointType::Dram => {
                let layout = dram(raw)?;
                (MemorySettings::Dram(layout), given.min(layout.capacity()))
            }
            EndpointType::Device => {
                let device = group.device.clone().ok_or_else(|| {
                    let message = "which device? give the group device = \"NAME\"".to_owned();
                    raw.impossible(&["endpoint.type"], message)
                })?;
                let capacity = device.capacity().0;
                (MemorySettings::Device(Box::new(device)), capacity)
            }
            EndpointType::External => (MemorySettings::External(group.library.clone()), given),
        };
        let logical_devices = raw.count("endpoint.logical_devices");
        if !capacity.is_multiple_of(logical_devices * LINE_BYTES) {
            let keys = ["endpoint.capacity", "endpoint.logical_devices"];
            let message = "logical devices have the same number of lines of 64 bytes each";
            return Err(raw.impossible(&keys, message.to_owned()));
        }
        Ok(EndpointSettings {
            capacity,
            controller: raw.time("endpoint.controller"),
            bandwidth: raw.count_or_word("endpoint.bandwidth"),
            logical_devices: logical_devices as u32,
            memory,
        })
    })
}

fn dram(raw: &RawConfig) -> Result<DramLayout, ConfigError> {
    for key in ["endpoint.dram_channels", "endpoint.dram_ranks"] {
        let value = raw.count(key);
        if !value.is_power_of_two() {
            let next = value.next_power_of_two();
            let message = format!("not a power of two; {next} is the next");
            return Err(raw.impossible(&[key], message));
        }
    }
    Ok(DramLayout {
        standard: raw.read("endpoint.dram"),
        channels: raw.count("endpoint.dram_channels"),
        ranks: raw.count("endpoint.dram_ranks"),
        mapping: raw.order("endpoint.dram_mapping"),
        hashes_banks: false,
        closes_rows: raw.read("endpoint.dram_rows"),
    })
}
