//! No page is ever lost or mapped wrongly, whatever is written in whatever order.

use super::*;
use crate::config::RawConfig;
use crate::nand::{BadBlock, Nand};
use sluice_units::Rng;

fn settings(pairs: &[(&str, &str)]) -> Settings {
    let mut raw = RawConfig::default();
    for (key, value) in pairs {
        raw.set(key, value).unwrap();
    }
    let config = raw.check().unwrap();
    Settings::clone(&config)
}

/// A small device that collects garbage all the time.
fn small(precondition: &str) -> Settings {
    settings(&[
        ("device.capacity", "8MiB"),
        ("nand.channels", "2"),
        ("nand.dies", "2"),
        ("nand.pages_per_block", "16"),
        ("ftl.gc_threshold", "2"),
        ("ftl.precondition", precondition),
    ])
}

#[test]
fn a_fresh_device_is_laid_out_at_home() {
    for precondition in ["sequential", "none"] {
        let ftl = Ftl::new(&small(precondition));
        ftl.check();
        let place = |lpn| {
            ftl.map
                .place_of(lpn, &ftl.layout)
                .map(|ppn| ftl.layout.plane_of(ppn))
        };
        let expected = |die| (precondition == "sequential").then_some(die);
        assert_eq!([0, 1, 2, 3, 4].map(place), [0, 1, 2, 3, 0].map(expected));
    }
}

/// The mapping is a bijection between logical pages and valid physical pages after every write.
#[test]
fn random_writes_and_trims_lose_nothing() {
    for precondition in ["sequential", "none"] {
        let settings = small(precondition);
        let (mut ftl, mut nand) = (Ftl::new(&settings), Nand::new(&settings, 1));
        let mut stats = Stats::default();
        let mut rng = Rng::stream(7, precondition);
        for step in 0..40_000 {
            let lpn = rng.below(u64::from(settings.pages)) as u32;
            match rng.below(20) {
                0 => ftl.trim(lpn),
                _ => {
                    ftl.write(Ps::ZERO, lpn, &mut nand, &mut stats);
                }
            }
            if step % 500 == 0 {
                ftl.check();
            }
        }
        assert!(
            stats.erases > 100,
            "the test must collect garbage: {stats:?}"
        );
    }
}

/// Always rewriting what lives on one die drains it into the others, up to their limit.
#[test]
fn a_die_that_is_full_is_passed_over() {
    let settings = small("sequential");
    let (mut ftl, mut nand) = (Ftl::new(&settings), Nand::new(&settings, 1));
    let mut stats = Stats::default();
    for victim in [0, 1, 2, 0, 3] {
        for lpn in 0..settings.pages {
            let place = ftl.map.place_of(lpn, &ftl.layout).unwrap();
            if ftl.layout.plane_of(place) == victim {
                ftl.write(Ps::ZERO, lpn, &mut nand, &mut stats);
            }
        }
        ftl.check();
    }
}

/// A flash array that keeps contents instead of time: per PPN the (LPN, version) programmed
/// there, or `None` if it is erased.
struct Contents {
    cells: Vec<Option<(u32, u32)>>,
    layout: Layout,
    /// What the host's next program holds.
    from_host: (u32, u32),
}

impl Contents {
    fn set(&mut self, ppn: u32, data: Option<(u32, u32)>) {
        assert!(data.is_some(), "P{ppn} gets the contents of an erased page");
        let old = std::mem::replace(&mut self.cells[ppn as usize], data);
        assert_eq!(old, None, "P{ppn} is programmed again without an erase");
    }
}

impl Flash for Contents {
    fn read(&mut self, now: Ps, _ppn: u32, _origin: Origin) -> Served {
        Served::at_once(now)
    }

    fn program(&mut self, now: Ps, ppn: u32, _origin: Origin) -> Result<Ps, BadBlock> {
        self.set(ppn, Some(self.from_host));
        Ok(now)
    }

    fn copy(&mut self, now: Ps, from: u32, to: u32, _origin: Origin) -> Result<Ps, BadBlock> {
        self.set(to, self.cells[from as usize]);
        Ok(now)
    }

    fn erase(&mut self, now: Ps, block: u32, _origin: Origin) -> Result<Ps, BadBlock> {
        self.layout
            .pages_of(block)
            .for_each(|ppn| self.cells[ppn as usize] = None);
        Ok(now)
    }
}

/// Contents, not only bookkeeping: every page reads back its last version after every write, and
/// no page is programmed twice between erases.
#[test]
fn contents_survive_garbage_collection() {
    let settings = settings(&[
        ("device.capacity", "1MiB"),
        ("cache.capacity", "64KiB"),
        ("nand.channels", "1"),
        ("nand.dies", "2"),
        ("nand.pages_per_block", "8"),
        ("ftl.gc_threshold", "3"),
    ]);
    let mut ftl = Ftl::new(&settings);
    let (mut stats, layout) = (Stats::default(), ftl.layout);
    let cells = vec![None; (layout.blocks() * layout.pages_per_block) as usize];
    let mut flash = Contents {
        cells,
        layout,
        from_host: (0, 0),
    };
    (0..layout.lpns).for_each(|lpn| flash.set(layout.home_of(lpn), Some((lpn, 0))));
    let mut versions = vec![0; layout.lpns as usize];
    let mut rng = Rng::stream(9, "contents");
    for step in 0..6_000u32 {
        // Mostly a hot quarter, so that victims hold cold pages which must be moved.
        let quarter = if step.is_multiple_of(5) { 1 } else { 4 };
        let written = rng.below(u64::from(layout.lpns) / quarter) as u32;
        versions[written as usize] += 1;
        flash.from_host = (written, versions[written as usize]);
        ftl.write(Ps::ZERO, written, &mut flash, &mut stats);
        for (lpn, version) in (0..).zip(&versions) {
            let ppn = ftl.map.place_of(lpn, &layout).unwrap();
            assert_eq!(
                flash.cells[ppn as usize],
                Some((lpn, *version)),
                "step {step}, L{lpn}"
            );
        }
    }
    assert!(stats.gc_moves > 1_000 && stats.erases > 500, "{stats:?}");
}
