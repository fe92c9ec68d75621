//! Wear levelling: how far apart the erase counts come.

use super::*;

/// Overwrites a hot quarter of the pages at random; the rest stays where it is.
fn worn(levelling: &str) -> Rig<Nand> {
    let settings = small(&[
        ("ftl.wear_levelling", levelling),
        ("ftl.wear_spread", "10"),
        ("ftl.overprovision", "20%"),
    ]);
    let mut rig = Rig::new(&settings);
    let mut rng = Rng::stream(6, "wear");
    for _ in 0..150_000 {
        rig.write(rng.below(u64::from(settings.pages) / 4) as u32)
            .unwrap();
    }
    rig.ftl.check();
    let wear = rig.ftl.wear();
    let blocks = settings.nand.blocks_per_plane * settings.nand.plane_count();
    assert_eq!(wear.lines, u64::from(blocks));
    assert_eq!(wear.total, rig.stats.erases);
    assert!(
        wear.total > 9_000 && wear.total / wear.lines >= u64::from(wear.least),
        "{wear:?}"
    );
    rig
}

#[test]
fn cold_data_keeps_its_blocks_young_unless_it_moves() {
    let [none, dynamic, moved] = ["none", "dynamic", "static"].map(worn);
    for rig in [&none, &dynamic] {
        let wear = rig.ftl.wear();
        assert!(wear.least == 0 && wear.most > 60, "{wear:?}");
        assert_eq!(rig.stats.wear_moves, 0);
    }
    let wear = moved.ftl.wear();
    // The spread at which data moves, and what comes while lines wait for their turn.
    assert!(wear.most - wear.least <= 2 * 10, "{wear:?}");
    let share = moved.stats.wear_moves * 100 / moved.stats.flash_programs;
    assert!(
        moved.stats.wear_moves > 0 && share < 15,
        "{share} % of the programs"
    );
}

/// Free blocks are used by their wear, the least worn first.
#[test]
fn dynamic_levelling_keeps_blocks_in_use_together() {
    let spread = |rig: &Rig<Nand>| {
        let lines = 0..rig.ftl.data.store.geometry.lines();
        let erases = lines.map(|line| rig.ftl.data.store.lines.erases(line));
        let used: Vec<u32> = erases.filter(|erases| *erases > 0).collect();
        used.iter().max().unwrap() - used.iter().min().unwrap()
    };
    let settings = |levelling| {
        let pairs = [
            ("ftl.wear_levelling", levelling),
            ("ftl.overprovision", "40%"),
        ];
        small(&[&pairs[..], &[("ftl.gc_threshold", "8")]].concat())
    };
    let spreads = ["none", "dynamic"].map(|levelling| {
        let mut rig = Rig::new(&settings(levelling));
        let mut rng = Rng::stream(6, "wear");
        for _ in 0..150_000 {
            rig.write((rng.below(2_048) * rng.below(2_048) / 2_048) as u32)
                .unwrap();
        }
        spread(&rig)
    });
    assert!(spreads[1] < spreads[0], "{spreads:?}");
}
