//! The off-chip side of a host: host DRAM, the CXL link, the device, and pages that move.

mod bus;
mod link;

use super::config::{HostConfig, Migration};
use super::stats::MemoryStats;
use bus::Bus;
use sluice_model::Device;
use sluice_units::Ps;

/// What the memory side answers to a read of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// When the processor has it.
    pub done_at: Ps,
    /// No data will come: it was told of a long delay (SkyByte section III-A), and reads again.
    pub delayed: bool,
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
/// [`Migration`] puts there. The times given to the methods never decrease.
pub struct Memory {
    bus: Bus,
    placement: Placement,
}

/// Where pages are.
enum Placement {
    Host,
    Device,
}

impl Memory {
    /// Idle memory. With pages that move, the device's are of 4 KiB.
    pub fn new(config: &HostConfig, device: Device) -> Memory {
        let placement = match &config.migration {
            Migration::AllHost => Placement::Host,
            _ => Placement::Device,
        };
        Memory {
            bus: Bus::new(config, device),
            placement,
        }
    }

    /// Reads the line at `line_addr`. If not `may_delay`, the answer has the data, however long it
    /// takes.
    ///
    /// # Panics
    /// If the address is not below the device's capacity.
    pub fn read(&mut self, now: Ps, _core: u32, line_addr: u64, may_delay: bool) -> Answer {
        let bus = &mut self.bus;
        match &mut self.placement {
            Placement::Host => bus.host_read(now, line_addr, Ps::ZERO),
            Placement::Device => bus.device_read(now, line_addr, may_delay),
        }
    }

    /// Takes a dirty line that leaves the L3. Nobody waits for it.
    ///
    /// # Panics
    /// If the address is not below the device's capacity.
    pub fn write(&mut self, now: Ps, line_addr: u64) {
        let bus = &mut self.bus;
        match &mut self.placement {
            Placement::Host => bus.host_write(now, line_addr, Ps::ZERO),
            Placement::Device => bus.device_write(now, line_addr),
        }
    }

    /// When something is to be done next without being asked for: the end of a copy, a sampling.
    pub fn next_event(&self) -> Option<Ps> {
        None
    }

    /// Does what is due until `now`.
    pub fn run(&mut self, _now: Ps) {}

    /// Pages whose translation has changed and that were not reported yet, one entry of the page
    /// table at a time, until there are no more. The caller takes them out of every TLB.
    pub fn take_moved(&mut self) -> Option<Moved> {
        self.bus.take_moved()
    }

    /// Asked at every TLB miss to a page of 4 KiB: the time that it takes beside the walk.
    pub fn walk(&mut self, _now: Ps, _core: u32, _page: u64) -> Ps {
        Ps::ZERO
    }

    /// What was counted since the last reset.
    pub fn stats(&self) -> &MemoryStats {
        &self.bus.stats
    }

    /// Counts from zero.
    pub fn reset_stats(&mut self) {
        self.bus.stats = MemoryStats::default();
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.bus.device
    }

    /// The device, when nothing else is wanted any more.
    pub fn into_device(self) -> Device {
        self.bus.device
    }
}
