//! A device that takes up what another one held at its start is the same device.

use sluice_model::{
    Contents, Device, DeviceConfig, GC_VICTIMS, NoContents, Op, RawConfig, Request, Tables,
};
use sluice_units::{PAGE_BYTES, Ps, Rng};
use std::sync::Arc;

/// Tables in the order in which they were shown.
#[derive(Clone, Debug, Default)]
struct Kept(Vec<Vec<u64>>);

impl Tables for Kept {
    fn bytes(&mut self, table: &mut [u8]) -> Result<(), NoContents> {
        self.0
            .push(table.iter().map(|value| (*value).into()).collect());
        Ok(())
    }

    fn words(&mut self, table: &mut [u32]) -> Result<(), NoContents> {
        self.0
            .push(table.iter().map(|value| (*value).into()).collect());
        Ok(())
    }

    fn longs(&mut self, table: &mut [u64]) -> Result<(), NoContents> {
        self.0.push(table.to_vec());
        Ok(())
    }
}

/// Fills tables of the same sizes, as long as there are any.
struct Filling<'a>(std::slice::Iter<'a, Vec<u64>>);

impl Filling<'_> {
    fn next<T: TryFrom<u64> + Default + PartialEq>(
        &mut self,
        table: &mut [T],
    ) -> Result<(), NoContents> {
        let kept = self.0.next().ok_or(NoContents)?;
        assert_eq!(kept.len(), table.len(), "a table of the same size");
        for (to, from) in table.iter_mut().zip(kept) {
            *to = T::try_from(*from).unwrap_or_else(|_| panic!("{from} was no such value"));
        }
        Ok(())
    }
}

impl Tables for Filling<'_> {
    fn bytes(&mut self, table: &mut [u8]) -> Result<(), NoContents> {
        self.next(table)
    }

    fn words(&mut self, table: &mut [u32]) -> Result<(), NoContents> {
        self.next(table)
    }

    fn longs(&mut self, table: &mut [u64]) -> Result<(), NoContents> {
        self.next(table)
    }
}

impl Contents for Kept {
    fn open(&self) -> Result<Box<dyn Tables + '_>, NoContents> {
        Ok(Box::new(Filling(self.0.iter())))
    }
}

fn config(pairs: &[(&str, &str)]) -> DeviceConfig {
    let mut raw: RawConfig = DeviceConfig::builder();
    let small = [
        ("device.capacity", "16MiB"),
        ("cache.capacity", "256KiB"),
        ("nand.channels", "2"),
        ("nand.dies", "2"),
        ("nand.pages_per_block", "32"),
        ("ftl.overprovision", "40%"),
        ("ftl.precondition", "random"),
    ];
    for (key, value) in small.iter().chain(pairs) {
        raw.set(key, value).expect("a value of its kind");
    }
    DeviceConfig::new(&raw).expect("a device")
}

const SEED: u64 = 7;

fn device(config: &DeviceConfig) -> Device {
    Device::new(config, SEED).expect("a device")
}

/// When accesses are done that collect garbage many times over, and what the device counts.
fn run(mut device: Device) -> (Vec<Ps>, String) {
    let mut rng = Rng::stream(3, "accesses");
    let mut now = Ps::ZERO;
    let mut done = Vec::new();
    for _ in 0..12_000 {
        now += Ps::from_us(30);
        let op = if rng.below(3) == 0 {
            Op::Read
        } else {
            Op::Write
        };
        let addr = rng.below(device.pages()) * PAGE_BYTES;
        let request = Request { addr, op };
        done.push(device.access(now, request, &mut ()).done_at);
    }
    assert!(device.stats().erases > 100, "collection has work");
    device.balance().expect("all was counted once");
    (done, format!("{:?} {:?}", device.stats(), device.wear()))
}

#[test]
fn a_device_goes_on_from_what_was_kept_as_from_what_it_makes() {
    let with = |policy| {
        [
            [("ftl.gc_policy", policy), ("ftl.wear_levelling", "none")],
            [("ftl.gc_policy", policy), ("ftl.wear_levelling", "static")],
            [("ftl.gc_policy", policy), ("ftl.streams", "3")],
        ]
    };
    for pairs in GC_VICTIMS.iter().flat_map(|entry| with(entry.info.name)) {
        let config = config(&pairs);
        let mut kept = Kept::default();
        device(&config).contents(&mut kept).expect("a random one");
        let made = run(device(&config));
        let taken_up = config.clone().with_contents(Arc::new(kept.clone()));
        assert_eq!(run(device(&taken_up)), made, "{pairs:?}");
        // What ends too early is of no use, and does no harm.
        for len in [0, 3, kept.0.len() - 1] {
            let part = Kept(kept.0[..len].to_vec());
            let taken_up = config.clone().with_contents(Arc::new(part));
            assert_eq!(run(device(&taken_up)), made, "{pairs:?}, {len} tables");
        }
    }
}

/// Otherwise it would be kept in vain, or something else be taken up.
#[test]
fn only_a_random_precondition_is_kept() {
    for (precondition, is_kept) in [("random", true), ("sequential", false), ("none", false)] {
        let config = config(&[("ftl.precondition", precondition)]);
        let mut kept = Kept::default();
        let shown = device(&config).contents(&mut kept);
        assert_eq!(shown.is_ok(), is_kept, "{precondition}");
        assert_eq!(config.has_contents_to_make(), is_kept, "{precondition}");
        assert_eq!(kept.0.is_empty(), !is_kept, "{precondition}");
    }
}
