//! Contents, not only bookkeeping: every page reads back its last version, whatever policy,
//! mapping, superblock and streams, and no page is programmed twice between erases.

use super::flash::Contents;
use super::*;
use crate::victim::GC_VICTIMS;
use proptest::prelude::*;
use sluice_units::{Lpn, Rng};

/// A rig whose contents are known, and the naive reference: the version of each page.
struct Known {
    rig: Rig<Contents>,
    /// Per LPN: the last version written, or `None` if there is none.
    versions: Vec<Option<u32>>,
}

impl Known {
    fn new(settings: &Settings) -> Known {
        let mut rig = Rig::with(settings, Contents::new(settings));
        let written = settings.ftl.precondition != crate::config::Precondition::None;
        for lpn in (0..settings.pages).filter(|_| written) {
            let ppn = rig.ftl.ppn_of(Lpn(lpn)).expect("every page has a place");
            assert_eq!(rig.flash.at(ppn), None, "{ppn} belongs to two pages");
            rig.flash.fill(ppn, (lpn, 0));
        }
        for ppn in rig.ftl.translation_ppns() {
            assert_eq!(rig.flash.at(ppn), None, "{ppn} belongs to two pages");
            rig.flash.fill(ppn, (u32::MAX, 0));
        }
        // Stale pages of a preconditioned device hold something too, but nobody reads it.
        Known {
            rig,
            versions: vec![written.then_some(0); settings.pages as usize],
        }
    }

    fn write(&mut self, lpn: u32, placement: Placement) {
        let version = self.versions[lpn as usize].map_or(1, |version| version + 1);
        self.rig.flash.from_host = (lpn, version);
        if self.rig.write_to(lpn, placement).is_ok() {
            self.versions[lpn as usize] = Some(version);
        }
    }

    fn trim(&mut self, lpn: u32) {
        self.rig.trim(lpn);
        self.versions[lpn as usize] = None;
    }

    fn check(&self, when: &str) {
        let ftl = &self.rig.ftl;
        for (lpn, version) in (0..).zip(&self.versions) {
            let found = ftl.ppn_of(Lpn(lpn)).map(|ppn| self.rig.flash.at(ppn));
            let expected = version.map(|version| Some((lpn, version)));
            assert_eq!(found, expected, "{when}: L{lpn}\n{}", ftl.dump());
        }
        ftl.check();
    }
}

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
    let mut known = Known::new(&settings);
    let mut rng = Rng::stream(9, "contents");
    for step in 0..6_000u32 {
        // Mostly a hot quarter, so that victims hold cold pages which must be moved.
        let quarter = if step.is_multiple_of(5) { 1 } else { 4 };
        let written = rng.below(u64::from(settings.pages) / quarter) as u32;
        known.write(written, Placement::default());
        known.check(&format!("step {step}"));
    }
    let stats = known.rig.stats;
    assert!(stats.gc_moves > 1_000 && stats.erases > 500, "{stats:?}");
}

/// Writes and trims at random, mostly in a hot quarter, and looks at every page now and then.
fn exercise(known: &mut Known, steps: u32, seed: u64, placed: bool) {
    let mut rng = Rng::stream(seed, "exercise");
    let pages = known.versions.len() as u64;
    for step in 0..steps {
        let part = if rng.below(4) == 0 { 1 } else { 4 };
        let lpn = rng.below(pages / part) as u32;
        let place = placed.then(|| PlaneAddress {
            channel: rng.below(2) as u32,
            plane: rng.below(3) as u32,
            ..PlaneAddress::default()
        });
        let placement = Placement {
            place,
            stream: rng.below(5) as u32,
        };
        match rng.below(24) {
            0 => known.trim(lpn),
            1 => {
                let now = known.rig.now + Ps::from_us(rng.below(50_000));
                known.rig.advance(now);
            }
            _ => known.write(lpn, placement),
        }
        if step % 64 == 0 {
            known.check(&format!("step {step}"));
        }
    }
    known.check("at the end");
}

