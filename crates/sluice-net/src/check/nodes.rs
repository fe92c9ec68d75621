//! Requesters and endpoints from their groups.

use super::coherence;
use crate::endpoint::{DramOrder, EndpointSettings, EndpointType, MemorySettings};
use crate::error::FabricError;
use crate::params::{CacheParams, EndpointParams, MapParams, RequesterParams, SwitchParams};
use crate::requester::RequesterSettings;
use crate::spec::{FabricSpec, Group, with};
use sluice_cxl::Arithmetic;
use sluice_model::dram::DramLayout;
use sluice_params::{ConfigError, RawConfig};
use sluice_units::{Bytes, LINE_BYTES, Ratio};
use std::ops::Range;

/// Nodes of one kind.
pub(super) struct Nodes<T> {
    pub names: Vec<String>,
    pub settings: Vec<T>,
    /// What differs in the links of each.
    pub links: Vec<Vec<(String, String)>>,
    /// Where the nodes of each group begin, and behind the last group.
    pub firsts: Vec<usize>,
}

impl<T> Nodes<T> {
    /// The places of a group's nodes.
    pub fn of_group(&self, number: usize) -> Range<usize> {
        self.firsts[number]..self.firsts[number + 1]
    }
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
        firsts: vec![0],
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
        nodes.firsts.push(nodes.names.len());
    }
    Ok(nodes)
}

fn count(raw: &RawConfig, table: &str) -> u32 {
    match table {
        "requester" => RequesterParams::new(raw).count,
        "endpoint" => EndpointParams::new(raw).count,
        _ => SwitchParams::new(raw).count,
    }
}

pub(super) fn requesters(spec: &FabricSpec) -> Result<Nodes<RequesterSettings>, FabricError> {
    let make = |raw: &RawConfig, group: &Group| {
        let given = RequesterParams::new(raw);
        let is_host = group.host.is_some();
        if is_host {
            check_host(&spec.raw, raw)?;
        }
        Ok(RequesterSettings {
            // A host's own MSHRs bound what it asks for.
            depth: if is_host { u32::MAX } else { given.depth },
            interval: given.interval,
            process: given.process,
            cache_access: given.cache_access,
            pattern: given.pattern,
            footprint: given.footprint.map(|bytes| bytes.0),
            reads: given.reads.unwrap_or(Ratio::ZERO),
            cache: coherence::cache(raw)?,
            notifies: CacheParams::new(raw).cache_clean,
            is_host,
            hot_requests: given.hot_requests,
            hot_lines: given.hot_lines,
        })
    };
    expand(&spec.raw, "requester", "r", &spec.requesters, make)
}

/// A host is what its system says: nothing else of its group may differ from the fabric's but how
/// many there are, and whether they say which clean lines leave them.
fn check_host(fabric: &RawConfig, group: &RawConfig) -> Result<(), ConfigError> {
    let given = group.to_pairs().into_iter();
    let mut differs = given.filter(|(key, value)| fabric.get(key).as_ref() != Some(value));
    let own = ["requester.count", "requester.cache_clean"];
    if let Some((key, _)) = differs.find(|(key, _)| !own.contains(key)) {
        let message = "a simulated host has requests, caches and times of its own; leave it out";
        return Err(group.impossible(&[key], message));
    }
    Ok(())
}

pub(super) fn endpoints(spec: &FabricSpec) -> Result<Nodes<EndpointSettings>, FabricError> {
    expand(&spec.raw, "endpoint", "m", &spec.endpoints, |raw, group| {
        let given = EndpointParams::new(raw);
        let bytes = given.capacity.0;
        let (memory, capacity) = match given.kind {
            EndpointType::Fixed => {
                let memory = MemorySettings::Fixed {
                    read: given.read,
                    write: given.write,
                };
                (memory, bytes)
            }
            EndpointType::Dram => {
                let layout = dram(raw, &given)?;
                let chooses = given.dram_order == DramOrder::RowHits;
                let queue = chooses.then_some(given.dram_queue as usize);
                let memory = MemorySettings::Dram { layout, queue };
                has_room(raw, bytes, &layout)?;
                (memory, bytes)
            }
            EndpointType::Device => {
                let device = group.device.as_ref().ok_or_else(|| {
                    let message = "which device? give the group device = \"NAME\"";
                    raw.impossible(&["endpoint.type"], message)
                })?;
                let capacity = device.config.capacity().0;
                (
                    MemorySettings::Device(Box::new(device.config.clone())),
                    capacity,
                )
            }
            EndpointType::External => (MemorySettings::External(group.library.clone()), bytes),
        };
        if !capacity.is_multiple_of(u64::from(given.logical_devices) * LINE_BYTES) {
            let keys = ["endpoint.capacity", "endpoint.logical_devices"];
            let message = "each logical device has the same number of lines of 64 bytes; \
                           give a multiple of 64B for each";
            return Err(raw.impossible(&keys, message));
        }
        Ok(EndpointSettings {
            capacity,
            controller: given.controller,
            bandwidth: given.bandwidth,
            logical_devices: given.logical_devices,
            weight: weight(raw, &given)?,
            memory,
        })
    })
}

/// The capacity is at most what is there.
fn has_room(raw: &RawConfig, bytes: u64, layout: &DramLayout) -> Result<(), ConfigError> {
    let there = layout.capacity();
    if bytes <= there {
        return Ok(());
    }
    let keys = [
        "endpoint.capacity",
        "endpoint.dram",
        "endpoint.dram_channels",
        "endpoint.dram_ranks",
    ];
    let message = format!(
        "that DRAM has {}; give at most that, or more ranks",
        Bytes(there)
    );
    Err(raw.impossible(&keys, message))
}

/// A weight that nothing would look at is a mistake.
fn weight(raw: &RawConfig, given: &EndpointParams) -> Result<u8, ConfigError> {
    if given.weight != 1 && MapParams::new(raw).arithmetic != Arithmetic::Weighted {
        let keys = ["endpoint.weight", "map.arithmetic"];
        let message = "only weighted interleaving has weights; give map.arithmetic = weighted";
        return Err(raw.impossible(&keys, message));
    }
    Ok(given.weight as u8)
}

fn dram(raw: &RawConfig, given: &EndpointParams) -> Result<DramLayout, ConfigError> {
    for (key, value) in [
        ("endpoint.dram_channels", given.dram_channels),
        ("endpoint.dram_ranks", given.dram_ranks),
    ] {
        if !value.is_power_of_two() {
            let next = value.next_power_of_two();
            let message = format!("not a power of two; {next} is the next");
            return Err(raw.impossible(&[key], message));
        }
    }
    Ok(DramLayout {
        standard: given.dram,
        channels: given.dram_channels,
        ranks: given.dram_ranks,
        mapping: given.dram_mapping,
        hashes_banks: false,
        closes_rows: given.dram_rows,
    })
}
