//! The one constructor that turns a description into a fabric that can be.

mod addresses;
mod coherence;
mod devices;
mod hierarchy;
mod nodes;
mod sockets;
mod unused;
mod wiring;

use super::coherence::NO_FILTER;
use super::config::FabricConfig;
use super::endpoint::{EndpointSettings, MemorySettings};
use super::error::FabricError;
use super::ids::{EndpointId, NodeId, RequesterId};
use super::packet::Sizes;
use super::params::{CoherenceParams, PacketParams, RoutingParams};
use super::routing::{RoutingTable, Unreachable};
use super::spec::FabricSpec;
use sluice_cxl::FlitMode;
use sluice_params::{ConfigError, RawConfig};
use sluice_units::LINE_BYTES;

impl FabricConfig {
    /// Checks a description. Nothing else validates.
    ///
    /// # Errors
    /// [`FabricError`], for the first thing that cannot be.
    pub fn new(spec: &FabricSpec, seed: u64) -> Result<FabricConfig, FabricError> {
        let raw = &spec.raw;
        let requesters = nodes::requesters(spec)?;
        let endpoints = nodes::endpoints(spec)?;
        payload(raw, &endpoints.settings)?;
        let wiring = wiring::wire(spec, &requesters, &endpoints)?;
        unused::refuse(spec)?;
        let graph = wiring.graph;
        let devices = devices::devices(&endpoints);
        let reach = hierarchy::reach(spec, &graph, &devices)?;
        let unreachable = |Unreachable { from, to }| FabricError::Disconnected {
            from: graph.name(from).to_owned(),
            to: graph.name(to).to_owned(),
        };
        let table = RoutingTable::shortest(&graph, &|requester: NodeId, endpoint: NodeId| {
            let endpoint = EndpointId(endpoint.0 - graph.requesters);
            reach.needs(RequesterId(requester.0), endpoint)
        });
        let mut table = table.map_err(unreachable)?;
        wiring::route(spec, &graph, &mut table)?;
        let addresses = addresses::map(spec, &requesters, devices, &reach)?;
        Ok(FabricConfig {
            sizes: sizes(raw)?,
            coherence: coherence::coherence(raw)?,
            is_checked: cfg!(debug_assertions),
            routing: RoutingParams::new(raw).policy,
            seed,
            latencies: wiring.latencies,
            hops: wiring.hops,
            addresses,
            vcs: reach.vcs,
            table,
            graph,
            groups: requesters.firsts,
            requesters: requesters.settings,
            endpoints: endpoints.settings,
        })
    }
}

/// Packets carry what memory is asked for: a line, or more of a memory whose times are as given.
fn payload(raw: &RawConfig, endpoints: &[EndpointSettings]) -> Result<(), ConfigError> {
    let given = PacketParams::new(raw);
    let is_fixed = |it: &EndpointSettings| matches!(it.memory, MemorySettings::Fixed { .. });
    let (keys, message): (&[_], _) = if u64::from(given.payload) == LINE_BYTES {
        return Ok(());
    } else if given.flits.is_some() {
        let message = "a message of CXL.mem carries a line of 64 bytes; give packet.payload = 64";
        (&["packet.flits", "packet.payload"], message)
    } else if is_coherent(raw) {
        let message = "caches keep lines of 64 bytes; give packet.payload = 64";
        (&["coherence.filter", "packet.payload"], message)
    } else if !endpoints.iter().all(is_fixed) {
        let message = "only fixed endpoints read more than a line of 64 bytes at once; give 64";
        (&["packet.payload"], message)
    } else {
        return Ok(());
    };
    Err(raw.impossible(keys, message))
}

fn is_coherent(raw: &RawConfig) -> bool {
    CoherenceParams::new(raw).filter.name != NO_FILTER
}

/// Bytes of packets: as given, or of flits.
fn sizes(raw: &RawConfig) -> Result<Sizes, ConfigError> {
    let given = PacketParams::new(raw);
    let Some(mode) = given.flits else {
        return Ok(Sizes::new(given.payload, given.header, given.data_header));
    };
    if mode == FlitMode::B68 && is_coherent(raw) {
        let message = "68-byte flits carry no back-invalidation; choose longer ones";
        let keys = ["packet.flits", "coherence.filter"];
        return Err(raw.impossible(&keys, message));
    }
    Ok(Sizes::of_flits(mode))
}
