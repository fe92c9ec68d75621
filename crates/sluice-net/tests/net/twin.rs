//! A slow twin of a fabric: packets one by one, an event for each thing that happens to them,
//! nothing reserved ahead.

use sluice_net::{
    DirectionId, EndpointId, FabricConfig, LinkSettings, MemorySettings, NodeId, NodeKind, PARTS,
    Part,
};
use std::collections::{BTreeMap, VecDeque};

/// From port to port of a switch, through a controller, in a requester and in its cache, ps.
const SWITCH: u64 = 20_011;
const CONTROLLER: u64 = 7_007;
const PROCESS: u64 = 5_003;
const CACHE: u64 = 2_002;
/// The same, as a fabric's parameters.
pub const TIMES: [(&str, &str); 4] = [
    ("switch.latency", "20011ps"),
    ("endpoint.controller", "7007ps"),
    ("requester.process", "5003ps"),
    ("requester.cache_access", "2002ps"),
];

/// A packet: its request, and whether it goes back.
#[derive(Clone, Copy)]
struct Packet {
    tag: usize,
    back: bool,
}

#[derive(Clone, Copy)]
enum What {
    /// A packet is in a node, which it leaves after so long.
    Leave(Packet, NodeId, u64),
    /// It wants a credit, then the wires.
    Ready(Packet, DirectionId),
    /// Shared wires are given to the next.
    Grant(DirectionId),
    Arrive(Packet, DirectionId),
    /// Room for a packet of this channel is known.
    Credit(DirectionId, usize),
    /// It has been through the controller.
    Turn(Packet),
    /// Memory takes it.
    Access(Packet),
}

/// A request, and what becomes of it.
pub struct Request {
    pub at: u64,
    pub from: NodeId,
    /// The logical device, its endpoint and its number there.
    pub device: (usize, EndpointId, u8),
    pub is_write: bool,
    pub done: u64,
    pub parts: [u64; PARTS],
    pub hops: usize,
    /// When it was ready for what it waits for, and the credit that it holds.
    ready: u64,
    credit: Option<(DirectionId, usize)>,
}

impl Request {
    pub fn new(at: u64, from: NodeId, device: (usize, EndpointId, u8), is_write: bool) -> Request {
        Request {
            at,
            from,
            device,
            is_write,
            done: 0,
            parts: [0; PARTS],
            hops: 0,
            ready: 0,
            credit: None,
        }
    }
}

/// Wires of a direction, or of both.
#[derive(Default)]
struct Wires {
    free: u64,
    queues: [VecDeque<Packet>; 2],
    last: Option<(usize, u32)>,
    is_granting: bool,
}

pub struct Twin<'a> {
    pub config: &'a FabricConfig,
    policy: &'static str,
    pub requests: Vec<Request>,
    due: BTreeMap<(u64, u64), What>,
    added: u64,
    wires: Vec<Wires>,
    /// By direction and channel: credits taken, and who waits for one.
    credits: Vec<[(u32, VecDeque<Packet>); 6]>,
    turns: Vec<usize>,
    /// Of each logical device: when its share of the bandwidth is free.
    pub shares: Vec<u64>,
    /// When which direction began and ended to carry which channel.
    pub spells: Vec<(DirectionId, usize, u64, u64)>,
    /// When which logical device was accessed.
    pub served: Vec<(usize, u64)>,
}

impl<'a> Twin<'a> {
    /// The twin of a fabric with one of the policies `first`, `split` and `spray`, and its requests
    /// by their tags. Its times are those of [`TIMES`].
    pub fn new(config: &'a FabricConfig, policy: &'static str, requests: Vec<Request>) -> Self {
        let directions = 2 * config.graph.links.len();
        let devices = config.endpoints.iter();
        let devices: u32 = devices.map(|it| it.logical_devices).sum();
        Twin {
            config,
            policy,
            requests,
            due: BTreeMap::new(),
            added: 0,
            wires: (0..directions).map(|_| Wires::default()).collect(),
            credits: (0..directions).map(|_| Default::default()).collect(),
            turns: vec![0; config.graph.names.len()],
            shares: vec![0; devices as usize],
            spells: Vec::new(),
            served: Vec::new(),
        }
    }

    fn add(&mut self, at: u64, what: What) {
        self.added += 1;
        self.due.insert((at, self.added), what);
    }

    fn settings(&self, direction: DirectionId) -> LinkSettings {
        self.config.graph.link(direction.link()).settings
    }

