//! What goes between requesters and agents: messages in packets, where each request's time went,
//! and what is to be done next.

use super::checked::Checked;
use crate::ids::{EndpointId, PacketId, PortId, RequesterId};
use crate::packet::{Packet, Slab};
use crate::parts::Parts;
use sluice_cxl::coherence::{BLOCK_LINES_MAX, M2s, S2m, ToDevice};
use sluice_units::{LINE_BYTES, Ps, Table, index_type};

index_type! {
    /// Which coherency agent.
    pub(super) struct AgentId;
    /// Which of a requester's accesses under way.
    pub(crate) struct AccessId;
}

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cargo {
    /// To an agent. A request's line has that number at its requester: address by 64.
    Up { message: M2s, host_line: u64 },
    /// To a requester. The parts of its packet are those of the request if it `carries` them.
    Down { message: S2m, carries: bool },
    /// A line that is read for an agent's tracker.
    Read { agent: AgentId, tracker: u16 },
    /// A line that is written, and what is sent when that is done.
    Write { then: Option<S2m> },
}

/// What the engine is to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// An access that the local cache serves is done at that time.
    Hit {
        at: Ps,
        requester: RequesterId,
        access: AccessId,
    },
    /// A requester's packet leaves at that time.
    Leave { at: Ps, packet: PacketId },
    /// An agent's packet leaves now.
    Send { packet: PacketId },
    /// An endpoint's memory serves a packet.
    Serve {
        endpoint: EndpointId,
        packet: PacketId,
    },
}

/// Where the time of a request's messages went, and when it came to where it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Journey {
    pub parts: Parts,
    pub at: Ps,
    pub hops: u16,
    /// Whether the completion ends it; if not, the data do.
    pub ends_without_data: bool,
    /// Whether memory has been read for it.
    pub from_memory: bool,
    /// Whether it is of no request, but of a line that is given up and goes to memory.
    pub gives_up: bool,
    /// What memory took for that line.
    pub written_in: Ps,
}

/// Numbers of lines, by where they are on the endpoints: one endpoint's after the other's, so that
/// they are the same for every requester.
pub(super) struct LineMap {
    /// The first line of each endpoint.
    first: Table<EndpointId, u64>,
    /// Bytes of each of its logical devices.
    logical_bytes: Table<EndpointId, u64>,
}

impl LineMap {
    /// Of endpoints with so many bytes, and so many in each of their logical devices.
    pub fn new(endpoints: impl Iterator<Item = (u64, u64)> + Clone) -> LineMap {
        let mut count = 0;
        let first = endpoints.clone().map(|(capacity, _)| {
            let first = count;
            // A gap, so that no run of adjacent lines goes on at the next endpoint; runs that are
            // aligned there have aligned numbers.
            let block = u64::from(BLOCK_LINES_MAX);
            count += (capacity / LINE_BYTES).next_multiple_of(block) + block;
            first
        });
        LineMap {
            first: first.collect(),
            logical_bytes: endpoints.map(|(_, logical)| logical).collect(),
        }
    }

    /// The line at a byte of an endpoint.
    pub fn line(&self, endpoint: EndpointId, addr: u64) -> u64 {
        self.first[endpoint] + addr / LINE_BYTES
    }

    /// The endpoint of a line, and the byte there.
    #[inline]
    pub fn find(&self, line: u64) -> (EndpointId, u64) {
        let after = self.first.values().partition_point(|first| *first <= line);
        let endpoint = EndpointId(after as u32 - 1);
        (endpoint, (line - self.first[endpoint]) * LINE_BYTES)
    }

    /// The LD-ID of the logical device at a byte of an endpoint.
    pub fn logical(&self, endpoint: EndpointId, addr: u64) -> u8 {
        (addr / self.logical_bytes[endpoint]) as u8
    }

    pub fn endpoints(&self) -> u32 {
        self.first.count()
    }
}

