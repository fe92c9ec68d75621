//! Blocks that were bad from the start.

use super::*;

fn with_bad(pairs: &[(&str, &str)]) -> Settings {
    let own = [("nand.bad_blocks", "2%"), ("ftl.overprovision", "10%")];
    small(&[&[("device.capacity", "64MiB")], &own[..], pairs].concat())
}

#[test]
fn they_are_as_many_as_asked_for_and_spread_over_the_planes() {
    let settings = with_bad(&[]);
    let layout = Layout::new(&settings);
    // 256 home blocks and 26 spare ones on each of 4 dies.
    assert_eq!(layout.blocks(), 4 * 282);
    let drawn = [1, 2, 1].map(|seed| factory_bad_blocks(&settings, seed));
    assert!(drawn[0] == drawn[2] && drawn[0] != drawn[1]);
    for bad in &drawn {
        assert_eq!(bad.len(), 22, "2 % of 1128, rounded down");
        let mut of_plane = [0; 4];
        bad.iter()
            .for_each(|block| of_plane[(block.0 / 282) as usize] += 1);
        of_plane.sort_unstable();
        assert_eq!(of_plane, [5, 5, 6, 6]);
        // Anywhere on their plane: a third of 22 on each third, give or take.
        let first_third = bad.iter().filter(|block| block.0 % 282 < 94).count();
        assert!((2..=14).contains(&first_third), "{bad:?}");
    }
}

#[test]
fn lines_are_made_of_good_blocks() {
    for (width, lines) in [("1", 4 * 282 - 22), ("2", 2 * 282), ("all", 282 - 6)] {
        let rig = Rig::new(&with_bad(&[("ftl.superblock", width)]));
        rig.ftl.check();
        let report = rig.ftl.wear();
        match width {
            // A superblock of two planes lacks one where either does.
            "2" => assert!((lines - 12..=lines - 11).contains(&(report.lines as i32))),
            _ => assert_eq!(report.lines as i32, lines, "{width}"),
        }
        let bad = factory_bad_blocks(&with_bad(&[]), SEED);
        let blocks = rig.ftl.data_blocks();
        assert!(blocks.iter().all(|block| !bad.contains(block)));
        assert!(blocks.windows(2).all(|pair| pair[0] < pair[1]), "shared");
    }
}

/// Fewer spare blocks are what less over-provisioning is: more is moved.
#[test]
fn collection_has_less_to_work_with() {
    let moves = |pairs: &[(&str, &str)]| {
        let settings = with_bad(pairs);
        let mut rig = Rig::new(&settings);
        let mut rng = Rng::stream(4, "factory");
        for _ in 0..120_000 {
            let lpn = rng.below(u64::from(settings.pages)) as u32;
            rig.write(lpn).unwrap();
        }
        rig.stats.gc_moves
    };
    let good = moves(&[("nand.bad_blocks", "none")]);
    let bad = moves(&[("nand.bad_blocks", "4%")]);
    // 26 spare blocks less 11 or 12 are 14.5 of 256: 5.7 %, as a device of 15 has.
    let fewer = moves(&[("nand.bad_blocks", "none"), ("ftl.overprovision", "5.7%")]);
    assert!(good * 3 < bad * 2, "{good} moves, {bad} with bad blocks");
    assert!(bad.abs_diff(fewer) * 20 < fewer, "{bad}, {fewer} expected");
}
