//! A fabric that runs, and its result.

use crate::error::FabricRunError;
use crate::fabric_hosts;
use crate::host_programs::Traces;
use crate::recorded::{Recorded, Windows, mix_degree};
use crate::units::{PS_PER_NS, PS_PER_S, mb_s};
use sluice_host::HostStats;
use sluice_net::{
    Fabric, FabricConfig, FabricSpec, Group, HopStats, Length, LinkId, Part, PartSums, RequesterId,
    RequesterStats, Vcs, Vppb,
};
use sluice_results::{
    Bottleneck, Coherence, FabricDevice, FabricFigures, FabricKind, FabricParts, FabricResult,
    HopGroup, Hops, LinkUse, Nodes, RequesterUse, Schema, VcsUse, VppbUse, settings, version,
};
use sluice_stats::share;
use sluice_units::Ps;

/// Hop counts up to this one have a place in the object even if no request had so many.
const HOPS: usize = 16;

/// Links shown one by one; of more, the busiest.
const LINKS: usize = 64;

/// What to simulate.
pub struct FabricPlan<'a> {
    /// The fabric's name, for the record.
    pub name: &'a str,
    /// What the fabric is, as its file describes it.
    pub spec: &'a FabricSpec,
    /// How long it runs.
    pub length: Length,
    /// The seed of every random stream.
    pub seed: u64,
    /// What the requesters replay instead of their patterns.
    pub replay: Option<&'a Recorded>,
    /// Requests of each stretch that is shown by itself; none are, if 0.
    pub window: u64,
}

impl FabricPlan<'_> {
    /// Runs until so many requests have come back. Now and then `watch` gets how many have, and
    /// returns whether to go on. If not, there is no result.
    ///
    /// # Errors
    /// [`FabricRunError`].
    pub fn run(
        &self,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<FabricResult>, FabricRunError> {
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
        let mut traces = Traces::default();
        let mut hosts = fabric_hosts::prepare(self.spec, &config, self.seed, &mut traces)?;
        if !hosts.is_empty() && self.replay.is_some() {
            let message = "simulated hosts run their own workload: leave out --workload and \
                           --trace, or the hosts";
            return Err(FabricRunError::Nothing(message));
        }
        let mut ran = fabric_hosts::seat(fabric, &mut hosts);
        ran.run_with(self.length, &mut watch, &mut |done| windows.done(&done))?;
        if stopped {
            return Ok(None);
        }
        if let Some(source) = traces.failure() {
            return Err(FabricRunError::Trace { source });
        }
        let stats: Vec<HostStats> = ran.hosts().map(|(_, host)| host.results()).collect();
        let fabric = ran.into_fabric();
        let rows = hosts.iter().zip(&stats);
        let hosts = rows.map(|(host, stats)| fabric_hosts::result(host, stats));
        let hosts = hosts.collect();
        // Counters that contradict each other are a bug of ours, not of the input.
        fabric.balance().expect("the fabric's books balance");
        if fabric.stats().completed() == 0 {
            return Err(FabricRunError::Nothing(match fabric.all_completed() {
                0 => "no request was counted: the requesters have none (requester.pattern)",
                _ => {
                    "no request was counted: all came back before counting began; give a smaller \
                      --warmup"
                }
            }));
        }
        let payload = u64::from(config.sizes.payload_bytes());
        let graph = &config.graph;
        Ok(Some(FabricResult {
            schema: Schema::default(),
            kind: FabricKind::default(),
            fabric: self.name.to_owned(),
            config: settings(self.spec.raw.to_pairs()),
            nodes: Nodes {
                requesters: graph.requesters,
                endpoints: graph.endpoints,
                switches: config.switches(),
                links: graph.links.len(),
            },
            seed: self.seed,
            version: version(),
            warmup_requests: self.length.warmup,
            workload: self.replay.map(Recorded::result),
            figures: fabric_figures(&fabric, &config),
            windows: windows.result(payload, fabric.stats().from),
            devices: devices(self.spec),
            hosts,
        }))
    }
}

/// The devices of a fabric, group by group.
fn devices(spec: &FabricSpec) -> Vec<FabricDevice> {
    let of = |group: &Group| {
        let device = group.device.as_ref()?;
        Some(FabricDevice {
            group: group.name.clone(),
            device: device.name.clone(),
            config: settings(device.config.raw().to_pairs()),
        })
    };
    spec.endpoints.iter().filter_map(of).collect()
}

/// Checks that the shared objects which a fabric names can be used.
///
/// # Errors
/// [`FabricRunError::Fabric`], for the first that cannot.
pub fn check_objects(config: &FabricConfig) -> Result<(), FabricRunError> {
    Ok(sluice_plugin_memory::try_out(config)?)
}

