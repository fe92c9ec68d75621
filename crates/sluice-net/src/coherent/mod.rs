//! Device-managed coherence on the network: the state machines of [`sluice_cxl::dcoh`], their
//! messages as packets, and the time that they take.
//!
//! Lines are numbered by their place on the endpoints, one endpoint's after the other's, so that
//! they are the same for every requester.

mod device;
mod host;
mod stats;

pub use stats::CoherenceStats;

use super::config::FabricConfig;
use super::endpoint::EndpointSettings;
use super::packet::NONE;
use super::parts::Parts;
use sluice_cxl::dcoh::{
    Agent, AgentSetup, BLOCK_LINES_MAX, Blocks, Cache, CacheSetup, Deed, HostOut, M2s, Monitor,
    Replacement, S2m, Victim,
};
use sluice_units::{LINE_BYTES, Ps};
use std::collections::BTreeMap;

/// An entry of the registry.
pub struct FilterInfo {
    /// The name in `coherence.filter`.
    pub name: &'static str,
    /// What it is, in one line.
    pub meaning: &'static str,
    /// How many agents there are for so many endpoints.
    pub agents: fn(u32) -> u32,
}

/// Who shares a snoop filter, in a fixed order.
pub static FILTERS: &[FilterInfo] = &[
    FilterInfo {
        name: "none",
        meaning: "no coherence: requesters have no caches",
        agents: |_| 0,
    },
    FilterInfo {
        name: "endpoint",
        meaning: "each endpoint has a filter",
        agents: |endpoints| endpoints,
    },
    FilterInfo {
        name: "shared",
        meaning: "one filter for all endpoints",
        agents: |_| 1,
    },
];

/// The local cache of a requester as it is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// Lines.
    pub lines: u32,
    /// Lines in a set.
    pub ways: u32,
    /// Which line leaves.
    pub replacement: Replacement,
    /// Whether the device is told of clean lines that leave.
    pub notify: bool,
}

/// Agents as they are built.
#[derive(Clone, Copy)]
pub struct CoherenceSettings {
    /// Who shares a filter.
    pub filter: &'static FilterInfo,
    /// Entries of each.
    pub entries: u32,
    /// Which entry leaves.
    pub victim: &'static Victim,
    /// What one snoop may name.
    pub blocks: Blocks,
    /// Requests that an agent works on at once.
    pub trackers: u16,
    /// Looking into the filter.
    pub lookup: Ps,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cargo {
    /// To an agent.
    Up(M2s),
    /// To a requester. The parts of its packet are those of the request if it `carries` them.
    Down { message: S2m, carries: bool },
    /// A line that is read for an agent's tracker.
    Read { agent: u32, tracker: u16 },
    /// A line that is written, and what is said when that is done.
    Write { then: Option<S2m> },
}

/// Where the time of a request's messages went, and when it came to where it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Journey {
    pub parts: Parts,
    pub at: Ps,
    pub hops: u8,
    /// Whether the completion ends it; if not, the data do.
    pub ends_without_data: bool,
}

/// An access under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outstanding {
    pub tag: u64,
    pub issued: Ps,
    pub addr: u64,
    pub line: u64,
    /// What it stores, if it does.
    pub store: Option<u64>,
    /// Parts before any message.
    pub before: Parts,
    /// The request that it caused.
    pub request: Option<u16>,
    /// Messages that a requester without a cache waits for.
    pub to_come: u8,
}

/// A requester's side.
pub(super) struct Host {
    cache: Option<Cache>,
    accesses: Vec<Outstanding>,
    free: Vec<u32>,
    /// By the tag of its requests.
    journeys: Vec<Journey>,
    /// Snoops keep the cache busy until then.
    busy_until: Ps,
}

/// All of it.
pub(super) struct Coherence {
    hosts: Vec<Host>,
    agents: Vec<Agent>,
    /// Per agent, how long it has been short of trackers or entries, and since when it is.
    short: Vec<(Ps, Option<Ps>)>,
    /// The first line of each endpoint.
    first_line: Vec<u64>,
    /// Bytes of each of its logical devices.
    logical_bytes: Vec<u64>,
    lookup: Ps,
    cargo: Vec<Cargo>,
    free_cargo: Vec<u32>,
    host_out: HostOut,
    deeds: Vec<Deed>,
    /// See [`FabricConfig::is_checked`].
    monitor: Option<Box<Checked>>,
    stats: CoherenceStats,
}

