//! The one constructor that turns a description into a fabric that can be.

mod addresses;
mod coherence;
mod nodes;
mod wiring;

use super::config::FabricConfig;
use super::error::FabricError;
use super::packet::Sizes;
use super::pattern::PATTERNS;
use super::routing::{ROUTINGS, Table, Unreachable};
use super::spec::FabricSpec;

impl FabricConfig {
    /// Checks a description. Nothing else validates.
    ///
    /// # Errors
    /// [`FabricError`], for the first thing that cannot be.
    pub fn new(spec: &FabricSpec, seed: u64) -> Result<FabricConfig, FabricError> {
        let raw = &spec.raw;
        let requesters = nodes::requesters(spec)?;
        let endpoints = nodes::endpoints(spec)?;
        let wiring = wiring::wire(spec, &requesters.names, &endpoints.names)?;
        let graph = wiring.graph;
        let unreachable = |Unreachable { from, to }| FabricError::Disconnected {
            from: graph.names[from as usize].clone(),
            to: graph.names[to as usize].clone(),
        };
        let mut table = Table::shortest(&graph).map_err(unreachable)?;
        wiring::route(spec, &graph, &mut table)?;
        let count = |key| raw.count(key) as u32;
        let name = raw.choice("routing.policy");
        let routing = ROUTINGS.iter().find(|routing| routing.name == name);
        let map = addresses::map(spec, &requesters, &endpoints)?;
        let pattern = |name| PATTERNS.iter().find(|pattern| pattern.name == name);
        let patterns = requesters.settings.iter().map(|r| pattern(r.pattern));
        let patterns: Option<Vec<_>> = patterns.collect();
        Ok(FabricConfig {
            sizes: Sizes::new(
                count("packet.payload"),
                count("packet.header"),
                count("packet.data_header"),
            ),
            coherence: coherence::coherence(raw),
            is_checked: cfg!(debug_assertions),
            routing: routing.expect("a choice comes from its registry"),
            seed,
            switches: wiring.switches,
            is_bus: wiring.is_bus,
            homes: map.homes,
            home_of: map.home_of,
            mapped: map.mapped,
            logical: map.logical,
            table,
            patterns: patterns.expect("a choice comes from its registry"),
            graph,
            requesters: requesters.settings,
            endpoints: endpoints.settings,
        })
    }
}