    fn channel(&self, packet: Packet) -> usize {
        match (self.requests[packet.tag].is_write, packet.back) {
            (false, false) => 0,
            (true, false) => 1,
            (true, true) => 3,
            (false, true) => 4,
        }
    }

    /// Bytes of a packet of a channel on a link.
    pub fn bytes(&self, direction: DirectionId, channel: usize) -> u64 {
        let width = self.settings(direction).width;
        self.config.sizes.bytes[channel]
            .next_multiple_of(width)
            .into()
    }

    /// The directions of a node that lead nearer to another, in their order.
    fn ways(&self, node: NodeId, to: NodeId) -> Vec<DirectionId> {
        let graph = &self.config.graph;
        let mut distance = BTreeMap::from([(to, 0)]);
        let mut queue = VecDeque::from([to]);
        let is_switch = |node| matches!(graph.kind(node), NodeKind::Switch(_));
        while let Some(at) = queue.pop_front() {
            for direction in graph.directions() {
                let (from, end) = graph.direction(direction);
                if end == at && !distance.contains_key(&from) {
                    distance.insert(from, distance[&at] + 1);
                    if is_switch(from) {
                        queue.push_back(from);
                    }
                }
            }
        }
        let nearer = |direction: &DirectionId| {
            let (from, end) = graph.direction(*direction);
            let passes = end == to || is_switch(end);
            from == node
                && passes
                && distance
                    .get(&end)
                    .is_some_and(|it| it + 1 == distance[&node])
        };
        graph.directions().filter(nearer).collect()
    }

    fn way(&mut self, node: NodeId, packet: Packet) -> DirectionId {
        let it = &self.requests[packet.tag];
        let ends = [it.from, self.config.graph.endpoint(it.device.1)];
        let ways = self.ways(node, ends[usize::from(!packet.back)]);
        let count = ways.len();
        if count == 1 {
            return ways[0];
        }
        let turn = self.turns[node.index()];
        self.turns[node.index()] += 1;
        match self.policy {
            "first" => ways[0],
            "split" => ways[(ends[0].index() + ends[1].index()) % count],
            _ => ways[turn % count],
        }
    }

    /// Until nothing happens any more.
    pub fn run(&mut self) {
        for tag in 0..self.requests.len() {
            let packet = Packet { tag, back: false };
            let it = &mut self.requests[tag];
            it.parts[Part::Requester as usize] = PROCESS;
            it.parts[Part::Cache as usize] = CACHE;
            let (at, from) = (it.at, it.from);
            self.add(at, What::Leave(packet, from, PROCESS + CACHE));
        }
        while let Some(((now, _), what)) = self.due.pop_first() {
            match what {
                What::Leave(packet, node, after) => {
                    let direction = self.way(node, packet);
                    let port = self.settings(direction).port_latency.0;
                    self.add(now + after + port, What::Ready(packet, direction));
                }
                What::Ready(packet, direction) => self.ready(now, packet, direction),
                What::Grant(direction) => self.grant(now, direction),
                What::Arrive(packet, direction) => self.arrive(now, packet, direction),
                What::Credit(direction, channel) => {
                    let (taken, waits) = &mut self.credits[direction.index()][channel];
                    match waits.pop_front() {
                        Some(packet) => self.wants_wires(now, packet, direction),
                        None => *taken -= 1,
                    }
                }
                What::Turn(packet) => self.turn(now, packet),
                What::Access(packet) => self.access(now, packet),
            }
        }
    }

    fn ready(&mut self, now: u64, packet: Packet, direction: DirectionId) {
        self.requests[packet.tag].ready = now;
        let (channel, all) = (self.channel(packet), self.settings(direction).credits);
        let (taken, waits) = &mut self.credits[direction.index()][channel];
        match all {
            Some(all) if *taken == all => waits.push_back(packet),
            _ => {
                *taken += 1;
                self.wants_wires(now, packet, direction);
            }
        }
    }

    fn wants_wires(&mut self, now: u64, packet: Packet, direction: DirectionId) {
        if self.settings(direction).half.is_none() {
            return self.transmit(now, packet, direction, direction.index());
        }
        let wires = direction.link().directions()[0];
        self.wires[wires.index()].queues[direction.side()].push_back(packet);
        self.wake(now, wires);
    }

    fn wake(&mut self, now: u64, id: DirectionId) {
        let wires = &mut self.wires[id.index()];
        let waits = wires.queues.iter().any(|queue| !queue.is_empty());
        if waits && !std::mem::replace(&mut wires.is_granting, true) {
            let at = now.max(wires.free);
            self.add(at, What::Grant(id));
        }
    }