/// What a fabric counted until now.
pub fn fabric_figures(fabric: &Fabric, config: &FabricConfig) -> FabricFigures {
    let stats = fabric.stats();
    let payload = u64::from(config.sizes.payload_bytes());
    let (bytes, time) = (stats.completed() * payload, stats.time());
    FabricFigures {
        requests: stats.completed(),
        reads: stats.reads,
        writes: stats.writes,
        mix_degree: mix_degree(stats.reads, stats.writes),
        in_flight: fabric.in_flight(),
        memory_refused: fabric.refused(),
        time_s: time.0 as f64 / PS_PER_S,
        events: stats.events,
        bandwidth_mb_s: mb_s(bytes, time),
        latency_ns: stats.latency.summary(),
        latency_min_ns: ns(stats.latency.min()),
        latency_mean_ns: ns(stats.latency.mean()),
        latency_parts_ns: mean_parts(&stats.parts(), stats.completed()),
        hops: hops(&stats.hops),
        requesters: requesters(fabric, payload),
        links: links(fabric),
        busiest_link: by_utility(fabric).first().map(|index| link(fabric, *index)),
        bottleneck: bottleneck(fabric),
        coherence: coherence(fabric),
        vcs: config
            .vcs
            .iter()
            .map(|one| vcs(fabric, one, payload))
            .collect(),
        hash: format!("{:016x}", stats.hash),
    }
}

fn ns(time: Ps) -> f64 {
    time.0 as f64 / PS_PER_NS
}

/// Something for each part.
fn parts<T>(of: impl Fn(Part) -> T) -> FabricParts<T> {
    FabricParts {
        requester: of(Part::Requester),
        cache: of(Part::Cache),
        held: of(Part::Held),
        port: of(Part::Port),
        serialisation: of(Part::Serialisation),
        propagation: of(Part::Propagation),
        link_queue: of(Part::LinkQueue),
        switch: of(Part::Switch),
        switch_queue: of(Part::SwitchQueue),
        controller: of(Part::Controller),
        snoop: of(Part::Snoop),
        memory: of(Part::Memory),
    }
}

fn mean_parts(sums: &PartSums, requests: u64) -> FabricParts<Option<f64>> {
    let mean = |sum: u128| sum as f64 / requests as f64 / PS_PER_NS;
    parts(|part| (requests > 0).then(|| mean(sums[part])))
}

/// By the number of switches on the way, from 0: how many requests, their mean latency, its parts.
fn hops(hops: &[HopStats]) -> Hops {
    let at = |index: usize| hops.get(index).filter(|hops| hops.count > 0);
    let all = 0..hops.len().max(HOPS + 1);
    let mean = |hops: &HopStats, sum: u128| sum as f64 / PS_PER_NS / hops.count as f64;
    let each = |sum: &dyn Fn(&HopStats) -> u128| {
        let means = all
            .clone()
            .map(|index| at(index).map(|hops| mean(hops, sum(hops))));
        means.collect::<Vec<_>>()
    };
    let group = |index: usize| {
        at(index).map(|hops| HopGroup {
            hops: index,
            latency_ns: mean(hops, hops.parts.total()),
            switch_queue_ns: mean(hops, hops.parts[Part::SwitchQueue]),
        })
    };
    let count = |index| at(index).map_or(0, |hops| hops.count);
    Hops {
        requests: all.clone().map(count).collect(),
        latency_ns: each(&|hops| hops.parts.total()),
        parts_ns: parts(|part| each(&|hops| hops.parts[part])),
        fewest: (0..hops.len()).find_map(group),
        most: (0..hops.len()).rev().find_map(group),
    }
}

fn requesters(fabric: &Fabric, payload: u64) -> Vec<RequesterUse> {
    let time = fabric.stats().time();
    let all = (0..).map(RequesterId).zip(fabric.requester_stats());
    let rows = all.map(|(id, stats)| RequesterUse {
        name: fabric.graph().name(id.node()).to_owned(),
        requests: stats.completed,
        bandwidth_mb_s: mb_s(stats.completed * payload, time),
        latency_mean_ns: mean_ns(stats),
    });
    rows.collect()
}

fn mean_ns(stats: &RequesterStats) -> Option<f64> {
    let mean = || stats.latency as f64 / stats.completed as f64 / PS_PER_NS;
    (stats.completed > 0).then(mean)
}

