//! Links: their directions, what carries them, and credits.

use super::arbiter::Arbiter;
use super::graph::{Graph, HalfDuplex};
use super::packet::{CHANNELS, Queue, Sizes, Slab};
use super::parts::Part;
use sluice_cxl::Channel;
use sluice_units::Ps;

/// One direction of a link.
pub(super) struct Direction {
    /// The node at its end.
    pub to: u32,
    /// What carries it.
    wires: u32,
    /// Which part of a request's time waiting for it is.
    pub waiting: Part,
    /// What the ports at its ends add, each.
    pub port: Ps,
    /// From the last bit sent to the last received.
    pub latency: Ps,
    /// Time of a packet on it.
    serialisation: [Ps; CHANNELS],
    /// Where its credits are; none if they have no limit.
    pub credits: Option<u32>,
    /// See [`Links::is_contended`].
    is_contended: bool,
    /// The endpoint at its end, if a packet's arrival there needs no event: see
    /// [`Links::answer_at_once`].
    pub answers: Option<u32>,
    /// Packets sent.
    pub sent: [u64; CHANNELS],
    /// Packets that have arrived.
    pub received: u64,
    /// `sent` when the counting began.
    before: [u64; CHANNELS],
    /// Longest wait of a packet for it.
    pub wait_max: Ps,
}

/// The wires: of one direction, or of both if the link is half duplex.
struct Wires {
    /// When it is free.
    free: Ps,
    /// Time that it was busy or is reserved.
    busy: Ps,
    /// Where its arbiter is; none if the wires have one direction.
    arbiter: Option<u32>,
}

/// Room of a receiver, by channel.
pub(super) struct Credits {
    left: [u32; CHANNELS],
    queues: [Queue; CHANNELS],
}

/// When a packet is on a link.
pub(super) struct Passage {
    pub start: Ps,
    pub end: Ps,
    pub arrival: Ps,
}

/// What a direction carried while it was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Packets.
    pub packets: u64,
    /// Bytes, headers included.
    pub bytes: u64,
    /// Bytes of data.
    pub payload: u64,
}

/// All directions of all links.
pub struct Links {
    pub(super) directions: Vec<Direction>,
    wires: Vec<Wires>,
    pub(super) credits: Vec<Credits>,
    arbiters: Vec<Arbiter>,
    sizes: Sizes,
}

impl Links {
    /// The links of a graph; on a bus nobody waits in a switch.
    pub(super) fn new(graph: &Graph, is_bus: bool, sizes: &Sizes) -> Links {
        let mut links = Links {
            directions: Vec::with_capacity(2 * graph.links.len()),
            wires: Vec::with_capacity(2 * graph.links.len()),
            credits: Vec::new(),
            arbiters: Vec::new(),
            sizes: *sizes,
        };
        for (index, link) in graph.links.iter().enumerate() {
            let settings = &link.settings;
            let is_half = settings.half.is_some();
            for side in 0..2u32 {
                if side == 0 || !is_half {
                    let arbiter = settings.half.map(|half| links.add_arbiter(half));
                    links.wires.push(Wires {
                        free: Ps::ZERO,
                        busy: Ps::ZERO,
                        arbiter,
                    });
                }
                let number = 2 * index as u32 + side;
                let (from, to) = graph.direction(number);
                let credits = settings.credits.map(|credits| links.add_credits(credits));
                links.directions.push(Direction {
                    to,
                    wires: links.wires.len() as u32 - 1,
                    waiting: if graph.forwards(from) && !is_bus {
                        Part::SwitchQueue
                    } else {
                        Part::LinkQueue
                    },
                    port: settings.port_latency,
                    latency: settings.latency,
                    serialisation: sizes.bytes.map(|bytes| time(bytes, settings.bandwidth)),
                    is_contended: is_half || credits.is_some(),
                    answers: None,
                    credits,
                    sent: [0; CHANNELS],
                    received: 0,
                    before: [0; CHANNELS],
                    wait_max: Ps::ZERO,
                });
            }
        }
        links
    }

    fn add_arbiter(&mut self, half: HalfDuplex) -> u32 {
        self.arbiters.push(Arbiter::new(half));
        self.arbiters.len() as u32 - 1
    }

    fn add_credits(&mut self, each: u32) -> u32 {
        self.credits.push(Credits {
            left: [each; CHANNELS],
            queues: [Queue::default(); CHANNELS],
        });
        self.credits.len() as u32 - 1
    }

    /// Whether packets that come later can be ready earlier, so that the wires have to be reserved
    /// at the time at which a packet is ready: two nodes share them, or some wait for credits.
    #[inline]
    pub(super) fn is_contended(&self, direction: u32) -> bool {
        self.directions[direction as usize].is_contended
    }

