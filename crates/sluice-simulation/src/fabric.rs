//! A fabric that ran, told as one JSON object.

use crate::device::{PS_PER_NS, PS_PER_S};
use crate::recorded::{Recorded, Windows, mix_degree};
use serde_json::{Map, Value, json};
use sluice_net::{
    Deadlock, Fabric, FabricConfig, FabricError, FabricSpec, HopStats, Length, LinkId, Part,
    RequesterId, RequesterStats, Vcs, Vppb,
};
use sluice_results::SCHEMA;
use sluice_stats::share;
use sluice_units::{Bytes, Ps};

/// Hop counts up to this one have a place in the object even if no request had so many.
const HOPS: usize = 16;

/// Links told one by one; of more, the busiest.
const LINKS: usize = 64;

/// What to simulate.
pub struct FabricPlan<'a> {
    /// The fabric's name, for the record.
    pub name: &'a str,
    /// Its description.
    pub spec: &'a FabricSpec,
    /// How long.
    pub length: Length,
    /// The seed of every random stream.
    pub seed: u64,
    /// What the requesters replay instead of their patterns.
    pub replay: Option<&'a Recorded>,
    /// Requests of each stretch that is told by itself; none are, if 0.
    pub window: u64,
}

/// Why a fabric could not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FabricRunError {
    /// It cannot be.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// It stopped by itself.
    #[error(transparent)]
    Deadlock(#[from] Deadlock),
    /// What is replayed needs more memory than there is.
    #[error(
        "workload: {workload} needs {needed} (--spread {spread}), but the requesters reach \
         {reach}; give more endpoints or a larger endpoint.capacity, or a larger --scale"
    )]
    TooLarge {
        /// What is replayed.
        workload: String,
        /// How it goes to the requesters.
        spread: &'static str,
        /// Memory that they need.
        needed: Bytes,
        /// Memory that each reaches.
        reach: Bytes,
    },
    /// Nobody asks for anything.
    #[error("{0}")]
    Nothing(&'static str),
}

impl FabricPlan<'_> {
    /// Runs until so many requests have come back. `watch` is told now and then how many have, and
    /// says whether to go on: if not, there is no result.
    ///
    /// # Errors
    /// [`FabricRunError`].
    pub fn run(&self, watch: &mut dyn FnMut(u64) -> bool) -> Result<Option<Value>, FabricRunError> {
        let config = FabricConfig::new(self.spec, self.seed)?;
        let mut fabric = sluice_plugin_memory::fabric(&config)?;
        if let Some(replay) = self.replay {
            replay.attach(&mut fabric, &config)?;
        }
        let mut windows = Windows::new(self.window);
        let mut stopped = false;
        let mut watch = |requests| {
            stopped |= !watch(requests);
            !stopped
        };
        fabric.run_with(self.length, &mut watch, &mut |done| windows.done(&done))?;
        if stopped {
            return Ok(None);
        }
        // Counters that contradict each other are a bug of ours, not of the input.
        fabric.balance().expect("the fabric's books balance");
        if fabric.stats().completed() == 0 {
            let message = "no request was counted: the requesters have none (requester.pattern)";
            return Err(FabricRunError::Nothing(message));
        }
        let mut object = self.header(&config);
        object.extend(told(&fabric, &config));
        let payload = u64::from(config.sizes.payload_bytes());
        object.insert("windows".to_owned(), windows.told(payload));
        Ok(Some(Value::Object(object)))
    }

    fn header(&self, config: &FabricConfig) -> Map<String, Value> {
        let settings: Map<String, Value> = self
            .spec
            .raw
            .to_pairs()
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.into()))
            .collect();
        let graph = &config.graph;
        map(json!({
            "schema": SCHEMA,
            "kind": "fabric",
            "fabric": self.name,
            "config": settings,
            "nodes": {
                "requesters": graph.requesters,
                "endpoints": graph.endpoints,
                "switches": graph.names.len() as u32 - graph.edges(),
                "links": graph.links.len(),
            },
            "seed": self.seed,
            "version": env!("CARGO_PKG_VERSION"),
            "warmup_requests": self.length.warmup,
            "workload": self.replay.map(Recorded::told),
        }))
    }
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// What a fabric counted until now, as one JSON object.
pub fn fabric_statistics(fabric: &Fabric, config: &FabricConfig) -> Value {
    Value::Object(told(fabric, config))
}