    fn grant(&mut self, now: u64, id: DirectionId) {
        let half = self.settings(id).half.expect("shared wires");
        let wires = &mut self.wires[id.index()];
        wires.is_granting = false;
        let (side, run) = wires.last.unwrap_or((0, 0));
        let [mine, other] = [side, 1 - side].map(|side| !wires.queues[side].is_empty());
        let goes_on = mine && (run < half.burst || !other);
        let next = if goes_on { side } else { 1 - side };
        let turns = wires.last.is_some() && next != side;
        wires.last = Some((next, if next == side { run + 1 } else { 1 }));
        let packet = wires.queues[next].pop_front().expect("somebody waits");
        let turnaround = if turns { half.turnaround.0 } else { 0 };
        let direction = id.link().directions()[next];
        self.transmit(now + turnaround, packet, direction, id.index());
        self.wake(now, id);
    }

    fn transmit(&mut self, now: u64, packet: Packet, direction: DirectionId, wires: usize) {
        let (settings, channel) = (self.settings(direction), self.channel(packet));
        let bytes = self.bytes(direction, channel);
        let time = settings
            .bandwidth
            .map_or(0, |mb_s| (bytes * 1_000_000).div_ceil(mb_s));
        let start = now.max(self.wires[wires].free);
        let end = start + time;
        self.wires[wires].free = end;
        self.spells.push((direction, channel, start, end));
        let from = self.config.graph.direction(direction).0;
        let waiting = match self.config.graph.kind(from) {
            NodeKind::Switch(_) => Part::SwitchQueue,
            _ => Part::LinkQueue,
        };
        let it = &mut self.requests[packet.tag];
        for (part, time) in [
            (waiting, start - it.ready),
            (Part::Serialisation, time),
            (Part::Propagation, settings.latency.0),
            (Part::Port, 2 * settings.port_latency.0),
        ] {
            it.parts[part as usize] += time;
        }
        let held = settings.credits.map(|_| (direction, channel));
        let before = std::mem::replace(&mut it.credit, held);
        self.give_back(end, before);
        let at = end + settings.latency.0 + settings.port_latency.0;
        self.add(at, What::Arrive(packet, direction));
    }

    fn give_back(&mut self, at: u64, credit: Option<(DirectionId, usize)>) {
        if let Some((direction, channel)) = credit {
            let known = at + self.settings(direction).latency.0;
            self.add(known, What::Credit(direction, channel));
        }
    }

    fn arrive(&mut self, now: u64, packet: Packet, direction: DirectionId) {
        let node = self.config.graph.direction(direction).1;
        if let NodeKind::Switch(_) = self.config.graph.kind(node) {
            let it = &mut self.requests[packet.tag];
            it.parts[Part::Switch as usize] += SWITCH;
            it.hops += usize::from(!packet.back);
            return self.add(now, What::Leave(packet, node, SWITCH));
        }
        let before = self.requests[packet.tag].credit.take();
        self.give_back(now, before);
        if packet.back {
            self.requests[packet.tag].done = now;
        } else {
            self.requests[packet.tag].parts[Part::Controller as usize] = CONTROLLER;
            self.add(now + CONTROLLER, What::Turn(packet));
        }
    }

    fn turn(&mut self, now: u64, packet: Packet) {
        let it = &mut self.requests[packet.tag];
        it.ready = now;
        let (device, endpoint, _) = it.device;
        let endpoint = &self.config.endpoints[endpoint.index()];
        let bytes = u64::from(endpoint.logical_devices) * 64 * 1_000_000;
        let gap = endpoint.bandwidth.map_or(0, |mb_s| bytes.div_ceil(mb_s));
        let at = now.max(self.shares[device]);
        self.shares[device] = at + gap;
        self.add(at, What::Access(packet));
    }

    fn access(&mut self, now: u64, packet: Packet) {
        let it = &mut self.requests[packet.tag];
        let (device, endpoint, _) = it.device;
        self.served.push((device, now));
        let MemorySettings::Fixed { read, write } = self.config.endpoints[endpoint.index()].memory
        else {
            panic!("a fixed memory");
        };
        let time = if it.is_write { write } else { read };
        it.parts[Part::Memory as usize] = now + time.0 - it.ready;
        let node = self.config.graph.endpoint(endpoint);
        let back = Packet {
            back: true,
            ..packet
        };
        // The way is chosen when memory has done its part.
        self.add(now + time.0, What::Leave(back, node, 0));
    }
}