fn text(value: u32) -> String {
    value.to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(96)))]
    #[test]
    fn no_page_is_lost_under_any_combination(
        policy in 0..GC_VICTIMS.len(),
        (mapping, precondition, allocation) in (0usize..2, 0usize..3, 0..ALLOCATIONS.len()),
        (width, streams, by) in (0usize..4, 1u32..5, 0usize..2),
        (step, background, wear) in (0u32..6, any::<bool>(), 0usize..3),
        (threshold, failure, placed) in (1u32..4, 0u64..3, any::<bool>()),
        bad in 0usize..3,
        seed in any::<u64>(),
    ) {
        let width = [1, 2, 4, 8][width];
        let step = if step == 0 { "all".to_owned() } else { text(step) };
        let background = if background { text(threshold + 1) } else { "off".to_owned() };
        let pairs = [
            ("device.capacity", "1MiB"),
            ("cache.capacity", "64KiB"),
            ("nand.channels", "2"),
            ("nand.chips", "2"),
            ("nand.dies", "1"),
            ("nand.planes", "2"),
            ("nand.pages_per_block", "4"),
            ("ftl.gc_policy", GC_VICTIMS[policy].info.name),
            ("ftl.gc_window", "3"),
            ("ftl.gc_choices", "2"),
            ("ftl.mapping", ["page", "dftl"][mapping]),
            ("ftl.mapping_cache", "1KiB"),
            ("ftl.precondition", ["sequential", "random", "none"][precondition]),
            ("ftl.allocation", ALLOCATIONS[allocation]),
            ("ftl.superblock", &text(width)),
            ("ftl.placement", if placed && width == 1 { "host" } else { "device" }),
            ("ftl.streams", &text(streams)),
            ("ftl.stream_by", ["heat", "host"][by]),
            ("ftl.gc_step", &step),
            ("ftl.gc_background", &background),
            ("ftl.gc_blocks", ["1", "3", "50%"][(seed % 3) as usize]),
            ("ftl.wear_levelling", ["none", "dynamic", "static"][wear]),
            ("ftl.wear_spread", "2"),
            ("ftl.gc_threshold", &text(threshold)),
            ("device.page", "512B"),
            ("ftl.overprovision", if bad > 0 { "30%" } else { "7%" }),
            ("nand.bad_blocks", ["none", "1%", "4%"][bad]),
        ];
        let mut settings = settings(&pairs);
        settings.ftl.may_fail = failure > 0;
        let mut known = Known::new(&settings);
        known.rig.flash.program_failure = failure * 1_500;
        exercise(&mut known, 3_000, seed, placed);
        prop_assert!(known.rig.stats.erases > 10, "{:?}", known.rig.stats);
    }
}

/// A worn-out array: the device goes on with fewer blocks, then refuses writes, and still reads
/// back every page as it was last written.
#[test]
fn the_end_of_life_is_refused_writes_not_lost_pages() {
    for width in ["1", "2", "all"] {
        let mut settings = small(&[
            ("device.capacity", "1MiB"),
            ("cache.capacity", "64KiB"),
            ("ftl.superblock", width),
            ("ftl.overprovision", "50%"),
        ]);
        settings.ftl.may_fail = true;
        let mut known = Known::new(&settings);
        known.rig.flash.endurance = 20;
        let mut rng = Rng::stream(5, width);
        let mut before_the_end = 0;
        while !known.rig.ftl.is_read_only() {
            let lpn = rng.below(u64::from(settings.pages)) as u32;
            known.write(lpn, Placement::default());
            before_the_end += 1;
            assert!(
                before_the_end < 1_000_000,
                "it never ends: {:?}",
                known.rig.stats
            );
        }
        known.check("at the end of life");
        let stats = known.rig.stats;
        // Every block lasts 20 erases, so most of that has been used.
        let blocks = u64::from(settings.nand.blocks_per_plane * settings.nand.plane_count());
        assert!(
            stats.erases > blocks * 20 / 2,
            "given up early: {width} {stats:?}"
        );
        assert!(
            stats.bad_blocks >= 4 && stats.erase_failures == stats.bad_blocks,
            "{stats:?}"
        );
        let refused = stats.writes_refused;
        known.write(0, Placement::default());
        assert_eq!(known.rig.stats.writes_refused, refused + 1);
        known.check("after a refused write");
    }
}
