//! The off-chip side of a host: host DRAM, the CXL link, the device, and pages that move.

mod adaptive;
mod astriflash;
mod buffer;
mod bus;
mod frames;
mod link;
mod pages;
mod reclaim;
mod sets;
mod tpp;
mod versions;
mod watch;
mod writes;

use super::artifact::{Artifact, Before, NoArtifact};
use super::config::{HostConfig, Migration};
use super::port::Reply;
use super::rights::Shared;
use super::stats::MemoryStats;
use super::stream::Program;
use adaptive::Adaptive;
use astriflash::AstriFlash;
use bus::Bus;
use pages::{Due, Tiers};
use sluice_model::Device;
use sluice_units::{Bytes, LINE_BYTES, PAGE_BYTES, Ps};
use std::ops::Range;
use tpp::Tpp;

/// What the memory side answers to a read of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// When the processor has it.
    pub done_at: Ps,
    /// No data will come: the device answered with a long delay (SkyByte section III-A), and the
    /// core asks again.
    pub delayed: bool,
    /// When the processor could have had the data.
    pub data_at: Ps,
}

impl Answer {
    /// The line.
    pub(super) fn data(at: Ps) -> Answer {
        Answer {
            done_at: at,
            delayed: false,
            data_at: at,
        }
    }
}

/// Pages whose translation has changed. Every TLB must forget them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The first page of 4 KiB.
    pub first: u64,
    /// How many there are, one after the other: one entry of a page table.
    pub pages: u32,
    /// Whether this costs the cores a shootdown. Pages that are marked for sampling together
    /// share one.
    pub shootdown: bool,
}

/// Everything behind the L3.
///
/// Program memory is the device's address space; host memory is separate and holds the pages that
/// [`Migration`] puts there. A time before one that was given earlier counts as the later one.
pub struct Memory<A = NoArtifact> {
    now: Ps,
    bus: Bus<A>,
    placement: Placement,
    /// Below this address is the program's own memory, which is in the host's.
    local: u64,
    /// What the host may do with lines that it shares with others, if it does.
    pub(super) shared: Option<Box<Shared>>,
}

/// Where pages are.
enum Placement {
    Host,
    Device,
    Adaptive(Adaptive),
    Tpp(Tpp),
    AstriFlash(AstriFlash),
}

impl Placement {
    fn tiers_mut(&mut self) -> Option<&mut Tiers> {
        match self {
            Placement::Adaptive(adaptive) => Some(&mut adaptive.tiers),
            Placement::Tpp(tpp) => Some(&mut tpp.tiers),
            _ => None,
        }
    }

    /// The two tiers, if there are.
    fn tiers(&self) -> Option<&Tiers> {
        match self {
            Placement::Adaptive(adaptive) => Some(&adaptive.tiers),
            Placement::Tpp(tpp) => Some(&tpp.tiers),
            _ => None,
        }
    }

    fn due(&mut self, bus: &mut Bus<impl Artifact>, now: Ps, due: Due) {
        match (self, due) {
            (Placement::Adaptive(adaptive), Due::Copy(entry)) => adaptive.copy(bus, now, entry),
            (Placement::Adaptive(adaptive), Due::Leave) => adaptive.tiers.leave(bus, now),
            (Placement::Tpp(tpp), Due::Sample) => tpp.sample(bus, now),
            (Placement::Tpp(tpp), Due::Leave) => tpp.tiers.leave(bus, now),
            (_, due) => unreachable!("{due:?} of another placement"),
        }
    }
}

impl Memory {
    /// Idle memory, with every page on the device unless all are in host memory.
    ///
    /// # Panics
    /// If pages move and the device's are not of 4 KiB, or the migration's sizes cannot be.
    pub fn new(config: &HostConfig, device: Device) -> Memory {
        Memory::with_artifact(config, NoArtifact, device)
    }
}

impl<A: Artifact> Memory<A> {
    /// The memory of a host that departs from hardware as an artifact does.
    ///
    /// # Panics
    /// As [`Memory::new`].
    pub fn with_artifact(config: &HostConfig, artifact: A, device: Device) -> Memory<A> {
        Memory::on(config, Bus::new(config, artifact, Some(device)))
    }

    /// Memory whose device is reached through a port.
    ///
    /// # Panics
    /// If pages move.
    pub(super) fn behind_port(config: &HostConfig, artifact: A) -> Memory<A> {
        let stays = matches!(config.migration, Migration::AllHost | Migration::None);
        assert!(
            stays,
            "pages that move need the device on the host's own link"
        );
        Memory::on(config, Bus::new(config, artifact, None))
    }

