//! The result of a simulated fabric.

use crate::latency::SummarySchema;
use crate::{Amat, Bound, Levels, Requests, Schema, Settings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sluice_stats::Summary;

/// The kind of a fabric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FabricKind {
    /// `sluice fabric run`.
    #[default]
    Fabric,
}

/// A simulated fabric (`sluice fabric run`). Requests, times and bytes are those since
/// `warmup_requests` had come back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FabricResult {
    /// Version of the fields.
    pub schema: Schema,
    /// Which kind of result this is.
    pub kind: FabricKind,
    /// Name or file of the fabric, as named on the command line.
    pub fabric: String,
    /// Every parameter of the fabric, by key, as text.
    pub config: Settings,
    /// How many there are of what.
    pub nodes: Nodes,
    /// Seed of every random stream.
    pub seed: u64,
    /// Version of Sluice.
    pub version: String,
    /// Requests that came back before counting began, as asked for.
    pub warmup_requests: u64,
    /// What the requesters replay. `null` if they have patterns of their own.
    pub workload: Option<Recorded>,
    /// What was counted.
    #[serde(flatten)]
    pub figures: FabricFigures,
    /// Stretches of the run. `null` without `--window`.
    pub windows: Option<Windows>,
    /// The devices of its groups of endpoints. Only of a fabric that has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<FabricDevice>,
    /// Its simulated hosts. Only of a fabric that has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<FabricHost>,
}

/// What the endpoints of a group are, if they are devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FabricDevice {
    /// The group's name.
    pub group: String,
    /// Name or file of the device.
    pub device: String,
    /// Every parameter of the device, by key, as text.
    pub config: Settings,
}

/// A simulated host at a requester. Counts and times are those since `warmup_requests` had come
/// back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FabricHost {
    /// The requester's name.
    pub name: String,
    /// Name or file of the system whose host it is.
    pub system: String,
    /// Every parameter of the host, by key, as text, at the sizes that were simulated.
    pub config: Settings,
    /// The kernel that it runs, or `trace:` and the file that it replays.
    pub workload: String,
    /// What the host's capacities were divided by, and the memory of a kernel.
    pub scale: u32,
    /// Seed of the kernel; with a trace, of the host.
    pub seed: u64,
    /// Bytes of the program's memory.
    pub footprint_bytes: u64,
    /// Where that begins among the requester's addresses.
    pub base: u64,
    /// Instructions retired.
    pub instructions: u64,
    /// Loads retired.
    pub loads: u64,
    /// Stores retired.
    pub stores: u64,
    /// Simulated time from its last event before counting began to its last one, or to the end of
    /// its last thread, s.
    pub time_s: f64,
    /// Instructions in a cycle of one core.
    pub ipc: Option<f64>,
    /// Where the cores' time went.
    pub bound: Bound,
    /// Caches of all cores together.
    pub levels: Levels,
    /// Accesses that left the processor.
    pub requests: Requests,
    /// Mean time of an access that left the processor and was not replayed later, ns.
    pub amat_ns: Amat,
    /// Context switches.
    pub switches: u64,
    /// Reads answered with a long-delay message.
    pub long_delays: u64,
    /// Of the host's whole run: two runs with the same input have the same.
    pub hash: String,
}

/// What a fabric counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FabricFigures {
    /// Requests that came back. Where memory is coherent a message may end several at once: then
    /// they can be a few more than were asked for.
    pub requests: u64,
    /// Reads that came back.
    pub reads: u64,
    /// Writes that came back.
    pub writes: u64,
    /// The smaller of the shares of reads and writes (ESF section V-E).
    pub mix_degree: Option<f64>,
    /// Requests under way at the end.
    pub in_flight: u64,
    /// Answers of a memory from outside that could not be.
    pub memory_refused: u64,
    /// Simulated time, s.
    pub time_s: f64,
    /// Events handled.
    pub events: u64,
    /// Data of the requests, in 10^6 bytes a second.
    pub bandwidth_mb_s: Option<f64>,
    /// Latencies of the requests, ns.
    #[schemars(with = "SummarySchema<f64>")]
    pub latency_ns: Summary<f64>,
    /// The least latency, ns.
    pub latency_min_ns: f64,
    /// The mean latency, ns.
    pub latency_mean_ns: f64,
    /// Where the mean latency went, ns.
    pub latency_parts_ns: FabricParts<Option<f64>>,
    /// Requests by the number of switches on their way.
    pub hops: Hops,
    /// What each requester got.
    pub requesters: Vec<RequesterUse>,
    /// What each link carried; of more than 64, the busiest.
    pub links: Vec<LinkUse>,
    /// The link with the highest `utility`. `null` without links.
    pub busiest_link: Option<LinkUse>,
    /// The resource that is busy for the largest share of the time.
    pub bottleneck: Bottleneck,
    /// What coherence cost. `null` without `coherence.filter`.
    pub coherence: Option<Coherence>,
    /// Virtual switches.
    pub vcs: Vec<VcsUse>,
    /// A hash of every completion: two runs with the same input have the same one.
    pub hash: String,
}