/// What is only kept to be checked.
#[derive(Default)]
struct Checked {
    monitor: Monitor,
    memory: BTreeMap<u64, u64>,
    stores: u64,
}

impl Coherence {
    /// None if the configuration has no agents.
    pub fn new(config: &FabricConfig) -> Option<Box<Coherence>> {
        let settings = &config.coherence;
        let agents = (settings.filter.agents)(config.graph.endpoints);
        if agents == 0 {
            return None;
        }
        let mut lines = 0;
        let first_line = config.endpoints.iter().map(|endpoint| {
            let first = lines;
            // A gap, so that no run of adjacent lines goes on at the next endpoint.
            lines += endpoint.capacity / LINE_BYTES + u64::from(BLOCK_LINES_MAX);
            first
        });
        let first_line = first_line.collect();
        let depth: usize = config.requesters.iter().map(|r| r.depth as usize).sum();
        let agent = AgentSetup {
            hosts: config.graph.requesters,
            entries: settings.entries,
            trackers: settings.trackers,
            requests_max: 2 * depth,
            lines,
            victim: settings.victim,
            blocks: settings.blocks,
        };
        let watched = config.is_checked;
        let hosts = config.requesters.iter().map(|requester| Host {
            cache: requester.cache.map(|cache| {
                Cache::new(&CacheSetup {
                    lines: cache.lines,
                    ways: cache.ways,
                    replacement: cache.replacement,
                    notify: cache.notify,
                    accesses: requester.depth,
                    watched,
                })
            }),
            accesses: vec![Outstanding::default(); requester.depth as usize],
            free: (0..requester.depth).rev().collect(),
            journeys: Vec::new(),
            busy_until: Ps::ZERO,
        });
        Some(Box::new(Coherence {
            hosts: hosts.collect(),
            agents: (0..agents).map(|_| Agent::new(&agent)).collect(),
            short: vec![(Ps::ZERO, None); agents as usize],
            first_line,
            logical_bytes: config
                .endpoints
                .iter()
                .map(EndpointSettings::each)
                .collect(),
            lookup: settings.lookup,
            cargo: Vec::new(),
            free_cargo: Vec::new(),
            host_out: HostOut::default(),
            deeds: Vec::new(),
            monitor: watched.then(Box::default),
            stats: CoherenceStats::default(),
        }))
    }

    /// The line at a byte of an endpoint.
    pub fn line(&self, endpoint: u16, addr: u64) -> u64 {
        self.first_line[usize::from(endpoint)] + addr / LINE_BYTES
    }

    /// The endpoint of a line, and the byte there.
    fn place(&self, line: u64) -> (u32, u64) {
        let endpoint = self.first_line.partition_point(|first| *first <= line) - 1;
        let addr = (line - self.first_line[endpoint]) * LINE_BYTES;
        (endpoint as u32, addr)
    }

    fn agent_of(&self, endpoint: u32) -> u32 {
        endpoint % self.agents.len() as u32
    }

    fn load(&mut self, cargo: Cargo) -> u32 {
        match self.free_cargo.pop() {
            Some(number) => {
                self.cargo[number as usize] = cargo;
                number
            }
            None => {
                self.cargo.push(cargo);
                self.cargo.len() as u32 - 1
            }
        }
    }

    fn unload(&mut self, number: u32) -> Cargo {
        debug_assert_ne!(number, NONE);
        self.free_cargo.push(number);
        self.cargo[number as usize]
    }

    /// Accesses under way.
    pub fn under_way(&self) -> u64 {
        let hosts = self.hosts.iter();
        hosts
            .map(|host| (host.accesses.len() - host.free.len()) as u64)
            .sum()
    }
}

impl Host {
    fn journey(&mut self, tag: u16) -> &mut Journey {
        let tag = usize::from(tag);
        if self.journeys.len() <= tag {
            self.journeys.resize(tag + 1, Journey::default());
        }
        &mut self.journeys[tag]
    }
}
