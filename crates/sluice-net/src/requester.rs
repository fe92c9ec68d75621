//! Requesters: how much they ask for at once, how often, and at which addresses memory is for them.

use super::coherence::CacheSettings;
use super::ids::{EndpointId, RequesterId};
use super::pattern::{Access, PatternInfo, Source};
use super::stats::RequesterStats;
use sluice_cxl::HomeAgent;
use sluice_units::{Ps, Ratio, Table};

/// A requester as it is built.
#[derive(Clone, Debug)]
pub struct RequesterSettings {
    /// Requests under way at once.
    pub depth: u32,
    /// Least time between two requests.
    pub interval: Ps,
    /// From a request to its port.
    pub process: Ps,
    /// Looking into the local cache first.
    pub cache_access: Ps,
    /// Which addresses it asks for.
    pub pattern: &'static PatternInfo,
    /// Bytes that it uses; none for all that it can reach.
    pub footprint: Option<u64>,
    /// Share of reads.
    pub reads: Ratio,
    /// Coherent local cache.
    pub cache: Option<CacheSettings>,
    /// Whether the devices learn of clean lines that leave its caches.
    pub notifies: bool,
    /// Whether a simulated host is there, which has requests, caches and times of its own.
    pub is_host: bool,
    /// Share of a skewed pattern's requests that are hot.
    pub hot_requests: Ratio,
    /// Share of its lines that are hot.
    pub hot_lines: Ratio,
}

/// A logical device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Logical {
    pub endpoint: EndpointId,
    /// Its number among the endpoint's logical devices (LD-ID).
    pub id: u8,
    /// Its first byte on the endpoint.
    pub base: u64,
}

/// What each requester finds at its addresses.
#[derive(Clone)]
pub(super) struct AddressMap {
    /// Address maps over logical devices.
    pub homes: Vec<HomeAgent>,
    /// Which of them each requester has.
    pub home_of: Table<RequesterId, u32>,
    /// Bytes that each of them maps without a gap from address 0.
    pub mapped: Vec<u64>,
    /// By their number in the address maps.
    pub logical: Vec<Logical>,
}

/// A byte of a logical device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub endpoint: EndpointId,
    /// The logical device that has the byte (LD-ID).
    pub logical: u8,
    /// The byte of the endpoint.
    pub addr: u64,
}

impl AddressMap {
    /// Bytes that a requester reaches from address 0 on.
    pub fn reach(&self, requester: RequesterId) -> u64 {
        self.mapped[self.home_of[requester] as usize]
    }

    /// What a requester has at an address, if there is memory.
    #[inline]
    pub fn find(&self, requester: RequesterId, addr: u64) -> Option<Target> {
        let home = self.homes[self.home_of[requester] as usize].home(addr)?;
        let device = self.logical[usize::from(home.device)];
        Some(Target {
            endpoint: device.endpoint,
            logical: device.id,
            addr: device.base + home.dpa,
        })
    }
}

/// A requester at work.
pub(super) struct Requester {
    is_host: bool,
    notifies: bool,
    process: Ps,
    cache_access: Ps,
    depth: u32,
    interval: Ps,
    outstanding: u32,
    /// No request before this.
    next_at: Ps,
    /// Whether an event will let it issue.
    is_woken: bool,
    source: Option<Box<dyn Source>>,
    stats: RequesterStats,
}

/// Whether a requester can issue.
enum Turn {
    Now,
    At(Ps),
    /// When a request of its has come back, or never.
    Full,
}

/// What a requester does next.
pub(super) enum Next {
    /// It issues this now.
    Issue(Access),
    /// It is to be asked again at that time.
    At(Ps),
    /// It waits for a response or for an event that will come, or has no more requests.
    Nothing,
}

impl Requester {
    pub fn new(settings: &RequesterSettings, source: Option<Box<dyn Source>>) -> Requester {
        Requester {
            is_host: settings.is_host,
            notifies: settings.notifies,
            process: settings.process,
            cache_access: settings.cache_access,
            depth: settings.depth,
            interval: settings.interval,
            outstanding: 0,
            next_at: Ps::ZERO,
            is_woken: false,
            source,
            stats: RequesterStats::default(),
        }
    }

    #[inline]
    fn turn(&self, now: Ps) -> Turn {
        if self.outstanding >= self.depth {
            Turn::Full
        } else if self.next_at > now {
            Turn::At(self.next_at)
        } else {
            Turn::Now
        }
    }

    /// Whether it has fewer requests under way than it can.
    pub fn has_room(&self) -> bool {
        self.outstanding < self.depth
    }

    /// How many requests of its are under way.
    pub fn outstanding(&self) -> u64 {
        self.outstanding.into()
    }

    /// A host from outside is there, which bounds its requests itself.
    pub fn take_host(&mut self) {
        (self.is_host, self.source, self.depth) = (true, None, u32::MAX);
    }

    /// Whether a host is there.
    pub fn is_host(&self) -> bool {
        self.is_host
    }

    /// Whether the devices learn of clean lines that leave its caches.
    pub fn notifies(&self) -> bool {
        self.notifies
    }

    /// Processing, and looking into the cache.
    #[inline]
    pub fn times(&self) -> (Ps, Ps) {
        (self.process, self.cache_access)
    }

    /// What was counted.
    pub fn stats(&self) -> &RequesterStats {
        &self.stats
    }

    /// Counts completions anew.
    pub fn begin(&mut self) {
        self.stats.completed = 0;
        self.stats.latency = 0;
    }

    /// Gives it other requests.
    pub fn replace(&mut self, source: Box<dyn Source>) {
        self.next_at = source.pause();
        self.source = Some(source);
    }

    /// Whether an event is needed to let it issue. It is then taken to come.
    pub fn needs_event(&mut self) -> bool {
        self.source.is_some() && !std::mem::replace(&mut self.is_woken, true)
    }

    /// The event has come.
    pub fn wake(&mut self) {
        self.is_woken = false;
    }

    /// What it does at `now`.
    #[inline]
    pub fn next(&mut self, now: Ps) -> Next {
        match self.turn(now) {
            Turn::Full => Next::Nothing,
            Turn::At(at) if self.needs_event() => Next::At(at),
            Turn::At(_) => Next::Nothing,
            Turn::Now => match self.take() {
                Some(access) => Next::Issue(access),
                None => Next::Nothing,
            },
        }
    }

    /// Takes the next request of its pattern.
    #[inline]
    fn take(&mut self) -> Option<Access> {
        let access = self.source.as_mut()?.next();
        if access.is_none() {
            self.source = None;
        }
        access
    }

    /// It issues a request: how many it issued before.
    #[inline]
    pub fn issue(&mut self, now: Ps) -> u64 {
        self.outstanding += 1;
        let pause = self
            .source
            .as_ref()
            .map_or(Ps::ZERO, |source| source.pause());
        self.next_at = now + self.interval.max(pause);
        self.stats.issued += 1;
        self.stats.issued - 1
    }

    /// A request of its has come back.
    #[inline]
    pub fn complete(&mut self, latency: Ps) {
        self.outstanding -= 1;
        self.stats.completed += 1;
        self.stats.latency += u128::from(latency.0);
    }
}
