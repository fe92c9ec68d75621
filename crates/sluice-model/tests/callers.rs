//! Which thread's access a policy from outside learns of.

use sluice_model::cache::{Candidates, Event, External, Set};
use sluice_model::{Device, DeviceConfig};
use sluice_testkit::rig::read;
use sluice_units::{Bytes, Lpn, PAGE_BYTES, Ps, Slot};

/// A policy that expects each page of the thread of its number.
struct Threads(Vec<Slot>);

impl External for Threads {
    fn miss(&mut self, event: &Event, _set: Set, lpn: Lpn) {
        assert_eq!(event.thread, Some(lpn.0), "the miss");
    }

    fn insert(&mut self, event: &Event, _set: Set, slot: Slot, lpn: Lpn) {
        assert_eq!(event.thread, Some(lpn.0), "the page in its place");
        self.0.push(slot);
    }

    fn hit(&mut self, _event: &Event, _set: Set, _slot: Slot) -> u32 {
        0
    }

    fn victim(&mut self, _event: &Event, _set: Set, slots: &mut dyn Candidates) -> Option<Slot> {
        let at = self.0.iter().position(|slot| slots.may_leave(*slot))?;
        Some(self.0.remove(at))
    }

    fn remove(&mut self, _event: &Event, _set: Set, slot: Slot) {
        self.0.retain(|held| *held != slot);
    }
}

/// Of pages that got a place when they arrived no policy knew whose they were.
#[test]
fn a_policy_knows_whose_miss_it_was() {
    for at in ["miss", "fill"] {
        let mut raw = DeviceConfig::builder();
        let capacity = Bytes(4 * PAGE_BYTES).to_string();
        let keys = [("device.capacity", "16MiB"), ("cache.capacity", &*capacity)];
        for (key, value) in keys.into_iter().chain([("cache.evict_at", at)]) {
            raw.set(key, value).unwrap();
        }
        let config = DeviceConfig::new(&raw).unwrap();
        let policy = Box::new(Threads(Vec::new()));
        let mut device = Device::with_policy(&config, 1, policy).unwrap();
        for turn in 0..100 {
            // Two are on their way at once.
            let page = turn % 10;
            device.by(Some(page));
            read(&mut device, Ps::from_us(turn / 2 * 100), page);
        }
        device.by(None);
        device.advance(Ps::from_us(100_000));
        assert_eq!(device.stats().misses, 100, "{at}");
    }
}
