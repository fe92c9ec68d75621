//! The order of allocation, host placement, superblocks.

use super::*;
use sluice_units::Lpn;

/// Channel, way, die and plane of a plane's number, worked out from the layout's definition.
fn parts(settings: &Settings, plane: u32) -> [u32; 4] {
    let nand = &settings.nand;
    let die = plane / nand.planes;
    let channel = die % nand.channels;
    let way = die / nand.channels % nand.chips;
    [
        channel,
        way,
        die / nand.channels / nand.chips,
        plane % nand.planes,
    ]
}

fn four_ways(pairs: &[(&str, &str)]) -> Settings {
    let base = [
        ("nand.channels", "2"),
        ("nand.chips", "3"),
        ("nand.dies", "2"),
        ("nand.planes", "4"),
        ("ftl.precondition", "none"),
    ];
    small(&[&base[..], pairs].concat())
}

/// Consecutive writes count through the four digits, the first letter's the lowest.
#[test]
fn writes_follow_the_order_of_allocation() {
    assert_eq!(
        ALLOCATIONS
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        24
    );
    for allocation in ALLOCATIONS {
        let settings = four_ways(&[("ftl.allocation", allocation)]);
        let mut rig = Rig::new(&settings);
        let sizes = [2, 3, 2, 4];
        for lpn in 0..96 {
            rig.write(lpn).unwrap();
            let mut rest = lpn;
            let mut expected = [0; 4];
            for letter in allocation.chars() {
                let digit = "cwdp".find(letter).unwrap();
                expected[digit] = rest % sizes[digit];
                rest /= sizes[digit];
            }
            let plane = rig.plane_of(lpn).unwrap();
            assert_eq!(
                parts(&settings, plane),
                expected,
                "{allocation}, write {lpn}"
            );
        }
    }
}

/// Of several dies that are idle equally soon the next in turn is written.
#[test]
fn writes_go_to_the_die_that_is_idle_soonest() {
    let settings = small(&[
        ("nand.channels", "2"),
        ("nand.dies", "3"),
        ("nand.read", "10ps"),
        ("nand.program", "100ps"),
        ("ftl.allocation", "idle"),
    ]);
    let mut rig = Rig::new(&settings);
    for (die, reads) in [(1, 5), (3, 2), (5, 3)] {
        let ppn = die * rig.ftl.layout.pages_per_plane();
        (0..reads).for_each(|_| _ = rig.flash.read(Ps::ZERO, Ppn(ppn), Origin::Host));
    }
    let mut write = |lpn| {
        rig.write(lpn).unwrap();
        rig.plane_of(lpn).unwrap()
    };
    let written: Vec<u32> = (0..8).map(&mut write).collect();
    assert_eq!(written, [0, 2, 4, 3, 5, 1, 2, 4]);
}

/// However often and in whatever order pages are written, each stays on its plane.
#[test]
fn a_page_that_is_always_written_at_home_keeps_its_plane() {
    for width in [1, 4] {
        let superblock = width.to_string();
        let settings = four_ways(&[
            ("ftl.allocation", "home"),
            ("ftl.superblock", &superblock),
            ("ftl.precondition", "sequential"),
        ]);
        let mut rig = Rig::new(&settings);
        let planes = settings.nand.plane_count();
        let home: Vec<u32> = (0..planes).map(|lpn| rig.plane_of(lpn).unwrap()).collect();
        let pool = |plane| home.iter().position(|one| *one == plane).unwrap() / width;
        for step in 0..3_000 {
            let lpn = step * 7 % settings.pages;
            rig.write(lpn).unwrap();
            let plane = rig.plane_of(lpn).unwrap();
            let expected = home[(lpn % planes) as usize];
            assert_eq!(pool(plane), pool(expected), "L{lpn}, {width} wide");
        }
    }
}

/// A device that was filled in order is laid out as if it had been written in order.
#[test]
fn home_is_where_writes_in_order_go() {
    for allocation in ["cwdp", "pdwc", "wpcd"] {
        for width in ["1", "4", "all"] {
            let pairs = [("ftl.allocation", allocation), ("ftl.superblock", width)];
            let mut written = Rig::new(&four_ways(&pairs));
            let filled = [("ftl.precondition", "sequential")];
            let home = Rig::new(&four_ways(&[&pairs[..], &filled].concat()));
            for lpn in 0..written.ftl.data.store.geometry.lpns {
                written.write(lpn).unwrap();
                let found = written.ftl.ppn_of(Lpn(lpn));
                assert_eq!(
                    found,
                    home.ftl.ppn_of(Lpn(lpn)),
                    "{allocation}, {width} wide, L{lpn}"
                );
            }
            home.ftl.check();
        }
    }
}

#[test]
fn the_host_places_a_write_where_it_says() {
    let settings = four_ways(&[("ftl.placement", "host")]);
    let mut rig = Rig::new(&settings);
    let place = PlaneAddress {
        channel: 1,
        chip: 2,
        die: 1,
        plane: 3,
    };
    for lpn in 0..40 {
        rig.write_to(
            lpn,
            Placement {
                place: Some(place),
                stream: 0,
            },
        )
        .unwrap();
        assert_eq!(parts(&settings, rig.plane_of(lpn).unwrap()), [1, 2, 1, 3]);
    }
    assert_eq!(rig.stats.placements_missed, 0);
    // More than a plane holds goes elsewhere, and is counted.
    let held = settings.ftl.valid_pages_per_plane_max;
    for lpn in 0..held + 5 {
        rig.write_to(
            lpn,
            Placement {
                place: Some(place),
                stream: 0,
            },
        )
        .unwrap();
    }
    assert_eq!(rig.stats.placements_missed, 5);
    // Without host placement the same request goes in turn.
    let mut rig = Rig::new(&four_ways(&[]));
    rig.write_to(
        7,
        Placement {
            place: Some(place),
            stream: 0,
        },
    )
    .unwrap();
    assert_eq!(rig.plane_of(7), Some(0));
}

/// A superblock's blocks are erased together, and its pages go round its planes.
#[test]
fn a_superblock_is_collected_as_one() {
    let settings = small(&[("ftl.superblock", "all")]);
    let mut rig = Rig::new(&settings);
    let mut rng = Rng::stream(2, "superblock");
    for _ in 0..20_000 {
        rig.write(rng.below(u64::from(settings.pages)) as u32)
            .unwrap();
    }
    rig.ftl.check();
    assert!(
        rig.stats.erases > 100 && rig.stats.erases.is_multiple_of(4),
        "{:?}",
        rig.stats
    );
}
