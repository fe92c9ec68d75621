//! No page is ever lost or mapped wrongly, whatever is written in whatever order.

use super::*;
use crate::config::RawConfig;
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
                .map(|ppn| ftl.layout.die_of(ppn))
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
        let (mut ftl, mut nand) = (Ftl::new(&settings), Nand::new(&settings));
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
    let (mut ftl, mut nand) = (Ftl::new(&settings), Nand::new(&settings));
    let mut stats = Stats::default();
    for victim in [0, 1, 2, 0, 3] {
        for lpn in 0..settings.pages {
            let place = ftl.map.place_of(lpn, &ftl.layout).unwrap();
            if ftl.layout.die_of(place) == victim {
                ftl.write(Ps::ZERO, lpn, &mut nand, &mut stats);
            }
        }
        ftl.check();
    }
}
