//! No page is ever lost or mapped wrongly, whatever is written in whatever order.

mod contents;
mod factory;
mod flash;
mod mapping;
mod order;
mod precondition;
mod timing;
mod victims;
mod wear;

use super::*;
use crate::config::ALLOCATIONS;
use crate::config::DeviceConfig;
use crate::nand::Nand;
use sluice_units::{Lpn, Rng};

/// The seed of every FTL here.
const SEED: u64 = 1;

fn settings(pairs: &[(&str, &str)]) -> Settings {
    let mut raw = DeviceConfig::builder();
    for (key, value) in pairs {
        raw.set(key, value).unwrap();
    }
    let config = DeviceConfig::new(&raw).unwrap();
    Settings::clone(&config)
}

/// A small device that collects garbage all the time.
fn small(pairs: &[(&str, &str)]) -> Settings {
    let base = [
        ("device.capacity", "8MiB"),
        ("nand.channels", "2"),
        ("nand.dies", "2"),
        ("nand.pages_per_block", "16"),
        ("ftl.gc_threshold", "2"),
    ];
    settings(&[&base[..], pairs].concat())
}

/// An FTL with its flash array and its counters.
struct Rig<F> {
    ftl: Ftl,
    flash: F,
    stats: Stats,
    now: Ps,
}

impl Rig<Nand> {
    fn new(settings: &Settings) -> Rig<Nand> {
        Rig::with(settings, Nand::new(settings, 1))
    }
}

impl<F: Flash> Rig<F> {
    fn with(settings: &Settings, flash: F) -> Rig<F> {
        let ftl = Ftl::new(settings, SEED);
        Rig {
            ftl,
            flash,
            stats: Stats::default(),
            now: Ps::ZERO,
        }
    }

    fn write(&mut self, lpn: u32) -> Result<(), ReadOnly> {
        self.write_to(lpn, Placement::default())
    }

    fn write_to(&mut self, lpn: u32, placement: Placement) -> Result<(), ReadOnly> {
        let Rig {
            ftl,
            flash,
            stats,
            now,
        } = self;
        ftl.write(*now, Lpn(lpn), placement, Origin::Host, flash, stats)
    }

    fn read(&mut self, lpn: u32) -> Served {
        self.ftl.read(
            self.now,
            Lpn(lpn),
            Origin::Host,
            &mut self.flash,
            &mut self.stats,
        )
    }

    fn trim(&mut self, lpn: u32) {
        self.ftl
            .trim(self.now, Lpn(lpn), &mut self.flash, &mut self.stats);
    }

    fn advance(&mut self, now: Ps) {
        self.now = now;
        self.ftl.advance(now, &mut self.flash, &mut self.stats);
    }

    fn plane_of(&self, lpn: u32) -> Option<u32> {
        self.ftl
            .ppn_of(Lpn(lpn))
            .map(|ppn| self.ftl.layout.plane_of(ppn).0)
    }
}

#[test]
fn a_fresh_device_is_laid_out_at_home() {
    for precondition in ["sequential", "none"] {
        let rig = Rig::new(&small(&[("ftl.precondition", precondition)]));
        rig.ftl.check();
        let expected = |plane| (precondition == "sequential").then_some(plane);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|lpn| rig.plane_of(lpn)),
            [0, 1, 2, 3, 0].map(expected)
        );
    }
}

/// The mapping is a bijection between logical pages and valid physical pages after every write.
#[test]
fn random_writes_and_trims_lose_nothing() {
    for precondition in ["sequential", "random", "none"] {
        let settings = small(&[("ftl.precondition", precondition)]);
        let mut rig = Rig::new(&settings);
        let mut rng = Rng::stream(7, precondition);
        for step in 0..40_000 {
            let lpn = rng.below(u64::from(settings.pages)) as u32;
            match rng.below(20) {
                0 => rig.trim(lpn),
                _ => {
                    rig.write(lpn).unwrap();
                }
            }
            if step % 500 == 0 {
                rig.ftl.check();
            }
        }
        assert!(
            rig.stats.erases > 100,
            "the test must collect garbage: {:?}",
            rig.stats
        );
    }
}

/// Always rewriting what lives on one die drains it into the others, up to their limit.
#[test]
fn a_die_that_is_full_is_passed_over() {
    let settings = small(&[]);
    let mut rig = Rig::new(&settings);
    for victim in [0, 1, 2, 0, 3] {
        for lpn in 0..settings.pages {
            if rig.plane_of(lpn) == Some(victim) {
                rig.write(lpn).unwrap();
            }
        }
        rig.ftl.check();
    }
}