    fn on(config: &HostConfig, mut bus: Bus<A>) -> Memory<A> {
        let placement = match &config.migration {
            Migration::AllHost => Placement::Host,
            Migration::None => Placement::Device,
            Migration::Adaptive(given) => Placement::Adaptive(Adaptive::new(&mut bus, given)),
            Migration::Tpp(given) => Placement::Tpp(Tpp::new(&bus, given)),
            Migration::AstriFlash(given) => Placement::AstriFlash(AstriFlash::new(&bus, given)),
        };
        Memory {
            now: Ps::ZERO,
            bus,
            placement,
            local: 0,
            shared: None,
        }
    }

    /// The first bytes of the program's memory stay in host memory, whatever moves pages.
    ///
    /// # Panics
    /// If they are not whole pages.
    pub fn keep(&mut self, bytes: Bytes) {
        assert!(bytes.0.is_multiple_of(PAGE_BYTES), "{bytes} are not pages");
        self.local = bytes.0;
    }

    /// The program has the first so many pages. Sampling asks.
    ///
    /// # Panics
    /// If the device has not so many.
    pub fn scan(&mut self, pages: u64) {
        if let Placement::Tpp(tpp) = &mut self.placement {
            tpp.scan(pages);
        }
    }

    /// Fills host memory with the last pages of a program, and the device's cache with those before
    /// them, as far as they go: they have no more than `most` bytes. Before the first access.
    pub fn fill(&mut self, program: &dyn Program, most: Bytes) {
        let end = program.footprint().0.div_ceil(PAGE_BYTES);
        let first = (self.local / PAGE_BYTES).max(end.saturating_sub(most.0 / PAGE_BYTES));
        self.fill_with(first..end, 1, &|page| program.rewrites(page * PAGE_BYTES));
    }

    /// Fills host memory and the device's cache with the last so many pages of the device. A share
    /// of them is written, spread evenly.
    pub fn fill_with_others(&mut self, pages: u64, before: &Before) {
        let end = self.bus.device().pages();
        let Before {
            written, spread, ..
        } = *before;
        let is_written = |page| written.floor_of(page + 1) > written.floor_of(page);
        self.fill_with(end.saturating_sub(pages)..end, spread, &is_written);
    }

    fn fill_with(&mut self, pages: Range<u64>, spread: u64, is_written: &dyn Fn(u64) -> bool) {
        let bus = &mut self.bus;
        let end = match &mut self.placement {
            Placement::Host => return,
            Placement::Device => pages.end,
            Placement::Adaptive(adaptive) => adaptive.tiers.fill(bus, pages.clone(), is_written),
            Placement::Tpp(tpp) => tpp.tiers.fill(bus, pages.clone(), is_written),
            Placement::AstriFlash(cache) => cache.fill(bus, pages.clone(), is_written),
        };
        bus.fill(pages.start..end, spread, is_written);
    }

    /// Lets the device begin to compact its log, in the background.
    pub fn compact_log(&mut self) {
        self.bus.compact_log(self.now);
    }

    /// Lets the device come to rest, in time that passes for nobody else.
    pub fn settle(&mut self) {
        self.bus.settle(self.now);
    }

    /// What is read and stored is this core's from now on, or nobody's in particular. A policy of
    /// the device's may want to know. One behind a link of messages does not learn it.
    pub fn by(&mut self, core: Option<u64>) {
        if let Some(device) = &mut self.bus.device {
            device.by(core);
        }
    }

    /// Reads the line at `line_addr`. If not `may_delay`, the answer has the data, however long it
    /// takes.
    ///
    /// # Panics
    /// If the address is not below the device's capacity.
    pub fn read(&mut self, now: Ps, line_addr: u64, may_delay: bool) -> Answer {
        self.run(now);
        let (now, bus) = (self.now, &mut self.bus);
        match &mut self.placement {
            _ if line_addr < self.local => bus.host_read(now, line_addr, Ps::ZERO),
            Placement::Host => bus.host_read(now, line_addr, Ps::ZERO),
            Placement::Device => bus.device_read(now, line_addr, may_delay).answer,
            Placement::Adaptive(adaptive) => adaptive.read(bus, now, line_addr, may_delay),
            Placement::Tpp(tpp) => tpp.read(bus, now, line_addr, may_delay),
            Placement::AstriFlash(cache) => cache.read(bus, now, line_addr, may_delay),
        }
    }