    /// Takes it that the endpoint at a direction's end answers every request after the same time,
    /// so that its responses leave in the order in which requests were sent there, and can be
    /// reserved at once. False if a direction of the link is contended.
    pub(super) fn answer_at_once(&mut self, number: u32, endpoint: u32) -> bool {
        let can = !self.is_contended(number) && !self.is_contended(number ^ 1);
        if can {
            self.directions[number as usize].answers = Some(endpoint);
        }
        can
    }

    /// Reserves the wires for a packet that is ready at `ready`. Packets of a direction must come
    /// in the order in which they are ready.
    #[inline]
    pub(super) fn reserve(&mut self, number: u32, ready: Ps, channel: Channel) -> Passage {
        let direction = &mut self.directions[number as usize];
        let wires = &mut self.wires[direction.wires as usize];
        let start = Ps(ready.0.max(wires.free.0));
        let serialisation = direction.serialisation[channel as usize];
        let end = Ps(start.0 + serialisation.0);
        wires.free = end;
        wires.busy.0 += serialisation.0;
        direction.sent[channel as usize] += 1;
        direction.wait_max = Ps(direction.wait_max.0.max(start.0 - ready.0));
        Passage {
            start,
            end,
            arrival: Ps(end.0 + direction.latency.0),
        }
    }

    /// The arbiter of a direction's wires, if they are half duplex.
    #[inline]
    pub(super) fn arbiter(&mut self, number: u32) -> Option<(&mut Arbiter, &mut Ps)> {
        let wires = &mut self.wires[self.directions[number as usize].wires as usize];
        let arbiter = &mut self.arbiters[wires.arbiter? as usize];
        Some((arbiter, &mut wires.free))
    }

    /// How long a packet would wait at `now`.
    pub(super) fn backlog(&self, number: u32, now: Ps) -> Ps {
        let direction = &self.directions[number as usize];
        let wires = &self.wires[direction.wires as usize];
        let waiting = wires
            .arbiter
            .map_or(0, |arbiter| self.arbiters[arbiter as usize].waiting());
        let line = direction.serialisation[Channel::Drs as usize];
        let wires = wires.free - now + line * u64::from(waiting);
        let waits = direction.credits.is_some_and(|credits| {
            let queues = &self.credits[credits as usize].queues;
            queues.iter().any(|queue| !queue.is_empty())
        });
        // Who waits for credits waits longer than anybody behind a queue of packets.
        if waits { Ps(u64::MAX / 2) } else { wires }
    }

    /// Begins to count.
    pub(super) fn begin(&mut self, now: Ps) {
        for wires in &mut self.wires {
            wires.busy = (wires.free - now).min(wires.busy);
        }
        for direction in &mut self.directions {
            direction.before = direction.sent;
            direction.wait_max = Ps::ZERO;
        }
    }

    /// How long the wires of a direction were busy until `now`. Half duplex: both directions.
    pub fn busy(&self, number: u32, now: Ps) -> Ps {
        let wires = &self.wires[self.directions[number as usize].wires as usize];
        wires.busy - (wires.free - now)
    }

    /// The longest wait of a packet for a direction since the counting began.
    pub fn wait_max(&self, number: u32) -> Ps {
        self.directions[number as usize].wait_max
    }

    /// What a direction carried since the counting began.
    pub fn carried(&self, number: u32) -> Carried {
        let direction = &self.directions[number as usize];
        let mut carried = Carried::default();
        for channel in 0..CHANNELS {
            let packets = direction.sent[channel] - direction.before[channel];
            carried.packets += packets;
            carried.bytes += packets * u64::from(self.sizes.bytes[channel]);
            carried.payload += packets * u64::from(self.sizes.payload[channel]);
        }
        carried
    }
}

impl Credits {
    /// Takes a credit, if there is one and nobody waits.
    #[inline]
    pub fn take(&mut self, channel: Channel) -> bool {
        let (left, queue) = (
            &mut self.left[channel as usize],
            self.queues[channel as usize],
        );
        let can = *left > 0 && queue.is_empty();
        *left -= u32::from(can);
        can
    }

    /// Lets a packet wait behind the others of its channel.
    pub fn wait(&mut self, packets: &mut Slab, packet: u32) {
        let channel = packets[packet].channel;
        self.queues[channel as usize].push(packets, packet);
    }

    /// Gives a credit back, or to the first packet that waits for it, which is returned.
    pub fn give(&mut self, packets: &Slab, channel: Channel) -> Option<u32> {
        let first = self.queues[channel as usize].pop(packets);
        self.left[channel as usize] += u32::from(first.is_none());
        first
    }

    /// Packets that wait.
    pub fn waiting(&self, packets: &Slab) -> usize {
        self.queues.iter().map(|queue| queue.len(packets)).sum()
    }
}

/// Time of so many bytes, rounded up to a picosecond.
fn time(bytes: u32, bandwidth: Option<u64>) -> Ps {
    bandwidth.map_or(Ps::ZERO, |mb_s| {
        Ps((u64::from(bytes) * 1_000_000).div_ceil(mb_s))
    })
}
