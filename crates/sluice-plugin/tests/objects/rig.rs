//! Devices for objects, and what happens to them.

use sluice_model::{Device, DeviceConfig, Op, Request};
use sluice_testkit::rig::Recorder;
use sluice_testkit::traces;
use sluice_units::{Bytes, Lpn, PAGE_BYTES, Ps};

/// A device of the traces' size.
pub fn config(cache_pages: u64, set: &[(&str, &str)]) -> DeviceConfig {
    let mut raw = DeviceConfig::builder();
    let size = |pages: u64| Bytes(pages * PAGE_BYTES).to_string();
    raw.set("device.capacity", &size(traces::PAGES)).unwrap();
    raw.set("cache.capacity", &size(cache_pages)).unwrap();
    for (key, value) in set {
        raw.set(key, value).unwrap();
    }
    DeviceConfig::new(&raw).unwrap()
}

/// A device of these settings, with its objects.
pub fn device(cache_pages: u64, set: &[(&str, &str)]) -> Device {
    sluice_plugin::device(&config(cache_pages, set), 1).unwrap()
}

/// The pages that leave, in order, over a trace with stores and discards in it.
pub fn evictions(device: &mut Device, pages: &[u64], is_store: impl Fn(usize) -> bool) -> Vec<u64> {
    let (mut host, mut now) = (Recorder::default(), Ps::ZERO);
    for (index, page) in pages.iter().enumerate() {
        let req = Request {
            addr: Lpn::of(*page).addr(PAGE_BYTES),
            op: if is_store(index) { Op::Write } else { Op::Read },
        };
        now = device.access(now, req, &mut host).done_at;
        if index % 97 == 0 {
            device.discard(now, Lpn::of(*page));
        }
    }
    device.balance().unwrap();
    host.unmapped
}
