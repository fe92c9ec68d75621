//! Device-managed coherence on the network: the state machines of [`sluice_cxl::coherence`], their
//! messages as packets, and the time that they take.
//!
//! [`Coherence`] moves no packet: each of its functions says what is to be done, in
//! [`Coherence::take_actions`], and the engine does it.

mod agents;
mod checked;
mod hosts;
mod order;
mod peer;
mod requesters;
mod stats;
mod traffic;

pub(super) use peer::{Told, WrittenBy};
pub(super) use requesters::{Finished, Issue, RequesterSetup};
pub use stats::CoherenceStats;
pub(super) use traffic::{AccessId, Action};

use super::ids::{EndpointId, PacketId, RequesterId};
use super::packet::{Packet, Slab};
use agents::Agents;
use requesters::Requesters;
use sluice_cxl::coherence::{Blocks, Replacement, S2m, Victim};
use sluice_host::{Peer, Performed};
use sluice_params::Registered;
use sluice_units::Ps;
use traffic::{LineMap, Traffic};

/// An entry of the registry.
#[derive(Debug)]
pub struct FilterInfo {
    /// The name in `coherence.filter`.
    pub name: &'static str,
    /// What it is, in one line.
    pub meaning: &'static str,
    /// How many agents there are for so many endpoints.
    pub agents: fn(u32) -> u32,
}

impl Registered for FilterInfo {
    fn all() -> &'static [FilterInfo] {
        FILTERS
    }

    fn name(&self) -> &'static str {
        self.name
    }
}

/// The name of what keeps no cache coherent.
pub(super) const NO_FILTER: &str = "none";

