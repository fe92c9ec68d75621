//! A small `cylon` to try things on.

use sluice_model::{Completion, Device, DeviceConfig, Effects, Op, Request};
use sluice_units::{Lpn, PAGE_BYTES, Ps};

/// An idle miss of the default configuration: 40 us of NAND and 150 ns of controller.
pub const MISS: Ps = Ps::from_ns(40_150);

/// 16 MiB behind a 1 MiB cache, the rest as in `cylon` unless given.
///
/// # Panics
/// If the values are refused.
pub fn device(pairs: &[(&str, &str)]) -> Device {
    let mut raw = DeviceConfig::builder();
    raw.set("device.capacity", "16MiB").unwrap();
    raw.set("cache.capacity", "1MiB").unwrap();
    for (key, value) in pairs {
        raw.set(key, value).unwrap();
    }
    Device::new(&DeviceConfig::new(&raw).unwrap(), 1).unwrap()
}

/// Accesses a page and unmaps nothing.
pub fn access(device: &mut Device, now: Ps, lpn: u64, op: Op) -> Completion {
    device.access(
        now,
        Request {
            addr: Lpn::of(lpn).addr(PAGE_BYTES),
            op,
        },
        &mut (),
    )
}

/// Loads from a page.
pub fn read(device: &mut Device, now: Ps, lpn: u64) -> Completion {
    access(device, now, lpn, Op::Read)
}

/// Stores to a page.
pub fn write(device: &mut Device, now: Ps, lpn: u64) -> Completion {
    access(device, now, lpn, Op::Write)
}

/// A host that notes which pages it had to unmap, and calls some of them written.
#[derive(Default)]
pub struct Recorder {
    /// The pages that had to be unmapped, in order.
    pub unmapped: Vec<u64>,
    /// The pages to report as written.
    pub written: Vec<u64>,
}

impl Effects for Recorder {
    fn unmap(&mut self, lpn: Lpn) -> bool {
        self.unmapped.push(lpn.into());
        self.written.contains(&lpn.into())
    }
}