/// What both sides share.
pub(super) struct Traffic {
    pub lines: LineMap,
    /// How many requesters there are: their nodes are the first.
    requesters: u32,
    cargo: Vec<Cargo>,
    free_cargo: Vec<u32>,
    /// By requester and the tag of its requests.
    journeys: Table<RequesterId, Vec<Journey>>,
    /// What is to be done, in this order.
    pub actions: Vec<Action>,
    /// None if nothing is checked.
    pub checked: Option<Box<Checked>>,
}

impl Traffic {
    pub fn new(lines: LineMap, requesters: u32, is_checked: bool) -> Traffic {
        Traffic {
            lines,
            requesters,
            cargo: Vec::new(),
            free_cargo: Vec::new(),
            journeys: Table::filled(requesters, Vec::new()),
            actions: Vec::new(),
            checked: is_checked.then(Box::default),
        }
    }

    pub fn requesters(&self) -> u32 {
        self.requesters
    }

    /// The port id of an endpoint.
    pub fn port_id(&self, endpoint: EndpointId) -> PortId {
        PortId((self.requesters + endpoint.0) as u16)
    }

    /// The endpoint with a port id.
    pub fn endpoint(&self, port: PortId) -> EndpointId {
        EndpointId(u32::from(port.0) - self.requesters)
    }

    /// Puts cargo into a packet, which is then under way.
    #[inline(always)]
    pub fn load(&mut self, packets: &mut Slab, mut packet: Packet, cargo: Cargo) -> PacketId {
        let number = match self.free_cargo.pop() {
            Some(number) => {
                self.cargo[number as usize] = cargo;
                number
            }
            None => {
                self.cargo.push(cargo);
                self.cargo.len() as u32 - 1
            }
        };
        packet.set_cargo(number);
        packets.add(packet)
    }

    /// What a packet carries.
    #[inline]
    pub fn cargo(&self, packet: &Packet) -> &Cargo {
        &self.cargo[packet.cargo() as usize]
    }

    /// A packet is where it was to go: the packet, and what it carried.
    #[inline]
    pub fn unload<'a>(&mut self, packets: &'a mut Slab, id: PacketId) -> (&'a Packet, Cargo) {
        let packet = packets.remove(id);
        self.free_cargo.push(packet.cargo());
        (packet, *self.cargo(packet))
    }

    /// Hosts have done what they could with what has come: so are the lines that they send back.
    pub fn settle(&mut self, packets: &Slab) {
        let Some(checked) = &mut self.checked else {
            return;
        };
        for (host, packet) in std::mem::take(&mut checked.leaving) {
            let cargo = packets[packet].cargo() as usize;
            if let Cargo::Up { message, .. } = &mut self.cargo[cargo] {
                message.data = checked.held(host, message.line);
            }
        }
    }

    /// The journey of a requester's request.
    #[inline]
    pub fn journey(&mut self, requester: RequesterId, tag: u16) -> &mut Journey {
        let (journeys, tag) = (&mut self.journeys[requester], usize::from(tag));
        if journeys.len() <= tag {
            journeys.resize(tag + 1, Journey::default());
        }
        &mut journeys[tag]
    }
}

/// Whether an access waits for it.
pub(super) fn is_request(what: ToDevice) -> bool {
    matches!(what, ToDevice::Read(_) | ToDevice::Own | ToDevice::Write)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A snoop names an aligned run, as its device counts lines.
    #[test]
    fn aligned_lines_of_a_device_have_aligned_numbers() {
        let map = LineMap::new([(65 * 64, 65 * 64); 3].into_iter());
        for endpoint in (0..3).map(EndpointId) {
            let first = map.line(endpoint, 0);
            assert!(first.is_multiple_of(BLOCK_LINES_MAX.into()), "{first}");
            assert_eq!(map.find(map.line(endpoint, 64 * 64)), (endpoint, 64 * 64));
        }
    }
}