/// A virtual switch: what its devices served, its host's latency, its upstream link.
fn vcs(fabric: &Fabric, vcs: &Vcs, payload: u64) -> VcsUse {
    let time = fabric.stats().time();
    let graph = fabric.graph();
    let upstream = graph.link(vcs.link);
    let side = usize::from(upstream.ends[1] == vcs.switch);
    let served = |vppb: &Vppb| fabric.served(vppb.endpoint, vppb.logical);
    let vppbs = vcs.vppbs.iter().map(|vppb| VppbUse {
        device: vppb.name.clone(),
        port: vppb.port,
        requests: served(vppb),
        bandwidth_mb_s: mb_s(served(vppb) * payload, time),
    });
    let requests: u64 = vcs.vppbs.iter().map(served).sum();
    let host = fabric.requester_stats().nth(vcs.host.index());
    VcsUse {
        name: vcs.name.clone(),
        switch: graph.name(vcs.switch).to_owned(),
        host: graph.name(vcs.host.node()).to_owned(),
        port: upstream.ports[side],
        requests,
        bandwidth_mb_s: mb_s(requests * payload, time),
        host_latency_mean_ns: host.and_then(mean_ns),
        utility: utility(fabric, vcs.link),
        vppbs: vppbs.collect(),
    }
}

/// A link: busy share of either direction and its mean, and what it carried.
fn link(fabric: &Fabric, id: LinkId) -> LinkUse {
    let (stats, links, graph) = (fabric.stats(), fabric.links(), fabric.graph());
    let ways = id.directions();
    let busy = ways.map(|way| share(links.busy(way, stats.until).0, stats.time().0));
    let carried = ways.map(|way| links.carried(way));
    let [bytes, payload] = [carried.map(|c| c.bytes), carried.map(|c| c.payload)];
    let ends = graph.link(id).ends;
    LinkUse {
        ends: ends.map(|end| graph.name(end).to_owned()),
        ports: graph.link(id).ports,
        utility: utility(fabric, id),
        busy,
        bytes,
        efficiency: share(payload[0] + payload[1], bytes[0] + bytes[1]),
        wait_max_ns: ways.map(|way| ns(links.wait_max(way))),
    }
}

/// Busy share of a link's wires, averaged over its directions if each has its own (ESF section
/// V-D).
fn utility(fabric: &Fabric, id: LinkId) -> Option<f64> {
    let (stats, links) = (fabric.stats(), fabric.links());
    let ways = id.directions();
    let busy: u64 = ways.iter().map(|way| links.busy(*way, stats.until).0).sum();
    let wires = match fabric.graph().link(id).settings.half {
        Some(_) => 1,
        None => 2,
    };
    share(busy, wires * stats.time().0)
}

/// Links by falling utility, those of the same in the graph's order.
fn by_utility(fabric: &Fabric) -> Vec<LinkId> {
    let links = (0..fabric.graph().links.len() as u32).map(LinkId);
    let mut order: Vec<(LinkId, f64)> = links
        .map(|id| (id, utility(fabric, id).unwrap_or_default()))
        .collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    order.into_iter().map(|(id, _)| id).collect()
}

fn links(fabric: &Fabric) -> Vec<LinkUse> {
    let mut shown = by_utility(fabric);
    shown.truncate(LINKS);
    shown.sort_unstable();
    shown.into_iter().map(|id| link(fabric, id)).collect()
}

/// What coherence cost; nothing without it.
fn coherence(fabric: &Fabric) -> Option<Coherence> {
    let stats = fabric.coherence_stats()?;
    let (caches, agents) = (stats.caches, stats.agents);
    let mean = |time: Ps, count: u64| (count > 0).then(|| ns(time) / count as f64);
    Some(Coherence {
        cache_hits: caches.hits,
        cache_misses: caches.misses,
        upgrades: caches.upgrades,
        invalidated_lines: caches.invalidated,
        cache_evictions: caches.evictions,
        write_backs: caches.write_backs,
        filter_requests: agents.requests,
        filter_hits: agents.hits,
        filter_evictions: agents.evictions,
        waits_for_entry: agents.waits_for_entry,
        eviction_snoops: agents.eviction_snoops,
        conflict_snoops: agents.conflict_snoops,
        conflicts: agents.conflicts,
        clean_evictions: agents.clean_evictions,
        agent_wait_mean_ns: mean(stats.waited, stats.served),
        delayed_requests: stats.delayed,
    })
}

/// The resource that is used most.
fn bottleneck(fabric: &Fabric) -> Bottleneck {
    let resource = fabric.bottleneck();
    Bottleneck {
        kind: resource.kind.to_string(),
        name: resource.name,
        utility: share(resource.busy.0, fabric.stats().time().0),
    }
}