    /// Takes a dirty line that leaves the L3. Says when it is in memory, which only a flush waits
    /// for.
    ///
    /// # Panics
    /// If the address is not below the device's capacity.
    pub fn write(&mut self, now: Ps, line_addr: u64) -> Ps {
        self.by(None);
        self.put(now, line_addr, false).done_at
    }

    /// Writes the line at `line_addr` for a store that waits. If not `may_delay`, the answer says
    /// that it is written, however long that takes.
    ///
    /// # Panics
    /// If the address is not below the device's capacity.
    pub fn store(&mut self, now: Ps, line_addr: u64, may_delay: bool) -> Answer {
        let time = self.bus.stats.access_time.host_dram;
        let writes = self.bus.stats.requests.host_writes;
        let answer = self.put(now, line_addr, may_delay);
        if self.bus.stats.requests.host_writes > writes {
            self.bus.count_demand(time);
        }
        answer
    }

    fn put(&mut self, now: Ps, line_addr: u64, may_delay: bool) -> Answer {
        self.run(now);
        let (now, bus) = (self.now, &mut self.bus);
        match &mut self.placement {
            _ if line_addr < self.local => bus.host_write(now, line_addr, Ps::ZERO),
            Placement::Host => bus.host_write(now, line_addr, Ps::ZERO),
            Placement::Device => bus.device_write(now, line_addr, may_delay).answer,
            Placement::Adaptive(adaptive) => adaptive.write(bus, now, line_addr, may_delay),
            Placement::Tpp(tpp) => tpp.write(bus, now, line_addr, may_delay),
            Placement::AstriFlash(cache) => cache.write(bus, now, line_addr, may_delay),
        }
    }

    /// Whether other hosts can have a line too.
    #[inline]
    pub(super) fn shares(&self, line: u32) -> bool {
        self.shared.is_some() && !self.is_host(u64::from(line) * LINE_BYTES)
    }

    /// Whether a line is in host memory, whatever happens.
    pub(super) fn is_host(&self, line_addr: u64) -> bool {
        line_addr < self.local || matches!(self.placement, Placement::Host)
    }

    /// Lends the device that is behind a port, for what it has at the start.
    pub(super) fn lend(&mut self, device: Device) {
        self.bus.device = Some(device);
    }

    /// Gives it back, with how far its time is ahead of the host's.
    pub(super) fn give_back(&mut self) -> (Device, Ps) {
        self.bus.take_device()
    }

    /// A request has been answered through a port.
    pub(super) fn answered(&mut self, asked_at: Ps, now: Ps, is_write: bool, reply: &Reply) {
        self.bus.answered(asked_at, now, is_write, reply);
    }

    /// When something is to be done next without being asked for: the end of a copy, a sampling.
    pub fn next_event(&self) -> Option<Ps> {
        self.placement.tiers()?.events.next_at()
    }

    /// Does what is due until `now`. Accesses do so themselves.
    pub fn run(&mut self, now: Ps) {
        self.now = self.now.max(now);
        while self.next_event().is_some_and(|at| at <= self.now) {
            let tiers = self.placement.tiers_mut();
            if let Some((at, due)) = tiers.and_then(|tiers| tiers.events.pop()) {
                self.by(None);
                self.placement.due(&mut self.bus, at, due);
            }
        }
    }

    /// Pages whose translation has changed and that were not reported yet, one entry of the page
    /// table at a time, until there are no more. The caller takes them out of every TLB.
    pub fn take_moved(&mut self) -> Option<Moved> {
        self.bus.take_moved()
    }

    /// Asked at every TLB miss to a page of 4 KiB: the time that it takes beside the walk.
    ///
    /// `now` is the core's, which may be ahead of the time of accesses: it turns nobody else's
    /// time on.
    pub fn walk(&mut self, now: Ps, page: u64) -> Ps {
        match &mut self.placement {
            _ if page < self.local / PAGE_BYTES => Ps::ZERO,
            Placement::Tpp(tpp) => tpp.walk(&mut self.bus, self.now, now, page),
            _ => Ps::ZERO,
        }
    }

    /// What was counted since the last reset.
    pub fn stats(&self) -> &MemoryStats {
        &self.bus.stats
    }

    /// Counts from zero.
    pub fn reset_stats(&mut self) {
        self.bus.stats = MemoryStats::default();
    }

    /// The device behind this memory, to be looked at.
    pub fn device(&self) -> &Device {
        self.bus.device()
    }

    /// The device, when nothing else is wanted any more.
    pub fn into_device(mut self) -> Device {
        self.bus.take_device().0
    }
}