fn told(fabric: &Fabric, config: &FabricConfig) -> Map<String, Value> {
    let stats = fabric.stats();
    let payload = u64::from(config.sizes.payload_bytes());
    let bytes = stats.completed() * payload;
    let time = stats.time();
    let latency = stats.latency.mean();
    map(json!({
        "requests": stats.completed(),
        "reads": stats.reads,
        "writes": stats.writes,
        "mix_degree": mix_degree(stats.reads, stats.writes),
        "in_flight": fabric.in_flight(),
        "memory_refused": fabric.refused(),
        "time_s": time.0 as f64 / PS_PER_S,
        "events": stats.events,
        "bandwidth_mb_s": mb_s(bytes, time),
        "latency_ns": stats.latency.summary(),
        "latency_min_ns": ns(stats.latency.min()),
        "latency_mean_ns": ns(latency),
        "latency_parts_ns": parts(&stats.parts(), stats.completed()),
        "hops": hops(&stats.hops),
        "requesters": requesters(fabric, payload),
        "links": links(fabric),
        "busiest_link": busiest(fabric),
        "bottleneck": bottleneck(fabric),
        "coherence": coherence(fabric),
        "vcs": config.vcs.iter().map(|one| vcs(fabric, one, payload)).collect::<Value>(),
        "hash": format!("{:016x}", stats.hash),
    }))
}

fn ns(time: Ps) -> f64 {
    time.0 as f64 / PS_PER_NS
}

/// Bytes in a picosecond are TB in a second.
pub(crate) fn mb_s(bytes: u64, time: Ps) -> Option<f64> {
    share(bytes, time.0).map(|tb_s| tb_s * 1e6)
}

fn parts(sums: &sluice_net::Parts, requests: u64) -> Value {
    sluice_results::parts(Part::ALL.map(|part| (part.name(), sums[part].0)), requests)
}

/// By the number of switches on the way, from 0: how many requests, their mean latency, its parts.
fn hops(hops: &[HopStats]) -> Value {
    let at = |index: usize| hops.get(index).filter(|hops| hops.count > 0);
    let all = 0..hops.len().max(HOPS + 1);
    let requests = all
        .clone()
        .map(|index| at(index).map_or(0, |hops| hops.count));
    let mean = |hops: &HopStats, sum: Ps| ns(sum) / hops.count as f64;
    let latency = all
        .clone()
        .map(|index| at(index).map(|hops| mean(hops, hops.parts.total())));
    let parts: Map<String, Value> = Part::ALL
        .into_iter()
        .map(|part| {
            let each = all
                .clone()
                .map(|index| at(index).map(|hops| mean(hops, hops.parts[part])));
            (part.name().to_owned(), each.collect::<Vec<_>>().into())
        })
        .collect();
    let groups: Vec<usize> = (0..hops.len())
        .filter(|index| hops[*index].count > 0)
        .collect();
    let group = |index: Option<&usize>| {
        index.map_or(Value::Null, |index| {
            let hops = &hops[*index];
            json!({
                "hops": index,
                "latency_ns": mean(hops, hops.parts.total()),
                "switch_queue_ns": mean(hops, hops.parts[Part::SwitchQueue]),
            })
        })
    };
    json!({
        "requests": requests.collect::<Vec<_>>(),
        "latency_ns": latency.collect::<Vec<_>>(),
        "parts_ns": parts,
        "fewest": group(groups.first()),
        "most": group(groups.last()),
    })
}

fn requesters(fabric: &Fabric, payload: u64) -> Value {
    let time = fabric.stats().time();
    let all = (0..).map(RequesterId).zip(fabric.requester_stats());
    let rows = all.map(|(id, stats)| {
        json!({
            "name": fabric.graph().name(id.node()),
            "requests": stats.completed,
            "bandwidth_mb_s": mb_s(stats.completed * payload, time),
            "latency_mean_ns": mean_ns(stats),
        })
    });
    rows.collect()
}

fn mean_ns(stats: &RequesterStats) -> Option<f64> {
    let mean = || stats.latency as f64 / stats.completed as f64 / PS_PER_NS;
    (stats.completed > 0).then(mean)
}

