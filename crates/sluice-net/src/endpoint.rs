//! Memory endpoints: a controller and what is behind it. A new type is a line in [`EndpointType`].

use super::external::{Answer, ExternalMemory, MemoryRequest};
use super::ids::PacketId;
use super::packet::{Delay, Packet};
use super::parts::Part;
use super::shares::Shares;
use super::waits::{Reordered, Waits};
use sluice_host::Reply;
use sluice_model::dram::{Dram, DramLayout};
use sluice_model::{Completion, Device, DeviceConfig, DeviceError, Hint, Op, Request, Stats};
use sluice_params::choices;
use sluice_units::Ps;

/// A memory model in a shared object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Library {
    /// The path of the shared object.
    pub path: String,
    /// The text that the model is made with.
    pub argument: String,
}

/// What is behind an endpoint's controller.
#[derive(Clone, Debug)]
pub enum MemorySettings {
    /// One time for every access, any number of them at once.
    Fixed {
        /// Time of a read.
        read: Ps,
        /// Time of a write.
        write: Ps,
    },
    /// DRAM with banks and rows.
    Dram {
        /// How it is put together.
        layout: DramLayout,
        /// How many accesses of a channel wait in a queue from which row hits go first; none if
        /// banks serve in the order of arrival.
        queue: Option<usize>,
    },
    /// A CXL-SSD or a memory expander.
    Device(Box<DeviceConfig>),
    /// From outside, by [`Fabric::attach`](super::Fabric::attach): from the shared object, if there
    /// is one.
    External(Option<Library>),
}

/// An endpoint as it is built.
#[derive(Clone, Debug)]
pub struct EndpointSettings {
    /// Bytes of memory that it has.
    pub capacity: u64,
    /// From the port to the memory.
    pub controller: Ps,
    /// MB/s of data that the controller hands on; none for no limit.
    pub bandwidth: Option<u64>,
    /// Logical devices, 1 to 16: each has its share of capacity and bandwidth.
    pub logical_devices: u32,
    /// Granules that each of them takes in a round of weighted interleaving.
    pub weight: u8,
    /// What memory is behind its controller.
    pub memory: MemorySettings,
}

impl EndpointSettings {
    /// Bytes of a logical device.
    pub fn each(&self) -> u64 {
        self.capacity / u64::from(self.logical_devices)
    }
}

choices! {
    /// Which of those that wait for DRAM is served next.
    pub enum DramOrder {
        Arrival = "arrival": "the oldest",
        RowHits = "fr-fcfs":
            "a bank takes the oldest to its open row, or the oldest; a channel what can go first",
    }
}

choices! {
    /// What is behind the controller of an endpoint.
    pub enum EndpointType {
        Fixed = "fixed": "memory that takes endpoint.read or endpoint.write for any access",
        Dram = "dram": "DRAM with banks and rows of endpoint.dram",
        Device = "device": "a CXL-SSD or memory expander: the group's `device`",
        External = "external": "a model from outside: the group's `library`, a shared object",
    }
}

/// A memory at work.
enum Memory {
    Fixed { read: Ps, write: Ps },
    Dram(Box<(Dram, Waits)>),
    Device(Box<AheadDevice>),
    External(Option<Box<dyn ExternalMemory>>),
}

/// A device whose time may be ahead of the fabric's.
struct AheadDevice {
    device: Device,
    /// How far its clock is ahead, for what it did before the start.
    ahead: Ps,
}

impl AheadDevice {
    fn access(&mut self, now: Ps, addr: u64, op: Op) -> Completion {
        let request = Request { addr, op };
        let mut completion = self.device.access(now + self.ahead, request, &mut ());
        completion.done_at = completion.done_at - self.ahead;
        completion
    }

    /// Serves a host's request: when it is done, and the reply to the host.
    fn serve(&mut self, now: Ps, packet: &mut Packet) -> (Ps, Reply) {
        let op = if packet.is_write { Op::Write } else { Op::Read };
        let before = self.device.stats().parts;
        let completion = self.access(now, packet.addr, op);
        let parts = self.device.stats().parts - before;
        let delayed = packet.delay == Delay::May && completion.hint == Hint::LongDelay;
        if delayed {
            packet.delay = Delay::Is;
        }
        let reply = Reply {
            delayed,
            owned: false,
            served_by: Some(completion.served_by),
            parts,
        };
        let done_at = match delayed {
            // The message leaves when the device has looked for the page.
            true => completion.done_at - parts.total() + parts.protocol + parts.indexing,
            false => completion.done_at,
        };
        (done_at, reply)
    }
}

