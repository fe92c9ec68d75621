//! The random precondition is what random overwrites would have made of the device, only faster.

use super::*;
use crate::victim::GC_VICTIMS;
use sluice_units::Lpn;

fn pairs<'a>(more: &[(&'a str, &'a str)]) -> Settings {
    let base = [
        ("device.capacity", "64MiB"),
        ("nand.channels", "2"),
        ("nand.dies", "1"),
        ("nand.pages_per_block", "32"),
        ("ftl.overprovision", "15%"),
        ("ftl.gc_threshold", "2"),
    ];
    settings(&[&base[..], more].concat())
}

/// How many lines have how many valid pages, in eighths of a line.
fn profile(ftl: &Ftl) -> [u32; 9] {
    let mut profile = [0; 9];
    for line in 0..ftl.data.store.geometry.lines() {
        profile[ftl.data.store.lines.valid(line) as usize / 4] += 1;
    }
    profile
}

/// Lines that are in another eighth.
fn difference(one: &[u32; 9], other: &[u32; 9]) -> u32 {
    let pairs = one.iter().zip(other);
    pairs.map(|(a, b)| a.abs_diff(*b)).sum::<u32>() / 2
}

/// Lines are filled like those of a device that really was overwritten, for every policy.
#[test]
fn lines_are_as_full_as_after_real_overwrites() {
    for victim in GC_VICTIMS {
        let policy = ("ftl.gc_policy", victim.info.name);
        let random = [
            policy,
            ("ftl.precondition", "random"),
            ("ftl.precondition_writes", "200%"),
        ];
        let found = profile(&Rig::new(&pairs(&random)).ftl);
        let settings = pairs(&[policy]);
        let mut real = Rig::new(&settings);
        let mut rng = Rng::stream(8, "overwrites");
        for _ in 0..2 * settings.pages {
            real.write(rng.below(u64::from(settings.pages)) as u32)
                .unwrap();
        }
        let expected = profile(&real.ftl);
        let fresh = profile(&Rig::new(&settings).ftl);
        // Of 580 lines; a few tens of them fall into a neighbouring eighth by chance.
        let off = difference(&found, &expected);
        assert!(
            off < 50,
            "{}: {found:?} instead of {expected:?}",
            victim.info.name
        );
        assert!(
            difference(&fresh, &expected) > 200,
            "a fresh device must differ: {fresh:?}"
        );
    }
}

/// From the first write on it amplifies as it goes on to do.
#[test]
fn it_starts_in_the_steady_state() {
    let settings = pairs(&[
        ("ftl.precondition", "random"),
        ("ftl.precondition_writes", "200%"),
    ]);
    let mut rig = Rig::new(&settings);
    assert_eq!(
        rig.stats,
        Stats::default(),
        "it takes no NAND time and counts nothing"
    );
    assert_eq!(rig.ftl.wear().total, 0, "and wears nothing");
    let mut rng = Rng::stream(8, "writes");
    let mut moves = Vec::new();
    for _ in 0..4 {
        let before = rig.stats.gc_moves;
        for _ in 0..settings.pages {
            rig.write(rng.below(u64::from(settings.pages)) as u32)
                .unwrap();
        }
        moves.push(rig.stats.gc_moves - before);
    }
    let last = moves[3];
    let steady = |each: &u64| each.abs_diff(last) < last / 25;
    assert!(moves.iter().all(steady), "{moves:?}");
    rig.ftl.check();
}

/// The scattered map is one-to-one both ways, spread evenly, and a function of the seed.
#[test]
fn pages_are_scattered_one_to_one_and_evenly() {
    for writes in ["1%", "50%", "300%"] {
        let random = [
            ("ftl.precondition", "random"),
            ("ftl.precondition_writes", writes),
        ];
        let settings = pairs(&random);
        let ftl = Ftl::new(&settings, 5);
        ftl.check();
        let again = Ftl::new(&settings, 5);
        let other = Ftl::new(&settings, 6);
        let pages = 0..settings.pages;
        assert!(
            pages
                .clone()
                .all(|lpn| ftl.ppn_of(Lpn(lpn)) == again.ppn_of(Lpn(lpn)))
        );
        let same = pages
            .filter(|lpn| ftl.ppn_of(Lpn(*lpn)) == other.ppn_of(Lpn(*lpn)))
            .count();
        assert!(same < 20, "{same} pages are where another seed has them");
        // Consecutive pages fall on both planes, half of them on either, in no order.
        let planes = (0..4_096).map(|lpn| ftl.layout.plane_of(ftl.ppn_of(Lpn(lpn)).unwrap()).0);
        let planes: Vec<u32> = planes.collect();
        let second = planes.iter().sum::<u32>();
        let changes = planes.windows(2).filter(|pair| pair[0] != pair[1]).count();
        // Three standard deviations of 32.
        assert!(
            second.abs_diff(2_048) < 96 && changes.abs_diff(2_048) < 96,
            "{second}, {changes}"
        );
    }
}

/// Most planes have no page to overwrite, and that is all right.
#[test]
fn a_device_may_have_more_planes_than_pages() {
    let few = [
        ("device.capacity", "32KiB"),
        ("cache.capacity", "4KiB"),
        ("nand.dies", "16"),
    ];
    let rig = Rig::new(&pairs(
        &[&few[..], &[("ftl.precondition", "random")]].concat(),
    ));
    rig.ftl.check();
}