/// A virtual switch: what its devices served, its host's latency, its upstream link.
fn vcs(fabric: &Fabric, vcs: &Vcs, payload: u64) -> Value {
    let time = fabric.stats().time();
    let graph = fabric.graph();
    let upstream = graph.link(vcs.link);
    let side = usize::from(upstream.ends[1] == vcs.switch);
    let served = |vppb: &Vppb| fabric.served(vppb.endpoint, vppb.logical);
    let vppbs = vcs.vppbs.iter().map(|vppb| {
        json!({
            "device": vppb.name,
            "port": vppb.port,
            "requests": served(vppb),
            "bandwidth_mb_s": mb_s(served(vppb) * payload, time),
        })
    });
    let requests: u64 = vcs.vppbs.iter().map(served).sum();
    let host = fabric.requester_stats().nth(vcs.host.index());
    json!({
        "name": vcs.name,
        "switch": graph.name(vcs.switch),
        "host": graph.name(vcs.host.node()),
        "port": upstream.ports[side],
        "requests": requests,
        "bandwidth_mb_s": mb_s(requests * payload, time),
        "host_latency_mean_ns": host.and_then(mean_ns),
        "utility": utility(fabric, vcs.link),
        "vppbs": vppbs.collect::<Value>(),
    })
}

/// A link: busy share of either direction and its mean, and what it carried.
fn link(fabric: &Fabric, id: LinkId) -> Value {
    let (stats, links, graph) = (fabric.stats(), fabric.links(), fabric.graph());
    let ways = id.directions();
    let busy = ways.map(|way| share(links.busy(way, stats.until).0, stats.time().0));
    let carried = ways.map(|way| links.carried(way));
    let [bytes, payload] = [carried.map(|c| c.bytes), carried.map(|c| c.payload)];
    let ends = graph.link(id).ends;
    json!({
        "ends": ends.map(|end| graph.name(end)),
        "ports": graph.link(id).ports,
        "utility": utility(fabric, id),
        "busy": busy,
        "bytes": bytes,
        "efficiency": share(payload[0] + payload[1], bytes[0] + bytes[1]),
        "wait_max_ns": ways.map(|way| ns(links.wait_max(way))),
    })
}

/// Busy share of a link, averaged over its directions (ESF section V-D).
fn utility(fabric: &Fabric, id: LinkId) -> Option<f64> {
    let (stats, links) = (fabric.stats(), fabric.links());
    let ways = id.directions();
    let busy: u64 = ways.iter().map(|way| links.busy(*way, stats.until).0).sum();
    share(busy, 2 * stats.time().0)
}

/// Links by falling utility, those of the same in the graph's order.
fn by_utility(fabric: &Fabric) -> Vec<LinkId> {
    let links = (0..fabric.graph().links.len() as u32).map(LinkId);
    let mut order: Vec<(LinkId, f64)> = links
        .map(|id| (id, utility(fabric, id).unwrap_or(0.0)))
        .collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    order.into_iter().map(|(id, _)| id).collect()
}

fn links(fabric: &Fabric) -> Value {
    let busiest = by_utility(fabric);
    let mut told = busiest[..busiest.len().min(LINKS)].to_vec();
    told.sort_unstable();
    told.into_iter().map(|id| link(fabric, id)).collect()
}

fn busiest(fabric: &Fabric) -> Value {
    let first = by_utility(fabric).first().copied();
    first.map_or(Value::Null, |index| link(fabric, index))
}

/// What coherence cost; nothing without it.
fn coherence(fabric: &Fabric) -> Value {
    let Some(stats) = fabric.coherence_stats() else {
        return Value::Null;
    };
    let (caches, agents) = (stats.caches, stats.agents);
    let mean = |time: Ps, count: u64| (count > 0).then(|| ns(time) / count as f64);
    json!({
        "cache_hits": caches.hits,
        "cache_misses": caches.misses,
        "upgrades": caches.upgrades,
        "invalidated_lines": caches.invalidated,
        "cache_evictions": caches.evictions,
        "write_backs": caches.write_backs,
        "filter_requests": agents.requests,
        "filter_hits": agents.hits,
        "filter_evictions": agents.evictions,
        "waits_for_entry": agents.waits_for_entry,
        "eviction_snoops": agents.eviction_snoops,
        "conflict_snoops": agents.conflict_snoops,
        "conflicts": agents.conflicts,
        "clean_evictions": agents.clean_evictions,
        "agent_wait_mean_ns": mean(stats.waited, stats.served),
        "delayed_requests": stats.delayed,
    })
}

/// The resource that is used most.
fn bottleneck(fabric: &Fabric) -> Value {
    let resource = fabric.bottleneck();
    json!({
        "kind": resource.kind,
        "name": resource.name,
        "utility": share(resource.busy.0, fabric.stats().time().0),
    })
}