/// How many nodes and links a fabric has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Nodes {
    /// Requesters.
    pub requesters: u32,
    /// Memory endpoints.
    pub endpoints: u32,
    /// Switches.
    pub switches: u32,
    /// Links.
    pub links: usize,
}

/// What requesters replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recorded {
    /// The kernel or the trace's file.
    pub name: String,
    /// How the accesses go to the requesters: `each`, `dealt` or `cpus`.
    pub spread: String,
    /// CPUs or threads that were recorded.
    pub cpus: usize,
    /// Accesses recorded.
    pub accesses: u64,
    /// Of the accesses, writes.
    pub writes: u64,
    /// The smaller of the shares of reads and writes.
    pub mix_degree: Option<f64>,
    /// Instructions between the accesses.
    pub instructions: u64,
    /// Memory that is accessed, bytes.
    pub footprint_bytes: u64,
    /// Time of an instruction between accesses, ns.
    pub instruction_ns: f64,
}

/// Stretches of a run, of so many requests each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Windows {
    /// Requests of a stretch.
    pub requests: u64,
    /// Of each stretch that is full, the first from the beginning of the counting: the smaller of
    /// the shares of reads and writes, and 10^6 bytes a second.
    pub mix_degree_and_mb_s: Vec<(Option<f64>, Option<f64>)>,
}

/// Something for each part of a request's way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FabricParts_of_{T}")]
pub struct FabricParts<T> {
    /// In the requester.
    pub requester: T,
    /// In the requester's cache.
    pub cache: T,
    /// Waiting at the requester for another of its requests: for the same line, for a place in its
    /// cache, for a completion after the data; or for its cache, busy with snoops.
    pub held: T,
    /// In ports.
    pub port: T,
    /// Being sent, bit by bit.
    pub serialisation: T,
    /// On wires.
    pub propagation: T,
    /// Waiting for a link at a device.
    pub link_queue: T,
    /// In switches.
    pub switch: T,
    /// Waiting for a link in a switch.
    pub switch_queue: T,
    /// In the endpoint's controller.
    pub controller: T,
    /// Waiting for snoops.
    pub snoop: T,
    /// In memory.
    pub memory: T,
}

impl FabricParts<Option<f64>> {
    /// The parts by name.
    pub fn named(&self) -> [(&'static str, Option<f64>); 12] {
        [
            ("requester", self.requester),
            ("cache", self.cache),
            ("held", self.held),
            ("port", self.port),
            ("serialisation", self.serialisation),
            ("propagation", self.propagation),
            ("link_queue", self.link_queue),
            ("switch", self.switch),
            ("switch_queue", self.switch_queue),
            ("controller", self.controller),
            ("snoop", self.snoop),
            ("memory", self.memory),
        ]
    }
}

/// Requests by the number of switches on the way to the endpoint: lists from 0 on, to 16 at least.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hops {
    /// How many requests.
    pub requests: Vec<u64>,
    /// Their mean latency, ns. `null` where there was none.
    pub latency_ns: Vec<Option<f64>>,
    /// Where that went, ns. `null` where there was none.
    pub parts_ns: FabricParts<Vec<Option<f64>>>,
    /// The requests with the fewest switches. `null` without requests.
    pub fewest: Option<HopGroup>,
    /// The requests with the most switches. `null` without requests.
    pub most: Option<HopGroup>,
}

/// Requests with the same number of switches on their way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HopGroup {
    /// How many switches.
    pub hops: usize,
    /// Their mean latency, ns.
    pub latency_ns: f64,
    /// Part of the latency: waiting for a link in a switch, ns.
    pub switch_queue_ns: f64,
}