/// Which endpoints share a snoop filter, in a fixed order.
pub static FILTERS: &[FilterInfo] = &[
    FilterInfo {
        name: NO_FILTER,
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
    /// Lines that a requester's cache holds.
    pub lines: u32,
    /// Lines in a set.
    pub ways: u32,
    /// Which line leaves.
    pub replacement: Replacement,
    /// Whether the cache notifies the device of clean lines that leave.
    pub notify: bool,
}

/// Agents as they are built.
#[derive(Clone, Copy)]
pub struct CoherenceSettings {
    /// Which endpoints share a filter.
    pub filter: &'static FilterInfo,
    /// Entries of each.
    pub entries: u32,
    /// Entries of a set.
    pub ways: u32,
    /// Which entry leaves.
    pub victim: &'static Victim,
    /// What one snoop may name.
    pub blocks: Blocks,
    /// Requests that an agent works on at once.
    pub trackers: u16,
    /// Looking into the filter.
    pub lookup: Ps,
}

/// Caches and agents at work.
pub(super) struct Coherence {
    traffic: Traffic,
    requesters: Requesters,
    agents: Agents,
}

impl Coherence {
    /// None if the settings have no agents. `endpoints`: bytes of each, and of each of its logical
    /// devices.
    pub fn new(
        settings: &CoherenceSettings,
        requesters: &[RequesterSetup],
        endpoints: impl ExactSizeIterator<Item = (u64, u64)> + Clone,
        is_checked: bool,
    ) -> Option<Box<Coherence>> {
        if (settings.filter.agents)(endpoints.len() as u32) == 0 {
            return None;
        }
        let lines = LineMap::new(endpoints);
        let depth = requesters.iter().map(|setup| setup.depth as usize).sum();
        let traffic = Traffic::new(lines, requesters.len() as u32, is_checked);
        Some(Box::new(Coherence {
            agents: Agents::new(settings, depth, &traffic),
            requesters: Requesters::new(requesters, is_checked),
            traffic,
        }))
    }

    /// The line at a byte of an endpoint.
    pub fn line(&self, endpoint: EndpointId, addr: u64) -> u64 {
        self.traffic.lines.line(endpoint, addr)
    }

    /// What is to be done, in this order. The memory of the list is to be given back by
    /// [`Coherence::reuse_actions`].
    pub fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.traffic.actions)
    }

    /// Gives back an empty list.
    pub fn reuse_actions(&mut self, actions: Vec<Action>) {
        self.traffic.actions = actions;
    }

    /// A requester's access to a line.
    pub fn issue(&mut self, packets: &mut Slab, now: Ps, issue: &Issue) {
        self.requesters
            .issue(&mut self.traffic, packets, now, issue);
    }

    /// A host takes its place at a requester. `notify`: whether the devices learn of clean lines
    /// that leave it.
    pub fn seat(&mut self, requester: RequesterId, peer: &Peer, notify: bool) {
        self.requesters.seat(requester, peer, notify);
    }

    /// Whether every load and store is checked.
    pub fn is_checked(&self) -> bool {
        self.traffic.checked.is_some()
    }

    /// A host asks for a line. Says which access is done already.
    pub fn issue_host(&mut self, packets: &mut Slab, now: Ps, issue: &Issue) -> Option<AccessId> {
        self.requesters
            .issue_host(&mut self.traffic, packets, now, issue)
    }

    /// A host gives a line up; with a tag it wants to know when memory has it.
    pub fn let_go(
        &mut self,
        packets: &mut Slab,
        now: Ps,
        requester: RequesterId,
        line: (u64, Option<u32>),
    ) {
        let traffic = &mut self.traffic;
        self.requesters
            .let_go(traffic, packets, now, requester, line);
    }

    /// What a host learns after anything has happened to its lines.
    pub fn tell(&mut self, requester: RequesterId, told: &mut dyn FnMut(Told)) {
        self.requesters.tell(requester, told);
    }

    /// A host has loaded or stored, in an event of time `now`.
    pub fn performed(&mut self, requester: RequesterId, line: u64, done: Performed, now: Ps) {
        if let Some(checked) = &mut self.traffic.checked {
            checked.performed(requester, line, done, now);
        }
    }

    /// Hosts have done what they could with what has come.
    pub fn settle(&mut self, packets: &Slab) {
        self.traffic.settle(packets);
    }

    /// Loads and stores of hosts that were checked.
    pub fn checked(&self) -> u64 {
        let checked = self.traffic.checked.as_ref();
        checked.map_or(0, |checked| checked.performed_count())
    }

    /// A message has come to a requester; accesses that it ends are in [`Coherence::take_done`].
    pub fn receive(
        &mut self,
        packets: &mut Slab,
        now: Ps,
        requester: RequesterId,
        packet: PacketId,
    ) -> S2m {
        let traffic = &mut self.traffic;
        self.requesters
            .receive(traffic, packets, now, requester, packet)
    }

    /// Accesses that a message has ended, with the data that they saw. The memory of the list is to
    /// be given back by [`Coherence::reuse_done`].
    pub fn take_done(&mut self) -> Vec<(u32, u64)> {
        self.requesters.take_done()
    }

    /// Gives back an empty list.
    pub fn reuse_done(&mut self, done: Vec<(u32, u64)>) {
        self.requesters.reuse_done(done);
    }

    /// When an access is done at the earliest, which takes as long as a hit at least.
    pub fn earliest_end(&self, requester: RequesterId, access: AccessId) -> Ps {
        self.requesters.earliest_end(requester, access)
    }

    /// An access is done, by a message or because the local cache served it.
    pub fn finish(
        &mut self,
        now: Ps,
        requester: RequesterId,
        access: AccessId,
        by: Option<&S2m>,
    ) -> Finished {
        self.requesters.finish(now, requester, access, by)
    }

    /// A message has come to its endpoint, whose controller takes so long: when the agent takes it.
    pub fn arrive(&self, now: Ps, packet: &mut Packet, controller: Ps) -> Ps {
        self.agents.arrive(&self.traffic, now, packet, controller)
    }

    /// An agent takes a message.
    pub fn take(&mut self, packets: &mut Slab, now: Ps, packet: PacketId) {
        self.agents.take(&mut self.traffic, packets, now, packet);
    }

    /// Memory has served what an agent wanted.
    pub fn served(&mut self, packets: &mut Slab, now: Ps, packet: PacketId) {
        self.agents.served(&mut self.traffic, packets, now, packet);
    }

    /// Accesses under way.
    pub fn under_way(&self) -> u64 {
        self.requesters.under_way()
    }

    /// How long each agent was short of trackers or entries since the counting began.
    pub fn shortages(&self, until: Ps) -> impl Iterator<Item = Ps> {
        self.agents.shortages(until)
    }

    /// Begins to count.
    pub fn begin(&mut self, now: Ps) {
        self.agents.begin(now);
        self.requesters.begin();
    }

    /// What was counted.
    pub fn stats(&self) -> CoherenceStats {
        CoherenceStats {
            caches: self.requesters.count(),
            ..self.agents.stats()
        }
    }
}