/// An endpoint at work.
pub(super) struct Endpoint {
    controller: Ps,
    memory: Memory,
    /// Its logical devices.
    pub shares: Shares,
    /// Whether a response can be sent before its time has come: every access takes the same time,
    /// so that responses leave in the order of the requests.
    is_constant: bool,
    /// Of a device, what was counted before.
    before: Option<Box<Stats>>,
    /// When an event will advance a memory from outside.
    woken_at: Ps,
    /// Requests that it will report later.
    owed: u64,
}

/// What an endpoint does with a request whose turn it is.
pub(super) enum Served {
    /// The response can be sent now, to leave at that time.
    AtOnce(Ps),
    /// The memory has done its part at that time.
    At(Ps),
    /// The memory will say when it is done.
    Later,
}

/// Whether a device's policy or prefetcher is a shared object.
pub fn needs_objects(config: &DeviceConfig) -> bool {
    config.cache.plugin.is_some() || config.prefetch.plugin.is_some()
}

impl Endpoint {
    /// For packets with so many bytes of data.
    ///
    /// # Errors
    /// Those of [`Device::new`].
    pub fn new(
        settings: &EndpointSettings,
        payload: u32,
        seed: u64,
    ) -> Result<Endpoint, DeviceError> {
        let memory = match &settings.memory {
            MemorySettings::Fixed { read, write } => Memory::Fixed {
                read: *read,
                write: *write,
            },
            MemorySettings::Dram { layout, queue } => match queue {
                Some(entries) => Memory::External(Some(Box::new(Reordered::new(layout, *entries)))),
                None => Memory::Dram(Box::new((Dram::new(layout), Waits::new(layout)))),
            },
            // The model loads none: the caller puts the device there.
            MemorySettings::Device(config) if needs_objects(config) => Memory::External(None),
            MemorySettings::Device(config) => Memory::Device(Box::new(AheadDevice {
                device: Device::new(config, seed)?,
                ahead: Ps::ZERO,
            })),
            MemorySettings::External(_) => Memory::External(None),
        };
        Ok(Endpoint {
            controller: settings.controller,
            memory,
            shares: Shares::new(settings.logical_devices, settings.bandwidth, payload),
            is_constant: false,
            before: None,
            woken_at: Ps::MAX,
            owed: 0,
        })
    }

    /// Puts a memory from outside behind its controller.
    pub fn attach(&mut self, memory: Box<dyn ExternalMemory>) {
        self.memory = Memory::External(Some(memory));
        self.is_constant = false;
    }

    /// Whether every access takes the same time from its arrival on.
    pub fn takes_the_same_time(&self) -> bool {
        let same = matches!(self.memory, Memory::Fixed { read, write } if read == write);
        same && !self.shares.are_limited()
    }

    /// Lets its responses be sent before their time has come, because every access takes the same
    /// time and they leave in the order of the requests.
    pub fn answer_at_once(&mut self) {
        self.is_constant = true;
    }

    /// From its port to its memory.
    #[inline]
    pub fn controller(&self) -> Ps {
        self.controller
    }

    /// The measured part begins: what was counted before is dropped, but for what is to come.
    pub fn begin(&mut self, now: Ps) {
        self.shares.begin(now);
        self.before = self.device().map(|device| Box::new(*device.stats()));
        match &mut self.memory {
            Memory::Dram(it) => it.1.begin(now),
            Memory::External(Some(memory)) => memory.begin(now),
            _ => {}
        }
    }

    /// How long accesses have waited for DRAM since the counting began.
    pub fn waited(&self, until: Ps) -> Option<Ps> {
        match &self.memory {
            Memory::Dram(it) => Some(it.1.most(until)),
            Memory::External(Some(memory)) => memory.waited(until),
            _ => None,
        }
    }

    /// Puts a device in the place of the one it has, or of one that needs shared objects.
    pub fn replace_device(&mut self, device: Device, ahead: Ps) {
        self.memory = Memory::Device(Box::new(AheadDevice { device, ahead }));
    }

    /// Takes the device out: nothing is behind the controller then.
    pub fn take_device(&mut self) -> Option<Device> {
        match std::mem::replace(&mut self.memory, Memory::External(None)) {
            Memory::Device(it) => Some(it.device),
            other => {
                self.memory = other;
                None
            }
        }
    }

    /// Serves a host's request, if a device is there to say where its time went.
    #[inline]
    pub fn serve_host(&mut self, now: Ps, packet: &mut Packet) -> Option<(Ps, Reply)> {
        let Memory::Device(device) = &mut self.memory else {
            return None;
        };
        self.shares.count_access(packet.logical);
        Some(device.serve(now, packet))
    }

    /// The device, if there is one.
    pub fn device(&self) -> Option<&Device> {
        match &self.memory {
            Memory::Device(it) => Some(&it.device),
            _ => None,
        }
    }