/// What a requester got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequesterUse {
    /// Its name.
    pub name: String,
    /// Requests that came back.
    pub requests: u64,
    /// Their data, in 10^6 bytes a second.
    pub bandwidth_mb_s: Option<f64>,
    /// Their mean latency, ns. `null` without requests.
    pub latency_mean_ns: Option<f64>,
}

/// What a link carried. Pairs are of its two directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkUse {
    /// The nodes that it joins.
    pub ends: [String; 2],
    /// Ports of the switches at its ends; `null` at a node that is no switch.
    pub ports: [Option<u32>; 2],
    /// Busy share of the time; averaged over the directions if each has wires of its own (ESF
    /// section V-D).
    pub utility: Option<f64>,
    /// Busy share of the time, by packets of each direction.
    pub busy: [Option<f64>; 2],
    /// Bytes, of each direction.
    pub bytes: [u64; 2],
    /// Data's share of the bytes.
    pub efficiency: Option<f64>,
    /// The longest wait for the link, of each direction, ns.
    pub wait_max_ns: [f64; 2],
}

/// The resource that is busy for the largest share of the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bottleneck {
    /// A `link` at a device, the port of a `switch`, a `controller`, or a `snoop filter` (requests
    /// wait for a tracker, or all entries are busy). Of a CXL-SSD the `cache` (the mean number of
    /// accesses that wait for an MSHR or a way, at most 1), a `channel` or a `die`. Of an endpoint
    /// of DRAM its `dram` (an access waits for its channel). A `requester` if all these are idle
    /// for a tenth of the time or more.
    pub kind: String,
    /// The name of the node, with its number if its group has several. `m0.3` is logical device 3
    /// of `m0`, of a `controller`. A direction of a link is `m0 to s1`.
    pub name: String,
    /// Busy share of the time.
    pub utility: Option<f64>,
}

/// What coherence cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Coherence {
    /// Accesses that the requesters' caches had.
    pub cache_hits: u64,
    /// Accesses that the requesters' caches did not have.
    pub cache_misses: u64,
    /// Stores to shared copies.
    pub upgrades: u64,
    /// Lines that snoops took away.
    pub invalidated_lines: u64,
    /// Lines that left the requesters' caches for others.
    pub cache_evictions: u64,
    /// Dirty lines sent back for whatever reason.
    pub write_backs: u64,
    /// Requests to the agents.
    pub filter_requests: u64,
    /// Of the requests to the agents, those whose line had an entry in the snoop filter.
    pub filter_hits: u64,
    /// Entries that had to leave the snoop filter.
    pub filter_evictions: u64,
    /// Requests that found the snoop filter full.
    pub waits_for_entry: u64,
    /// Snoops for room in the filter. A block is one for each owner.
    pub eviction_snoops: u64,
    /// Snoops because of other holders.
    pub conflict_snoops: u64,
    /// Conflict handshakes.
    pub conflicts: u64,
    /// Clean lines given up with notice.
    pub clean_evictions: u64,
    /// Mean time from the controller to memory or back, ns: the filter, waiting for turns, snoops,
    /// entries. `null` without requests.
    pub agent_wait_mean_ns: Option<f64>,
    /// Requests for which that took longer than the look-up.
    pub delayed_requests: u64,
}

/// A virtual switch and its host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VcsUse {
    /// Its name.
    pub name: String,
    /// The switch that it is part of.
    pub switch: String,
    /// Its host.
    pub host: String,
    /// Its upstream port.
    pub port: Option<u32>,
    /// Accesses that the memories of its devices served. Where memory is coherent: lines read and
    /// written back.
    pub requests: u64,
    /// Data of these requests, in 10^6 bytes a second.
    pub bandwidth_mb_s: Option<f64>,
    /// Mean latency of all the host's requests, ns. `null` without requests.
    pub host_latency_mean_ns: Option<f64>,
    /// Busy share of the upstream link.
    pub utility: Option<f64>,
    /// What it is bound to.
    pub vppbs: Vec<VppbUse>,
}

/// What a virtual PCI-to-PCI bridge (vPPB) is bound to, and served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VppbUse {
    /// The device that it is bound to.
    pub device: String,
    /// The port of the switch.
    pub port: u32,
    /// Accesses served.
    pub requests: u64,
    /// Their data, in 10^6 bytes a second.
    pub bandwidth_mb_s: Option<f64>,
}