    /// How long what is in a CXL-SSD was used since the counting began: its cache (accesses waited
    /// for an MSHR or a way), its channels and its dies, the mean of all, which are alike.
    pub fn inside(&self) -> Option<[(&'static str, Ps); 3]> {
        let device = self.device()?;
        let settings = device.config();
        if settings.memory.is_some() {
            return None;
        }
        let (nand, now) = (&settings.nand, device.stats());
        let since = |get: fn(&Stats) -> u64| {
            get(now) - self.before.as_ref().map_or(0, |before| get(before))
        };
        let reads = since(|stats| stats.flash_reads);
        let programs = since(|stats| stats.flash_programs);
        let erases = since(|stats| stats.erases);
        let channel = nand.transfer.0 * (reads + programs) / u64::from(nand.channels);
        let die = nand.read * reads + nand.program * programs + nand.erase * erases;
        Some([
            ("cache", Ps(since(|stats| stats.parts.stall.0))),
            ("channel", Ps(channel)),
            ("die", Ps(die.0 / u64::from(nand.die_count()))),
        ])
    }

    /// A request has come, and goes through the controller: the time of its turn at the memory if
    /// that takes an event, or none if it can be served now, at [`Packet::ready`].
    #[inline]
    pub fn arrive(&mut self, now: Ps, packet: &mut Packet) -> Option<Ps> {
        let at = Ps(now.0 + self.controller.0);
        packet.parts[Part::Controller] = self.controller;
        packet.ready = at;
        // Arrivals come in order, so the memory sees them in order without an event of their own,
        // unless the logical devices' shares let them pass each other. A memory that is advanced
        // in between must not see time go back.
        match self.shares.turn([now, at], packet.logical) {
            None if self.is_advanced() => Some(at),
            turn => turn,
        }
    }

    /// Serves a request whose turn it is.
    ///
    /// # Panics
    /// If an external memory was not attached: the caller's mistake.
    #[inline]
    pub fn serve(&mut self, now: Ps, id: PacketId, packet: &Packet) -> Served {
        self.shares.count_access(packet.logical);
        let request = MemoryRequest {
            id,
            addr: packet.addr,
            is_write: packet.is_write,
        };
        match self.access(now, request) {
            Answer::At(done_at) if self.is_constant => Served::AtOnce(done_at),
            Answer::At(done_at) => Served::At(done_at),
            Answer::Later => {
                self.owed += 1;
                Served::Later
            }
        }
    }

    /// Whether a memory from outside has requests to report.
    pub fn owes(&self) -> bool {
        self.owed > 0
    }

    #[inline]
    fn access(&mut self, now: Ps, request: MemoryRequest) -> Answer {
        let op = if request.is_write {
            Op::Write
        } else {
            Op::Read
        };
        match &mut self.memory {
            Memory::Fixed { read, write } => {
                let time = if request.is_write { *write } else { *read };
                Answer::At(Ps(now.0 + time.0))
            }
            Memory::Dram(it) => {
                let (dram, waits) = &mut **it;
                let done_at = dram.access(now, request.addr, op).done_at;
                waits.count(dram.channel_of(request.addr), now, done_at);
                Answer::At(done_at)
            }
            Memory::Device(device) => Answer::At(device.access(now, request.addr, op).done_at),
            Memory::External(memory) => {
                let memory = memory.as_mut().expect("an external memory is attached");
                memory.request(now, request)
            }
        }
    }

    /// Whether its memory is advanced between requests, so that these must not come early.
    #[inline]
    fn is_advanced(&self) -> bool {
        match &self.memory {
            Memory::External(Some(memory)) => !memory.answers_at_once(),
            _ => false,
        }
    }

    /// Answers of a memory from outside that could not be.
    pub fn refused(&self) -> u64 {
        match &self.memory {
            Memory::External(Some(memory)) => memory.refused(),
            _ => 0,
        }
    }

    /// When an event must advance a memory from outside, if none will by then. It is then taken to
    /// come.
    #[inline]
    pub fn wake(&mut self, not_before: Ps) -> Option<Ps> {
        let Memory::External(Some(memory)) = &self.memory else {
            return None;
        };
        let next = memory.next_at()?.max(not_before);
        (next < self.woken_at).then(|| {
            self.woken_at = next;
            next
        })
    }

    /// Advances a memory from outside; `done` gets the id of each request that is done.
    pub fn advance(&mut self, now: Ps, done: &mut dyn FnMut(PacketId)) {
        let Memory::External(Some(memory)) = &mut self.memory else {
            return;
        };
        let owed = &mut self.owed;
        memory.advance(now, &mut |packet| {
            *owed = owed.saturating_sub(1);
            done(packet);
        });
        if self.woken_at <= now {
            self.woken_at = Ps::MAX;
        }
    }
}
